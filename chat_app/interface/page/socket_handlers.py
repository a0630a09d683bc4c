"""Socket handlers that replace Chainlit's.

* ``connection_successful``: opens the conversation also when the session's first socket closed early, and shows a
  running answer from its start.
* ``stop``: Chainlit's cancels this socket's handler and writes a message. Here a turn belongs to the conversation, so
  Stop works from any tab and after a reload.
* ``chat_settings_change``: Chainlit's keeps settings per tab. Here they belong to the conversation.
* ``window_message``: receives the mark of a rendered window of text.
* ``edit_message``: Chainlit's keeps the old answer and later messages. Here they are deleted, also for the agent.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from chainlit.server import sio
from chainlit.session import WebsocketSession
from pydantic import BaseModel, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from chat_app.errors import AsclepiusError
from chat_app.interface.i18n.translation import language_of, say
from chat_app.interface.page.editing import edit_question
from chat_app.interface.page.page import ChatPage
from chat_app.interface.page.page_settings import change, show_panel
from chat_app.interface.rendering.sockets import emit

logger = logging.getLogger(__name__)


class _Edited(BaseModel):
    id: str
    output: str


class EditedQuestion(BaseModel):
    """What the page sends when a question has been edited."""

    message: _Edited


def install(page: ChatPage) -> None:
    """Replace Chainlit's handlers."""
    original = sio.handlers["/"]["connection_successful"]

    async def connected(sid: str) -> None:
        session = WebsocketSession.get(sid)
        if session and session.thread_id_to_resume and not session.has_first_interaction:
            session.restored = False
        await original(sid)
        if session:
            await show_panel(page.runtime, session)
            await page.reattach(session)

    async def ignored(_sid: str, *_arguments: Any) -> None:
        """Ignore events of features that this app does not use."""

    sio.on("connection_successful", connected)
    sio.on("stop", partial(_stop, page))
    sio.on("chat_settings_change", partial(_change, page))
    sio.on("edit_message", partial(_edit, page))
    sio.on("window_message", partial(_handed_back, page))
    for name in ("audio_start", "audio_chunk", "audio_end", "message_favorite", "fetch_favorites"):
        sio.on(name, ignored)


async def _handed_back(page: ChatPage, sid: str, payload: Any) -> None:
    if session := WebsocketSession.get(sid):
        page.pace.handed_back(session, payload)


async def _stop(page: ChatPage, sid: str) -> None:
    if session := WebsocketSession.get(sid):
        page.stop(session)


async def _change(page: ChatPage, sid: str, values: Any) -> None:
    session = WebsocketSession.get(sid)
    if session and isinstance(values, dict):
        await change(page.runtime, session, values)


async def _edit(page: ChatPage, sid: str, payload: Any) -> None:
    session = WebsocketSession.get(sid)
    try:
        given = EditedQuestion.model_validate(payload).message
    except ValidationError:
        return
    if session:
        session.current_task = asyncio.create_task(_ask_edited(page, session, given.id, given.output))


async def _ask_edited(page: ChatPage, session: WebsocketSession, message_id: str, text: str) -> None:
    await emit(session, "task_start", {})
    try:
        await edit_question(page, session, message_id, text)
    except (AsclepiusError, SQLAlchemyError) as error:
        logger.warning("An edited question was not asked: %s", type(error).__name__)
        said = say(language_of(session.language), "toast.edit_failed")
        await emit(session, "toast", {"message": said, "type": "error"})
    finally:
        await emit(session, "task_end", {})
