"""``/mcp``: the MCP server over streamable HTTP, for a login cookie or an API key.

Each request is complete in itself, so any replica answers it. Origin and host are checked by the guard.
"""

from fastapi import HTTPException
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from chat_app.interface.runtime import Runtime
from chat_app.mcp.mcp_server import PublishedContent


class McpRoute:
    """ASGI app of the address."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._content: PublishedContent | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request. Raises ``Unauthenticated``, or ``AsclepiusError`` when the services did not open."""
        request = Request(scope)
        user = self._runtime.identity.from_cookies(request.cookies)
        if request.method != "POST":
            # No server-sent events outside of requests, and no sessions that could be deleted.
            raise HTTPException(405, "This address takes another method.", headers={"Allow": "POST"})
        app = await self._runtime.ready()
        if self._content is None:
            self._content = PublishedContent(app.drugs, app.guidelines, self._runtime.audit)
        requests = StreamableHTTPSessionManager(self._content.server_for(user), json_response=True, stateless=True)
        async with requests.run():
            await requests.handle_request(scope, receive, send)
