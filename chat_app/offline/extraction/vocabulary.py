"""The word lists that the model knows, each a text file beside this module."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal


@cache
def word_list(
    name: Literal["abbreviations", "common", "drugs", "function_words", "not_drugs", "stop", "weak"],
) -> frozenset[str]:
    """The words of one list, in lower case. Lines that begin with ``#`` are comments."""
    text = (resources.files("chat_app.offline.extraction") / "words" / f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())
