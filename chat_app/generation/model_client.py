"""What the engine needs of a model server, and the request it sends: the port behind which any server can stand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from pydantic import Field

from chat_app.response_events import ResponseEvent
from tools.types import Frozen

ToolChoice = Literal["auto", "none", "required"]
InputItem = Mapping[str, Any]
"""An input item as it goes over the wire: a message, a function call or a function call's output."""


class ResponseRequest(Frozen):
    """One request to ``POST /responses``; always streamed.

    ``input`` holds what is new when ``previous_response_id`` is set, else the whole conversation.
    """

    model: str
    input: tuple[dict[str, Any], ...]
    instructions: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    include: tuple[str, ...] = ()
    max_output_tokens: int | None = None
    text: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    safety_identifier: str | None = None
    store: bool | None = None
    background: bool | None = None
    """The server works on when the connection breaks, and the stream can be resumed; needs a server that stores."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further fields for servers that know more; they win over the ones above."""

    def payload(self) -> dict[str, Any]:
        """The request's JSON body without ``stream``: unset and empty fields are left out."""
        body = self.model_dump(exclude={"extra"}, exclude_none=True)
        body = {key: value for key, value in body.items() if value != () or key == "input"}
        if not self.tools:
            body.pop("tool_choice", None)
            body.pop("parallel_tool_calls", None)
        return {**body, **self.extra}


class ModelClient(Protocol):
    """A server that speaks the Responses API."""

    def stream(self, request: ResponseRequest) -> AbstractAsyncContextManager[AsyncIterator[ResponseEvent]]:
        """Opens one response and iterates its events; leaving the block closes the connection.

        Raises a ``ProviderError``: on entering when the request itself fails, while iterating when the stream
        stalls, breaks or breaks the protocol. An iteration that ends says nothing of how the response ended: that
        is the terminal event's to say.
        """
        ...

    async def ping(self) -> None:
        """Returns when the server answers and takes the key. Raises a ``ProviderError`` that says what to mend."""
        ...

    def resume(self, response_id: str, *, after: int) -> AbstractAsyncContextManager[AsyncIterator[ResponseEvent]]:
        """The events of a background response that follow ``sequence_number`` ``after``; raises as ``stream`` does."""
        ...

    async def cancel(self, response_id: str) -> None:
        """Ends a background response. Raises nothing: a response that cannot be cancelled ends by itself."""
        ...

    async def keeps(self, response_id: str) -> bool | None:
        """Whether the server still has a response, as one that chains must; None when it could not be asked."""
        ...

    async def aclose(self) -> None:
        """Closes all connections; a later use opens new ones."""
        ...
