"""Rows of the history as the page shows them."""

from __future__ import annotations

from typing import Any

import pytest

from chat_app.interface.history.history_rows import hit


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ("From the guide:\n\n- Give **oxygen** now.[\\[1\\]](#cite-1)", "From the guide: Give oxygen now.[1]"),
        ("## Dose\n> Oxygen at 2 L/min - not more", "Dose Oxygen at 2 L/min - not more"),
        ("5-10 mg, oxygen", "5-10 mg, oxygen"),
    ],
)
def test_a_search_hit_shows_the_words_of_an_answer_without_its_markup(found: str, shown: str) -> None:
    row: dict[str, Any] = {"name": "Asthma", "updatedAt": "2026-11-23T10:00:00Z", "found": found}
    assert hit(row, "oxygen") == f"Asthma\n2026-11-23 · {shown}"
