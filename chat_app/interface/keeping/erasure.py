"""Erasure of conversations: their answers in writing, sessions, responses, files and traces."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chat_app.audit import AuditLog
from chat_app.bootstrap import App
from chat_app.errors import ProviderError, ProviderRejected, SessionError
from chat_app.generation.model_client import ModelClient
from chat_app.interface.conversation.own_documents import scope_of_thread
from chat_app.interface.history.branches import conversations_of, forget
from chat_app.interface.keeping.followed_turns import FollowedTurns
from chat_app.interface.rendering.turn_steps import turns_of
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.sessions.left_responses import KEPT_DAYS
from chat_app.sessions.session_store import Message
from chat_app.settings import Settings
from tools.guidelines import erase_files

if TYPE_CHECKING:
    from chat_app.interface.history.history_layer import History

_MOST_FAILURES: Final = 2
"""Deletions in a row after which a model server that fails is not asked for the others; each may take 5 seconds."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Erasure:
    """Erases conversations of this app, also those that are being answered."""

    settings: Settings
    history: "History"
    audit: AuditLog
    turns: LiveTurns
    elsewhere: FollowedTurns
    ready: Callable[[], Awaitable[App]]
    """Waits for the services."""
    opened: Callable[[], App | None]
    """Returns the app, or None while its services are not open."""

    async def threads_with(self, conversation: str, owner: str) -> list[str]:
        """Return the threads that continue the conversation, also those whose first answer is not stored yet."""
        # In this order: an answer that is stored meanwhile is found by the second look.
        live = [turn.thread_id for turn in await self._live(conversation, owner)]
        stored = await self.history.threads_with(conversation, owner)
        begun = [thread for thread in live if await self.history.owner_of("thread", thread) == owner]
        return list(dict.fromkeys((*begun, *stored)))

    async def before_deletion(self, thread_id: str, owner: str) -> None:
        """Stop running answers and erase sessions, files and traces of a thread that is deleted next."""
        await self.audit.record("delete", owner, conversation=thread_id)
        live = await self._live(thread_id, owner)
        await self.turns.end_conversation(thread_id, owner)
        await self.elsewhere.end_conversation(thread_id, owner)
        # Not before: the history learns of an answer's conversation when the answer is stored.
        known = conversations_of(await self.history.metadata_of(thread_id))
        conversations = dict.fromkeys((*known, *filter(None, (turn.log.conversation_id for turn in live))))
        await self._erase_files(thread_id, owner)
        if (app := self.opened()) is None:
            return
        with suppress(SessionError):
            await app.sessions.journal.erase(thread_id)
        await self._erase_traces(app, thread_id)
        for conversation in conversations:
            await self.conversation(conversation, owner)

    async def conversation(self, conversation: str, owner: str) -> None:
        """Erase a conversation from the session store and the model server.

        A response that the server cannot delete now is deleted later; a session expires.
        """
        app = await self.ready()
        await self.turns.end_conversation(conversation, owner)
        with suppress(SessionError):
            if await app.sessions.get(conversation, owner) is not None:
                await self._erase_responses(app, await app.sessions.messages(conversation))
        await forget(app.sessions, owner, {conversation})
        if self.settings.storage.redis_url is None:
            app.sessions.compact()

    async def retry_responses(self) -> None:
        """Delete the responses of deleted conversations that the model server could not delete before."""
        app = await self.ready()
        names = await app.sessions.left_responses.ids()
        # In any order: those that the server never deletes must not keep it from the others.
        random.shuffle(names)
        left = await _not_deleted(app.model, names)
        await app.sessions.left_responses.remove(set(names).difference(left))

    async def _live(self, conversation: str, owner: str) -> Sequence[LiveTurn]:
        """Return the turns of a thread or conversation that are not stored yet, of all processes."""
        here = [turn for turn in self.turns.of_owner(owner) if turn.is_about(conversation)]
        return [*here, *await self.elsewhere.about(conversation, owner)]

    async def _erase_traces(self, app: App, thread_id: str) -> None:
        turns = turns_of(await self.history.get_thread(thread_id))
        try:
            await asyncio.to_thread(app.trace.erase, turns)
        except OSError as error:
            logger.warning("Traces of a deleted conversation stay: %s", type(error).__name__)

    async def _erase_responses(self, app: App, messages: Sequence[Message]) -> None:
        names = [name for message in messages for name in (*message.response_ids, message.response_id) if name]
        if left := await _not_deleted(app.model, list(dict.fromkeys(names))):
            await app.sessions.left_responses.add(left)

    async def _erase_files(self, thread_id: str, owner: str) -> None:
        # Imports Chainlit, which needs the page's folder.
        from chat_app.interface.rendering.sockets import drop_uploads

        await asyncio.to_thread(drop_uploads, thread_id, owner)
        scope = scope_of_thread(thread_id)
        if scope is None:
            return
        if (app := self.opened()) is not None:
            await app.guidelines.erase(scope)
        else:
            await asyncio.to_thread(erase_files, self.settings.storage.data_dir / "guidelines", scope)


async def _not_deleted(model: ModelClient, names: Sequence[str]) -> list[str]:
    """Delete responses at the model server; return, and log the number of, those that are still there."""
    left: list[str] = []
    failed, last = 0, ""
    for at, name in enumerate(names):
        if failed == _MOST_FAILURES:
            left += names[at:]
            break
        try:
            await model.delete(name)
            failed = 0
        except ProviderError as error:
            left.append(name)
            # What one response was refused for need not hold for the next.
            failed += not isinstance(error, ProviderRejected)
            last = type(error).__name__
    if left:
        logger.warning(
            "%d of %d responses of deleted conversations are still at the model server (%s). Their deletion is tried "
            "every hour for %d days.",
            len(left), len(names), last, KEPT_DAYS,
        )  # fmt: skip
    return left
