"""Prompt + model client + output processors: one generation, streamed or drained.

The generator is the one owner of retries; see ``delivery`` for what is sent again and what never is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar, cast

from chat_app.errors import AsclepiusError
from chat_app.events import RawResponsesStreamEvent
from chat_app.generation.delivery import Chaining, Delivery
from chat_app.generation.model_client import ModelClient, ResponseRequest
from chat_app.generation.outcomes import exception_outcome
from chat_app.generation.output import GeneratorOutput, OutputProcessor, PydanticProcessor
from chat_app.generation.prompt import Prompt
from chat_app.generation.response_fold import ResponseFold
from tools.sync_calls import run_sync

T = TypeVar("T")


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
        self.chaining = Chaining()
        """What was learned of the server; the same for all generations."""

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
        asked: dict[str, Any] = {**preset, **self.model_kwargs, **fields}
        asked["input"] = tuple(dict(item) for item in items)
        request = ResponseRequest(**asked)
        delivery = Delivery(self.model_client, request, max_retries=self.max_retries, chaining=self.chaining)
        return GeneratorOutput(_events=delivery.events(), _parse=self._parse)

    async def acall(
        self, *, items: Sequence[Mapping[str, Any]], prompt_kwargs: Mapping[str, Any] | None = None, **fields: Any
    ) -> GeneratorOutput[T]:
        """One generation to its end. Never raises a ``ProviderError``: it is the output's ``error``."""
        output = self.astream(items=items, prompt_kwargs=prompt_kwargs, **fields)
        fold = ResponseFold()
        try:
            async with aclosing(output.stream_events()) as events:
                async for event in events:
                    if isinstance(event, RawResponsesStreamEvent):
                        fold.apply(cast("Any", event.data))
        except AsclepiusError as error:
            output.settle(fold, exception_outcome(error, any_text=bool(fold.text)))
        else:
            output.settle(fold, fold.outcome)
        return output

    def call(
        self, *, items: Sequence[Mapping[str, Any]], prompt_kwargs: Mapping[str, Any] | None = None, **fields: Any
    ) -> GeneratorOutput[T]:
        """``acall`` for code without an event loop; raises ``RuntimeError`` inside one."""

        async def once() -> GeneratorOutput[T]:
            try:
                return await self.acall(items=items, prompt_kwargs=prompt_kwargs, **fields)
            finally:
                await self.model_client.aclose()

        return run_sync(once)

    def _parse(self, text: str) -> T:
        data: Any = text
        for processor in self.output_processors:
            data = processor(data)
        return cast("T", data)
