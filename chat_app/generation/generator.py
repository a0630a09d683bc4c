"""Prompt, model client and output processors as one unit: a generation, streamed or drained.

The generator owns all retries; ``delivery`` describes what is sent again and what never is.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, cast

from chat_app.generation.delivery import Chaining, Delivery
from chat_app.generation.model_client import ModelClient, ResponseRequest
from chat_app.generation.observers import GeneratorCall, GeneratorObserver, notify
from chat_app.generation.output import GeneratorOutput, OutputProcessor, PydanticProcessor
from chat_app.generation.prompt import Prompt
from chat_app.generation.response_fold import ResponseFold
from tools.sync_calls import run_sync

T = TypeVar("T")


def input_message(role: Literal["user", "assistant"], text: str) -> dict[str, Any]:
    """Return a message of the conversation as an input item."""
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


class Generator(Generic[T]):
    """Asks a model server, with instructions rendered from a prompt.

    Args:
        model_client: The server.
        prompt: The instructions, as a template. A call without input sends them as the user's message.
        model_kwargs: Fields of ``ResponseRequest`` for every request, such as ``model``.
        output_processors: Turn the text into ``data``, one after the other; without any, ``data`` is the text.
        max_retries: Repetitions of a request that failed before its first word.
    """

    def __init__(
        self,
        model_client: ModelClient,
        *,
        prompt: Prompt | str = "",
        model_kwargs: Mapping[str, Any] | None = None,
        output_processors: Sequence[OutputProcessor] = (),
        max_retries: int = 2,
    ) -> None:
        self.model_client = model_client
        self.prompt = Prompt(prompt) if isinstance(prompt, str) else prompt
        self.model_kwargs = dict(model_kwargs or {})
        self.output_processors = tuple(output_processors)
        self.max_retries = max_retries
        # One address may serve models in different ways.
        self._chaining = defaultdict[str, Chaining](Chaining)
        self._observers: list[GeneratorObserver] = []

    def chaining(self, model: str | None = None) -> Chaining:
        """Return what is known of the conversations that the server stores for ``model``; shared by all calls."""
        return self._chaining[model or str(self.model_kwargs.get("model", ""))]

    def add_observer(self, observer: GeneratorObserver) -> None:
        """Subscribe ``observer`` to every call."""
        self._observers.append(observer)

    def astream(
        self,
        prompt: str | None = None,
        *,
        items: Sequence[Mapping[str, Any]] = (),
        prompt_kwargs: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> GeneratorOutput[T]:
        """Start a call; nothing is sent until ``stream_events()`` of the result is iterated.

        ``prompt`` is the user's message and follows the input ``items``. ``prompt_kwargs`` are the variables of the
        generator's prompt, ``fields`` further ones of ``ResponseRequest``. Raises ``ConfigurationError`` when the
        generator's prompt lacks a value.
        """
        asked = (*items, input_message("user", prompt)) if prompt is not None else tuple(items)
        kwargs = dict(prompt_kwargs or {})
        call = GeneratorCall(self.prompt, asked, kwargs, {**self.model_kwargs, **fields})
        observers = tuple(self._observers)
        notify(observers, lambda observer: observer.call_started(call))
        try:
            request = self._request(call)
        except Exception as error:
            call.error_type, call.seconds = type(error).__name__, call.elapsed()
            notify(observers, lambda observer: observer.call_ended(call, None))
            raise
        chaining = self.chaining(request.model)
        delivery = Delivery(self.model_client, request, call, max_retries=self.max_retries, chaining=chaining)
        fold = ResponseFold(_parameters(request.tools))
        return GeneratorOutput(fold=fold, _delivery=delivery, _parse=self._parse, _call=call, _observers=observers)

    async def acall(
        self,
        prompt: str | None = None,
        *,
        items: Sequence[Mapping[str, Any]] = (),
        prompt_kwargs: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> GeneratorOutput[T]:
        """Return a whole generation; takes what ``astream`` takes. A failure is the output's ``error``."""
        output = self.astream(prompt, items=items, prompt_kwargs=prompt_kwargs, **fields)
        async for _ in output.stream_events():
            pass
        return output

    def call(
        self,
        prompt: str | None = None,
        *,
        items: Sequence[Mapping[str, Any]] = (),
        prompt_kwargs: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> GeneratorOutput[T]:
        """Like ``acall``, without an event loop; raises ``RuntimeError`` inside one."""

        async def once() -> GeneratorOutput[T]:
            try:
                return await self.acall(prompt, items=items, prompt_kwargs=prompt_kwargs, **fields)
            finally:
                await self.model_client.aclose()

        return run_sync(once)

    def _request(self, call: GeneratorCall) -> ResponseRequest:
        rendered = self.prompt.render(**call.prompt_kwargs)
        formats = [p.text_format for p in self.output_processors if isinstance(p, PydanticProcessor)]
        fields: dict[str, Any] = {"text": formats[-1]} if formats else {}
        if call.items:
            fields |= {"instructions": rendered or None, "input": tuple(dict(item) for item in call.items)}
        else:
            fields["input"] = (input_message("user", rendered),)
        return ResponseRequest(**{**fields, **call.model_kwargs})

    def _parse(self, text: str) -> T:
        data: Any = text
        for processor in self.output_processors:
            data = processor(data)
        return cast("T", data)


def _parameters(tools: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the parameters' schema of each declared function."""
    return {str(tool["name"]): tool.get("parameters") or {} for tool in tools if tool.get("type") == "function"}
