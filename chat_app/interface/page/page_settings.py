"""Settings of a conversation on the page, shared by its tabs and stored with it."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from chainlit.session import WebsocketSession

from chat_app.database.database_engine import DATABASE_ERRORS
from chat_app.errors import InputRejected
from chat_app.interface.conversation.own_documents import searched_beside
from chat_app.interface.conversation.page_options import PageOptions, in_force, page_options, settings_panel
from chat_app.interface.i18n.translation import language_of, say
from chat_app.interface.rendering.sockets import emit, owner_of, sessions_of
from chat_app.interface.runtime import Runtime
from tools.errors import ToolError

logger = logging.getLogger(__name__)

KEY = "chat_settings"
"""Key of a thread's metadata, and of what Chainlit gives a page that resumes it."""
IN_FORCE = "asclepius_in_force"
"""Key of the message that tells the page which settings the next question has."""
_PATIENCE = 2.0


# The panel that each page shows, also after its socket reconnects.
_shown: WeakKeyDictionary[WebsocketSession, list[dict[str, Any]]] = WeakKeyDictionary()


async def show_panel(runtime: Runtime, session: WebsocketSession) -> None:
    """Show the panel with the loaded sources and the conversation's settings.

    A page that shows the same panel is left alone, because it would lose unsaved choices.
    """
    panel: Any = await _told_panel(runtime, session)
    if _shown.get(session) != panel:
        _shown[session] = panel
        await emit(session, "chat_settings", panel)


async def _told_panel(runtime: Runtime, session: WebsocketSession) -> list[dict[str, Any]]:
    """Return the panel of ``session``, and tell its page which settings are in force."""
    titles = await _titles(runtime, session)
    # Read last, so that changes made during the request to the library win.
    options = page_options(session.chat_settings)
    language = language_of(session.language)
    await emit(session, "window_message", {IN_FORCE: in_force(options, runtime.settings, language, titles)})
    return settings_panel(runtime.settings, options, titles, language)


async def change(runtime: Runtime, session: WebsocketSession, values: Mapping[str, Any], *, shown: bool = True) -> None:
    """Apply ``values`` in all open tabs of the conversation and persist them for resume.

    ``shown`` is true when the tab of ``session`` shows them already.
    """
    owner = owner_of(session)
    if owner is None:
        return
    known = {name: values[name] for name in PageOptions.model_fields if name in values}
    kept = page_options({**session.chat_settings, **known}).model_dump(mode="json")
    session.chat_settings = dict(kept)
    for other in sessions_of(session.thread_id, owner):
        other.chat_settings = dict(kept)
        if other is session and shown:
            _shown[session] = await _told_panel(runtime, session)
        else:
            await show_panel(runtime, other)
    if not session.has_first_interaction:
        # The first question stores it.
        return
    try:
        await runtime.history.update_thread(session.thread_id, metadata={KEY: kept})
    except DATABASE_ERRORS as error:
        logger.warning("The settings of a conversation were not kept: %s", type(error).__name__)


async def _titles(runtime: Runtime, session: WebsocketSession) -> dict[str, str]:
    """Return the titles of the guidelines to choose from, by id, the conversation's own files labelled as such.

    Those that cannot be read now are left out.
    """
    app, owner = runtime.app, owner_of(session)
    if app is None or owner is None:
        return {}
    titles: dict[str, str] = {}
    with suppress(ToolError, TimeoutError):
        documents = await asyncio.wait_for(app.guidelines.documents(), _PATIENCE)
        titles = {document.id: document.title for document in documents}
    with suppress(InputRejected):
        _, files = await searched_beside(runtime.history, app.guidelines, session.thread_id, owner)
        known = [file.title for file in files]
        for file in files:
            title = file.title if known.count(file.title) == 1 else f"{file.title}, {file.file_name}"
            titles[file.id] = say(language_of(session.language), "panel.documents.own", title=title)
    return titles
