"""Socket events that Chainlit's own handlers would get wrong, and what replaces them.

* ``connection_successful``: a session whose first socket went before it was heard is new and gets its conversation
  opened, where Chainlit's would not. After it, an answer that is being given is painted again from its start.
* ``stop``: Chainlit's cancels the handler of this socket and writes a message of its own; a turn here belongs to the
  conversation, so Stop works from any tab and after a reload.
* ``chat_settings_change``: Chainlit's keeps them with one tab until it closes; here they belong to the conversation.
* ``window_message``: a browser hands back the mark of a window of text, which says that it has taken it.
* ``edit_message``: Chainlit's keeps the old answer and what followed; here both go, and the agent forgets them too.
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
from chat_app.interface.page.page import Page
from chat_app.interface.page.page_settings import change, show_panel
from chat_app.interface.rendering.sockets import emit

logger = logging.getLogger(__name__)


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
        session = WebsocketSession.get(sid)
        if session and session.thread_id_to_resume and not session.has_first_interaction:
            session.restored = False
        await original(sid)
        if session:
            await show_panel(page.runtime, session)
            await page.reattach(session)

    async def ignored(_sid: str, *_arguments: Any) -> None:
        """What other parts of Chainlit listen to and this app does not use."""

    sio.on("connection_successful", connected)
    sio.on("stop", partial(_stop, page))
    sio.on("chat_settings_change", partial(_change, page))
    sio.on("edit_message", partial(_edit, page))
    sio.on("window_message", partial(_handed_back, page))
    for name in ("audio_start", "audio_chunk", "audio_end", "message_favorite", "fetch_favorites"):
        sio.on(name, ignored)


async def _handed_back(page: Page, sid: str, payload: Any) -> None:
    if session := WebsocketSession.get(sid):
        page.pace.handed_back(session, payload)


async def _stop(page: Page, sid: str) -> None:
    if session := WebsocketSession.get(sid):
        page.stop(session)


async def _change(page: Page, sid: str, values: Any) -> None:
    session = WebsocketSession.get(sid)
    if session and isinstance(values, dict):
        await change(page.runtime, session, values)


async def _edit(page: Page, sid: str, payload: Any) -> None:
    session = WebsocketSession.get(sid)
    try:
        given = EditedQuestion.model_validate(payload).message
    except ValidationError:
        return
    if session:
        session.current_task = asyncio.create_task(_ask_edited(page, session, given.id, given.output))


async def _ask_edited(page: Page, session: WebsocketSession, message_id: str, text: str) -> None:
    await emit(session, "task_start", {})
    try:
        await edit_question(page, session, message_id, text)
    except (AsclepiusError, SQLAlchemyError) as error:
        logger.warning("An edited question was not asked: %s", type(error).__name__)
        said = say(language_of(session.language), "toast.edit_failed")
        await emit(session, "toast", {"message": said, "type": "error"})
    finally:
        await emit(session, "task_end", {})
