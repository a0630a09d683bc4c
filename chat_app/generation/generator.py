"""Prompt + model client + output processors: one generation, streamed or drained.

The generator is the one owner of retries. It repeats a request only while nothing of its answer has come: after a
``RateLimited`` or ``ProviderUnavailable``, waiting as long as the server asks, else with exponential back-off; each
wait is a ``Notice`` in the stream. After the first event nothing is ever sent again.
"""

from __future__ import annotations

import random
from asyncio import sleep
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar, cast

from chat_app.errors import AsclepiusError, ProviderUnavailable, RateLimited
from chat_app.events import Notice, RawResponsesStreamEvent
from chat_app.generation.model_client import ModelClient, ResponseRequest
from chat_app.generation.outcomes import exception_outcome
from chat_app.generation.output import GeneratorOutput, OutputProcessor, PydanticProcessor
from chat_app.generation.prompt import Prompt
from chat_app.generation.response_fold import ResponseFold

T = TypeVar("T")

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 60.0


class Generator(Generic[T]):
    """Asks ``model_client`` with instructions rendered from ``prompt``.

    ``model_kwargs`` are fields of ``ResponseRequest`` sent with every request; ``output_processors`` turn the text into
    ``data``, the last one giving its type; without any, ``data`` is the text.
    """

    def __init__(
        self,
        model_client: ModelClient,
        *,
        prompt: Prompt,
        model_kwargs: Mapping[str, Any],
        output_processors: Sequence[OutputProcessor] = (),
        max_retries: int = 2,
    ) -> None:
        self.model_client = model_client
        self.prompt = prompt
        self.model_kwargs = dict(model_kwargs)
        self.output_processors = tuple(output_processors)
        self.max_retries = max_retries

    def astream(
        self, *, items: Sequence[Mapping[str, Any]], prompt_kwargs: Mapping[str, Any] | None = None, **fields: Any
    ) -> GeneratorOutput[T]:
        """Begins a generation: nothing is sent until ``stream_events()`` of the result is iterated.

        ``fields`` are further fields of ``ResponseRequest``. Raises ``ConfigurationError`` when the prompt lacks a
        value.
        """
        instructions = self.prompt.render(**(prompt_kwargs or {})) or None
        formats = [p.text_format for p in self.output_processors if isinstance(p, PydanticProcessor)]
        preset: dict[str, Any] = {"instructions": instructions, **({"text": formats[-1]} if formats else {})}
        request = ResponseRequest(
            **{**preset, **self.model_kwargs, **fields, "input": tuple(dict(item) for item in items)}
        )
        return GeneratorOutput(_events=self._events(request), _parse=self._parse)

    async def acall(
        self, *, items: Sequence[Mapping[str, Any]], prompt_kwargs: Mapping[str, Any] | None = None, **fields: Any
    ) -> GeneratorOutput[T]:
        """One generation to its end. Never raises a ``ProviderError``: it is the output's ``error``."""
        output = self.astream(items=items, prompt_kwargs=prompt_kwargs, **fields)
        fold = ResponseFold()
        try:
            async for event in output.stream_events():
                if isinstance(event, RawResponsesStreamEvent):
                    fold.apply(cast("Any", event.data))
        except AsclepiusError as error:
            output.settle(fold, exception_outcome(error, any_text=bool(fold.text)))
        else:
            output.settle(fold, fold.outcome)
        return output

    async def _events(self, request: ResponseRequest) -> AsyncGenerator[RawResponsesStreamEvent | Notice, None]:
        attempt = 0
        while True:
            started = False
            try:
                async with aclosing(self._once(request)) as events:
                    async for event in events:
                        started = True
                        yield event
                return
            except (RateLimited, ProviderUnavailable) as error:
                wait = _wait(error.retry_after, attempt)
                if started or attempt >= self.max_retries or wait > _LONGEST_WAIT:
                    raise
                attempt += 1
                message = f"{error} Trying again in {max(1, round(wait))} s ({attempt} of {self.max_retries})."
                yield Notice(code="waiting_for_provider", message=message)
                await sleep(wait)

    async def _once(self, request: ResponseRequest) -> AsyncGenerator[RawResponsesStreamEvent, None]:
        async with self.model_client.stream(request) as events:
            async for event in events:
                # The event was validated when it was parsed.
                yield RawResponsesStreamEvent.model_construct(data=event)

    def _parse(self, text: str) -> T:
        data: Any = text
        for processor in self.output_processors:
            data = processor(data)
        return cast("T", data)


def _wait(retry_after: float | None, attempt: int) -> float:
    if retry_after is not None:
        return retry_after
    # Jitter keeps many clients from coming back at the same moment.
    return _FIRST_WAIT * float(2**attempt) * (0.75 + random.random() / 2)  # noqa: S311
