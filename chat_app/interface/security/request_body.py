"""The body of a request, bounded in size and time, and the answer to a request that is refused."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

BODY_SECONDS: Final = 300.0
TOO_LARGE: Final = "The request is too large."


class RequestBody:
    """A request's body, cut off when it exceeds the limit of its path or takes longer than ``BODY_SECONDS``."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive = receive
        self._left = largest
        self._until: float | None = None
        self._refusal: tuple[int, str] | None = None
        self._whole = False

    async def receive(self) -> Message:
        """Return the next message; a disconnect once the body was cut off."""
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        try:
            # After the body an app waits for the client to leave.
            async with asyncio.timeout_at(None if self._whole else self._until):
                message = await self._receive()
        except TimeoutError:
            self._refusal = 408, "The request took too long to arrive."
            return {"type": "http.disconnect"}
        self._whole = not message.get("more_body")
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self._refusal = 413, TOO_LARGE
        return {"type": "http.disconnect"} if self._refusal else message

    def unless_refused(self, send: Send) -> Send:
        """Wrap ``send`` to answer with the reason when the body was cut off."""
        refused = False

        async def checked(message: Message) -> None:
            nonlocal refused
            if self._refusal is None:
                await send(message)
            elif not refused:
                refused = True
                await refuse({"type": "http"}, self._receive, send, *self._refusal)

        return checked


async def refuse(scope: Scope, receive: Receive, send: Send, status: int, detail: str) -> None:
    """Answer with a problem document, or close the socket."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    # What OpenAI's clients read.
    error = {"message": detail, "type": "invalid_request_error", "param": None, "code": None}
    more: dict[str, Any] = {"error": error} if str(scope.get("path")).startswith("/v1/") else {}
    await problem(status, detail, **more)(scope, receive, send)


def problem(status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: object) -> JSONResponse:
    """Return a problem document (RFC 9457)."""
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return JSONResponse(content, status_code=status, headers=headers, media_type="application/problem+json")
