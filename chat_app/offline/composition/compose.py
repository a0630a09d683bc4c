"""Puts the answer together: extracts with their citations, grouped under fixed phrases.

An answer has one of three forms: quotes that answer; the closest quotes, said to be no clear answer; or nothing found,
with what was searched.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.calculating.other_scores import other_scores
from chat_app.offline.composition.asked_of_pairs import asks_combination, of_follow_up, told_beside
from chat_app.offline.composition.catalogue import add_catalogue
from chat_app.offline.composition.draft import Draft, table_of
from chat_app.offline.composition.indications import selected
from chat_app.offline.composition.pairs import add_grave, add_pairs, pair_sentences
from chat_app.offline.extraction.candidates import names_others, with_caption
from chat_app.offline.extraction.drug_parts import (
    BRANDS,
    DRUG_CLASS,
    HARMS,
    ORGAN_DOSES,
    PRODUCTS,
    asked_sections,
    label_passages,
    record_parts,
)
from chat_app.offline.extraction.question import Question, read_question
from chat_app.offline.extraction.scoring import Scored
from chat_app.offline.extraction.selection import ANSWERS_FROM, OF_PATIENTS, RELATED_FROM, Selection, select
from chat_app.offline.reading.evidence import Evidence, EvidencePassage, EvidenceRecord, TitledLines
from chat_app.offline.wire.model import Answer
from tools.catalogues import in_language
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.labels.pair_notes import PACKAGE
from tools.drug_database.names.overdosage_wording import asked_of_overdose, asks_antidote, speaks_of_overdose
from tools.language.quotable_units import Table, Unit, units
from tools.language.terms import terms
from tools.language.vocabulary.patient_values import gives_values, with_told_values
from tools.language.vocabulary.text_language import language_of

_SENTENCES: Final = re.compile(r"(?<=\w\.) ")
_CLEARLY: Final = 0.3
"""By so much the first of several quotes scores better than the others to lead the answer."""
_MOST_BESIDE: Final = 2
"""The closest sentences of guidelines below what labels say of a pair, which may not be what was asked."""


def compose(question: str, evidence: Evidence, *, newest: str = "") -> Answer:
    """Return the answer to ``question``; ``newest`` are the user's last words, of which it was made."""
    draft = Draft(language_of(newest or question))
    if evidence.catalogue:
        add_catalogue(draft, question, evidence.catalogue)
        return Answer(draft.text)
    evidence = evidence.of_the_question() if newest and newest != question else evidence
    question, newest = (text and with_told_values(text, evidence.results) for text in (question, newest))
    _offered_names(draft, evidence)
    offers = bool(draft.text)
    asked, labels = _read(question, evidence, newest)
    selection = selected(asked, labels, evidence, draft.language)
    if unclear := not selection.answers:
        _not_loaded(draft, evidence)
        _no_calculator(draft, question, evidence)
        _absent_word(draft, newest or question, evidence)
    opening = draft.text
    selection, evidence, added = of_follow_up(asked, selection, evidence, newest)
    last = newest if newest != question else ""
    leads = not added and asks_combination(asked, evidence, answered=selection.answers, newest=last)
    on_pair = pair_sentences(evidence) if leads else ()
    closest, beside = selection, told_beside(asked, selection, evidence) if leads else Selection()
    if beside.answers:
        add_grave(draft, asked, evidence, (*selection.warnings, *on_pair))
        selection, leads = beside, False
    elif leads:
        add_pairs(draft, asked, evidence, () if evidence.on_overdose else selection.warnings, aside=False)
        draft.quotes(on_pair, phrases.FROM_GUIDELINES)
    noted = draft.text if beside.answers else opening
    if overdose := evidence.on_overdose:
        said = any(pair.said for pair in evidence.pairs)
        if said or not selection.answers:
            selection = _below_overdosage(asked, [*labels, *evidence.passages], said=said)
        noted = draft.text if selection.quotes and not said else opening
    # What else is asked may have a word such as "class" for something else.
    others = bool(asked.beyond_record)
    parts = {*record_parts(question if others else asked.asked), *([PRODUCTS] if asked.asks_product else [])}
    _facts(draft, parts, evidence)
    facts = draft.text != opening
    dose = gives_values(question)
    silent = leads and not on_pair and not any(pair.said for pair in evidence.pairs)
    # A pair without statements answers nothing, nor does a list of products a question for a patient's dose.
    if not overdose and (silent or ((dose or others) and not leads)):
        noted = draft.text
    if not (facts and parts) or dose or others or asked_sections(question):
        _quotes(draft, selection, asked, answered=draft.text != noted, on_pair=leads and not overdose)
    if not leads:
        add_pairs(draft, asked, evidence, beside.warnings, aside=True)
    if beside.answers:
        draft.quotes([one for one in on_pair if not draft.holds(one[0])][:_MOST_BESIDE], phrases.FROM_GUIDELINES)
        _quotes(draft, replace(closest, answers=False), asked, answered=True, on_pair=True)
    _close(draft, evidence, opening, offers=offers)
    if not unclear:
        _not_loaded(draft, evidence)
    return Answer(draft.text, tuple(draft.citations))


def _close(draft: Draft, evidence: Evidence, opening: str, *, offers: bool) -> None:
    """Add results of calculations, and where nothing follows ``opening`` the members of a class, or that none is."""
    if draft.text == opening:
        _classes(draft, evidence)
    # A result does not answer what else was asked: it stands behind the extracts and takes nothing of their room.
    for calculated in evidence.calculations:
        _titled(draft, calculated)
    _empty_handed(draft, evidence, nothing=draft.text == opening and not offers)


def _no_calculator(draft: Draft, question: str, evidence: Evidence) -> None:
    """Say that there is no calculator for the scores that are asked for, if there are any."""
    if not (evidence.calculations or evidence.named) and (scores := other_scores(question)):
        draft.say(phrases.NO_CALCULATOR, names=scores)


def _absent_word(draft: Draft, question: str, evidence: Evidence) -> None:
    """Name the most telling word of the question if it occurs in no guideline of the library."""
    words = {one: word for word in re.findall(r"[^\W_]+", question) for one in terms(word)}
    telling = max(evidence.terms, key=lambda each: each.weight, default=None)
    if telling and telling.absent and telling.term in words and not evidence.named:
        draft.say(phrases.ABSENT, names=[words[telling.term]])


def _below_overdosage(asked: Question, passages: Sequence[EvidencePassage], *, said: bool) -> Selection:
    """Return the quotes below Overdosage sections, or in their place if none was ``said``; none is a usual dose."""
    selection = select(asked, passages, doses=asks_antidote(asked.asked)).on_subject()
    if said and asked_of_overdose(asked.text):
        return replace(selection, quotes=tuple(filter(_is_on_overdose, selection.quotes)))
    return selection


def _is_on_overdose(quote: Scored) -> bool:
    """Return whether ``quote`` may follow Overdosage sections: a label's warning, or what speaks of an overdose."""
    if quote.passage.part:
        return quote.passage.part in HARMS
    return speaks_of_overdose(f"{quote.unit.heading} {with_caption(quote.unit)}")


def is_answered(question: str, evidence: Evidence, *, newest: str) -> bool:
    """Return whether a sentence of ``evidence`` clearly answers ``question``."""
    asked, labels = _read(question, evidence, newest)
    return selected(asked, labels, evidence, language_of(newest)).answers


def share_of_newest(question: str, evidence: Evidence, *, newest: str) -> float:
    """Return the largest share of the weight of the words of ``newest`` that a quote holds; numbers do not count."""
    asked, labels = _read(question, evidence, newest)
    quotes = selected(asked, labels, evidence, language_of(newest)).quotes
    words = {place for place, forms in enumerate(asked.forms) if not all(map(str.isdecimal, forms[0]))}
    weights = {place: asked.weights[place] or 1.0 for place in words - asked.inherited}
    held = (sum(weights[place] for place in quote.all_held & weights.keys()) for quote in quotes)
    return max(held, default=0.0) / (sum(weights.values()) or 1.0)


def _read(question: str, evidence: Evidence, newest: str) -> tuple[Question, list[EvidencePassage]]:
    """Return the question as the searches read it, and the labels of the medicines that it names.

    Labels list the classes of medicines that are not loaded, too.
    """
    known = label_terms()
    listed = ((name, group) for name in known.members_in(question) for group in known.own_groups(name))
    parties = list(dict.fromkeys(name for pair in evidence.pairs for name in pair.names))
    groups = [group for name in parties for group in known.group_named(name)]
    asked = read_question(
        question,
        evidence.terms,
        newest=newest or question,
        subjects=[*evidence.subjects(question), *parties, *known.phrases_of(groups)],
        medicines=evidence.medicines,
        classes=[*evidence.classes, *listed],
        notes=[lookup.absent for lookup in evidence.lookups],
    )
    language = language_of(newest or question)
    return asked, [passage for record in evidence.named for passage in label_passages(record, language)]


def _quotes(draft: Draft, selection: Selection, asked: Question, *, answered: bool, on_pair: bool) -> None:
    """Add the best sentences and rows; those that are no clear answer only where nothing else answers, or a pair."""
    quotes = [quote for quote in selection.quotes if not draft.holds(quote.unit)]
    if answered:
        quotes = [quote for quote in quotes if quote.held >= RELATED_FROM]
    if on_pair:
        quotes = [quote for quote in quotes if _adds(quote, asked, silent=not answered)]
    if selection.shares_terms and not selection.quotes and not answered:
        draft.say(phrases.UNRELATED)
    beside = answered and not selection.answers
    if beside:
        quotes = quotes[:_MOST_BESIDE] if on_pair else []
    if not quotes:
        return
    quotes = _in_order(quotes, asked)
    best = quotes[0]
    sources = phrases.FROM_FILES if quotes[0].passage.file_id else phrases.FROM_GUIDELINES
    if beside:
        sources = phrases.MORE
    elif not selection.answers:
        related = any(quote.held >= RELATED_FROM for quote in quotes)
        draft.say(phrases.CLOSEST if related else phrases.UNRELATED)
        sources = ""
    elif not draft.text and _leads(quotes):
        draft.paragraph(quotes[0].unit.text, quotes[0].passage)
        quotes, sources = quotes[1:], phrases.MORE
    draft.quotes(((quote.unit, quote.passage) for quote in quotes), sources)
    if selection.answers and asked.asks_several and (selection.says_more or _says_more(best, draft.text)):
        draft.say(phrases.SAYS_MORE)


def _adds(quote: Scored, asked: Question, *, silent: bool) -> bool:
    """Return whether ``quote`` may follow a pair: it names two medicines, or tells of the patient or what is asked.

    Below a ``silent`` pair a label may speak of the other medicine in words that nobody knows.
    """
    named = [asked.forms[place][0] for place in quote.own - asked.circumstances - asked.everyday]
    stems = frozenset[str]().union(*named)
    two = len(named) > 1 and not any(stems <= one for one in asked.subjects)
    parts = {"", *HARMS, *OF_PATIENTS, *asked.sections}
    if (silent and quote.passage.part == "interactions") or quote.fits or quote.features.group > 0:
        return True
    return quote.passage.part in parts and bool(two or asked.circumstances & (quote.own | quote.headed))


def _says_more(quote: Scored, text: str) -> bool:
    """Return whether a section about what is asked has sentences beside ``quote`` that ``text`` does not hold."""
    section = (one.text for one in units(quote.passage.text) if one.heading == quote.unit.heading and not one.table)
    return bool(quote.headed) and any(one not in text for one in section)


def _leads(quotes: Sequence[Scored]) -> bool:
    """Return whether the first of several quotes is clearly better than the others, and readable without neighbours."""
    first, *others = quotes
    alone = not (first.unit.table or first.unit.leans or first.unit.leads)
    if not others or first.passage.title or not alone or others[0].unit.limits or not first.is_on_subject:
        return False
    return all(first.score >= other.score + _CLEARLY for other in others)


def _in_order(quotes: Sequence[Scored], asked: Question) -> list[Scored]:
    """Sort quotes by source and group, the best first, and the rows of a table in its order.

    What names only other medicines comes last. A prohibition in the patient's state comes first, then fitting bounds,
    what is said of the asked group of patients, asked sections that answer or give the doses for a failing organ, then
    the score.
    """
    placed = {quote.place: quote for quote in quotes}

    def group(quote: Scored) -> object:
        """Return the key of a quote's group: its table's rows, or a sentence and those it depends on."""
        if quote.unit.table:
            return table_of(quote.unit)
        back = quote.unit.leans or int(quote.unit.limits)
        before = placed.get(quote.place - back) if back else None
        return group(before) if before and not before.unit.table else quote.place

    def order(quote: Scored) -> tuple[bool | float, ...]:
        part = quote.passage.part
        leads = part in asked.sections and (part in ORGAN_DOSES or quote.held >= ANSWERS_FROM)
        others = bool(asked.medicines) and names_others(asked, quote.unit)
        forbids, group = asked.forbids_in_state(quote.unit), quote.features.group
        return (quote.is_aside, others, group < 0, not forbids, not quote.fits, group <= 0, not leads, -quote.score)

    ranked = sorted(quotes, key=order)
    sources = list(dict.fromkeys(quote.passage.title for quote in ranked))
    groups = list(dict.fromkeys(map(group, ranked)))
    return sorted(
        quotes,
        key=lambda quote: (
            sources.index(quote.passage.title),
            groups.index(group(quote)),
            quote.passage.place if quote.unit.table else 0,
            quote.place,
        ),
    )


def _not_loaded(draft: Draft, evidence: Evidence) -> None:
    """Say which of the medicines are not in the drug database."""
    for note in dict.fromkeys(lookup.absent for lookup in evidence.lookups if lookup.absent):
        draft.paragraph(" ".join(in_language(PACKAGE, draft.language, one) for one in _SENTENCES.split(note)))


def _facts(draft: Draft, parts: Collection[str], evidence: Evidence) -> None:
    """Add the fields of records that the question asks for, and those of other tools' outputs."""
    if parts:
        _classes(draft, evidence)
    for record in evidence.named:
        _record(draft, parts, record)
    for output in evidence.fields:
        _titled(draft, output)


def _record(draft: Draft, parts: Collection[str], record: EvidenceRecord) -> None:
    """Add the fields of a record that the question asks for."""
    source = EvidencePassage("", cite=record.cite)
    if PRODUCTS in parts:
        rows = ((product, record) for product in record.products)
        _table(draft, phrases.PRODUCTS.format(name=record.name), phrases.PRODUCT_COLUMNS, rows)
    named = {BRANDS: (phrases.BRANDS, record.brand_names), DRUG_CLASS: (phrases.DRUG_CLASS, record.drug_classes)}
    for part, (phrase, names) in named.items():
        if part in parts and names:
            draft.paragraph(phrase.format(name=record.name, names=phrases.listed(list(names))), source)


def _classes(draft: Draft, evidence: Evidence) -> None:
    """List the members of a class."""
    records = [one for lookup in evidence.lookups for one in lookup.records if one.matched == "class"]
    rows = (((one.name, ", ".join(one.drug_classes), ", ".join(one.brand_names)), one) for one in records)
    if not evidence.named:
        _table(draft, phrases.RECORDS, phrases.RECORD_COLUMNS, rows)


def _table(
    draft: Draft, heading: str, columns: tuple[str, ...], rows: Iterable[tuple[Sequence[str], EvidenceRecord]]
) -> None:
    """Add a table on records, if there are any."""
    table = Table("", columns)
    units = [
        (Unit("", table=table, cells=tuple(cell or phrases.NOT_GIVEN for cell in cells)),
         EvidencePassage("", cite=record.cite))
        for cells, record in rows
    ]  # fmt: skip
    if units:
        draft.lines(heading, units)


def _titled(draft: Draft, block: TitledLines) -> None:
    draft.lines(block.title, ((Unit(line), EvidencePassage(line, cite=block.cite)) for line in block.lines))


def _empty_handed(draft: Draft, evidence: Evidence, *, nothing: bool) -> None:
    """Name failed searches; if nothing was found, also name what was searched."""
    if evidence.failures:
        draft.say(phrases.FAILED, names=list(dict.fromkeys(evidence.failures)))
    elif nothing:
        places = [phrases.FILES if evidence.hosted else phrases.GUIDELINES] if evidence.searched_documents else []
        places += [phrases.DRUGS] if evidence.lookups or evidence.pairs else []
        draft.say(phrases.NOTHING if places else phrases.NO_SOURCES, places=places)


def _offered_names(draft: Draft, evidence: Evidence) -> None:
    """Ask for the medicine where no name in the question is known, before anything is quoted.

    What labels say of a pair comes before the question for a name of it.
    """
    guesses = [lookup for lookup in evidence.lookups if not any(record.is_named for record in lookup.records)]
    offered = list(dict.fromkeys(name for lookup in guesses for name in lookup.suggestions))
    if offered and not evidence.pairs:
        draft.say(phrases.NO_NAME)
        draft.say(phrases.DID_YOU_MEAN, "or", names=offered[:3])
