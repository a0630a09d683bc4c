"""A conversation as one Markdown document: questions, answers as they were sent, references, how each ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat_app.interface.rendering.turn_steps import COLUMN, GOES_ON

_DISCLAIMER = "Decision support for clinicians. It does not replace clinical judgement; check every source."
_ANSWERS = {"assistant_message", COLUMN}


def conversation_markdown(thread: Mapping[str, Any]) -> str:
    """``thread`` as the history returns it."""
    lines = [
        f"# {_one_line(thread.get('name') or 'Conversation')}",
        "",
        f"{thread.get('createdAt') or ''}",
        "",
        f"> {_DISCLAIMER}",
        "",
    ]
    elements = {element.get("forId"): element.get("props") or {} for element in thread.get("elements") or []}
    for step in thread.get("steps") or []:
        if step["type"] == "user_message":
            lines += ["## Question", "", _quoted(step["output"]), ""]
        elif step["type"] in _ANSWERS and not (step.get("metadata") or {}).get(GOES_ON):
            heading = f"## Answer of {_one_line(step['name'])}" if step["type"] == COLUMN else "## Answer"
            lines += [heading, "", *_answer(step, elements.get(step["id"], {})), ""]
    return "\n".join(lines).rstrip() + "\n"


def _answer(step: Mapping[str, Any], props: Mapping[str, Any]) -> list[str]:
    metadata = step.get("metadata") or {}
    outcome = metadata.get("outcome") or {}
    shown = [str(props.get("plain") or metadata.get("answer") or "")]
    if outcome.get("kind", "completed") != "completed":
        shown += ["", f"**This answer is not complete ({outcome.get('kind')}).** {outcome.get('message', '')}"]
    shown += [f"\nNote: {notice}" for notice in props.get("notices") or []]
    return shown


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())
