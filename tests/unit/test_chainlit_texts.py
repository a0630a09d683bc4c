"""Chainlit's own texts, in every language of the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from chat_app.interface.i18n.translation import language_of, languages

FOLDER = Path(__file__).resolve().parents[2] / ".chainlit"
FILES = {
    language: path
    for path in (FOLDER / "translations").glob("*.json")
    if path.stem.startswith(language := language_of(path.stem))
}
"""Without the other languages, which Chainlit writes there when it runs in this folder."""
SHOWN = ("auth.", "chat.input.", "components.MultiSelect", "threadHistory.sidebar.")
"""Keys of texts that the page shows."""


def _leaves(texts: dict[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    for name, value in texts.items():
        if isinstance(value, dict):
            yield from _leaves(cast("dict[str, Any]", value), f"{place}{name}.")
        else:
            yield f"{place}{name}", value


def test_chainlits_own_texts_are_there_in_every_language() -> None:
    said = {language: dict(_leaves(json.loads(FILES[language].read_text("utf-8")))) for language in languages()}
    for language in languages():
        path = FILES[language]
        assert said[language].keys() == said["en"].keys(), path
        assert said[language]["chat.messages.status.used"] == "", "a step's title has no room for it"
        if language != "en":
            same = [key for key in said["en"] if key.startswith(SHOWN) and said[language][key] == said["en"][key]]
            assert same == [], path
            assert (FOLDER / f"chainlit_{path.stem}.md").is_file()
