"""Adds what labels say of pairs of medicines to an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.extraction.draft import Draft
from chat_app.offline.extraction.drug_parts import label_passages
from chat_app.offline.reading.evidence import CONTRAINDICATED, Evidence, EvidencePassage, Pair
from tools.language.quotable_units import Unit

_MOST_OF_A_PAIR: Final = 16
_MOST_ASIDE: Final = 3
"""Sentences on a pair below a contraindication, where the question asks for something else."""


def add_pairs(draft: Draft, evidence: Evidence, *, aside: bool) -> None:
    """Add what labels say of each pair, in the order of the check; pairs with the same note share it.

    A risk that labels share has no severity: it follows the note that marks it. Beside an overdose, pairs of which
    nothing is said are no subject.
    """
    noted: dict[str, list[tuple[str, ...]]] = {}
    for pair in (one for one in evidence.pairs if one.said or len(one.names) < 2 or not evidence.on_overdose):
        stated = replace(pair, said=tuple(one for one in pair.said if one.severity))
        shared = replace(pair, said=tuple(one for one in pair.said if not one.severity))
        _quoted(draft, stated, aside=aside)
        if pair.note and shared.said:
            _noted(draft, pair.note, [pair.names])
        elif pair.note or not pair.said:
            noted.setdefault(pair.note, []).append(pair.names)
        _quoted(draft, shared, aside=aside)
    for note, pairs in noted.items():
        _noted(draft, note, pairs)
    for lookup in evidence.lookups if evidence.pairs else ():
        if lookup.suggestions and not lookup.records:
            names = {"names": lookup.suggestions}
            draft.paragraph(f"{lookup.asked}: {phrases.filled(phrases.DID_YOU_MEAN, draft.language, names, 'or')}")


def _noted(draft: Draft, note: str, pairs: Sequence[tuple[str, ...]]) -> None:
    """Add a note with the pairs that it is about; an overdose is about no pair."""
    named = [" + ".join(names) for names in pairs if len(names) > 1]
    if note:
        draft.paragraph(": ".join(filter(None, ("; ".join(named), note))))
    else:
        draft.say(phrases.NO_INTERACTION, names=named)


def _quoted(draft: Draft, pair: Pair, *, aside: bool) -> None:
    """Add the quotes of a pair that the answer does not hold yet."""
    unsaid = (
        (Unit(line), passage) for line, passage in _statements(draft, pair, aside=aside) if line not in draft.text
    )
    for heading, group in groupby(unsaid, lambda line: line[1].title):
        draft.lines(heading, group)


def _statements(draft: Draft, pair: Pair, *, aside: bool) -> list[tuple[str, EvidencePassage]]:
    """Return the first statements of each label in turn, so that a long label leaves room for the other.

    Aside, where something else is asked for, these are every contraindication and a few others.
    """
    lines = [
        (aside and record.severity != CONTRAINDICATED, line, passage)
        for record in pair.said
        for passage in label_passages(record, draft.language)
        for line in passage.text.split("\n")
    ]
    most = _MOST_ASIDE + sum(not other for other, _, _ in lines) if aside else _MOST_OF_A_PAIR
    turns: Counter[tuple[bool, str]] = Counter()
    in_turn: list[tuple[bool, int, int]] = []
    for place, (other, _, passage) in enumerate(lines):
        in_turn.append((other, turns[other, passage.document], place))
        turns[other, passage.document] += 1
    chosen = sorted((other, place) for other, _, place in sorted(in_turn)[:most])
    return [lines[place][1:] for _, place in chosen]
