"""Middleware before every route: API key, body size, request id, and errors in the API's format.

On loopback without a configured key, any bearer key is accepted, but one is required. A web page in a browser on this
machine cannot send an ``Authorization`` header to another origin, so it is kept out.
"""

import asyncio
import hmac
import secrets
from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chat_app.offline.api.listing import error_response
from chat_app.offline.wire.errors import ApiError

_PATIENCE: Final = 10.0
"""Seconds to wait for the rest of a refused body."""
_OPEN: Final = frozenset({"/healthz", "/openapi.json"})


class ApiGuard:
    """ASGI middleware that checks the key and limits bodies, in bytes."""

    def __init__(self, app: ASGIApp, *, key: str | None, max_body: int, max_upload: int) -> None:
        self._app = app
        self._key = key
        self._max_body = max_body
        self._max_upload = max_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, and pass it on if it is allowed."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        refusal = None if scope["path"] in _OPEN else self._refusal(Headers(scope=scope))
        if scope["type"] == "websocket":
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": "a bearer key is required"})
            return
        limit, send = self._max_upload if scope["path"] == "/v1/files" else self._max_body, _with_request_id(send)
        if refusal is None:
            await self._app(scope, _limited(receive, limit), send)
        else:
            await _read_away(receive, 4 * limit)
            await error_response(refusal)(scope, receive, send)

    def _refusal(self, headers: Headers) -> ApiError | None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            said = "You didn't provide an API key. Send one in an Authorization header: `Authorization: Bearer KEY`."
            return _refused(401, said, "missing_api_key")
        if self._key is not None and not hmac.compare_digest(given.strip().encode(), self._key.encode()):
            said = "Incorrect API key provided. The server expects the key in its ASCLEPIUS_OFFLINE_KEY."
            return _refused(401, said, "invalid_api_key")
        return None


def _refused(status: int, message: str, code: str) -> ApiError:
    return ApiError(status, message, code=code, headers={"connection": "close"})


async def _read_away(receive: Receive, most: int) -> None:
    """Read and discard the rest of a body: a client that is still sending would not see the answer."""
    read = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while read <= most:
                message = await receive()
                read += len(message.get("body", b""))
                if not message.get("more_body"):
                    return


def _limited(receive: Receive, limit: int) -> Receive:
    read = 0

    async def limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > limit:
            if message.get("more_body"):
                await _read_away(receive, 4 * limit)
            raise _refused(413, f"The request is larger than {limit} bytes.", "request_too_large")
        return message

    return limited


def _with_request_id(send: Send) -> Send:
    request_id = f"req_{secrets.token_hex(16)}"

    async def stamped(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["x-request-id"] = request_id
        await send(message)

    return stamped
