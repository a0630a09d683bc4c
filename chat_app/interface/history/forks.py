"""Copies of a conversation up to one of its questions."""

from __future__ import annotations

from chat_app.sessions.session_store import Message, SessionStore


async def fork(store: SessionStore, conversation_id: str, user_id: str, *, before: str | None = None) -> str | None:
    """Copy a conversation, up to the last time that the question ``before`` was asked.

    Return the copy's id, or None for an empty one. Raises ``SessionStoreUnavailable``.
    """
    session = await store.get(conversation_id, user_id)
    if session is None:
        return None
    messages = await store.messages(conversation_id)
    asked = [at for at, message in enumerate(messages) if message.role == "user" and message.content == before]
    kept = messages[: asked[-1]] if asked else messages
    if not kept:
        return None
    made = await store.create(user_id, vector_store_id=session.vector_store_id, model_key=session.model_key)
    await store.append_messages(made.session_id, kept)
    if retrieved := await store.retrieved(conversation_id):
        await store.add_retrieved(made.session_id, [entry.passage for entry in retrieved])
    if (last := _last_response(kept)) is not None:
        moved = made.model_copy(update={"last_response_id": last, "root_response_id": session.root_response_id})
        await store.update(moved, expected_last_response_id=None)
    return made.session_id


def _last_response(messages: tuple[Message, ...]) -> str | None:
    return next((m.response_id for m in reversed(messages) if m.role == "assistant" and m.response_id), None)
