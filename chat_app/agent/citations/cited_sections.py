"""The sections of a passage that an answer cites.

A passage of 350 words often ends one section and begins the next: a reference must name the one that its words are in.
"""

from collections.abc import Sequence

from chat_app.agent.citations.passage_choice import best_source
from tools.types import Passage, SectionStart


def cited_sections(passage: Passage, statement: str, quotes: Sequence[str]) -> list[SectionStart]:
    """Return the sections of ``passage`` that hold ``quotes``; without any, the one nearest to ``statement``.

    Empty where neither tells.
    """
    if not passage.further_sections:
        return list(passage.sections)
    if quotes:
        return [_section_at(passage, at) for quote in quotes if (at := passage.text.find(quote)) >= 0]
    if not statement.strip():
        return []
    stretches = _stretches(passage)
    return [passage.sections[stretches.index(best_source(statement, stretches))]]


def _section_at(passage: Passage, place: int) -> SectionStart:
    return next(start for start in reversed(passage.sections) if start.at <= place)


def _stretches(passage: Passage) -> list[Passage]:
    """``passage`` cut where its sections begin."""
    ends = [*(start.at for start in passage.further_sections), len(passage.text)]
    return [
        passage.model_copy(
            update={"id": f"{passage.id}@{start.at}", "section": start.section, "text": passage.text[start.at : end]}
        )
        for start, end in zip(passage.sections, ends, strict=True)
    ]
