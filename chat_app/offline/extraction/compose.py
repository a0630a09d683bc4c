"""Puts the answer together: extracts with their citations, grouped under fixed phrases.

An answer has one of three forms: quotes that answer; the closest quotes, said to be no clear answer; or nothing found,
with what was searched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import zip_longest
from typing import Final

from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.draft import Draft
from chat_app.offline.extraction.drug_parts import (
    BRANDS,
    DRUG_CLASS,
    HARMS,
    PRODUCTS,
    asked_sections,
    label_passages,
    record_parts,
)
from chat_app.offline.extraction.evidence import (
    CONTRAINDICATED,
    Evidence,
    EvidencePassage,
    EvidenceRecord,
    Pair,
    TitledLines,
)
from chat_app.offline.extraction.medicine_relation import asks_combination
from chat_app.offline.extraction.question import read_question
from chat_app.offline.extraction.scoring import Scored
from chat_app.offline.extraction.selection import Selection, select
from chat_app.offline.wire.model import Answer
from tools.language.quotable_units import Table, Unit
from tools.language.vocabulary.text_language import language_of

_MOST_OF_A_PAIR: Final = 16
_MOST_ASIDE: Final = 3
"""Sentences on a pair below a contraindication, where the question asks for something else."""
_LabelLine = tuple[str, EvidencePassage, str]


def compose(question: str, evidence: Evidence, *, newest: str = "") -> Answer:
    """The answer to ``question`` from ``evidence``; ``newest`` are the user's last words, of which it was made."""
    draft = Draft(language_of(newest or question))
    _offered_names(draft, evidence)
    opening = draft.text
    asked = read_question(
        question,
        evidence.terms,
        newest=newest or question,
        subjects=evidence.subjects(question),
        medicines=evidence.medicines,
    )
    labels = [passage for record in evidence.named for passage in label_passages(record)]
    selection = select(asked, [*labels, *evidence.passages])
    leads = asks_combination(asked, evidence, answered=selection.answers)
    if leads:
        _pairs(draft, evidence, _of_both_labels)
    if record_parts(question):
        _classes(draft, evidence)
    facts = draft.text != opening
    for record in evidence.named:
        facts = _record(draft, question, record) or facts
    for output in evidence.fields:
        _block(draft, output)
        facts = True
    stated = leads and any(pair.said for pair in evidence.pairs) and asked.sections <= HARMS
    if not stated and not (facts and record_parts(question) and not asked_sections(question)):
        _quotes(draft, selection, asked.sections, answered=draft.text != opening)
    if not leads:
        _pairs(draft, evidence, _most_severe)
    if draft.text == opening:
        _classes(draft, evidence)
    # A result does not answer what else was asked: it stands behind the extracts and takes nothing of their room.
    for calculated in evidence.calculations:
        _block(draft, calculated)
    _empty_handed(draft, evidence)
    return draft.answer()


def _quotes(draft: Draft, selection: Selection, sections: Collection[str], *, answered: bool) -> None:
    """Adds the best sentences and rows; those that are no clear answer only where nothing else answers."""
    quotes = [quote for quote in selection.quotes if quote.unit.text not in draft.text]
    if selection.shares_terms and not selection.quotes and not answered:
        draft.say(phrases.UNRELATED)
    if not quotes or (answered and not selection.answers):
        return
    if not selection.answers:
        draft.say(phrases.CLOSEST)
    _show(draft, _in_order(quotes, sections), titled=selection.answers)


def _show(draft: Draft, quotes: Sequence[Scored], *, titled: bool) -> None:
    title: str | None = None
    table: object = None
    sources = phrases.FROM_FILES if quotes[0].passage.file_id else phrases.FROM_GUIDELINES
    if titled and not draft.text and _leads(quotes):
        draft.statement(quotes[0].unit.text, quotes[0].passage)
        quotes, sources = quotes[1:], phrases.MORE
    for quote in quotes:
        heading = quote.passage.title or (sources if titled else "")
        opens = heading != title
        if opens and heading:
            draft.block(phrases.said(heading, draft.language))
        first = opens or _table(quote) != table
        if quote.unit.table is not None and _table(quote) != table:
            _open(draft, quote.unit)
        if _fits(quote.unit):
            draft.row(quote.unit.cells, quote.passage)
        else:
            # A row that left cells empty cannot be put under the columns again: its cells are given as they come.
            draft.quote("; ".join(quote.unit.cells) or quote.unit.text, quote.passage, first=first)
        title, table = heading, _table(quote)


def _leads(quotes: Sequence[Scored]) -> bool:
    """Return whether the first of several quotes is better than all others and can be read without its neighbours."""
    first, *others = quotes
    if not others or first.passage.title or first.unit.table or first.unit.leans or others[0].unit.limits:
        return False
    return first.fits or all(first.score > other.score for other in others)


def _open(draft: Draft, unit: Unit) -> None:
    """Adds what is above the first row of a table."""
    if unit.table is not None and _fits(unit):
        draft.head(unit.table)
    elif unit.table is not None and unit.table.caption:
        draft.block(unit.table.caption)


def _fits(unit: Unit) -> bool:
    """True when each cell of a row belongs to a column of the header."""
    return unit.table is not None and len(unit.cells) == len(unit.table.header)


def _in_order(quotes: Sequence[Scored], sections: Collection[str]) -> list[Scored]:
    """Sort quotes by source and group, the best first: fitting bounds, asked sections of labels, the score."""
    placed = {quote.place: quote for quote in quotes}

    def group(quote: Scored) -> object:
        """What is read together: a table's rows, those that fit its header apart, or a sentence with what it needs."""
        if quote.unit.table:
            return _table(quote)
        back = quote.unit.leans or int(quote.unit.limits)
        before = placed.get(quote.place - back) if back else None
        return group(before) if before and not before.unit.table else quote.place

    ranked = sorted(
        quotes, key=lambda quote: (quote.is_aside, not quote.fits, quote.passage.part not in sections, -quote.score)
    )
    sources = list(dict.fromkeys(quote.passage.title for quote in ranked))
    groups = list(dict.fromkeys(map(group, ranked)))
    return sorted(
        quotes, key=lambda quote: (sources.index(quote.passage.title), groups.index(group(quote)), quote.place)
    )


def _table(quote: Scored) -> object:
    """Return the table of a row with whether the row fits its header, and None for a sentence."""
    return (quote.unit.table, _fits(quote.unit)) if quote.unit.table else None


def _pairs(draft: Draft, evidence: Evidence, chosen: Callable[[Pair], Sequence[_LabelLine]]) -> None:
    """Adds what labels say of one another; of a pair that is silent it is said that it is."""
    for pair in evidence.pairs:
        shown: EvidencePassage | None = None
        for _, passage, line in (each for each in chosen(pair) if each[2] not in draft.text):
            if passage is not shown:
                draft.block(passage.title)
            draft.quote(line, passage, first=passage is not shown)
            shown = passage
        if pair.note or not pair.said:
            draft.block(pair.note or phrases.NO_INTERACTION.format(names=phrases.listed(list(pair.names))))


def _most_severe(pair: Pair) -> list[_LabelLine]:
    """Return every contraindication, and a few of the other lines."""
    never = [record for record in pair.said if record.severity == CONTRAINDICATED]
    others = [record for record in pair.said if record.severity != CONTRAINDICATED]
    return [*_lines(never), *_first_of_both(_lines(others), _MOST_ASIDE)]


def _of_both_labels(pair: Pair) -> list[_LabelLine]:
    return _first_of_both(_lines(pair.said), _MOST_OF_A_PAIR)


def _lines(records: Sequence[EvidenceRecord]) -> list[_LabelLine]:
    passages = [(record.name, passage) for record in records for passage in label_passages(record)]
    return [(name, passage, line) for name, passage in passages for line in passage.text.split("\n")]


def _first_of_both(lines: Sequence[_LabelLine], most: int) -> list[_LabelLine]:
    """Return the first lines of each label, ``most`` in all: a long label does not take the room of the other."""
    places: dict[str, list[int]] = {}
    for place, (name, _, _) in enumerate(lines):
        places.setdefault(name, []).append(place)
    in_turn = [place for turn in zip_longest(*places.values()) for place in turn if place is not None]
    return [lines[place] for place in sorted(in_turn[:most])]


def _record(draft: Draft, question: str, record: EvidenceRecord) -> bool:
    """Adds the fields of a record that the question asks for; True when there are any."""
    before = len(draft.text)
    source = EvidencePassage("", cite=record.cite)
    asked = record_parts(question)
    if PRODUCTS in asked and record.products:
        draft.block(phrases.PRODUCTS.format(name=record.name))
        draft.head(Table("", phrases.PRODUCT_COLUMNS))
        for product in record.products:
            draft.row([cell or phrases.NOT_GIVEN for cell in product], source)
    named = {BRANDS: (phrases.BRANDS, record.brand_names), DRUG_CLASS: (phrases.DRUG_CLASS, record.drug_classes)}
    for part, (phrase, names) in named.items():
        if part in asked and names:
            draft.block(phrase.format(name=record.name, names=phrases.listed(list(names))))
            draft.cite(source)
    return len(draft.text) > before


def _classes(draft: Draft, evidence: Evidence) -> None:
    """Lists the members of a class."""
    records = [one for lookup in evidence.lookups for one in lookup.records if one.matched == "class"]
    if not records or evidence.named:
        return
    draft.block(phrases.RECORDS)
    draft.head(Table("", phrases.RECORD_COLUMNS))
    for record in records:
        cells = (record.name, ", ".join(record.drug_classes), ", ".join(record.brand_names))
        draft.row([cell or phrases.NOT_GIVEN for cell in cells], EvidencePassage("", cite=record.cite))


def _block(draft: Draft, block: TitledLines) -> None:
    draft.block(block.title)
    for index, line in enumerate(block.lines):
        draft.quote(line, EvidencePassage(line, cite=block.cite), first=index == 0)


def _empty_handed(draft: Draft, evidence: Evidence) -> None:
    """Name failed searches; if nothing was found, also name what was searched."""
    found = bool(draft.text)
    if evidence.failures:
        draft.block(phrases.FAILED.format(names=phrases.listed(list(dict.fromkeys(evidence.failures)))))
    if not (found or evidence.failures):
        places = [phrases.FILES if evidence.hosted else phrases.GUIDELINES] if evidence.searched_documents else []
        places += [phrases.DRUGS] if evidence.lookups or evidence.pairs else []
        draft.say(phrases.NOTHING if places else phrases.NO_SOURCES, places=places)
    for absent in dict.fromkeys(lookup.absent for lookup in evidence.lookups if lookup.absent):
        draft.block(absent)


def _offered_names(draft: Draft, evidence: Evidence) -> None:
    """Asks for the medicine where the name in the question is not known, before anything is quoted."""
    guesses = [lookup for lookup in evidence.lookups if not any(record.is_named for record in lookup.records)]
    if offered := list(dict.fromkeys(name for lookup in guesses for name in lookup.suggestions)):
        draft.say(phrases.NO_NAME)
        draft.say(phrases.DID_YOU_MEAN, "or", names=offered[:3])
