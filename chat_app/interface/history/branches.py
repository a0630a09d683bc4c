"""Which of the agent's conversations a question on the page goes on in.

A conversation on the page is one of the agent's as long as one model answers. Where several are compared each has one
of its own, a branch, and goes on in it as long as it is asked. A model that joins goes on from a copy of the main one:
the only one there is, or the branch of the model that was named first. What nobody goes on in is deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from chat_app.errors import SessionError
from chat_app.interface.history.forks import fork
from chat_app.sessions.session_store import SessionStore

logger = logging.getLogger(__name__)

MAIN = "conversation_id"
"""Key of a thread's metadata: the conversation that one model goes on in."""
_BRANCH = f"{MAIN}:"


class ThreadMetadata(Protocol):
    """What is needed of the history."""

    async def metadata_of(self, thread_id: str) -> dict[str, Any]: ...

    async def update_conversations(self, thread_id: str, conversations: Mapping[str, str | None]) -> None: ...


def is_conversation_key(key: str) -> bool:
    """Whether a key of a thread's metadata names a conversation of the agent."""
    return key == MAIN or key.startswith(_BRANCH)


def conversations_of(metadata: Mapping[str, Any]) -> list[str]:
    """All conversations of the agent that a thread with this metadata goes on in."""
    return list(dict.fromkeys(str(value) for key, value in metadata.items() if is_conversation_key(key) and value))


def went_on_in(model: str, conversation_id: str, *, compared: bool, first: bool) -> dict[str, str]:
    """The metadata to keep when ``model`` has answered in ``conversation_id``."""
    kept = {f"{_BRANCH}{model}": conversation_id} if compared else {}
    return kept | ({MAIN: conversation_id} if first else {})


async def branch(
    history: ThreadMetadata, store: SessionStore, thread_id: str, owner: str, models: Sequence[str]
) -> dict[str, str | None]:
    """The conversation that each of ``models`` is to go on in; None for one that begins anew.

    Must not run while a question of the thread is being answered. While the session store is away the models that
    join begin anew.
    """
    metadata = await history.metadata_of(thread_id)
    known = {
        key.removeprefix(_BRANCH): str(value) for key, value in metadata.items() if key.startswith(_BRANCH) and value
    }
    main: str | None = metadata.get(MAIN)
    chosen: dict[str, str | None] = {}
    for model in models:
        if model in known:
            chosen[model] = known[model]
        elif len(models) == 1 or (main not in known.values() and main not in chosen.values()):
            chosen[model] = main
        else:
            chosen[model] = await _copy(store, main, owner)
    keys = {f"{_BRANCH}{model}": None for model in known} | {MAIN: chosen[models[0]]}
    if len(models) > 1:
        keys |= {f"{_BRANCH}{model}": conversation for model, conversation in chosen.items()}
    if any(metadata.get(key) != value for key, value in keys.items()):
        await history.update_conversations(thread_id, keys)
    await forget(store, owner, set(conversations_of(metadata)) - set(chosen.values()))
    return chosen


async def forget(store: SessionStore, owner: str, conversations: set[str]) -> None:
    """Deletes what nobody goes on in; what cannot be deleted now expires by itself."""
    for conversation in sorted(conversations):
        try:
            await store.delete(conversation, owner)
        except SessionError as error:
            logger.warning("A conversation stays in the session store until it expires: %s", type(error).__name__)


async def _copy(store: SessionStore, conversation: str | None, owner: str) -> str | None:
    if conversation is None:
        return None
    try:
        return await fork(store, conversation, owner)
    except SessionError as error:
        logger.warning("A model that joins starts without what was said before: %s", type(error).__name__)
        return None
