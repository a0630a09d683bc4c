"""Ids of a turn's parts on the page and the steps that contain them, in Chainlit's format.

All ids derive from the turn's id, so that a reloaded page, a second tab and the history agree on them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from chat_app.interface.i18n.translation import Language

StepDict = dict[str, Any]
ElementDict = dict[str, Any]

COLUMN = "llm"
"""The type of the step that holds one of several models' answers; no other step has it."""
GOES_ON = "goes_on"
"""Key of a message's metadata: the answer goes on in the message after it."""
UNFINISHED = "unfinished"
"""Key of a message's metadata: the turn has not ended, or its process died."""


@dataclass(frozen=True)
class TurnIds:
    """Ids of a turn's parts on the page."""

    turn_id: str
    thread_id: str
    run_id: str
    started_at: datetime
    author: str = "Asclepius"
    question: str = ""
    language: Language = "en"
    """The reader's, for the server's own phrases."""
    column: str = ""
    """The model of a compared answer; empty for a single answer."""
    place: int = 0
    """The column's place among those of the question, from 0."""

    def part(self, name: str) -> str:
        return part_id(self.turn_id, name)

    @cached_property
    def message_id(self) -> str:
        return self.part("answer")

    def answer_id(self, part: int) -> str:
        """Return the id of the message for this ``part`` of the answer; later parts contain ``-part-``."""
        return f"{self.message_id}-part-{part}" if part else self.message_id

    @property
    def holder_id(self) -> str:
        """Parent of the turn's steps: the run, or the column of its model."""
        return self.message_id if self.column else self.run_id


def empty_step(
    ids: TurnIds, step_id: str, name: str, *, kind: str, parent: str, at: datetime, icon: str = ""
) -> StepDict:
    """Return an empty step that began at ``at``."""
    return {
        "id": step_id,
        "name": name,
        "type": kind,
        "threadId": ids.thread_id,
        "parentId": parent,
        "input": "",
        "output": "",
        "streaming": False,
        "isError": False,
        "showInput": False,
        "defaultOpen": False,
        "autoCollapse": False,
        "metadata": {"turn": ids.turn_id, **({"icon": icon} if icon else {})},
        "createdAt": iso(at),
        "start": iso(at),
        "end": None,
    }


def answer_step(ids: TurnIds, part: int = 0) -> StepDict:
    """Return the empty message for a part of the answer, or the column of its model."""
    if not ids.column:
        # The history sorts by time; offsets keep the order of parts written together.
        at = now() + timedelta(milliseconds=part)
        return empty_step(ids, ids.answer_id(part), ids.author, kind="assistant_message", parent=ids.run_id, at=at)
    # The columns share their run's start: each is later than the run and than the column before it.
    at = ids.started_at + timedelta(milliseconds=1 + ids.place)
    column = empty_step(ids, ids.message_id, ids.column, kind=COLUMN, parent=ids.run_id, at=at, icon="sparkles")
    return {**column, "defaultOpen": True}


def run_step(ids: TurnIds, question_id: str) -> StepDict:
    """Return the run under the question, which contains the turn's parts."""
    run = empty_step(ids, ids.run_id, "on_message", kind="run", parent=question_id, at=ids.started_at)
    return {**run, "metadata": {}}


def finished_run(ids: TurnIds, question_id: str) -> StepDict:
    """Return the run of an ended answer."""
    return {**run_step(ids, question_id), "end": iso(now())}


def unfinished_turns(thread: Any) -> list[str]:
    """Return the turns of a stored conversation that had not ended when it was written."""
    steps = (thread or {}).get("steps") or []
    return list(dict.fromkeys(turn_of(step) for step in steps if (step.get("metadata") or {}).get(UNFINISHED)))


def turns_of(thread: Any) -> list[str]:
    """Return the turns of a stored conversation."""
    return list(dict.fromkeys(filter(None, map(turn_of, (thread or {}).get("steps") or []))))


def turn_of(step: Any) -> str:
    """Return the turn that a stored step belongs to; empty for a step of none."""
    return str((step.get("metadata") or {}).get("turn") or "")


def unfinished(step: StepDict) -> StepDict:
    """Return the step with the mark that its turn has not ended."""
    return {**step, "metadata": {**step["metadata"], UNFINISHED: True}}


def finished(step: StepDict) -> StepDict:
    """Return the step without that mark."""
    return {**step, "metadata": {key: value for key, value in step["metadata"].items() if key != UNFINISHED}}


def merged(stored: Sequence[Any], rendered: Sequence[Any]) -> list[Any]:
    """Return ``stored`` with the entries of ``rendered`` in the place of those of the same id."""
    fresh = {entry["id"]: entry for entry in rendered}
    return [*(entry | fresh.pop(entry["id"], {}) for entry in stored), *fresh.values()]


def part_id(turn_id: str, name: str) -> str:
    """Return the id of a part of a turn, such as ``phase``, the line that shows what the turn is doing."""
    return str(uuid5(NAMESPACE_URL, f"asclepius:{turn_id}:{name}"))


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def iso(at: datetime) -> str:
    """Format a time as Chainlit does: UTC with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
