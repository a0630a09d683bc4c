"""What an answer says of medicines taken together: statements of labels, and sentences of guidelines that name both."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.composition.alternatives import alternatives, asks_change, tells_together
from chat_app.offline.composition.asked_of_pairs import WAIT
from chat_app.offline.composition.draft import Draft
from chat_app.offline.extraction.drug_parts import ORGAN_DOSES, label_passages
from chat_app.offline.extraction.question import Question
from chat_app.offline.reading.evidence import CONTRAINDICATED, Evidence, Pair, Quote
from tools.catalogues import in_language
from tools.drug_database.labels.interaction_parties import is_telling
from tools.drug_database.labels.interactions import tells_combination
from tools.drug_database.labels.label_terms import PhraseIndex, Tokens, label_terms, tokens
from tools.drug_database.labels.pair_notes import PACKAGE
from tools.drug_database.labels.severity import SEVERITIES, severity_of
from tools.drug_database.names.query_words import parse_query
from tools.language.folding import fold_name
from tools.language.quotable_units import Unit, term_set, units
from tools.language.vocabulary.common_words import Language

_RESCUES: Final = re.compile(r"\b(?:overdos|poison|antidot|revers|intoxi|uberdos|vergift|gegengift|sobredosis|envenen)")
"""What a medicine is given against another one for; they are no combination."""
_LEVELS: Final[dict[str, int]] = {name: place for place, name in enumerate(SEVERITIES)}
_NONE: Final = len(SEVERITIES)
_MOST_OF_A_PAIR: Final = 16
_MOST_ASIDE: Final = 3
"""Sentences on a pair below a contraindication, where the question asks for something else."""
_MOST_SENTENCES: Final = 3
"""Sentences quoted for one pair."""
_ARTICLES: Final = frozenset({"a", "an", "the"})


def newest_first(question: Question, evidence: Evidence) -> Evidence:
    """Return ``evidence`` with the pairs first that have a medicine of the last question only, else in their order."""

    def is_earlier(pair: Pair) -> bool:
        named = (question.held(term_set(name)) for name in pair.names)
        return not any(held and held.isdisjoint(question.inherited) for held in named)

    return replace(evidence, pairs=sorted(evidence.pairs, key=is_earlier)) if question.inherited else evidence


def add_grave(draft: Draft, question: Question, evidence: Evidence, others: Sequence[Quote]) -> None:
    """Add the statements that lead every answer: contraindications and what to avoid, of the pairs and ``others``.

    Where a dose is asked for, statements that change it lead, too.
    """
    asks_dose = not question.sections.isdisjoint({"dosage", *ORGAN_DOSES})
    apart = [pair.names for pair in alternatives(question, evidence)]
    for level in SEVERITIES[: 3 if asks_dose else 2]:
        for pair in evidence.with_levels({level}).pairs:
            if pair.names not in apart:
                draft.quotes(statements(draft, pair, aside=False))
        draft.quotes((one for one in others if SEVERITIES[_level(one)] == level), phrases.FROM_GUIDELINES)


def of_one_patient(evidence: Evidence, answers: Sequence[str], language: Language) -> str:
    """Return what the ``answers`` to several questions do not say of pairs of medicines of different questions."""
    draft = Draft(language)
    said = [one for pair in evidence.pairs for one in statements(draft, pair, aside=True)]
    draft.quotes(one for one in said if not any(one[0].text in answer for answer in answers))
    return f"{phrases.said(phrases.ONE_PATIENT, language)}\n\n{draft.text}" if draft.text else ""


def add_pairs(
    draft: Draft, question: Question, evidence: Evidence, warnings: Sequence[Quote] = (), *, aside: bool
) -> None:
    """Add what labels say of each pair, in their order; pairs with the same note share it.

    Graver ``warnings`` of the patient's state come before them, others after. A time that is asked for comes first.
    A risk that labels share has no severity: it follows the note that marks it. In an overdose, and where medicines are
    compared, only what labels say of one another is the subject. Alternatives are no combination: only where one
    replaces the other, a contraindication counts.
    """
    noted: dict[str, list[tuple[str, ...]]] = {}
    rescues = evidence.on_overdose or _RESCUES.search(fold_name(question.text))
    together = parse_query(question.text).asks_together
    compared = not together and tells_together(question, evidence) is False
    apart = alternatives(question, evidence)
    changes = asks_change(question)
    levels = (_LEVELS.get(one.severity, _NONE) for pair in evidence.pairs for one in pair.said)
    gravest = min(levels, default=_NONE)
    draft.quotes(sorted((one for one in warnings if _level(one) < gravest), key=_level))
    for pair in evidence.pairs:
        severities = {CONTRAINDICATED} if pair in apart and not question.asks_time else _LEVELS.keys()
        stated = replace(pair, said=tuple(one for one in pair.said if one.severity in severities))
        shared = replace(pair, said=tuple(one for one in pair.said if not one.severity))
        if changes or pair not in apart:
            draft.quotes(statements(draft, stated, aside=aside, timed=question.asks_time))
        if len(pair.names) > 1 and (rescues or compared or pair in apart):
            continue
        if pair.note and shared.said:
            _noted(draft, pair.note, [pair.names])
        elif pair.note:
            noted.setdefault(pair.note, []).append(pair.names)
        draft.quotes(statements(draft, shared, aside=aside))
    draft.quotes(warnings)
    for note, pairs in noted.items():
        _noted(draft, note, pairs)
    for lookup in evidence.lookups if evidence.pairs else ():
        if lookup.suggestions and not lookup.records:
            names = {"names": lookup.suggestions}
            draft.paragraph(f"{lookup.asked}: {phrases.filled(phrases.DID_YOU_MEAN, draft.language, names, 'or')}")


def _noted(draft: Draft, note: str, pairs: Sequence[tuple[str, ...]]) -> None:
    """Add a note with the pairs that it is about; an overdose is about no pair."""
    told = ([in_language(PACKAGE, draft.language, name) for name in names] for names in pairs)
    named = [" + ".join(names) for names in told if len(names) > 1]
    draft.paragraph(": ".join(filter(None, ("; ".join(named), note))))


def _level(quote: Quote) -> int:
    return _LEVELS[severity_of(quote[0].text, "interactions")]


def statements(draft: Draft, pair: Pair, *, aside: bool, timed: bool = False) -> list[Quote]:
    """Return the first statements of each label in turn, so that a long label leaves room for the other.

    Aside, where something else is asked for, these are every contraindication and a few others.
    """
    lines = [
        (aside and record.severity != CONTRAINDICATED, Unit(line), passage)
        for record in pair.said
        for passage in label_passages(record, draft.language)
        for line in passage.text.split("\n")
    ]
    lines.sort(key=lambda one: not (timed and WAIT.search(one[1].text)))
    most = _MOST_ASIDE + sum(not other for other, _, _ in lines) if aside else _MOST_OF_A_PAIR
    turns: defaultdict[tuple[bool, str], count[int]] = defaultdict(count)
    in_turn = [(one[0], next(turns[one[0], one[2].document]), place) for place, one in enumerate(lines)]
    chosen = sorted((other, place) for other, _, place in sorted(in_turn)[:most])
    return [lines[place][1:] for _, place in chosen]


def pair_sentences(evidence: Evidence) -> Sequence[Quote]:
    """Return the sentences of guidelines that say something of a pair of ``evidence``, the gravest of each first.

    A sentence names each of the two by a name, or by a class that the other is not in.
    """
    found: dict[str, Quote] = {}
    for pair in (one for one in evidence.pairs if len(one.names) == 2):
        first, second = (_wordings(name, evidence) for name in pair.names)
        one, other = _only(first, second), _only(second, first)
        said = [
            (unit, passage)
            for passage in evidence.passages
            for unit in units(passage.text)
            if _tells_of_both(unit, one, other)
        ]
        said.sort(key=_level)
        found.update((unit.text, (unit, passage)) for unit, passage in said[:_MOST_SENTENCES] if unit.text not in found)
    return list(found.values())


def _wordings(name: str, evidence: Evidence) -> dict[Tokens, str]:
    """Return what a sentence may call a medicine or class of a pair."""
    names = [name, *(other for one in evidence.named if one.name == name for other in one.names)]
    # The term of a name is that of its international name: "rifampin", "rifampicin".
    names += term_set(name) if len(term_set(name)) == 1 else ()
    classes = [part for known, part in evidence.classes if known == name]
    terms = label_terms()
    wordings = terms.phrases_of(terms.groups_of(names, classes) | terms.group_named(name))
    return {tokens(one): one for one in (*names, *classes, *wordings) if is_telling(one)}


def _tells_of_both(unit: Unit, one: PhraseIndex[str], other: PhraseIndex[str]) -> bool:
    """Return whether a part of a sentence says something of the pair, or a row that names each in another cell.

    The caption of its table counts as a cell.
    """
    if not unit.table:
        parts = (tokens(part) for part in unit.text.split(";") if tells_combination(part))
        return any(_names_both(words, one, other) for words in parts)
    cells = [unit.table.caption, *unit.cells]
    first, second = ({place for place, cell in enumerate(cells) if each.find(tokens(cell))} for each in (one, other))
    return any(at != place for at in first for place in second) and tells_combination("; ".join(cells))


def _only(wordings: dict[Tokens, str], others: dict[Tokens, str]) -> PhraseIndex[str]:
    return PhraseIndex((one, one) for key, one in wordings.items() if key not in others)


def _names_both(words: Tokens, one: PhraseIndex[str], other: PhraseIndex[str]) -> bool:
    """Return whether ``words`` name both, and not as alternatives: "an ACE inhibitor or an ARB with a diuretic"."""
    pairs = [sorted((first[:2], second[:2])) for first in one.find(words) for second in other.find(words)]
    between = [set(words[first[1] : second[0]]) - _ARTICLES for first, second in pairs]
    return bool(between) and {"or"} not in between
