"""The rest of a turn whose process died: the turn is run again, and only new events are yielded.

What its process did not tell the agent's conversation is added there.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from chat_app.errors import SessionError
from chat_app.events import (
    AgentEvent,
    CitationAdded,
    LLMResponseItem,
    Notice,
    ReasoningRunItem,
    ReferencesReady,
    RunItemStreamEvent,
    StatementsChecked,
    StepRunItem,
    TextDelta,
    TextReplaced,
    ToolCallRunItem,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.interface.keeping.page_question import TurnHeader
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.turn_log import TurnLog
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import Message
from chat_app.turn_facts import TurnFacts


def resumable_conversation(shown: TurnLog) -> str | None:
    """Return the agent's conversation of a turn that it can run again; None when text precedes the agent's."""
    first = next((event for event in shown.events if isinstance(event, TextDelta | TurnStarted)), None)
    return first.conversation_id if isinstance(first, TurnStarted) else None


async def unseen(events: AsyncGenerator[AgentEvent, None], shown: TurnLog) -> AsyncGenerator[AgentEvent, None]:
    """Yield what a turn that is run again adds to the events of ``shown``.

    Text that differs from the shown text replaces it. A repetition that ends before it has reached the end of the shown
    text yields no ``TurnEnded``.
    """
    names = set(map(_name, shown.events))
    said, again, comparing = _spelled(shown.events), "", True
    repeated: list[AgentEvent] = []
    async with aclosing(events) as stream:
        async for event in stream:
            match event:
                case TextReplaced():
                    comparing = False
                    yield event
                case TextDelta() | CitationAdded() if comparing:
                    repeated.append(event)
                    again += _spelled([event])
                    comparing = said.startswith(again)
                    for fresh in () if comparing else _beyond(said, again, repeated):
                        yield fresh
                case TextDelta() | CitationAdded():
                    yield event
                case StatementsChecked() | ReferencesReady() | TurnEnded() if comparing and again != said:
                    return
                case _ if _name(event) not in names:
                    yield event
                case _:
                    continue


def _beyond(said: str, again: str, repeated: Sequence[AgentEvent]) -> Sequence[AgentEvent]:
    """Return the part of ``repeated`` that is new: its end, or all of it if its text differs from ``said``."""
    if not again.startswith(said):
        return TextReplaced(), *repeated
    last = repeated[-1]
    return (TextDelta(text=again[len(said) :]) if isinstance(last, TextDelta) else last,)


def _spelled(events: Sequence[AgentEvent]) -> str:
    """Return the text and citations since the last ``TextReplaced``, for comparison."""
    facts = TurnFacts()
    for event in events:
        facts.collect(event)
    return "".join(one if isinstance(one, str) else f"\0{one.number} {one.passage.id}\0" for one in facts.said)


def _name(event: AgentEvent) -> str:
    """Return a name that the event has each time the turn is run."""
    match event:
        case Notice():
            return event.code
        case RunItemStreamEvent(item=ToolCallRunItem() as item):
            return f"{event.name} {item.function.call_id}"
        case RunItemStreamEvent(item=ToolOutputRunItem() as item):
            return f"{event.name} {item.function_output.input.call_id}"
        case RunItemStreamEvent(item=LLMResponseItem() as item):
            return f"{event.name} {item.step}"
        case RunItemStreamEvent(item=StepRunItem() as item):
            return f"{event.name} {item.step_output.step}"
        case RunItemStreamEvent(item=ReasoningRunItem() as item):
            return f"{event.name} {item.text}"
        case RunItemStreamEvent():
            return event.name
        case _:
            return event.type


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
        response_ids=tuple(dict.fromkeys(filter(None, map(_response_of, turn.log.events)))),
        turn_id=turn.id,
    )
    with suppress(SessionError):
        await sessions.append_messages(conversation_id, [question, answer])


def _response_of(event: AgentEvent) -> str | None:
    """Return the response at the model server that ``event`` ends a step with."""
    if isinstance(event, RunItemStreamEvent) and isinstance(event.item, StepRunItem):
        return event.item.step_output.response_id
    return None
