"""The README's table of settings, made from the settings themselves.

``python -m tests.support.settings_table`` writes it into the README.
"""

from __future__ import annotations

import re
from pathlib import Path

from chat_app.settings import SECTIONS, variable_name

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- settings -->", "<!-- /settings -->"


def settings_table() -> str:
    """One Markdown table: variable, default, meaning; grouped by the section's first line."""
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


def with_table(readme: str) -> str:
    block = f"{BEGIN}\n{settings_table()}\n{END}"
    return re.sub(f"{BEGIN}.*?{END}", lambda _: block, readme, flags=re.DOTALL)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
