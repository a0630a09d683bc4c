"""What tracing needs to know of a generator and of its outputs, so that it depends on none.

``chat_app.generation.Generator`` has this shape; so may any other.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from chat_app.events import Outcome
from chat_app.response_objects import Response, Usage
from tools.types import Function


class TracedPrompt(Protocol):
    @property
    def template_string(self) -> str: ...
    @property
    def variables(self) -> Sequence[str]: ...
    @property
    def preset(self) -> Mapping[str, Any]: ...


class TracedError(Protocol):
    @property
    def stage(self) -> str: ...
    @property
    def message(self) -> str: ...


class TracedOutput(Protocol):
    """One generation; its levels are filled in when it is settled."""

    @property
    def data(self) -> Any: ...
    @property
    def raw_response(self) -> str | None: ...
    @property
    def api_response(self) -> Response | None: ...
    @property
    def thinking(self) -> str | None: ...
    @property
    def tool_use(self) -> Sequence[Function]: ...
    @property
    def error(self) -> TracedError | None: ...
    @property
    def usage(self) -> Usage | None: ...
    @property
    def outcome(self) -> Outcome: ...
    def stream_events(self) -> AsyncGenerator[Any, None]: ...
    def settle(self, fold: Any, outcome: Outcome) -> None: ...


@runtime_checkable
class TracedGenerator(Protocol):
    """Something that generates from a prompt."""

    @property
    def prompt(self) -> TracedPrompt: ...
    @property
    def model_kwargs(self) -> Mapping[str, Any]: ...
    def astream(
        self, *, items: Sequence[Mapping[str, Any]], prompt_kwargs: Mapping[str, Any] | None = None, **fields: Any
    ) -> Any: ...
    async def acall(
        self, *, items: Sequence[Mapping[str, Any]], prompt_kwargs: Mapping[str, Any] | None = None, **fields: Any
    ) -> Any: ...
