"""The table in ``docs/settings.md``, generated from the settings themselves.

``python -m tests.support.settings_table`` writes it.
"""

from __future__ import annotations

import re
from pathlib import Path

from chat_app.settings import SECTIONS, variable_name

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
BEGIN, END = "<!-- settings -->", "<!-- /settings -->"


def settings_table() -> str:
    """Return one Markdown table: variable, default and meaning, grouped by section."""
    lines = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for section in SECTIONS:
        lines.append(f"| **{(section.__doc__ or '').strip().splitlines()[0]}** | | |")
        for name, field in section.model_fields.items():
            default = field.default
            if isinstance(default, tuple):
                default = ",".join(default)
            shown = "" if default in {None, ""} else f"`{default}`"
            meaning = " ".join((field.description or "").split())
            lines.append(f"| `{variable_name(section, name)}` | {shown} | {meaning} |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """Return ``page`` with the current table."""
    block = f"{BEGIN}\n{settings_table()}\n{END}"
    return re.sub(f"{BEGIN}.*?{END}", lambda _: block, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), encoding="utf-8")
