"""Files of one conversation on the page: their owner, and the questions that search them.

The guideline library keeps the files under the conversation's scope; the history knows the conversation's owner. A file
is erased with its conversation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from chat_app.database.database_engine import DATABASE_ERRORS
from chat_app.errors import InputRejected
from chat_app.interface.security.identity import NotOwner, require_owner
from tools.errors import SourceRejected, ToolError
from tools.guidelines import Document, GuidelineLibrary, IngestProgress, Scope, scope_of

if TYPE_CHECKING:
    from chat_app.interface.history.history_layer import History

logger = logging.getLogger(__name__)

NOT_KEPT = "This conversation cannot keep files at the moment. Try again, or begin another conversation."
NOT_SEARCHED = "The files of this conversation cannot be searched at the moment. Ask again in a moment."


def scope_of_thread(thread_id: str) -> Scope | None:
    """Return the scope of a conversation on the page; None for one that can have no files.

    Only the spelling that the history writes is accepted: another spelling is another conversation there.
    """
    try:
        known = UUID(thread_id)
    except ValueError:
        return None
    return Scope(known.hex) if str(known) == thread_id else None


async def require_readable(history: History, user: str, name: str) -> Scope | None:
    """Return the scope to read a document, a version or a passage with, by its id; None for the library's.

    Raises ``NotOwner`` for one of somebody else's conversation.
    """
    scope = scope_of(name)
    if scope is not None:
        require_owner(user, await history.owner_of("thread", str(UUID(hex=scope))))
    return scope


async def searched_beside(
    history: History, guidelines: GuidelineLibrary, thread_id: str, owner: str
) -> tuple[Scope | None, Sequence[Document]]:
    """Return the scope and the files that a question of ``owner`` in that conversation searches beside the library.

    Raises ``InputRejected`` when there are files and their owner cannot be determined.
    """
    scope = scope_of_thread(thread_id)
    if scope is None:
        return None, ()
    try:
        if not (documents := await guidelines.own_documents(scope)):
            return None, ()
        require_owner(owner, await history.owner_of("thread", thread_id))
    except (ToolError, *DATABASE_ERRORS, NotOwner) as error:
        logger.warning("The files of a conversation were not searched: %s", type(error).__name__)
        raise InputRejected(NOT_SEARCHED, code="files_unavailable") from None
    return scope, documents


async def searched_in(
    history: History, guidelines: GuidelineLibrary, conversation_id: str | None, owner: str
) -> tuple[Scope | None, Sequence[Document]]:
    """Like ``searched_beside``, for the conversation on the page that continues in an agent's conversation.

    Raises ``InputRejected`` when that conversation cannot be determined.
    """
    if not conversation_id:
        return None, ()
    try:
        threads = await history.threads_with(conversation_id, owner)
    except DATABASE_ERRORS as error:
        logger.warning("It is not known whether a conversation has files: %s", type(error).__name__)
        raise InputRejected(NOT_SEARCHED, code="files_unavailable") from None
    for thread_id in threads:
        scope, documents = await searched_beside(history, guidelines, thread_id, owner)
        if scope is not None:
            return scope, documents
    return None, ()


@dataclass
class ConversationFiles:
    """Adds files to the library for one conversation of ``owner`` only."""

    history: History
    guidelines: GuidelineLibrary
    thread_id: str
    owner: str
    added: tuple[str, ...] = ()
    """The ids of the documents that were added, or were there already."""

    async def add(self, path: Path, *, progress: Callable[[IngestProgress], None]) -> Document:
        """Ingest a file; raise ``SourceRejected`` also for a conversation of another owner."""
        scope = scope_of_thread(self.thread_id)
        if scope is None:
            raise SourceRejected(NOT_KEPT, code="conversation_closed")
        try:
            await self.history.save_turn(self.thread_id, owner=self.owner)
        except (*DATABASE_ERRORS, NotOwner) as error:
            logger.warning("A file was not added to a conversation: %s", type(error).__name__)
            raise SourceRejected(NOT_KEPT, code="conversation_closed") from None
        document = await self.guidelines.add(path, progress=progress, scope=scope)
        self.added = (*self.added, document.id)
        return document
