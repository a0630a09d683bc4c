"""The files that somebody added to one conversation on the page: whose they are, and where they are searched.

The guideline library keeps them under the conversation's key and knows no more; whose conversation that is, the history
says. A file goes with its conversation: it is there as long as the history has it, and is erased with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError

from chat_app.errors import InputRejected
from chat_app.interface.conversation.thread_scope import scope_of_thread
from chat_app.interface.security.identity import NotOwner, require_owner
from tools.errors import SourceRejected, ToolError
from tools.guidelines import Document, IngestProgress, Scope, scope_of

if TYPE_CHECKING:
    from chat_app.bootstrap import App
    from chat_app.interface.runtime import Runtime

logger = logging.getLogger(__name__)

NOT_KEPT = "This conversation cannot keep files at the moment. Try again, or begin another conversation."
NOT_SEARCHED = "The files of this conversation cannot be searched at the moment. Ask again in a moment."


async def require_readable(runtime: Runtime, user: str, name: str) -> Scope | None:
    """The key to read a document, a version or a passage with, by its id; None for the library's.

    Raises ``NotOwner`` for one of somebody else's conversation.
    """
    scope = scope_of(name)
    if scope is not None:
        require_owner(user, await runtime.history.owner_of("thread", str(UUID(hex=scope))))
    return scope


async def searched_beside(
    runtime: Runtime, app: App, thread_id: str, owner: str
) -> tuple[Scope | None, Sequence[Document]]:
    """The files that a question of ``owner`` in that conversation searches beside the library, and their key.

    Raises ``InputRejected`` when there are some and it cannot be seen whose they are.
    """
    scope = scope_of_thread(thread_id)
    if scope is None:
        return None, ()
    try:
        if not (documents := await app.guidelines.own_documents(scope)):
            return None, ()
        require_owner(owner, await runtime.history.owner_of("thread", thread_id))
    except (ToolError, SQLAlchemyError, OSError, NotOwner) as error:
        logger.warning("The files of a conversation were not searched: %s", type(error).__name__)
        raise InputRejected(NOT_SEARCHED, code="files_unavailable") from None
    return scope, documents


async def searched_in(
    runtime: Runtime, app: App, conversation_id: str | None, owner: str
) -> tuple[Scope | None, Sequence[Document]]:
    """The same for one of the agent's conversations: that on the page which goes on in it.

    Raises ``InputRejected`` when it cannot be seen which that is.
    """
    if not conversation_id:
        return None, ()
    try:
        threads = await runtime.history.threads_with(conversation_id, owner)
    except (SQLAlchemyError, OSError) as error:
        logger.warning("It is not known whether a conversation has files: %s", type(error).__name__)
        raise InputRejected(NOT_SEARCHED, code="files_unavailable") from None
    for thread_id in threads:
        scope, documents = await searched_beside(runtime, app, thread_id, owner)
        if scope is not None:
            return scope, documents
    return None, ()


class ConversationShelf:
    """The library as one conversation of ``owner`` adds to it: for itself alone."""

    def __init__(self, runtime: Runtime, app: App, thread_id: str, owner: str) -> None:
        self._runtime = runtime
        self._app = app
        self._thread_id = thread_id
        self._owner = owner
        self.added: tuple[str, ...] = ()
        """The ids of the documents that were added, or were there already."""

    async def add(self, path: Path, *, progress: Callable[[IngestProgress], None] | None = None) -> Document:
        """Raises ``SourceRejected`` also for a conversation that is not known to be the owner's."""
        scope = scope_of_thread(self._thread_id)
        if scope is None:
            raise SourceRejected(NOT_KEPT, code="conversation_closed")
        try:
            await self._runtime.history.claim_thread(self._thread_id, self._owner)
        except (SQLAlchemyError, OSError, NotOwner) as error:
            logger.warning("A file was not taken into a conversation: %s", type(error).__name__)
            raise SourceRejected(NOT_KEPT, code="conversation_closed") from None
        document = await self._app.guidelines.add(path, progress=progress, scope=scope)
        self.added = (*self.added, document.id)
        return document
