"""A turn's log read in any pieces, from any point that a reader was given, is the turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat_app.events import AgentEvent, Notice, TextDelta
from chat_app.interface.turns.turn_log import Cursor, TurnLog

EVENTS = st.lists(
    st.one_of(
        st.text(max_size=4).map(lambda text: TextDelta(text=text)),
        st.integers(0, 9).map(lambda number: Notice(code="new_conversation", message=str(number))),
    ),
    max_size=30,
)


def text_and_rest(events: list[AgentEvent]) -> list[str | AgentEvent]:
    """The events with neighbouring texts joined: how text is cut into deltas is no part of a turn."""
    found: list[str | AgentEvent] = []
    for event in events:
        if not isinstance(event, TextDelta):
            found.append(event)
        elif found and isinstance(found[-1], str):
            found[-1] += event.text
        elif event.text:
            found.append(event.text)
    return found


@given(EVENTS, st.data())
def test_cutting_a_reader_off_anywhere_loses_and_repeats_nothing(events: list[AgentEvent], data: st.DataObject) -> None:
    log = TurnLog()
    read: list[AgentEvent] = []
    at = Cursor()
    for event in events:
        log.append(event)
        if data.draw(st.booleans(), "looks now"):
            batch = log.read_each(at)
            seen = data.draw(st.integers(0, len(batch)), "cut off after")
            for one, cursor in batch[:seen]:
                read.append(one)
                at = cursor
                assert log.holds(at)
    read += [one for one, _ in log.read_each(at)]
    assert text_and_rest(read) == text_and_rest(events)


@given(EVENTS, st.integers(0, 40), st.integers(0, 20))
def test_only_points_that_the_log_has_reached_are_points_of_it(
    events: list[AgentEvent], entry: int, offset: int
) -> None:
    log = TurnLog()
    for event in events:
        log.append(event)
    whole = text_and_rest(events)
    lengths = [len(part) if isinstance(part, str) else 0 for part in whole]
    reached = offset <= lengths[entry] if entry < len(whole) else (entry, offset) == (len(whole), 0)
    assert log.holds(Cursor(entry, offset)) == reached


@given(EVENTS)
def test_a_log_has_more_exactly_until_all_of_it_was_read(events: list[AgentEvent]) -> None:
    log = TurnLog()
    at = Cursor()
    for event in events:
        log.append(event)
        assert log.has_more(at) == bool(log.read_each(at))
        batch, at = log.read(at)
        assert bool(batch) == (not isinstance(event, TextDelta) or bool(event.text))
        assert not log.has_more(at)
