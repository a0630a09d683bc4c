"""The interface to a model server, and the request that is sent to it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal, Protocol

from pydantic import Field

from chat_app.response_events import ResponseEvent
from tools.types import Frozen

ToolChoice = Literal["auto", "none", "required"]
EventBatch = Sequence[ResponseEvent]
"""Events that arrived in one read, in order; never empty."""
BEFORE_FIRST: Final = -1
"""The ``sequence_number`` before a response's first event."""


class ResponseRequest(Frozen):
    """A request to ``POST /responses``, always streamed.

    ``input`` holds the new items when ``previous_response_id`` is set, else the whole conversation.
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
    """Keep the response running at the server when the connection breaks, so that the stream can be resumed."""
    resumes: str | None = None
    """Background response to read from its beginning instead of requesting one; never sent."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Additional fields; they take precedence over the ones above."""

    def payload(self) -> dict[str, Any]:
        """Return the request's JSON body without ``stream``, unset and empty fields omitted."""
        body = self.model_dump(exclude={"extra", "resumes"}, exclude_none=True)
        body = {key: value for key, value in body.items() if value != () or key == "input"}
        if not self.tools:
            body.pop("tool_choice", None)
            body.pop("parallel_tool_calls", None)
        return {**body, **self.extra}


class ModelClient(Protocol):
    """A server that implements the Responses API."""

    def stream(self, request: ResponseRequest) -> AbstractAsyncContextManager[AsyncIterator[EventBatch]]:
        """Open one response and iterate its events; leaving the block closes the connection.

        The end of the iteration does not say how the response ended; only its terminal event does. Raises a
        ``ProviderError`` on entering when the request fails, and while iterating when the stream stalls or breaks.
        """
        ...

    async def delete(self, response_id: str) -> None:
        """Erase a stored response; one that is gone, or that the server never keeps, is no error.

        Raises ``ProviderError`` when the server cannot be reached, or refuses.
        """
        ...

    async def ping(self) -> None:
        """Return when the server answers and accepts the key; raise a ``ProviderError`` that says what to change."""
        ...

    def resume(self, response_id: str, *, after: int) -> AbstractAsyncContextManager[AsyncIterator[EventBatch]]:
        """Iterate the events of a background response behind ``sequence_number`` ``after``; raises like ``stream``.

        ``BEFORE_FIRST`` iterates all of them.
        """
        ...

    async def cancel(self, response_id: str) -> None:
        """Cancel a background response; failures are ignored because the response ends on its own."""
        ...

    async def keeps(self, response_id: str) -> bool | None:
        """Return whether the server still stores a response; None when it could not be asked."""
        ...

    async def aclose(self) -> None:
        """Close all connections; a later use opens new ones."""
        ...
