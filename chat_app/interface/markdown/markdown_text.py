"""Plain text and data as Markdown: everything is shown as it is, nothing is markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_MOST_ROWS = 50
_LONGEST_CELL = 300


def literal(text: str) -> str:
    """``text`` as one line of Markdown that shows exactly that text."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of plain text; columns that are empty in every row are left out."""
    kept = [c for c in range(len(header)) if any(row[c] for row in rows)]
    if not rows or not kept:
        return ""
    lines = ["| " + " | ".join(literal(header[c]) for c in kept) + " |", "|" + " --- |" * len(kept)]
    lines += ["| " + " | ".join(literal(_short(row[c])) for c in kept) + " |" for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        lines += ["", f"and {len(rows) - _MOST_ROWS} more rows"]
    return "\n".join(lines)


def cell(value: JsonValue) -> str:
    """A JSON value in a few words."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(cell(item) for item in value if item not in (None, ""))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {cell(item)}" for key, item in value.items() if item not in (None, "", []))
    return str(value)


def code_block(text: str, language: str) -> str:
    """``text`` in a fence that it cannot close."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1].rstrip() + "…"
