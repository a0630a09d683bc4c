"""Socket handlers that replace Chainlit's.

* ``connect``: Chainlit's reads the whole conversation to see whose it is. Here it reads the conversation's row alone.
* ``connection_successful``: opens the conversation also when the session's first socket closed early, and shows a
  running answer from its start.
* ``stop``: Chainlit's cancels this socket's handler and writes a message. Here a turn belongs to the conversation, so
  Stop works from any tab and after a reload.
* ``chat_settings_change``: Chainlit's keeps settings per tab. Here they belong to the conversation.
* ``window_message``: receives the mark of a rendered window of text, and requests for earlier turns.
* ``client_message``: Chainlit's writes a question under any id, also that of another user's message, and its own steps
  beside those of the turn. Here a known id is refused, and of the message only its text and files count.
* ``edit_message``: Chainlit's keeps the old answer and later messages. Here they are deleted, also for the agent.

Each of them checks that the login is still valid.
"""

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final
from weakref import WeakValueDictionary

from chainlit.server import sio
from chainlit.session import WebsocketSession
from pydantic import UUID4, BaseModel, Field, ValidationError

from chat_app.database.database_engine import DATABASE_ERRORS
from chat_app.errors import AuditUnavailable
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.history.history_layer import without_messages
from chat_app.interface.page.page import ChatPage
from chat_app.interface.page.page_settings import change, show_panel
from chat_app.interface.page.recent_turns import SHOW_EARLIER
from chat_app.interface.rendering.sockets import PageWebSocket, emit, owner_of, toast

logger = logging.getLogger(__name__)

_NOT_FOUND: Final = {"status": 404}
"""Answer to an event that names what another user owns."""
_UNUSED: Final = (
    *("audio_start", "audio_chunk", "audio_end", "chat_settings_edit", "fetch_favorites", "message_favorite"),
)
"""Events of Chainlit's features that this app does not have."""
_changing: Final[WeakValueDictionary[str, asyncio.Lock]] = WeakValueDictionary()
"""Held while a socket's settings are changed: a question that is sent right after that is asked with the new ones."""


class _Asked(BaseModel):
    id: UUID4
    output: str


class _File(BaseModel):
    id: str = Field(max_length=64)


class SentQuestion(BaseModel):
    """The message of a socket that asks a question, or an edited one."""

    message: _Asked
    file_references: list[_File] | None = Field(None, alias="fileReferences")


def install(page: ChatPage) -> None:
    """Replace Chainlit's handlers."""
    connect, original = (sio.handlers["/"][name] for name in ("connect", "connection_successful"))

    async def connecting(*given: Any) -> Any:
        token = without_messages.set(True)
        try:
            return await connect(*given)
        finally:
            without_messages.reset(token)

    async def connected(sid: str) -> None:
        session = WebsocketSession.get(sid)
        if session and session.thread_id_to_resume and not session.has_first_interaction:
            session.restored = False
        # Read before the history, which has each other turn from then on.
        running = page.running(session) if session else ()
        await original(sid)
        if session:
            await show_panel(page.runtime, session)
            await page.reattach(session, running)

    sio.on("connect", connecting)
    sio.on("connection_successful", connected)
    sio.on("client_message", partial(_ask, page))
    sio.on("stop", partial(_stop, page))
    sio.on("chat_settings_change", partial(_change, page))
    sio.on("edit_message", partial(_edit, page))
    sio.on("window_message", partial(_handed_back, page))
    setattr(sio.eio, "_async", {**getattr(sio.eio, "_async"), "websocket": PageWebSocket})  # noqa: B009, B010
    for name in _UNUSED:
        sio.handlers["/"].pop(name, None)


async def _handed_back(page: ChatPage, sid: str, payload: Any) -> None:
    if session := WebsocketSession.get(sid):
        page.pace.handed_back(session, payload)
        if isinstance(payload, dict) and SHOW_EARLIER in payload and await _signed_in(page, sid):
            await page.show_earlier(session)


async def _signed_in(page: ChatPage, sid: str) -> WebsocketSession | None:
    """Return the session of a socket whose login is still valid; tell the browser when it no longer is."""
    session: WebsocketSession | None = WebsocketSession.get(sid)
    if session is None or await page.runtime.sign_in.is_valid(session.token):
        return session
    await toast(session, "toast.signed_out")
    await emit(session, "task_end", {})
    return None


async def _ask(page: ChatPage, sid: str, payload: Any) -> dict[str, int] | None:
    try:
        given = SentQuestion.model_validate(payload)
    except ValidationError:
        return _NOT_FOUND
    async with _changing.setdefault(sid, asyncio.Lock()):
        session = await _signed_in(page, sid)
    if session is None:
        return None
    message_id = str(given.message.id)
    if await _is_known(page, message_id):
        await emit(session, "task_end", {})
        return _NOT_FOUND
    files = [session.files[file.id] for file in given.file_references or () if file.id in session.files]
    _begin(session, page.ask(session, message_id, _cut(page, given.message.output), files))
    return None


async def _is_known(page: ChatPage, step_id: str) -> bool:
    try:
        return await page.runtime.history.owner_of("step", step_id) is not None
    except DATABASE_ERRORS:
        # The question is answered all the same; the history never moves a message to another conversation.
        return False


async def _stop(page: ChatPage, sid: str) -> None:
    if session := await _signed_in(page, sid):
        await page.stop(session)


async def _change(page: ChatPage, sid: str, values: Any) -> None:
    async with _changing.setdefault(sid, asyncio.Lock()):
        session = await _signed_in(page, sid)
        if not session or not isinstance(values, dict):
            return
        changed, owner = ", ".join(name for name in PageOptions.model_fields if name in values), owner_of(session) or ""
        try:
            await page.runtime.audit.record("settings", owner, conversation=session.thread_id, detail=changed)
            await change(page.runtime, session, values)
        except AuditUnavailable:
            await show_panel(page.runtime, session)


async def _edit(page: ChatPage, sid: str, payload: Any) -> None:
    try:
        given = SentQuestion.model_validate(payload).message
    except ValidationError:
        return
    async with _changing.setdefault(sid, asyncio.Lock()):
        session = await _signed_in(page, sid)
    if session:
        _begin(session, page.edit(session, str(given.id), _cut(page, given.output)))


def _cut(page: ChatPage, text: str) -> str:
    """Return the text of a question; one that is too long is cut one character past the limit."""
    return text[: page.runtime.settings.server.max_message_length + 1]


def _begin(session: WebsocketSession, asking: Coroutine[Any, Any, None]) -> None:
    """Run ``asking`` beside the socket's handler, which returns at once."""
    session.current_task = asyncio.create_task(_asked(session, asking))


async def _asked(session: WebsocketSession, asking: Coroutine[Any, Any, None]) -> None:
    await emit(session, "task_start", {})
    try:
        await asking
    except Exception as error:  # noqa: BLE001 - the boundary of a question: its page must not wait for ever
        logger.warning("A question was not asked: %s", type(error).__name__)
        await toast(session, "toast.ask_failed")
    finally:
        await emit(session, "task_end", {})
