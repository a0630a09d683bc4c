"""The server's own phrases on the page, in the reader's language.

English is the language they are written in, and the key they are found by; ``german`` has the German ones. Phrases of
the page's own scripts stand in ``public/words.js``, those of Chainlit in ``.chainlit/translations``. What comes from a
source, a model or a reader is never translated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, Literal

from chat_app.interface.i18n.german import GERMAN

Language = Literal["en", "de"]

_OTHERS: Final[Mapping[Language, Mapping[str, str]]] = {"de": GERMAN}
_PLACE: Final = re.compile(r"\{(\w+)\}")


def language_of(tag: str | None) -> Language:
    """The page's language for a browser that asks for ``tag`` (``de-AT``), or for several (``fr, de;q=0.8``)."""
    first = (tag or "").split(",")[0].strip().lower()
    return "de" if first[:2] == "de" else "en"


def say(language: Language, english: str, **values: object) -> str:
    """``english``, or what stands for it in ``language``, its places filled with ``values``."""
    phrase = _OTHERS[language].get(english, english) if language in _OTHERS else english
    return _filled(phrase, values)


def _filled(phrase: str, values: Mapping[str, object]) -> str:
    return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), phrase)


def translated(language: Language, sentence: str) -> str:
    """A sentence that was written elsewhere, its places filled already. One that is not known stays as it is."""
    if language not in _OTHERS:
        return sentence
    phrases = _OTHERS[language]
    if sentence in phrases:
        return phrases[sentence]
    for pattern, phrase in _patterns(language):
        if found := pattern.fullmatch(sentence):
            return _filled(phrase, {name: translated(language, value) for name, value in found.groupdict().items()})
    return sentence


@cache
def _patterns(language: Language) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The phrases with places, those with most words of their own first."""
    templates = [(english, phrase) for english, phrase in _OTHERS[language].items() if _PLACE.search(english)]
    templates.sort(key=lambda item: -len(_PLACE.sub("", item[0])))
    return tuple((_pattern(english), phrase) for english, phrase in templates)


def _pattern(english: str) -> re.Pattern[str]:
    parts = _PLACE.split(english)
    return re.compile("".join(f"(?P<{p}>.+?)" if at % 2 else re.escape(p) for at, p in enumerate(parts)), re.DOTALL)
