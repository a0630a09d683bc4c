"""Live turns: readers at any pace see every character, and every turn ends exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_app.errors import ProviderUnavailable
from chat_app.events import AgentEvent, CitationAdded, Outcome, ReferencesReady, TextDelta, TurnEnded
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.interface.turns.turn_log import Cursor, TurnLog
from tests.support.waiting import until
from tools.types import Passage

PASSAGE = Passage(id="p", kind="guideline", document_id="d", title="T", text="x")


def turn(owner: str = "ada", thread: str = "t") -> LiveTurn:
    return LiveTurn(owner=owner, thread_id=thread, question_id="q")


async def endless(closed: list[bool]) -> AsyncIterator[AgentEvent]:
    try:
        yield TextDelta(text="Wait")
        yield CitationAdded(number=1, passage=PASSAGE)
        await asyncio.sleep(3600)
    finally:
        closed.append(True)


async def read_all(live: LiveTurn) -> list[AgentEvent]:
    return [event async for batch in live.events() for event in batch]


def text_of(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@given(st.lists(st.one_of(st.text(min_size=1, max_size=5), st.none()), max_size=30), st.data())
def test_a_reader_at_any_pace_sees_every_character_in_order(pieces: list[str | None], data: st.DataObject) -> None:
    log, cursor, seen = TurnLog(), Cursor(), []
    for piece in pieces:
        log.append(CitationAdded(number=1, passage=PASSAGE) if piece is None else TextDelta(text=piece))
        if data.draw(st.booleans()):
            events, cursor = log.read(cursor)
            seen += events
    events, cursor = log.read(cursor)
    seen += events
    assert text_of(seen) == "".join(piece for piece in pieces if piece)
    assert sum(isinstance(e, CitationAdded) for e in seen) == pieces.count(None)
    assert log.read(cursor)[0] == []
    assert text_of(log.events) == text_of(seen)


async def answered(
    live: LiveTurn, events: AsyncIterator[AgentEvent], save: Callable[[LiveTurn], Awaitable[None]]
) -> None:
    await live.run(events)
    await save(live)


async def test_stop_ends_at_once_keeps_the_text_and_closes_the_agents_stream() -> None:
    closed: list[bool] = []
    turns, live = LiveTurns(), turn()
    turns.start(live, live.run(endless(closed)))
    await until(lambda: bool(live.log.answer), what="the first text")
    live.stop()
    live.stop()
    events = await read_all(live)
    await live.saved.wait()
    assert text_of(events) == "Wait"
    assert isinstance(events[-2], ReferencesReady)
    assert isinstance(events[-1], TurnEnded)
    assert (events[-1].outcome.kind, events[-1].outcome.reason) == ("incomplete", "stopped")
    assert closed == [True]
    assert turns.of_thread("t", "ada") == []


@pytest.mark.parametrize("ended", [False, True])
async def test_a_turn_that_is_stopped_keeps_what_is_being_stored_for_other_processes(ended: bool) -> None:
    stored: list[AgentEvent] = []
    writing, written = asyncio.Event(), asyncio.Event()

    async def write(events: Sequence[AgentEvent]) -> None:
        stored.extend(events)
        writing.set()
        await written.wait()

    async def events() -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="Wait")
        if ended:
            yield TurnEnded(outcome=Outcome(), answer="Wait")
        else:
            await asyncio.sleep(3600)

    live = turn()
    live.write_ahead = write
    running = asyncio.create_task(live.run(events()))
    await writing.wait()
    live.stop()
    written.set()
    await running
    shown = live.log.events
    assert text_of(shown) == text_of(stored) == "Wait"
    assert [event.outcome.kind for event in shown if isinstance(event, TurnEnded)] == [
        "completed" if ended else "incomplete"
    ]


async def test_a_turn_stopped_before_it_began_ends_too() -> None:
    turns, live = LiveTurns(), turn()
    turns.start(live, live.run(endless([])))
    live.stop()
    assert isinstance((await read_all(live))[-1], TurnEnded)
    await asyncio.wait_for(live.saved.wait(), 60)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ProviderUnavailable("The model server is away."), "The model server is away."),
        (ValueError("PATIENT NAME"), "Something unexpected went wrong"),
    ],
)
async def test_an_error_becomes_the_outcome_and_is_logged_without_its_words(
    error: Exception, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="Half")
        raise error

    turns, live = LiveTurns(), turn()
    turns.start(live, live.run(broken()))
    end = (await read_all(live))[-1]
    assert isinstance(end, TurnEnded)
    assert end.outcome.kind == "failed"
    assert end.outcome.message.startswith(message)
    assert end.answer == "Half"
    assert "PATIENT" not in caplog.text


async def test_a_stream_that_just_ends_is_marked_incomplete() -> None:
    async def silent() -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="Half")

    turns, live = LiveTurns(), turn()
    turns.start(live, live.run(silent()))
    end = (await read_all(live))[-1]
    assert isinstance(end, TurnEnded)
    assert end.outcome.kind == "incomplete"


async def test_a_turn_that_nobody_reads_ends_after_a_while_and_is_saved() -> None:
    saved: list[LiveTurn] = []

    async def save(ended: LiveTurn) -> None:
        saved.append(ended)

    turns, live = LiveTurns(abandon_after=0.05, check_every=0.01), turn()
    turns.start(live, answered(live, endless([]), save))
    await asyncio.wait_for(live.saved.wait(), 60)
    assert live.log.ended is not None
    assert "nobody" in live.log.ended.outcome.message
    assert saved == [live]


async def test_a_turn_that_is_read_is_not_ended_for_being_long() -> None:
    turns, live = LiveTurns(abandon_after=0, check_every=0), turn()
    reading = asyncio.create_task(read_all(live))
    await asyncio.sleep(0)
    turns.start(live, live.run(endless([])))
    for _ in range(100):  # rounds of the check for abandoned turns
        await asyncio.sleep(0)
    assert live.log.ended is None
    live.stop()
    await reading


async def test_the_servers_end_gives_every_turn_its_outcome_and_waits_until_it_is_saved() -> None:
    saved: list[str] = []

    async def save(ended: LiveTurn) -> None:
        saved.append(ended.owner)

    turns = LiveTurns()
    started = [turn(owner) for owner in ("ada", "bob", "cyd")]
    for live in started:
        turns.start(live, answered(live, endless([]), save))
    await asyncio.sleep(0)
    await turns.end_all()
    assert sorted(saved) == ["ada", "bob", "cyd"]
    assert all(live.log.ended and live.log.ended.outcome.reason == "stopped" for live in started)


async def test_a_draining_server_answers_the_questions_that_it_has_taken() -> None:
    saved: list[str] = []

    async def save(ended: LiveTurn) -> None:
        saved.append(ended.log.answer)

    async def short() -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="whole")
        yield TurnEnded(outcome=Outcome(), answer="whole")

    turns, live = LiveTurns(), turn()
    with turns.expected():
        draining = asyncio.create_task(turns.drain(60))
        while not turns.draining:
            await asyncio.sleep(0)
        turns.start(live, answered(live, short(), save))
    await draining
    assert saved == ["whole"]
    assert live.log.ended is not None
    assert live.log.ended.outcome.kind == "completed"


async def test_a_failing_save_does_not_keep_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    async def save(_: LiveTurn) -> None:
        raise OSError("disk full")

    async def short() -> AsyncIterator[AgentEvent]:
        yield TurnEnded(outcome=Outcome(), answer="")

    turns, live = LiveTurns(), turn()
    turns.start(live, answered(live, short(), save))
    await asyncio.wait_for(live.saved.wait(), 60)
    assert turns.of_owner("ada") == []


async def test_a_turn_is_found_by_its_owner_alone() -> None:
    turns = LiveTurns()
    turns.start(turn(), asyncio.sleep(0))
    assert turns.of_thread("t", "ada") != []
    assert turns.of_thread("t", "bob") == []
