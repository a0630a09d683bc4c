"""Tell medicines that are taken together from alternatives: "A or B", "switch from A to B", "compare A and B"."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final

from chat_app.offline.extraction.question import Question
from chat_app.offline.reading.evidence import Evidence, Pair
from tools.drug_database.names.foreign_names import english_forms, international_key
from tools.drug_database.names.query_words import JOINING, TypedQuery, parse_query, with_joining_words
from tools.language.folding import fold_name
from tools.language.quotable_units import term_set
from tools.language.vocabulary.clinical_vocabulary import translations
from tools.language.vocabulary.text_language import language_of

_CHANGE: Final = (
    r"switch\w*|swap\w*|convert\w*|conversion|chang(?:e|ed|ing) (?:from|to)|transition\w*|replac\w*"
    r"|umstell\w*|umgestellt|umsetz\w*|wechsel(?!wirk)\w*|cambi\w*"
)
_COMPARISON: Final = (
    r"compar\w*|differ\w*|unterschied\w*|diferen\w*|vergleich\w*|equiv\w*|equipoten\w*|potency|aquiv\w*"
)
_IN_PLACE: Final = "instead|rather than|statt|anstelle|anstatt|gegenuber|en lugar|en vez"
_INSTEAD: Final = re.compile(rf"\b(?:{_CHANGE}|{_COMPARISON}|{_IN_PLACE})\b")
_BESIDE: Final = (
    "with|on|plus|add|added|adding|while|alongside|takes|taking|take|receives|receiving|using"
    "|mit|unter|neben|zu|nimmt|einnimmt|bekommt|erhalt|con|toma|tomando"
)
"""Words before a medicine that is taken beside another."""
_CHOICE: Final = "or|oder|o|than|als|vs|versus|better|besser|mejor|safer|safest|sicherer|preferred|bevorzugt"
_JOINTS: Final = (
    ("", rf"{_CHOICE}|que|(?:{_IN_PLACE})(?: of| von| de)?"),
    (_CHANGE, "to|from|by|with|auf|zu|von|durch|mit|a|de|por|con"),
    (_COMPARISON, "and|with|to|und|mit|y|con"),
)
"""What joins alternatives: always, and in a question for a change or a comparison."""


def asks_change(question: Question) -> bool:
    """Return whether one medicine is to replace another."""
    return re.search(rf"\b(?:{_CHANGE})\b", fold_name(question.text)) is not None


def names_in(question: Question, evidence: Evidence) -> set[str]:
    """Return the names of what was found, folded, with the German or Spanish words of ``question`` that mean them."""
    typed = (lookup.also_named for lookup in evidence.lookups)
    names = {*map(fold_name, chain(evidence.medicines, *(pair.names for pair in evidence.pairs), *typed))} - {""}
    words = parse_query(question.text).words
    known = {word for name in names for word in name.split()}
    keys = set(map(international_key, known | names)) - {""}
    meant = {word for word in words if not keys.isdisjoint(map(international_key, (word, *english_forms(word))))}
    for one in translations(words, language_of(question.text)):
        if any(known.issuperset(fold_name(term).split()) for term in one.terms):
            meant.add(" ".join(words[one.start : one.end]))
    return names | meant - JOINING | _other_words(names, words, evidence)


def _other_words(names: Collection[str], words: Sequence[str], evidence: Evidence) -> set[str]:
    """Return the ``words`` that the searches read as ``names``: SABA, DOAC."""
    read = {term.term: [set(fold_name(one).split()) for one in term.also] for term in evidence.terms}
    return {
        word
        for word in words
        if any(set(name.split()) <= one for term in term_set(word) for one in read.get(term, ()) for name in names)
    }


def tells_together(question: Question, evidence: Evidence) -> bool | None:
    """Return whether ``question`` says that medicines are taken together, or compares them; None if it says neither."""
    text = fold_name(with_joining_words(question.text).replace("&", " plus "))
    name = f"(?:{'|'.join(map(re.escape, sorted(names_in(question, evidence), key=len, reverse=True)))})(?:s|e|en)?"
    if _INSTEAD.search(text) or re.search(rf"\b(?:from|von|de) {name} .*\b(?:to|auf|zu|a) {name}\b", text):
        return False
    # Beside a third one, two are alternatives of which each is taken with it.
    alone = "" if len({one for pair in evidence.pairs for one in pair.names}) > 2 else rf"(?! (?:{_CHOICE}) )"
    if re.search(rf"\b(?:{_BESIDE}) (?:(?!(?:{_CHOICE}) )\w+ ){{0,2}}{name}\b{alone}", text):
        return True
    return False if re.search(rf"\b(?:{_CHOICE})\b|\b(?:than|als) {name}\b", text) else None


def alternatives(question: Question, evidence: Evidence) -> list[Pair]:
    """Return the pairs of which ``question`` asks for one or the other; the parts of a product are no pair beside them.

    "A or B", "A, B or C", "A rather than B", "switch from A to B", "compare A and B".
    """
    typed = parse_query(question.text)
    if typed.asks_together or evidence.on_overdose:
        return []
    text = fold_name(with_joining_words(question.text))
    joints = "|".join(joint for asks, joint in _JOINTS if re.search(rf"\b(?:{asks})\b", text))
    known = names_in(question, evidence)
    pairs = [pair for pair in evidence.pairs if len(pair.names) > 1]
    parties = {name: {fold_name(name)} for pair in pairs for name in pair.names}
    for record in evidence.named:
        parties.get(record.name, set()).update(map(fold_name, record.names))
    named = {
        name: known if len(parties) < 3 else own | _other_words(own, typed.words, evidence)
        for name, own in parties.items()
    }
    found = [pair for pair in pairs if _joins(text, joints, [named[name] for name in pair.names], known)]
    parts = (pair for pair in pairs if found and _are_hyphenated(typed, *(named[name] for name in pair.names)))
    return [*found, *parts]


def _are_hyphenated(typed: TypedQuery, one: Collection[str], other: Collection[str]) -> bool:
    return any(first in one and second in other for first, second in typed.hyphenated)


def _joins(text: str, joints: str, pair: Sequence[Collection[str]], known: Collection[str]) -> bool:
    """Return whether one of ``joints`` joins the names of ``pair``, or a list of ``known`` names that holds them."""
    first, second, name = (
        rf"(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?:s|e|en)?" for names in (*pair, known)
    )
    word = rf"(?!(?:{_BESIDE}|and|und|y)\b)(?!{name}\b)\w+"
    joint = rf"(?:(?: {name})*|(?: {word}){{1,3}}) (?:{joints})(?: {word}){{0,2}}(?: {name})*?"
    return any(
        re.search(rf"\b{one}(?:{joint} {other}|(?: {name})*? {other}(?: {name})* (?:{_CHOICE}) {name})\b", text)
        for one, other in ((first, second), (second, first))
    )
