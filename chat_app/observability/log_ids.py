"""The ids of the request and of the turn that the current task works for, for every line that it logs.

One object serves all tasks of a turn, so an id that becomes known later reaches tasks that have already started.
"""

from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from uuid import uuid4


@dataclass(slots=True)
class LogIds:
    """Empty ids are unknown, and not logged."""

    request_id: str = field(default_factory=lambda: uuid4().hex)
    turn_id: str = ""
    conversation_id: str = ""

    def known(self) -> dict[str, str]:
        """Return the ids that are known."""
        return {name: value for name, value in asdict(self).items() if value}


log_ids: ContextVar[LogIds | None] = ContextVar("log_ids", default=None)
"""The ids of the current task; None outside of requests and turns."""


def current_turn() -> str:
    """Return the id of the turn that the current task works for; empty outside of turns."""
    return ids.turn_id if (ids := log_ids.get()) else ""


def ids_of_turn(turn_id: str) -> LogIds:
    """Return the ids of a turn that the current request, if any, asks for."""
    return replace(log_ids.get() or LogIds(""), turn_id=turn_id)
