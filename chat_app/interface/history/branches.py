"""Agent conversations that a question on the page continues.

A conversation on the page has one agent conversation while one model answers. Compared models have one branch each. A
model that joins continues from a copy of the main one, the branch of the first model. Branches without a model are
deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chat_app.errors import SessionError
from chat_app.sessions.redis_store import RedisSessionStore

if TYPE_CHECKING:
    from chat_app.interface.history.history_layer import History

logger = logging.getLogger(__name__)

MAIN = "conversation_id"
"""Key of a thread's metadata: the conversation that one model goes on in."""
_BRANCH = f"{MAIN}:"


def is_conversation_key(key: str) -> bool:
    """Return whether a key of a thread's metadata names an agent conversation."""
    return key == MAIN or key.startswith(_BRANCH)


def conversations_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return all agent conversations that a thread with this metadata continues."""
    return list(dict.fromkeys(str(value) for key, value in metadata.items() if is_conversation_key(key) and value))


def went_on_in(model: str, conversation_id: str, *, compared: bool, first: bool) -> dict[str, str]:
    """Return the metadata to persist when ``model`` has answered in ``conversation_id``."""
    kept = {f"{_BRANCH}{model}": conversation_id} if compared else {}
    return kept | ({MAIN: conversation_id} if first else {})


async def branch(
    history: History, store: RedisSessionStore, thread_id: str, owner: str, models: Sequence[str]
) -> dict[str, str | None]:
    """Return the conversation that each of ``models`` continues; None for a new one.

    Must not run while a question of the thread is being answered. Joining models start a new conversation while the
    session store is unavailable.
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
            chosen[model] = await fork(store, main, owner)
    keys = {f"{_BRANCH}{model}": None for model in known} | {MAIN: chosen[models[0]]}
    if len(models) > 1:
        keys |= {f"{_BRANCH}{model}": conversation for model, conversation in chosen.items()}
    if any(metadata.get(key) != value for key, value in keys.items()):
        await history.save_turn(thread_id, metadata=keys)
    await forget(store, owner, set(conversations_of(metadata)) - set(chosen.values()))
    return chosen


async def forget(store: RedisSessionStore, owner: str, conversations: set[str]) -> None:
    """Delete unused agent conversations; those that cannot be deleted now expire."""
    for conversation in sorted(conversations):
        try:
            await store.delete(conversation, owner)
        except SessionError as error:
            logger.warning("A conversation stays in the session store until it expires: %s", type(error).__name__)


async def fork(
    store: RedisSessionStore, conversation_id: str | None, owner: str, *, before: str | None = None
) -> str | None:
    """Copy a conversation, up to the last time that the question ``before`` was asked.

    Return the copy's id, or None for an empty one and while the session store is unavailable.
    """
    try:
        return await _copied(store, conversation_id, owner, before) if conversation_id else None
    except SessionError as error:
        logger.warning("A conversation starts without what was said before: %s", type(error).__name__)
        return None


async def _copied(store: RedisSessionStore, conversation_id: str, owner: str, before: str | None) -> str | None:
    session = await store.get(conversation_id, owner)
    if session is None:
        return None
    messages = await store.messages(conversation_id)
    asked = [at for at, message in enumerate(messages) if message.role == "user" and message.content == before]
    kept = messages[: asked[-1]] if asked else messages
    if not kept:
        return None
    made = await store.create(owner, vector_store_id=session.vector_store_id, model_key=session.model_key)
    await store.append_messages(made.session_id, kept)
    if retrieved := await store.retrieved(conversation_id):
        await store.add_retrieved(made.session_id, list(retrieved.values()))
    answered = [message.response_id for message in kept if message.role == "assistant" and message.response_id]
    if answered:
        moved = made.model_copy(update={"last_response_id": answered[-1], "root_response_id": session.root_response_id})
        await store.update(moved, expected_last_response_id=None)
    return made.session_id
