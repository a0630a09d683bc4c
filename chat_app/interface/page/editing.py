"""Editing of a question: later messages are deleted and the conversation continues from before it."""

from typing import Any, cast

from chainlit.session import WebsocketSession

from chat_app.interface.history.branches import MAIN, conversations_of, forget, fork, is_conversation_key
from chat_app.interface.page.page import ChatPage
from chat_app.interface.rendering.sockets import emit, owner_of, sessions_of, toast


async def edit_question(page: ChatPage, session: WebsocketSession, message_id: str, text: str) -> None:
    """Delete the messages after the question and ask the edited one in its place."""
    owner, thread_id = owner_of(session), session.thread_id
    await page.runtime.turns.save_ended(thread_id, owner or "")
    thread = await page.runtime.history.get_thread(thread_id)
    if owner is None or thread is None or thread.get("userIdentifier") != owner:
        return
    if page.runtime.turns.of_thread(thread_id, owner) or await page.runtime.elsewhere.of_thread(thread_id, owner):
        await toast(session, "toast.edit_wait", "warning")
        return
    steps = [cast("dict[str, Any]", step) for step in thread["steps"] or []]
    at = next((i for i, step in enumerate(steps) if step["id"] == message_id and step["type"] == "user_message"), None)
    if at is None:
        return
    later = [str(step["id"]) for step in steps[at + 1 :]]
    await page.runtime.history.delete_steps(later)
    await _go_on_from(page, owner, thread_id, before=str(steps[at]["output"]))
    for other in sessions_of(thread_id, owner):
        for step_id in later:
            await emit(other, "delete_message", {"id": step_id})
        await emit(other, "update_message", {**steps[at], "output": text, "feedback": None})
    await page.ask(session, message_id, text)


async def _go_on_from(page: ChatPage, owner: str, thread_id: str, *, before: str) -> None:
    app = await page.runtime.ready()
    known = await page.runtime.history.metadata_of(thread_id)
    forked = await fork(app.sessions, known.get(MAIN), owner, before=before)
    # Branches below the edited question are deleted: all models continue from the copy.
    left = {key: None for key in known if is_conversation_key(key)}
    await page.runtime.history.save_turn(thread_id, metadata={**left, MAIN: forked})
    await forget(app.sessions, owner, set(conversations_of(known)))
