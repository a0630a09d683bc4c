"""The sections of a passage that an answer cites.

A passage of 350 words often ends one section and begins the next: a reference must name the one that its words are in.
"""

from collections.abc import Sequence

from chat_app.agent.citations.passage_choice import best_source
from tools.types import Passage


def cited_sections(passage: Passage, statement: str, quotes: Sequence[str]) -> list[str]:
    """Return the sections of ``passage`` that hold ``quotes``; without any, the one nearest to ``statement``.

    Empty where neither tells.
    """
    if not passage.further_sections:
        return [passage.section]
    if quotes:
        return [_section_at(passage, at) for quote in quotes if (at := passage.text.find(quote)) >= 0]
    return [best_source(statement, _stretches(passage)).section] if statement.strip() else []


def _section_at(passage: Passage, place: int) -> str:
    return next(start.section for start in reversed(passage.sections) if start.at <= place)


def _stretches(passage: Passage) -> list[Passage]:
    """``passage`` cut where its sections begin."""
    ends = [*(start.at for start in passage.further_sections), len(passage.text)]
    return [
        passage.model_copy(
            update={"id": f"{passage.id}@{start.at}", "section": start.section, "text": passage.text[start.at : end]}
        )
        for start, end in zip(passage.sections, ends, strict=True)
    ]
