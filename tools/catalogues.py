"""Texts of a package in the reader's language, from the gettext catalogues in its folder ``locale``.

A text is found by its English, which is the fallback.
"""

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


def languages(package: str) -> tuple[str, ...]:
    """Return the languages in which ``package`` has a catalogue."""
    files = (resources.files(package) / "locale").iterdir()
    return tuple(sorted(file.name.removesuffix(".po") for file in files if file.name.endswith(".po")))
