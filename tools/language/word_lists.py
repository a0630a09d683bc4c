"""Loads the word lists of ``tools/language/words``; the README there names their sources."""

from functools import cache
from importlib import resources
from typing import Literal

WordList = Literal[
    "abbreviations",
    "abbreviations_before_numbers",
    "asking",
    "conditions",
    "finite_verbs",
    "inn_stems",
    "list_actions",
    "negations",
    "ordinal_markers",
    "organisations",
    "patient_verbs",
    "qualifiers",
    "stop",
]
WordEntries = Literal[
    "british_spellings", "clinical_abbreviations", "eponyms", "finding_qualifiers", "library", "units", "word_forms"
]


@cache
def word_list(name: WordList) -> frozenset[str]:
    """Return the words of one list."""
    return frozenset(word for line in word_lines(name) for word in line.split())


@cache
def word_entries(name: WordEntries) -> dict[str, str]:
    """Return one list of entries: the text after each line's colon, by the text before it."""
    entries = (line.partition(":") for line in word_lines(name))
    return {key: rest.strip() for key, _, rest in entries}


def word_lines(name: str) -> list[str]:
    """Return the lines of one list without comments and blank lines."""
    text = (resources.files("tools.language") / "words" / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
