"""One response from its request to its terminal event, over as many connections as that takes.

Before the response says anything, a request that failed or whose connection broke is sent again, after as long as the
server asks or with exponential back-off. After that nothing is ever sent again: a background response whose connection
broke, or over which nothing came any more, is resumed where it stopped; any other one is left as it is. Each wait is a
``Notice``. A background response that nobody reads to its end is cancelled: closing the connection does not end it.
"""

from __future__ import annotations

import random
from asyncio import sleep
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from chat_app.errors import (
    PreviousResponseNotFound,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
    StreamStalled,
    StreamTruncated,
)
from chat_app.events import Notice
from chat_app.generation.model_client import EventBatch, ModelClient, ResponseRequest
from chat_app.generation.observers import GeneratorCall
from chat_app.response_events import (
    ContentPartEvent,
    ErrorEvent,
    OutputItemEvent,
    ResponseEvent,
    ResponseLifecycleEvent,
    ResponseTerminalEvent,
)
from chat_app.response_objects import MessageItem, ReasoningItem

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 60.0
_LAST = (ResponseTerminalEvent, ErrorEvent)
_SENSELESS = frozenset({400, 404, 422})
"""Statuses with which servers reject a request that makes no sense to them."""
_RESUMING = "The connection to the model server broke. The answer is picked up where it stopped."
_SILENT = "The model server stopped sending. The answer is picked up where it stopped."


@dataclass(slots=True)
class Chaining:
    """Whether the server keeps conversations, so that ``previous_response_id`` works; None until that was seen."""

    works: bool | None = None


class Delivery:
    """The events of one response; ``events()`` can be iterated once."""

    def __init__(
        self,
        client: ModelClient,
        request: ResponseRequest,
        call: GeneratorCall,
        *,
        max_retries: int,
        chaining: Chaining,
    ) -> None:
        self._client = client
        self._request = request
        self._call = call
        self._max_retries = max_retries
        self._chaining = chaining
        self._started = False
        self._said = False
        """Whether a part of the answer has arrived; another request would then give another answer."""
        self._ended = False
        self._response_id: str | None = None
        self._number: int | None = None

    async def events(self) -> AsyncGenerator[EventBatch | Notice, None]:
        """Yield the events that arrived together, and notices of waiting.

        Raises:
            ProviderError: The request failed after all retries, or the stream broke.
        """
        attempt = 0
        try:
            while not self._ended:
                failure: ProviderError = StreamTruncated("The connection to the model server broke off.")
                seen = self._number if self._resumable else None
                try:
                    async with self._open() as batches:
                        async for batch in batches:
                            if fresh := await self._fresh(batch, seen):
                                yield fresh
                except (RateLimited, ProviderUnavailable, StreamTruncated, StreamStalled) as error:
                    failure = error
                except ProviderRejected as error:
                    if not self._started:
                        await self._check_rejection(error)
                    # A response that cannot be resumed has broken off; its request was never rejected.
                    raise (StreamTruncated(str(error)) if self._started else error) from None
                if self._ended:
                    return
                wait = self._wait(failure, attempt)
                if wait is None:
                    raise failure
                attempt += 1
                yield self._notice(failure, wait, attempt)
                await sleep(wait)
        finally:
            if self._request.background and self._response_id and not self._ended:
                await self._client.cancel(self._response_id)

    @property
    def _resumable(self) -> bool:
        """Whether the server keeps the stream, and we know how far we have read it."""
        return bool(self._request.background) and self._response_id is not None and self._number is not None

    def _open(self) -> AbstractAsyncContextManager[AsyncIterator[EventBatch]]:
        if self._resumable and self._response_id is not None and self._number is not None:
            return self._client.resume(self._response_id, after=self._number)
        self._started, self._response_id, self._number = False, None, None
        return self._client.stream(self._request)

    async def _fresh(self, batch: EventBatch, seen: int | None) -> EventBatch:
        """Record how far the response has come; drop events up to ``seen``, which a resumed stream repeats."""
        if not self._started and self._call.seconds_to_first_event is None:
            self._call.seconds_to_first_event = self._call.elapsed()
        if seen is not None:
            batch = [event for event in batch if event.sequence_number is None or event.sequence_number > seen]
        for event in batch:
            if isinstance(event, ResponseLifecycleEvent):
                if not self._started:
                    await self._check_chain(event)
                self._response_id = event.response.id
            self._started = True
            self._said = self._said or not _says_nothing(event)
        if batch:
            self._number = batch[-1].sequence_number
            self._ended = isinstance(batch[-1], _LAST)
        return batch

    async def _check_chain(self, event: ResponseLifecycleEvent) -> None:
        """Raises ``PreviousResponseNotFound`` when the server has begun without the conversation it was told to follow.

        A server that follows it says so in the response, or at least still has the response that is followed.
        """
        previous = self._request.previous_response_id
        if previous is None or self._chaining.works:
            return
        kept = event.response.previous_response_id == previous or await self._client.keeps(previous)
        if kept is not None:
            self._chaining.works = kept
        if not kept:
            raise PreviousResponseNotFound("The model server does not keep conversations.", supported=False)

    async def _check_rejection(self, error: ProviderRejected) -> None:
        """Raises ``PreviousResponseNotFound`` where the chain may be what was rejected.

        A server without a memory sees a follow-up on its own, a tool's output without its call, and rejects that in
        words of its own. Once a server was seen to chain, a rejection is what it says.
        """
        previous = self._request.previous_response_id
        if previous is None or self._chaining.works or error.status not in _SENSELESS:
            return
        kept = await self._client.keeps(previous)
        if not kept:
            raise PreviousResponseNotFound("The model server does not keep conversations.", supported=kept is None)

    def _wait(self, failure: ProviderError, attempt: int) -> float | None:
        """Seconds until the next attempt; None when there is none."""
        if attempt >= self._max_retries or not self._may_go_on(failure):
            return None
        # Jitter keeps many clients from coming back at the same moment.
        jittered = _FIRST_WAIT * float(2**attempt) * (0.75 + random.random() / 2)  # noqa: S311
        wait = jittered if failure.retry_after is None else failure.retry_after
        return wait if wait <= _LONGEST_WAIT else None

    def _may_go_on(self, failure: ProviderError) -> bool:
        if self._resumable:
            return not (isinstance(failure, StreamStalled) and failure.time_is_up)
        # Left at the server, a background response that cannot be resumed goes on: a second one would answer beside it.
        lost = self._request.background and self._started
        # One that has stalled is not asked for again: where a server is slow, more requests make it slower.
        return not (self._said or lost or isinstance(failure, StreamStalled))

    def _notice(self, failure: ProviderError, wait: float, attempt: int) -> Notice:
        if self._resumable:
            return Notice(code="answer_resumed", message=_SILENT if isinstance(failure, StreamStalled) else _RESUMING)
        seconds = max(1, round(wait))
        return Notice(
            code="waiting_for_provider",
            params={"seconds": seconds, "attempt": attempt, "most": self._max_retries},
            message=f"{failure} Trying again in {seconds} s ({attempt} of {self._max_retries}).",
        )


def _says_nothing(event: ResponseEvent) -> bool:
    """True for events that only announce an answer: the response itself, its messages and their parts."""
    match event:
        case ResponseLifecycleEvent():
            return True
        case OutputItemEvent(item=MessageItem() | ReasoningItem()) | ContentPartEvent():
            return event.type.endswith("added")
        case _:
            return False
