"""Handing browsers over to another replica while this one is being stopped."""

from starlette.types import ASGIApp, Receive, Scope, Send

from chat_app.interface.turns.live_turns import LiveTurns


class SocketDrain:
    """ASGI middleware that refuses new WebSockets with 503 while the server drains.

    A balancer then connects the browser to another replica.
    """

    def __init__(self, app: ASGIApp, *, turns: LiveTurns) -> None:
        self._app, self._turns = app, turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket" or not self._turns.draining:
            await self._app(scope, receive, send)
            return
        await send({"type": "websocket.http.response.start", "status": 503, "headers": [(b"retry-after", b"1")]})
        await send({"type": "websocket.http.response.body", "body": b""})


async def release_browsers(turns: LiveTurns) -> None:
    """Close the sockets of browsers that wait for no answer of this process; they connect again by themselves."""
    # Chainlit reads its configuration on import, which the server prepares after it has imported this module.
    from chainlit.session import ws_sessions_id

    from chat_app.interface.rendering.sockets import close_transport, owner_of

    for session in list(ws_sessions_id.values()):
        owner = owner_of(session)
        if owner is None or not turns.of_thread(session.thread_id, owner):
            await close_transport(session)
