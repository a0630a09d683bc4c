"""Parses a typed text: separates words that may name a medicine from question words, forms and strengths."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tools.drug_database.names.aliases import is_known_word
from tools.drug_database.records.shipped_data import shipped_words
from tools.language.figures import DECIMAL
from tools.language.folding import fold_name
from tools.language.measurement_units import UNITS, units_of
from tools.language.vocabulary.text_language import with_spanish_and

LONGEST: Final = 2_000
"""Number of characters of the typed text that are read."""
FORMS: Final = shipped_words("forms")
OFFERED: Final = shipped_words("offered")
"""Words of a question in which forms a medicine exists."""
PRODUCT_WORDS: Final = FORMS | shipped_words("units")
NOISE: Final = PRODUCT_WORDS | shipped_words("asking")
CONTEXT: Final = shipped_words("context")
"""Other subjects of questions: diseases, organs, food. Some are names of medicines as well (alcohol, iron)."""
BESIDE: Final = frozenset({"with", "w", "mit", "con"})
JOINING: Final = BESIDE | {"and", "plus", "in", "und", "y"}
"""Words that may join the parts of a combination."""
_STRENGTHS: Final = units_of("mass", "amount", "activity", "share")
_WEIGHT: Final = r"(?:kgs?|kilo(?:gram)?s?|lbs?|pounds?)"
"""Units of a patient's weight, which is not a strength."""
_NUMBER: Final = r"\d+(?:[.,]\d+)*"
_AMOUNT = re.compile(rf"^{_NUMBER}(?:{_STRENGTHS}|{units_of('volume', 'time')})?$")
_STRENGTH = re.compile(
    rf"{_NUMBER}\s*(?!{_WEIGHT}\b)(?:{_STRENGTHS})"
    rf"(?:\s*/\s*(?:{DECIMAL}\s*)?(?:{units_of('volume', 'time')}|g|actuation))?",
    re.IGNORECASE,
)
_GLUED = re.compile(rf"(?<=[a-z]{{3}})(?={_STRENGTH.pattern}(?![a-z]))", re.IGNORECASE)
"""The boundary between a name and a strength, as in ``metformin500mg``."""
_OWNS = re.compile(r"\b(what|how|who|where|when|it|that|patient)['\u2019]s\b", re.IGNORECASE)
_TOGETHER = re.compile(
    r"together|interact\w*|clash\w*|combin(?:e|ed|ing)|con(?:comitant|current)\w*|simultaneous\w*|coadminist\w*"
    r"|zusammen|gemeinsam|gleichzeitig\w*|wechselwirk\w*|kombinier\w*|junt[oa]s|interac\w*"
)
_WITH_FORM: Final = re.compile(rf"(?P<name>\w{{4,}}?)(?P<form>{'|'.join(sorted(shipped_words('compounded')))})")
_PLUS: Final = re.compile(r"(?<=\w)\+(?=\w)|(?<=\s)\+(?=\s)")
_LISTED: Final = re.compile(r"(\w+),\s*(?=(\w+))")
_LINES: Final = re.compile(r"(?<=\w)[^\S\n]*\n\s*(?=\w)")
"""A line break between two words, which separates the medicines of a list like a comma."""
_MARKS = str.maketrans({"\u2122": " ", "\u2120": " "})
"""Trade mark signs, which folding would turn into letters."""


class TypedQuery(NamedTuple):
    """A typed text with its folded words."""

    plain: str
    """The visible text in the case in which it was typed, which tells its language."""
    whole: str
    """The whole text, folded."""
    words: tuple[str, ...]
    """The words of ``whole``."""
    core: tuple[str, ...]
    """The words without question words, forms and amounts."""
    trimmed: str
    """``whole`` without noise at its ends: ``phosphodiesterase 5 inhibitor drugs`` keeps its number."""
    strength: str
    """The first strength, as typed; empty if there is none."""
    capitals: frozenset[str] = frozenset()
    """The folded words that were typed in capitals; empty if the whole text is in capitals."""
    hyphenated: frozenset[tuple[str, str]] = frozenset()
    """The pairs of words that a hyphen joins, each in both orders: ``CKD-EPI``."""
    listed: frozenset[tuple[str, str]] = frozenset()
    """The pairs of words that a comma or a line break separates."""

    @property
    def product(self) -> str:
        """Return ``trimmed`` without forms and strengths."""
        return _without_product_words(self.trimmed.split())

    @property
    def without_product_words(self) -> str:
        """Return ``whole`` without forms and strengths."""
        return _without_product_words(self.words)

    @property
    def asks_together(self) -> bool:
        """Return whether the text asks about medicines taken together, and so never means their combination product."""
        return any(_TOGETHER.fullmatch(word) for word in self.words)

    @property
    def lists_doses(self) -> bool:
        """Return whether a comma or a line break follows an amount or form: "aspirin 75 mg, warfarin"."""
        return any(
            not other[0].isdigit() and (one in UNITS or one in PRODUCT_WORDS or _AMOUNT.match(one) is not None)
            for one, other in self.listed
            if one and other
        )

    def may_be_name(self, words: Sequence[str]) -> bool:
        """Return whether ``words`` can be one name; "and" separates two if medicines are taken together."""
        return not self.asks_together or JOINING.isdisjoint(words)

    @property
    def subject(self) -> tuple[str, ...]:
        """Return the core without diseases, organs and the like, unless nothing else is left."""
        return tuple(word for word in self.core if word not in CONTEXT) or self.core


def parse_query(typed: str) -> TypedQuery:
    """Parse the first ``LONGEST`` characters of a typed text; control characters count as spaces."""
    start = _LINES.sub(", ", typed[: LONGEST * 4])
    visible = "".join(" " if unicodedata.category(sign) in {"Cc", "Cf", "Cs"} else sign for sign in start)
    visible = with_joining_words(visible)
    plain = _GLUED.sub(" ", " ".join(_OWNS.sub(r"\1", visible.translate(_MARKS)).split())[:LONGEST])
    strength = _STRENGTH.search(plain)
    words = tuple(fold_name(plain).split())
    capitals = fold_name(" ".join(word for word in plain.split() if word.isupper())) if not plain.isupper() else ""
    # A unit after its number is no part of a name: "ibuprofen 12 h".
    pairs = zip(("", *words), words, strict=False)
    named = (word for last, word in pairs if not (word in UNITS and _AMOUNT.match(last)))
    core = tuple(word for word in named if word not in NOISE and not _AMOUNT.match(word))
    return TypedQuery(
        plain=plain,
        whole=" ".join(words),
        words=words,
        core=core,
        trimmed=_trimmed(words),
        strength=strength[0] if strength else "",
        capitals=frozenset(capitals.split()),
        hyphenated=frozenset(_hyphenated(plain)),
        listed=frozenset((fold_name(one), fold_name(other)) for one, other in _LISTED.findall(plain)),
    )


def with_joining_words(text: str) -> str:
    """Return ``text`` with "plus" for "+" between two words, which folding would drop, and "y" for a Spanish "e"."""
    return with_spanish_and(_PLUS.sub(" plus ", text), "y")


def without_form(folded: str) -> str:
    """Return a German compound without its dosage form: ``nitro`` for ``nitrospray``; other text stays as it is.

    So do known words, of which ``spiegel`` is no gel.
    """
    found = None if is_known_word(folded) else _WITH_FORM.fullmatch(folded)
    return found["name"] if found else folded


def _hyphenated(text: str) -> Iterator[tuple[str, str]]:
    for word in text.split():
        if "-" in word and len(parts := fold_name(word).split()) == 2:
            yield from ((parts[0], parts[1]), (parts[1], parts[0]))


def _without_product_words(words: Sequence[str]) -> str:
    return " ".join(word for word in words if word not in PRODUCT_WORDS and not _AMOUNT.match(word))


def _trimmed(words: tuple[str, ...]) -> str:
    meant = [place for place, word in enumerate(words) if word not in NOISE]
    return " ".join(words[meant[0] : meant[-1] + 1]) if meant else ""
