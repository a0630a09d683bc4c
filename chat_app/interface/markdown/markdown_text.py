"""Plain text and data as Markdown in which nothing acts as markup."""

import re
from collections.abc import Sequence

from pydantic import JsonValue

from chat_app.interface.i18n.translation import Language, say

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_MOST_ROWS = 50
_LONGEST_CELL = 300


def literal(text: str) -> str:
    """Escape ``text`` into one line of Markdown that shows exactly that text."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def table(language: Language, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table of plain text, without the columns that are empty in every row."""
    kept = [c for c in range(len(header)) if any(row[c] for row in rows)]
    if not rows or not kept:
        return ""
    lines = ["| " + " | ".join(literal(header[c]) for c in kept) + " |", "|" + " --- |" * len(kept)]
    shown = [[literal(short(row[c], _LONGEST_CELL)) for c in kept] for row in rows[:_MOST_ROWS]]
    lines += [f"| {' | '.join(cells)} |" for cells in shown]
    if len(rows) > _MOST_ROWS:
        lines += ["", say(language, "step.more_rows", count=len(rows) - _MOST_ROWS)]
    return "\n".join(lines)


def cell(language: Language, value: JsonValue) -> str:
    """Return a JSON value as text of a table cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return say(language, "step.yes" if value else "step.no")
    if isinstance(value, list):
        return ", ".join(cell(language, item) for item in value if item not in (None, ""))
    if isinstance(value, dict):
        if value.keys() == {"value", "unit"}:
            return f"{cell(language, value['value'])} {cell(language, value['unit'])}"
        return ", ".join(f"{key}: {cell(language, item)}" for key, item in value.items() if item not in (None, "", []))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def code_block(text: str, language: str) -> str:
    """Put ``text`` in a fence that it cannot close."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def short(text: str, longest: int) -> str:
    """Return ``text`` cut to ``longest`` characters, with an ellipsis where its end is missing."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
