"""A text that fills the places of a template is translated with what fills them."""

from __future__ import annotations

import pytest

from tools.catalogues import in_language


@pytest.mark.parametrize(
    ("text", "german"),
    [
        ("sertaline was read as sertraline.", "sertaline wurde als sertraline gelesen."),
        ("unknown words", "unknown words"),
    ],
)
def test_a_text_or_what_fills_a_template_is_translated(text: str, german: str) -> None:
    assert in_language("tools.drug_database", "de", text) == german
