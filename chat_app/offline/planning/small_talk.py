"""Tell greetings, thanks and questions on the assistant itself from clinical questions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

import orjson

from chat_app.offline import phrases
from tools.language.folding import fold_name
from tools.language.vocabulary.common_words import Language
from tools.language.vocabulary.text_language import language_of

_ANSWERS: Final[Mapping[str, str]] = {
    "about": phrases.ABOUT,
    "why": phrases.NO_REASONS,
    "thanks": phrases.THANKS,
    "farewell": phrases.FAREWELL,
    "greeting": phrases.GREETING,
    "agreement": phrases.NEXT,
    "interjection": phrases.NEXT,
    "anew": phrases.NEXT,
}
"""The answer to each kind. A message of several kinds gets the first of their answers."""
_WHOLE: Final = frozenset({"about", "why"})
"""Kinds that are small talk only if the message says nothing else."""
_STRONG: Final = frozenset({"thanks", "greeting", "interjection", "anew"})
"""Kinds after which a question needs no punctuation. Other phrases, such as "good", may be its first word."""
_WORD: Final = re.compile(r"[^\W_]+")
_PUNCTUATION: Final = re.compile(r"\s*(?:[,.;:!?…–—-]|\n|$)")
_LONGEST: Final = 8
"""Maximum number of words of a phrase."""


def small_talk(message: str) -> str:
    """Return the answer to a message that needs no source; empty if it may need one."""
    kinds, rest = _opening(message)
    whole = _kinds().get(fold_name(rest), {})
    if rest and not _WHOLE & whole.keys():
        return ""
    found: dict[str, Language | None] = {}
    for one in (*kinds, whole if rest else {}):
        found.update(one)
    kind = next((kind for kind in _ANSWERS if kind in found), "")
    return phrases.said(_ANSWERS[kind], found[kind] or language_of(message)) if kind else ""


def without_courtesy(message: str) -> str:
    """Return ``message`` without a greeting, thanks or an interjection before a question."""
    return _opening(message)[1] or message


def changes_subject(message: str) -> bool:
    """Return whether ``message`` says that it is on another patient or subject than those before."""
    return any("anew" in kinds for kinds in _opening(message)[0])


@cache
def _kinds() -> Mapping[str, Mapping[str, Language | None]]:
    """Return for each folded phrase its kinds, each with its language, or with None if several languages have it."""
    listed: dict[str, dict[Language, list[str]]] = orjson.loads(
        (resources.files("chat_app.offline") / "small_talk.json").read_bytes()
    )
    found: dict[str, dict[str, Language | None]] = {}
    for kind, languages in listed.items():
        for language, texts in languages.items():
            for text in texts:
                kinds = found.setdefault(fold_name(text), {})
                kinds[kind] = None if kind in kinds else language
    return found


def _opening(message: str) -> tuple[list[Mapping[str, Language | None]], str]:
    """Return the kinds of the phrases with which ``message`` opens, and the rest of the message."""
    words = list(_WORD.finditer(message))
    kinds: list[Mapping[str, Language | None]] = []
    at = end = 0
    while at < len(words):
        sizes = range(min(_LONGEST, len(words) - at), 0, -1)
        texts = ((size, fold_name(message[words[at].start() : words[at + size - 1].end()])) for size in sizes)
        openings = ((size, _kinds().get(text, {})) for size, text in texts)
        size, known = next((found for found in openings if found[1].keys() - _WHOLE), (0, {}))
        if not size or ("filler" in known and not kinds):
            break
        kinds.append(known)
        at += size
        if _STRONG & known.keys() or _PUNCTUATION.match(message, words[at - 1].end()):
            end = at
    if end == len(words):
        return kinds, ""
    return kinds, message[words[end].start() :] if end else message
