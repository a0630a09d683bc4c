"""Words of the calculators in the reader's language."""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Final

from tools import catalogues
from tools.catalogues import catalogue

_PACKAGE: Final = "tools.calculators"
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


def wording(language: str) -> Mapping[str, str]:
    """Return the texts of ``language`` by their English; none for a language without a catalogue."""
    return catalogue(_PACKAGE, language)


def languages() -> tuple[str, ...]:
    """Return the languages that have a catalogue."""
    return catalogues.languages(_PACKAGE)
