"""A text that fills the places of a template is translated with what fills them."""

from __future__ import annotations

from chat_app.agent import citations as _cited  # noqa: F401 - the engine translates notes by this function
from tools.catalogues import in_language


def test_a_filled_template_is_translated() -> None:
    package = "tools.drug_database"
    assert in_language(package, "de", "sertaline was read as sertraline.") == "sertaline wurde als sertraline gelesen."
    assert in_language(package, "de", "unknown words") == "unknown words"
