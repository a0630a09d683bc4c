"""The lines of a turn's journal: its header, and then its events."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from pydantic import ValidationError

from chat_app.errors import SessionError
from chat_app.events import AgentEvent, agent_event_adapter, event_json
from chat_app.interface.keeping.page_question import TurnHeader


class UnreadableJournal(SessionError):
    """Another version wrote the journal."""


def lines_of(events: Sequence[AgentEvent]) -> list[bytes]:
    """Encode events as lines of a journal."""
    return list(map(event_json, events))


def header_of(line: str) -> TurnHeader:
    """Decode the first line. Raises ``UnreadableJournal``."""
    with _readable():
        return TurnHeader.model_validate_json(line)


def events_of(lines: Sequence[str]) -> list[AgentEvent]:
    """Decode the other lines. Raises ``UnreadableJournal``."""
    with _readable():
        return list(map(agent_event_adapter.validate_json, lines))


@contextmanager
def _readable() -> Generator[None]:
    try:
        yield
    except ValidationError:
        raise UnreadableJournal("Another version of the app wrote this answer, which cannot be read here.") from None
