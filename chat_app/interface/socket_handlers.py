"""Socket events that Chainlit's own handlers would get wrong, and what replaces them.

* ``connection_successful``: after Chainlit's, a conversation that is being answered is painted again from its start.
* ``stop``: Chainlit's cancels the handler of this socket and writes a message of its own; a turn here belongs to the
  conversation, so Stop works from any tab and after a reload.
* ``edit_message``: Chainlit's keeps the old answer and what followed; here both go, and the agent forgets them too.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from chainlit.server import sio
from chainlit.session import WebsocketSession
from pydantic import BaseModel, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from chat_app.errors import AsclepiusError
from chat_app.interface.editing import edit_question
from chat_app.interface.page import Page, emit
from chat_app.interface.page_options import page_options, settings_panel

logger = logging.getLogger(__name__)

EDIT_FAILED = "The edited question could not be asked. Reload the page and try again."


class _Edited(BaseModel):
    id: str
    output: str


class EditedQuestion(BaseModel):
    """What the page sends when a question has been edited."""

    message: _Edited


def install(page: Page) -> None:
    """Puts the handlers in Chainlit's place."""
    original = sio.handlers["/"]["connection_successful"]

    async def connected(sid: str) -> None:
        await original(sid)
        if session := WebsocketSession.get(sid):
            options = page_options(session.chat_settings)
            panel: Any = settings_panel(page.runtime.settings, options)
            await emit(session, "chat_settings", panel)
            await page.reattach(session)

    async def stop(sid: str) -> None:
        if session := WebsocketSession.get(sid):
            page.stop(session)

    async def edit(sid: str, payload: Any) -> None:
        session = WebsocketSession.get(sid)
        try:
            given = EditedQuestion.model_validate(payload).message
        except ValidationError:
            return
        if session:
            session.current_task = asyncio.create_task(_edited(session, given.id, given.output))

    async def _edited(session: WebsocketSession, message_id: str, text: str) -> None:
        await emit(session, "task_start", {})
        try:
            await edit_question(page, session, message_id, text)
        except (AsclepiusError, SQLAlchemyError) as error:
            logger.warning("An edited question was not asked: %s", type(error).__name__)
            await emit(session, "toast", {"message": EDIT_FAILED, "type": "error"})
        finally:
            await emit(session, "task_end", {})

    async def ignored(_sid: str, *_arguments: Any) -> None:
        """What other parts of Chainlit listen to and this app does not use."""

    sio.on("connection_successful", connected)
    sio.on("stop", stop)
    sio.on("edit_message", edit)
    for name in ("window_message", "audio_start", "audio_chunk", "audio_end", "message_favorite", "fetch_favorites"):
        sio.on(name, ignored)
