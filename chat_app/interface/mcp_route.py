"""``/mcp``: the MCP server over streamable HTTP, for a login cookie or an API key.

Each request is complete in itself, so any replica answers it. Origin and host are checked by the guard.
"""

from typing import Final

from fastapi import HTTPException
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import Unauthenticated
from chat_app.mcp.mcp_server import PublishedContent, malformed

_NO_LOGIN: Final = (
    "Send an API key as `Authorization: Bearer ask_...`. `asclepius keys create USER --scope read` makes one. "
    "A login cookie of the page works, too."
)


class McpRoute:
    """ASGI app of the address."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._content: PublishedContent | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request. Raises ``HTTPException``, or ``AsclepiusError`` when the services did not open."""
        request = Request(scope, receive)
        try:
            user = self._runtime.identity.from_cookies(request.cookies)
        except Unauthenticated:
            raise HTTPException(401, _NO_LOGIN, headers={"WWW-Authenticate": "Bearer"}) from None
        if request.method != "POST":
            # No server-sent events outside of requests, and no sessions that could be deleted.
            raise HTTPException(405, "This address takes another method.", headers={"Allow": "POST"})
        body = await _body_of(request)
        # The SDK's own error would repeat the request's text.
        if (refusal := malformed(body)) is not None:
            await JSONResponse(refusal.model_dump(mode="json"), 400)(scope, receive, send)
            return
        app = await self._runtime.ready()
        if self._content is None:
            self._content = PublishedContent(app.drugs, app.guidelines, self._runtime.audit)
        requests = StreamableHTTPSessionManager(self._content.server_for(user), json_response=True, stateless=True)
        async with requests.run():
            await requests.handle_request(scope, _again(body, receive), send)


async def _body_of(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect:
        # The guard answers in our place where it cut the body off.
        return b""


def _again(body: bytes, receive: Receive) -> Receive:
    """Return ``receive`` with the ``body``, which was already read, before it."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return read.pop() if read else await receive()

    return receive_again
