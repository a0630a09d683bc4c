"""Texts of a package in the reader's language, from the gettext catalogues in its folder ``locale``.

A text is found by its English, which is the fallback.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from babel.messages.pofile import read_po


@cache
def catalogue(package: str, language: str) -> Mapping[str, str]:
    """Return the texts of ``package`` in ``language`` by their English; none for a language without a catalogue."""
    path = resources.files(package) / "locale" / f"{language}.po"
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file, locale=language) if entry.id}


def in_language(package: str, language: str, text: str) -> str:
    """Return ``text`` in ``language``; it may fill the places ``{}`` of a text, the longest that fits."""
    texts = catalogue(package, language)
    if text in texts:
        return texts[text]
    for english in sorted((one for one in texts if "{}" in one), key=len, reverse=True):
        if filled := re.fullmatch(re.escape(english).replace(r"\{\}", "(.+?)"), text):
            return texts[english].format(*filled.groups())
    return text


def languages(package: str) -> tuple[str, ...]:
    """Return the languages in which ``package`` has a catalogue."""
    files = (resources.files(package) / "locale").iterdir()
    return tuple(sorted(file.name.removesuffix(".po") for file in files if file.name.endswith(".po")))
