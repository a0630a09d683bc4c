"""What the agent's conversation remembers of a turn that its own process did not finish."""

from contextlib import suppress

from chat_app.errors import SessionError
from chat_app.events import AgentEvent, RunItemStreamEvent, StepRunItem
from chat_app.interface.keeping.page_question import TurnHeader
from chat_app.interface.turns.live_turns import LiveTurn
from chat_app.interface.turns.turn_log import Cursor
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import Message


async def remember(sessions: RedisSessionStore, header: TurnHeader, turn: LiveTurn) -> None:
    """Give a finished turn to the agent's conversation, unless the agent has recorded it."""
    conversation_id, ended = turn.log.conversation_id, turn.log.ended
    if conversation_id is None or ended is None:
        return
    if any(message.turn_id == turn.id for message in await sessions.messages(conversation_id, limit=40)):
        return
    cited = {citation.number: citation.passage.id for citation in turn.log.citations}
    question = Message(role="user", content=header.ids.question, turn_id=turn.id)
    answer = Message(
        role="assistant",
        content=turn.log.answer,
        outcome=ended.outcome.kind,
        citations=tuple(cited[number] for number in sorted(cited)),
        response_ids=tuple(dict.fromkeys(filter(None, map(_response_of, turn.log.read(Cursor())[0])))),
        turn_id=turn.id,
    )
    with suppress(SessionError):
        await sessions.append_messages(conversation_id, [question, answer])


def _response_of(event: AgentEvent) -> str | None:
    """Return the response at the model server that ``event`` ends a step with."""
    if isinstance(event, RunItemStreamEvent) and isinstance(event.item, StepRunItem):
        return event.item.step_output.response_id
    return None
