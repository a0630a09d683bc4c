"""Sorts the quotes of an answer, and tells whether the first can open the answer as a paragraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chat_app.offline.composition.draft import table_of
from chat_app.offline.extraction.candidates import names_others
from chat_app.offline.extraction.drug_parts import ORGAN_DOSES
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.scoring import Scored
from chat_app.offline.extraction.selection import ANSWERS_FROM, bans_as_told

_CLEARLY: Final = 0.3
"""By so much the first of several quotes scores better than the others to lead the answer."""


def opens_answer(quotes: Sequence[Scored]) -> bool:
    """Return whether the first of several quotes is clearly better than the others, and readable without neighbours."""
    first, *others = quotes
    alone = not (first.unit.table or first.unit.leans or first.unit.introduces_list)
    if not others or first.passage.title or not alone or others[0].unit.limits or not first.is_on_subject:
        return False
    return all(first.score >= other.score + _CLEARLY for other in others)


def in_order(quotes: Sequence[Scored], asked: Question) -> list[Scored]:
    """Sort quotes by source and group, the best first, and the rows of a table in its order.

    What names only other medicines comes last. A prohibition in the patient's state comes first, then fitting bounds,
    what is said of the asked group of patients, warnings in what was told before a dose was asked for, asked sections
    that answer or give the doses for a failing organ, then the score.
    """
    placed = {quote.place: quote for quote in quotes}

    def group(quote: Scored) -> object:
        """Return the key of a quote's group: its table's rows, or a sentence and those it depends on."""
        if quote.unit.table:
            return table_of(quote.unit)
        before = placed.get(quote.place - quote.unit.back) if quote.unit.back else None
        return group(before) if before and not before.unit.table else quote.place

    def order(quote: Scored) -> tuple[bool | float, ...]:
        part = quote.passage.part
        leads = part in asked.sections and (part in ORGAN_DOSES or quote.share >= ANSWERS_FROM)
        others = bool(asked.medicines) and names_others(asked, quote.unit)
        forbids, group = asked.forbids_in_state(quote.unit), quote.features.group
        on_patient = (group < 0, not forbids, not quote.fits, group <= 0, not bans_as_told(asked, quote))
        return (quote.is_aside, others, *on_patient, not leads, -quote.score)

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
