"""Puts the answer together: extracts with their citations, grouped under fixed phrases.

An answer has one of three forms: quotes that answer; the closest quotes, said to be no clear answer; or nothing found,
with what was searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.composition.answer_checks import read_asked
from chat_app.offline.composition.asked_of_pairs import asks_combination, asks_on_all, of_follow_up, told_beside
from chat_app.offline.composition.catalogue import add_catalogue
from chat_app.offline.composition.draft import Draft
from chat_app.offline.composition.indications import selected
from chat_app.offline.composition.pairs import add_grave, add_pairs, newest_first, pair_sentences
from chat_app.offline.composition.quote_order import in_order, opens_answer
from chat_app.offline.composition.record_fields import add_class_members, add_fields, add_titled
from chat_app.offline.composition.remarks import (
    offer_names,
    say_discontinued,
    say_empty_handed,
    say_missing,
    say_not_loaded,
    say_others_not_loaded,
)
from chat_app.offline.extraction.candidates import with_caption
from chat_app.offline.extraction.drug_parts import (
    HARMS,
    PRODUCTS,
    asked_sections,
    record_parts,
)
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.scoring import Scored
from chat_app.offline.extraction.selection import OF_PATIENTS, RELATED_FROM, Selection, select
from chat_app.offline.reading.evidence import Evidence, EvidencePassage, Quote
from chat_app.offline.wire.model import Answer
from tools.drug_database.names.overdosage_wording import asked_of_overdose, asks_antidote, speaks_of_overdose
from tools.language.quotable_units import units
from tools.language.vocabulary.patient_values import gives_values, with_told_values
from tools.language.vocabulary.text_language import language_of

_MOST_BESIDE: Final = 2
"""The closest sentences of guidelines below what labels say of a pair, which may not be what was asked."""


def compose(
    question: str, evidence: Evidence, *, newest: str = "", earlier: Sequence[str] = (), in_case: bool = False
) -> Answer:
    """Return the answer to ``question``; ``newest`` are the user's last words, of which it was made.

    It is in the language of the ``newest`` words; if they do not show it, in that of the ``earlier`` questions, the
    last first. ``in_case`` tells whether the question describes a patient, of whom the ``newest`` words ask.
    """
    draft = Draft(language_of(newest or question, *earlier))
    if evidence.catalogue:
        add_catalogue(draft, question, evidence.catalogue)
        return Answer(draft.text)
    if in_case:
        evidence = evidence if asks_on_all(newest) else evidence.of_case(newest)
    elif newest and newest != question:
        evidence = evidence.of_the_question()
    question, newest = (text and with_told_values(text, evidence.results) for text in (question, newest))
    offer_names(draft, evidence)
    offers = bool(draft.text)
    asked, labels = read_asked(question, evidence, newest, draft.language, in_case=in_case)
    selection = selected(asked, labels, evidence, draft.language)
    if unclear := not selection.answers:
        say_missing(draft, evidence, asked.text, newest or question)
    selection, of_pairs, added = of_follow_up(asked, selection, evidence, newest)
    of_pairs = newest_first(asked, of_pairs)
    say_discontinued(draft, evidence)
    body = _Body(draft, asked, of_pairs, selection)
    last = newest if newest != asked.text else ""
    combined = not added and asks_combination(asked, of_pairs, answered=selection.answers, newest=last)
    pairs_lead = combined and body.lead_with_pairs()
    if unclear and not pairs_lead:
        body.lead_with_results()
    if evidence.on_overdose:
        body.follow_overdosage(labels)
    body.add_fields_and_quotes()
    body.close(offers=offers)
    if not unclear:
        say_not_loaded(draft, evidence)
    say_others_not_loaded(draft, of_pairs, newest or question)
    return Answer(draft.text, tuple(draft.citations))


@dataclass
class _Body:
    """An answer after its opening remarks, as it is put together."""

    draft: Draft
    asked: Question
    evidence: Evidence
    selection: Selection
    opening: str = field(init=False)
    """The opening remarks."""
    pairs_first: bool = False
    """Whether statements on pairs come first."""
    answered: bool = False
    """Whether the text so far answers; then only what answers clearly may follow."""
    calculated: bool = False
    """Whether the text has the results of calculations."""
    on_pair: Sequence[Quote] = ()
    """The sentences of guidelines on the pairs that are asked about."""
    beside: Selection = field(default_factory=Selection)
    """What answers the question beside those pairs."""

    def __post_init__(self) -> None:
        self.opening = self.draft.text

    def lead_with_pairs(self) -> bool:
        """Add the statements on the pairs; only the grave ones if something else answers the question.

        Without statements nothing is added if the question tells more, and the result is false.
        """
        self.on_pair = pair_sentences(self.evidence)
        self.beside = told_beside(self.asked, self.selection, self.evidence)
        if self.beside.answers:
            add_grave(self.draft, self.asked, self.evidence, (*self.selection.warnings, *self.on_pair))
            return True
        if self.asked.circumstances and not (self.on_pair or self._labels_tell or self.evidence.on_overdose):
            return False
        self.pairs_first = True
        warnings = () if self.evidence.on_overdose else self.selection.warnings
        add_pairs(self.draft, self.asked, self.evidence, warnings, aside=False)
        self.draft.quotes(self.on_pair, phrases.FROM_GUIDELINES)
        self.answered = self.draft.text != self.opening
        return True

    def lead_with_results(self) -> None:
        """Add the results of calculations before quotes that do not clearly answer."""
        if self.evidence.results:
            self._add_calculations()
            self.opening = self.draft.text

    def follow_overdosage(self, labels: Sequence[EvidencePassage]) -> None:
        """Choose the quotes that may follow Overdosage sections."""
        if self._labels_tell or not self.selection.answers:
            self.selection = _below_overdosage(self.asked, [*labels, *self.evidence.passages], said=self._labels_tell)
        if self.selection.quotes and not self._labels_tell:
            self.answered = False

    def add_fields_and_quotes(self) -> None:
        """Add the fields of records that are asked for, then quotes, and pairs that are not the subject."""
        question = self.asked.text
        # What else is asked may have a word such as "class" for something else.
        others = bool(self.asked.beyond_record)
        asks = record_parts(question if others else self.asked.asked)
        parts = {*asks, *([PRODUCTS] if self.asked.asks_product else [])}
        before = self.draft.text
        add_fields(self.draft, parts, self.evidence)
        dose = gives_values(self.asked.patient)
        silent = self.pairs_first and not self.on_pair and not self._labels_tell
        # A pair without statements answers nothing, nor does a list of products a question for a patient's dose.
        counts = self.evidence.on_overdose or not (silent or ((dose or others) and not self.pairs_first))
        self.answered = bool(counts) and (self.answered or self.draft.text != before)
        told = parts and self.draft.text != self.opening
        if not told or dose or others or asked_sections(question):
            selection = self.beside if self.beside.answers else self.selection
            self._quotes(selection, answered=self.answered, on_pair=self.pairs_first and not self.evidence.on_overdose)
        if not self.pairs_first:
            add_pairs(self.draft, self.asked, self.evidence, self.beside.warnings, aside=True)
        if self.beside.answers:
            on_pair = [one for one in self.on_pair if not self.draft.holds(one[0])][:_MOST_BESIDE]
            self.draft.quotes(on_pair, phrases.FROM_GUIDELINES)
            self._quotes(replace(self.selection, answers=False), answered=True, on_pair=True)

    def close(self, *, offers: bool) -> None:
        """Add results of calculations; where nothing else was added, members of a class, or that nothing was found."""
        if self.draft.text == self.opening:
            add_class_members(self.draft, self.evidence)
        # The result of a calculation does not answer what else was asked, so it comes after quotes that do.
        if not self.calculated:
            self._add_calculations()
        nothing = self.draft.text == self.opening and not (offers or self.evidence.calculations)
        say_empty_handed(self.draft, self.evidence, nothing=nothing)

    def _add_calculations(self) -> None:
        for calculated in self.evidence.calculations:
            add_titled(self.draft, calculated)
        self.calculated = True

    @property
    def _labels_tell(self) -> bool:
        """Whether a label says something of a pair."""
        return any(pair.said for pair in self.evidence.pairs)

    def _quotes(self, selection: Selection, *, answered: bool, on_pair: bool) -> None:
        """Add the best sentences and rows. Unclear ones are added only if nothing else answers, or below a pair."""
        quotes = [quote for quote in selection.quotes if not self.draft.holds(quote.unit)]
        if answered:
            quotes = [quote for quote in quotes if quote.share >= RELATED_FROM]
        if on_pair:
            quotes = [quote for quote in quotes if _adds(quote, self.asked, silent=not answered)]
        if selection.shares_terms and not selection.quotes and not answered:
            self.draft.say(phrases.UNRELATED)
        beside = answered and not selection.answers
        if beside:
            quotes = quotes[:_MOST_BESIDE] if on_pair else []
        if not quotes:
            return
        quotes = in_order(quotes, self.asked)
        best = quotes[0]
        sources = phrases.FROM_FILES if quotes[0].passage.file_id else phrases.FROM_GUIDELINES
        if beside:
            sources = phrases.MORE
        elif not selection.answers:
            related = any(quote.share >= RELATED_FROM for quote in quotes)
            self.draft.say(phrases.CLOSEST if related else phrases.UNRELATED)
            sources = ""
        elif not self.draft.text and opens_answer(quotes):
            self.draft.paragraph(quotes[0].unit.text, quotes[0].passage)
            quotes, sources = quotes[1:], phrases.MORE
        self.draft.quotes(((quote.unit, quote.passage) for quote in quotes), sources)
        if selection.answers and self.asked.asks_several and (selection.says_more or _says_more(best, self.draft.text)):
            self.draft.say(phrases.SAYS_MORE)


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
