"""What a question on the page sets going: uploads first, then the agent, as one stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from chat_app.errors import SessionBusy
from chat_app.events import AgentEvent, Notice, Outcome, TextDelta, TurnEnded
from chat_app.interface.live_turns import LiveTurn
from chat_app.interface.page_options import page_options
from chat_app.interface.runtime import Runtime
from chat_app.interface.uploads import Upload, upload_events

BUSY = "Another question of this conversation is still being answered. Wait for it, or stop it, and ask again."


async def question_events(
    runtime: Runtime, turn: LiveTurn, question: str, chosen: Mapping[str, Any], uploads: Sequence[Upload] = ()
) -> AsyncIterator[AgentEvent]:
    """The events of a turn. Raises ``AsclepiusError`` when the question is not taken; the turn shows its message."""
    others = [t for t in runtime.turns.of_owner(turn.owner) if t.thread_id == turn.thread_id and t is not turn]
    if any(other.log.ended is None for other in others):
        raise SessionBusy(BUSY)
    for other in others:
        # It has ended and is being saved: what it leaves behind is what this question goes on from.
        await other.saved.wait()
    runtime.admit(turn.owner, besides=turn)
    if loading := runtime.loading:
        yield Notice(code="waiting_for_provider", message=f"{loading}…")
    app = await runtime.ready()
    written: list[str] = []
    for upload in uploads:
        async for event in upload_events(app.guidelines, upload):
            if isinstance(event, TextDelta):
                written.append(event.text)
            yield event
    if uploads and not question.strip():
        yield TurnEnded(outcome=Outcome(), answer="".join(written))
        return
    known = await runtime.history.metadata_of(turn.thread_id)
    options = page_options(dict(chosen)).consult_options(runtime.settings)
    events = app.agent.consult(question, conversation_id=known.get("conversation_id"), user_id=turn.owner, **options)
    async with aclosing(events) as stream:
        async for event in stream:
            if isinstance(event, TurnEnded) and written:
                yield event.model_copy(update={"answer": "".join(written) + event.answer})
            else:
                yield event
