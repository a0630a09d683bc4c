"""The sockets of the page, without a browser: what Chainlit's page sends, and all that it is sent."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import httpx
import socketio

from tests.support.page_server import ServedPage

# Events that the page accepts, and whether they name something.
NAMELESS = {"connect", "disconnect", "connection_successful", "clear_session", "stop"}
NAMING = {"client_message", "edit_message", "window_message", "chat_settings_change"}


class Addressed(Protocol):
    """A page that is served."""

    @property
    def url(self) -> str: ...


class Address(NamedTuple):
    """The address of a page that something else serves."""

    url: str


@asynccontextmanager
async def socket_of(
    page: Addressed,
    client: httpx.Client | httpx.AsyncClient,
    thread_id: str = "",
    *,
    session: str = "",
    ready: bool = True,
    trust: ssl.SSLContext | None = None,
) -> AsyncGenerator[tuple[socketio.AsyncClient, list[tuple[str, Any]], str]]:
    """A page's socket, as Chainlit's page opens it, with what it gets and the id of its session.

    ``session``: the one to come back to. Unless it is ``ready``, the page goes before it has said that it is there.
    ``trust``: the certificates that it trusts.
    """
    secured = {"ssl": trust} if trust else None
    socket = socketio.AsyncClient(request_timeout=60, websocket_extra_options=secured)
    events: list[tuple[str, Any]] = []

    def noted(name: str, data: Any = None) -> None:
        events.append((name, data))

    socket.on("*", noted)
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    session = session or str(uuid4())
    await socket.connect(
        page.url,
        socketio_path="/ws/socket.io",
        transports=["websocket"],
        headers={"Cookie": cookie},
        auth={"clientType": "webapp", "sessionId": session, "threadId": thread_id, "userEnv": "{}", "chatProfile": ""},
        wait_timeout=60,
    )
    if ready:
        await socket.emit("connection_successful")
    try:
        yield socket, events, session
    finally:
        await socket.disconnect()


def hand_back_marks(socket: socketio.AsyncClient) -> None:
    """Return the marks of rendered text, as the page does, while the socket is open."""
    # Imports Chainlit, which needs the page's folder.
    from chat_app.interface.page.pace import MARK

    async def mark(data: Any) -> None:
        if MARK in data and "/" in socket.namespaces:
            await socket.emit("window_message", data)

    socket.on("window_message", mark)


async def seen(events: list[tuple[str, Any]], name: str, count: int = 1) -> list[Any]:
    async with asyncio.timeout(60):
        while sum(event == name for event, _ in events) < count:
            await asyncio.sleep(0.02)
    return [data for event, data in events if event == name]


def asking(question: str) -> dict[str, Any]:
    """What the page sends when somebody asks."""
    message = {
        "id": str(uuid4()),
        "type": "user_message",
        "output": question,
        "name": "x",
        "metadata": {},
        "createdAt": "2026-01-01T00:00:00Z",
        "threadId": "",
    }
    return {"message": message, "fileReferences": []}


async def asked(page: ServedPage, client: httpx.Client, question: str) -> tuple[str, str, str]:
    """Asks over a socket; returns the conversation's, the run's and the References element's id."""
    async with socket_of(page, client) as (socket, events, _):
        await socket.emit("client_message", asking(question))
        element = (await seen(events, "element"))[0]
        run = next(data for event, data in events if event == "new_message" and data.get("type") == "run")
        # The socket's own, that of the answer once it is shown, and that of the question once both are kept.
        await seen(events, "task_end", 3)
        return element["threadId"], run["id"], element["id"]
