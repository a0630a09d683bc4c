"""Socket events that Chainlit's own handlers would get wrong, and what replaces them.

* ``connection_successful``: after Chainlit's, a conversation that is being answered is painted again from its start.
* ``stop``: Chainlit's cancels the handler of this socket and writes a message of its own; a turn here belongs to the
  conversation, so Stop works from any tab and after a reload.
"""

from __future__ import annotations

from typing import Any

from chainlit.server import sio
from chainlit.session import WebsocketSession

from chat_app.interface.page import Page, owner_of


def install(page: Page) -> None:
    """Puts the handlers in Chainlit's place."""
    original = sio.handlers["/"]["connection_successful"]

    async def connected(sid: str) -> None:
        await original(sid)
        if session := WebsocketSession.get(sid):
            await page.reattach(session)

    async def stop(sid: str) -> None:
        session = WebsocketSession.get(sid)
        owner = owner_of(session) if session else None
        if session and owner and (turn := page.runtime.turns.of_thread(session.thread_id, owner)):
            turn.stop()

    async def ignored(_sid: str, *_arguments: Any) -> None:
        """What other parts of Chainlit listen to and this app does not use."""

    sio.on("connection_successful", connected)
    sio.on("stop", stop)
    for name in ("window_message", "audio_start", "audio_chunk", "audio_end", "message_favorite", "fetch_favorites"):
        sio.on(name, ignored)
