"""Puts the words of a follow-up in the place of words of the same kind in the question before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Final

from chat_app.offline.extraction.opposite_sides import opposite_of
from chat_app.offline.planning.followup_signs import (
    PREPOSITION,
    PREPOSITIONS,
    asks_reverse,
    form_words,
    is_medicine,
    is_short,
    possible_names,
    states_more,
    tells_allergy,
)
from chat_app.offline.planning.medicines_before import BESIDE, IN_PLACE, taken_out
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.foreign_names import international_key
from tools.language.folding import fold_name
from tools.language.terms import terms
from tools.language.vocabulary.absence import absence
from tools.language.vocabulary.common_words import is_ordinary
from tools.language.vocabulary.patient_values import value_names
from tools.language.vocabulary.populations import populations_in

_JOINT: Final = r"\b(?:in|for|of|with|to)\b"
_ARTICLE: Final = r"(?:(?:the|his|her|their|der|dem|des|die|das|seine[mrs]?|ihre[mrs]?|el|la|del|su) )?"
_IN_PLACE_OF: Final = re.compile(
    rf"[, ]*\b(?:instead of|rather than|in (?:place|lieu) of|statt|anstatt|anstelle(?: von)?|en (?:lugar|vez) de)"
    rf" {_ARTICLE}(?P<name>[\w-]+)",
    re.IGNORECASE,
)
"""Words that name the medicine in whose place another is asked about."""
_NONE: Final = r"\b(?:no|not|without|never|kein\w*|ohne|nicht|sin) "
"""Words that deny what follows."""


def replaced(before: str, rest: str, known: Sequence[str]) -> str:
    """Return ``before`` with ``rest`` in place of words of its kind; empty if it has none."""
    if exchanged := _turned(before, rest, known) or _exchanged(before, rest, known):
        return exchanged
    kinds = [re.escape(" ".join(rest.split()[:2])) + r"\b[^,;:]*"] if PREPOSITION.match(rest) else []
    if other_use := _other_use(before, rest):
        kinds.append(other_use)
    elif is_short(rest) and is_medicine(BESIDE.sub("", rest)) and not (states_more(rest) or tells_allergy(rest)):
        one = sum(not is_ordinary(word) for word in possible_names(rest)) == 1
        kinds += (rf"\b{re.escape(name)}" for name in taken_out(before, rest, known, one=one))
    if denial := _denial(before, rest):
        kinds.append(denial)
    if form_words(rest):
        kinds += (rf"\b{re.escape(word)}\b" for word in form_words(before))
    if other_side := opposite_of(rest):
        kinds.append(rf"(?:{other_side.pattern})[\w-]*")
    joint = rf"(?:{_JOINT} )?" if re.match(rf"{_JOINT}|{PREPOSITIONS}", rest, re.IGNORECASE) else ""
    pattern = re.compile(rf"(?P<joint>(?:,|\band|\bor) )?{joint}(?:{'|'.join(kinds)})", re.IGNORECASE)
    first = pattern.search(before) if kinds else None
    if first is None:
        return ""
    # After a comma the new name stays an item of the list; in "A and B" it replaces both names.
    comma = ", " if first["joint"] == ", " else ""
    places = chain([f"{comma}{IN_PLACE.sub('', rest)}"], repeat(""))
    return f"{' '.join(pattern.sub(lambda _: next(places), before).split())}?"


def _turned(before: str, rest: str, known: Sequence[str]) -> str:
    """Return ``before`` with its two medicines exchanged, if ``rest`` only asks for that; otherwise empty."""
    if len(known) != 2 or not asks_reverse(rest):
        return ""
    one, other = known
    either = re.compile(rf"\b(?P<one>{re.escape(one)})\b|\b{re.escape(other)}\b", re.IGNORECASE)
    return f"{either.sub(lambda found: other if found['one'] else one, before)}?"


def _exchanged(before: str, rest: str, known: Sequence[str]) -> str:
    """Return ``before`` with the medicine that ``rest`` asks about instead of a named one; empty if it names none."""
    named = _IN_PLACE_OF.search(rest)
    keys = {international_key(fold_name(one)) for one in known}
    if named is None or international_key(fold_name(named["name"])) not in keys:
        return ""
    new = _IN_PLACE_OF.sub("", rest, count=1).strip(" ,")
    place = re.compile(rf"\b{re.escape(named['name'])}\b", re.IGNORECASE)
    return f"{place.sub(lambda _: new, before, count=1)}?"


def _denial(before: str, rest: str) -> str:
    """Return a pattern for what ``before`` says is absent, if ``rest`` says that it is there; otherwise empty."""
    present = absence(before).denied - absence(rest).denied
    words = [re.escape(word) for word in re.findall(r"[\w-]+", rest) if not present.isdisjoint(terms(word))]
    said = "|".join(words)
    return rf"\bnon[ -](?:{said})|{_NONE}(?:[\w-]+ ){{0,2}}?(?:{said})\b[^,;:]*" if words else ""


def _other_use(before: str, rest: str) -> str:
    """Return a pattern for the use of a medicine in ``before`` if ``rest`` names another use; otherwise empty."""
    use = rf"\bfor\b(?:(?! {PREPOSITIONS})[^,;:])*"
    asked = re.match(r"for\b", rest, re.IGNORECASE) and not populations_in(rest) and not value_names(rest)
    return use if asked and not label_terms().members_in(rest) and re.search(use, before, re.IGNORECASE) else ""
