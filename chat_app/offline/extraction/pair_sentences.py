"""Sentences of guidelines that name both medicines of a pair, each by a name or by a class that the other is not in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chat_app.offline.reading.evidence import Evidence, EvidencePassage
from tools.drug_database.labels.interaction_parties import is_telling
from tools.drug_database.labels.interactions import tells_combination
from tools.drug_database.labels.label_terms import PhraseIndex, Tokens, label_terms, tokens
from tools.drug_database.labels.severity import SEVERITIES, severity_of
from tools.language.quotable_units import Unit, units

_MOST: Final = 3
"""Sentences quoted for one pair."""
_ARTICLES: Final = frozenset({"a", "an", "the"})


class _Partner:
    """What a sentence may call one medicine or class of a pair."""

    def __init__(self, name: str, evidence: Evidence) -> None:
        names = [name, *(other for one in evidence.named if one.name == name for other in one.names)]
        classes = [part for known, part in evidence.classes if known == name]
        terms = label_terms()
        wordings = terms.phrases_of(terms.groups_of(names, classes) | terms.group_named(name))
        self._phrases = {tokens(one): one for one in (*names, *classes, *wordings) if is_telling(one)}

    def places(self, words: Tokens, other: _Partner) -> list[tuple[int, int]]:
        """Return where ``words`` name the medicine by something that ``other`` is not called, too."""
        own = PhraseIndex((one, one) for key, one in self._phrases.items() if key not in other._phrases)
        return [(start, end) for start, end, _ in own.find(words)]


def pair_sentences(evidence: Evidence) -> Sequence[tuple[Unit, EvidencePassage]]:
    """Return the sentences of guidelines that say something of a pair of ``evidence``, the gravest of each first."""
    found: dict[str, tuple[Unit, EvidencePassage]] = {}
    for pair in (one for one in evidence.pairs if len(one.names) == 2):
        one, other = (_Partner(name, evidence) for name in pair.names)
        said = sorted(_on(evidence, one, other), key=lambda each: SEVERITIES.index(_severity(each[0])))
        found.update((unit.text, (unit, passage)) for unit, passage in said[:_MOST] if unit.text not in found)
    return list(found.values())


def _severity(unit: Unit) -> str:
    return severity_of(unit.text, "interactions")


def _on(evidence: Evidence, one: _Partner, other: _Partner) -> Iterator[tuple[Unit, EvidencePassage]]:
    for passage in evidence.passages:
        for unit in units(passage.text):
            words = tokens(unit.text)
            if not unit.table and tells_combination(unit.text) and _names_both(words, one, other):
                yield unit, passage


def _names_both(words: Tokens, one: _Partner, other: _Partner) -> bool:
    """Return whether ``words`` name both, and not as alternatives: "an ACE inhibitor or an ARB with a diuretic"."""
    pairs = [sorted((first, second)) for first in one.places(words, other) for second in other.places(words, one)]
    between = [set(words[first[1] : second[0]]) - _ARTICLES for first, second in pairs]
    return bool(between) and {"or"} not in between
