"""A conversation as one Markdown document: questions, answers as they were sent, references, how each ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat_app.events import Outcome
from chat_app.interface.i18n.locale_formats import date_and_time
from chat_app.interface.i18n.translation import ENGLISH, Language, say, say_outcome
from chat_app.interface.rendering.turn_steps import COLUMN, GOES_ON

_ANSWERS = {"assistant_message", COLUMN}


def conversation_markdown(thread: Mapping[str, Any], language: Language = ENGLISH) -> str:
    """Return ``thread``, as the history returns it, with its headings in ``language``."""
    lines = [
        f"# {_one_line(thread.get('name') or say(language, 'export.untitled'))}",
        "",
        date_and_time(language, thread.get("createdAt") or ""),
        "",
        f"> {say(language, 'export.purpose')}",
        "",
    ]
    elements = {element.get("forId"): element.get("props") or {} for element in thread.get("elements") or []}
    for step in thread.get("steps") or []:
        if step["type"] == "user_message":
            lines += [f"## {say(language, 'export.question')}", "", _quoted(step["output"]), ""]
        elif step["type"] in _ANSWERS and not (step.get("metadata") or {}).get(GOES_ON):
            heading = say(language, "export.answer")
            if step["type"] == COLUMN:
                heading = say(language, "export.answer_of", model=_one_line(step["name"]))
            lines += [f"## {heading}", "", *_answer(step, elements.get(step["id"], {}), language), ""]
    return "\n".join(lines).rstrip() + "\n"


def _answer(step: Mapping[str, Any], props: Mapping[str, Any], language: Language) -> list[str]:
    metadata = step.get("metadata") or {}
    outcome = Outcome.model_validate(metadata.get("outcome") or {})
    shown = [str(props.get("plain") or metadata.get("answer") or "")]
    if outcome.kind != "completed":
        how = say_outcome(language, outcome) or outcome.message
        shown += ["", f"**{say(language, 'export.incomplete')}** {how}"]
    shown += [f"\n{say(language, 'export.note', notice=notice)}" for notice in props.get("notices") or []]
    return shown


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())
