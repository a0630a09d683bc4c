"""Words of the calculators in the reader's language, from the gettext catalogues in ``locale``.

A text is found by its English, which is the fallback.
"""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from importlib import resources
from typing import Final

from babel.messages.pofile import read_po

ENGLISH: Final = "en"
LANGUAGE: Final[ContextVar[str]] = ContextVar("calculator language", default=ENGLISH)
"""The language of the running calculation."""


def translate(text: str, /, **values: str) -> str:
    """Return the English ``text`` in the calculation's language, with its placeholders filled."""
    translated = wording(LANGUAGE.get()).get(text, text)
    return translated.format(**values) if values else translated


def either(options: Iterable[str]) -> str:
    """Return ``options`` as alternatives: ``mg/dl or µmol/l``."""
    return f" {translate('or')} ".join(map(translate, options))


@cache
def wording(language: str) -> Mapping[str, str]:
    """Return the texts of ``language`` by their English; none for a language without a catalogue."""
    path = resources.files("tools.calculators") / "locale" / f"{language}.po"
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file, locale=language) if entry.id}


def languages() -> tuple[str, ...]:
    """Return the languages that have a catalogue."""
    files = (resources.files("tools.calculators") / "locale").iterdir()
    return tuple(sorted(file.name.removesuffix(".po") for file in files if file.name.endswith(".po")))
