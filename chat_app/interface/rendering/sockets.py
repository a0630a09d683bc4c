"""The browsers that have a conversation open, and what is sent to one of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from chainlit.server import sio
from chainlit.session import WebsocketSession, ws_sessions_id

from chat_app.interface.rendering.chainlit_renderer import Emission


def owner_of(session: WebsocketSession) -> str | None:
    return session.user.identifier if session.user else None


def sessions_of(thread_id: str, owner: str) -> list[WebsocketSession]:
    """The sockets that have that conversation open, all of ``owner``."""
    return [s for s in list(ws_sessions_id.values()) if s.thread_id == thread_id and owner_of(s) == owner]


def drop_uploads(thread_id: str, owner: str) -> None:
    """Erases the files that were sent up from that conversation: Chainlit keeps them as long as its sockets."""
    for session in sessions_of(thread_id, owner):
        session.files.clear()
        shutil.rmtree(session.files_dir, ignore_errors=True)


def is_there(session: WebsocketSession, socket: str) -> bool:
    """Whether ``session`` still has the socket that it had."""
    return session.socket_id == socket and session.id in ws_sessions_id


def waiting(session: WebsocketSession) -> int:
    """Messages that this browser has not taken yet; 0 when its socket is gone."""
    manager: Any = sio.manager
    engine_id = manager.eio_sid_from_sid(session.socket_id, "/")
    socket = sio.eio.sockets.get(engine_id) if engine_id else None
    return socket.queue.qsize() if socket is not None else 0


async def emit(session: WebsocketSession, event: str, payload: Mapping[str, Any]) -> None:
    """One message to one browser. Chainlit's annotation says this returns nothing; it returns an awaitable."""
    sending: Any = session.emit
    await sending(event, payload)


async def send(session: WebsocketSession, emissions: Iterable[Emission]) -> None:
    for emission in emissions:
        await emit(session, emission.event, emission.payload)
