"""Sockets of the browsers that have a conversation open."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from chainlit.element import Element
from chainlit.server import sio
from chainlit.session import WebsocketSession, ws_sessions_id
from engineio.async_drivers.asgi import WebSocket
from engineio.async_socket import AsyncSocket
from engineio.packet import MESSAGE, Packet
from socketio.packet import EVENT
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import OPEN

from chat_app.interface.i18n.translation import language_of, say
from chat_app.interface.rendering.turn_steps import ElementDict

_encoded = json.JSONEncoder(separators=(",", ":")).encode


class PageWebSocket(WebSocket):  # type: ignore[misc]
    """A browser's WebSocket. Its messages pass Engine.IO's queue, the tasks that empty it and the layers of ASGI by."""

    async def send(self, message: str | bytes) -> None:
        """Send a packet from the queue. With the first one the queue is empty, and later messages pass it by."""
        await super().send(message)
        engine, connection = self.handler.__self__, getattr(self.asgi_receive, "__self__", None)
        if engine.upgraded and isinstance(connection, WebSocketsSansIOProtocol):
            engine.connection, engine.send = connection, partial(_send_packet, engine, connection)


async def _send_packet(engine: AsyncSocket, connection: WebSocketsSansIOProtocol, packet: Packet) -> None:
    if packet.packet_type != MESSAGE or packet.binary:
        await AsyncSocket.send(engine, packet)
    elif await engine.check_ping_timeout() and connection.conn.state is OPEN and not connection.transport.is_closing():
        connection.conn.send_text(str(packet.encode()).encode())
        connection.transport.write(b"".join(connection.conn.data_to_send()))


def owner_of(session: WebsocketSession) -> str | None:
    """Return the user of a socket."""
    return session.user.identifier if session.user else None


def sessions_of(thread_id: str, owner: str) -> list[WebsocketSession]:
    """Return the sockets of ``owner`` that have that conversation open."""
    return [s for s in list(ws_sessions_id.values()) if s.thread_id == thread_id and owner_of(s) == owner]


async def disconnect_user(user: str) -> None:
    """Close all sockets of ``user`` in this process."""
    for session in [s for s in list(ws_sessions_id.values()) if owner_of(s) == user]:
        await sio.disconnect(session.socket_id)


async def close_transport(session: WebsocketSession) -> None:
    """Close a browser's connection without Socket.IO's goodbye, after which it would not connect again."""
    if (socket := sio.eio.sockets.get(_engine_id(session))) is not None:
        await socket.queue.put(None)


def drop_uploads(thread_id: str, owner: str) -> None:
    """Erase files uploaded in that conversation, which Chainlit keeps as long as its sockets."""
    for session in sessions_of(thread_id, owner):
        session.files.clear()
        shutil.rmtree(session.files_dir, ignore_errors=True)


def held_bytes() -> Counter[str]:
    """Return the bytes of uploaded files that Chainlit keeps for the sockets of this process, by user."""
    held: Counter[str] = Counter()
    for session in list(ws_sessions_id.values()):
        held[owner_of(session) or ""] += sum(file["size"] or 0 for file in session.files.values())
    return held


def is_there(session: WebsocketSession, socket: str) -> bool:
    """Return whether ``session`` still has that socket."""
    return session.socket_id == socket and session.id in ws_sessions_id


async def drained(session: WebsocketSession) -> None:
    """Wait while this browser's connection takes no more; return at once when its socket is gone."""
    connection = getattr(sio.eio.sockets.get(_engine_id(session)), "connection", None)
    if connection is not None:
        await connection.writable.wait()


async def emit(session: WebsocketSession, event: str, payload: Mapping[str, Any]) -> None:
    """Send one message to one browser, without the Socket.IO manager, which starts a task for every message."""
    if engine_id := _engine_id(session):
        # What ``socketio.packet.Packet`` encodes, without its search for binary data.
        await sio.eio.send(engine_id, f"{EVENT}{_encoded([event, payload])}")


async def toast(session: WebsocketSession, message_id: str, kind: Literal["warning", "error"] = "error") -> None:
    """Show a message of the catalogues in a corner of the page."""
    said = say(language_of(session.language), message_id)
    await emit(session, "toast", {"message": said, "type": kind})


def _engine_id(session: WebsocketSession) -> str | None:
    """Return the id of the browser's WebSocket; None when it is gone."""
    manager: Any = sio.manager
    found: str | None = manager.eio_sid_from_sid(session.socket_id, "/")
    return found


def attachment(file: Mapping[str, Any], thread_id: str, message_id: str) -> ElementDict:
    """Return the element that shows an uploaded file, as Chainlit keeps it, under the message that it was sent with."""
    return {
        "id": file["id"],
        "threadId": thread_id,
        "type": Element.infer_type_from_mime(file["type"]),
        "chainlitKey": file["id"],
        "name": file["name"],
        "display": "inline",
        "forId": message_id,
        "mime": file["type"],
    }
