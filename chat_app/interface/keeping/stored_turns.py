"""The steps of a stored conversation: which turn they belong to, and whether it has ended."""

from collections.abc import Sequence
from typing import Any, Final

from chat_app.interface.rendering.turn_steps import StepDict

UNFINISHED: Final = "unfinished"
"""Key of a message's metadata: the turn has not ended, or its process died."""


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


def finished(step: Any) -> Any:
    """Return the step without that mark."""
    metadata = {key: value for key, value in step["metadata"].items() if key != UNFINISHED}
    return {**step, "metadata": metadata}


def merged(stored: Sequence[Any], rendered: Sequence[Any]) -> list[Any]:
    """Return ``stored`` with the entries of ``rendered`` in the place of those of the same id."""
    fresh = {entry["id"]: entry for entry in rendered}
    return [*(entry | fresh.pop(entry["id"], {}) for entry in stored), *fresh.values()]
