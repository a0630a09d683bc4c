"""Words of the calculators in the reader's language."""

from collections.abc import Iterable
from contextvars import ContextVar
from functools import partial
from typing import Final

from tools import catalogues

_PACKAGE: Final = "tools.calculators"
ENGLISH: Final = "en"
LANGUAGE: Final[ContextVar[str]] = ContextVar("calculator language", default=ENGLISH)
"""The language of the running calculation."""
wording = partial(catalogues.catalogue, _PACKAGE)
languages = partial(catalogues.languages, _PACKAGE)


def translate(text: str, /, **values: str) -> str:
    """Return the English ``text`` in the calculation's language, with its placeholders filled."""
    translated = wording(LANGUAGE.get()).get(text, text)
    return translated.format(**values) if values else translated


def either(options: Iterable[str]) -> str:
    """Return ``options`` as alternatives: ``mg/dl or µmol/l``."""
    return f" {translate('or')} ".join(map(translate, options))
