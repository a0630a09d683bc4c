"""One response from its request to its terminal event, over as many connections as needed.

Before the first part of the answer, a request that failed or whose connection broke is repeated, after the time that
the server requests or with exponential back-off. After that nothing is sent again: a background response whose
connection broke or stalled is resumed where it stopped; any other response stays incomplete. Each wait is a ``Notice``.
A background response that is not read to its end is cancelled, because closing the connection does not end it.
"""

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
from chat_app.generation.model_client import BEFORE_FIRST, EventBatch, ModelClient, ResponseRequest
from chat_app.generation.observers import GeneratorCall
from chat_app.response_events import (
    LAST,
    ContentPartEvent,
    OutputItemEvent,
    OutputTextDelta,
    ResponseEvent,
    ResponseLifecycleEvent,
)
from chat_app.response_objects import MessageItem, ReasoningItem

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 60.0
_SENSELESS = frozenset({400, 404, 422})
"""Statuses with which servers reject a request that is meaningless to them."""
_RESUMING = "The connection to the model server broke; the answer continues where it stopped."
_SILENT = "The model server stopped sending; the answer continues where it stopped."


@dataclass(slots=True)
class Chaining:
    """Whether the server stores a model's conversations, so that ``previous_response_id`` works; None while unknown."""

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
        self._response_id = request.resumes
        self._number = BEFORE_FIRST if request.resumes else None

    async def events(self) -> AsyncGenerator[EventBatch | Notice, None]:
        """Yield the events that arrived together, and notices of waiting.

        Raises ``ProviderError`` when the request failed after all retries, or the stream broke.
        """
        attempt = 0
        try:
            while True:
                failure: ProviderError = StreamTruncated("The connection to the model server broke off.")
                seen = self._number if self._resumable else None
                try:
                    async with self._open() as batches:
                        async for batch in batches:
                            yield await self._fresh(batch, seen)
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
        """Whether the server keeps the stream and its position is known."""
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
            if isinstance(event, OutputTextDelta):
                self._started = self._said = True
                self._number, self._ended = event.sequence_number, False
                continue
            if isinstance(event, ResponseLifecycleEvent):
                if not self._started:
                    await self._check_chain(event)
                self._response_id = event.response_id or self._response_id
            self._started = True
            self._said = self._said or not _says_nothing(event)
            self._number = event.sequence_number
            self._ended = isinstance(event, LAST)
        return batch

    async def _check_chain(self, event: ResponseLifecycleEvent) -> None:
        """Raise ``PreviousResponseNotFound`` when the server ignores the response that it should continue.

        A server that continues it says so in the response, or at least still stores the previous one.
        """
        previous = self._request.previous_response_id
        if previous is None or self._chaining.works:
            return
        continues = event.response is not None and event.response.previous_response_id == previous
        kept = continues or await self._client.keeps(previous)
        if kept is not None:
            self._chaining.works = kept
        if not kept:
            raise PreviousResponseNotFound("The model server does not store conversations.", supported=False)

    async def _check_rejection(self, error: ProviderRejected) -> None:
        """Raise ``PreviousResponseNotFound`` where the chain may be the reason of the rejection.

        A server without conversations sees a follow-up without its context, a tool's output without its call, and
        rejects it with any message. Once a server is known to chain, its rejection is taken literally.
        """
        previous = self._request.previous_response_id
        if previous is None or self._chaining.works or error.status not in _SENSELESS:
            return
        kept = await self._client.keeps(previous)
        if not kept:
            raise PreviousResponseNotFound("The model server does not store conversations.", supported=kept is None)

    def _wait(self, failure: ProviderError, attempt: int) -> float | None:
        """Return the seconds until the next attempt; None when there is none."""
        if attempt >= self._max_retries or not self._may_go_on(failure):
            return None
        # Jitter keeps many clients from coming back at the same moment.
        jittered = _FIRST_WAIT * float(2**attempt) * (0.75 + random.random() / 2)  # noqa: S311
        wait = jittered if failure.retry_after is None else failure.retry_after
        return wait if wait <= _LONGEST_WAIT else None

    def _may_go_on(self, failure: ProviderError) -> bool:
        if self._resumable:
            return not (isinstance(failure, StreamStalled) and failure.time_is_up)
        # A background response that cannot be resumed continues at the server; a second one would run beside it.
        lost = self._request.background and self._started
        # A stalled response is not requested again: more requests make a slow server slower.
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
    """Return whether the event only announces an answer: the response, its messages or their parts."""
    match event:
        case ResponseLifecycleEvent():
            return True
        case OutputItemEvent(item=MessageItem() | ReasoningItem()) | ContentPartEvent():
            return event.type.endswith("added")
        case _:
            return False
