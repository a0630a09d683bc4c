"""How searches of the guidelines are shown: the app's own, and the model server's file search."""

from __future__ import annotations

from tools.types import Phrase, ToolPresentation

GUIDELINE_SEARCH = ToolPresentation(
    title="Guidelines",
    icon="book-open",
    subjects=("question", "queries"),
    translations={
        "de": {
            "Guidelines": "Leitlinien",
            "1 passage": "1 Textstelle",
            "{count} passages": "{count} Textstellen",
            "1 passage, no clear answer": "1 Textstelle, keine klare Antwort",
            "{count} passages, no clear answer": "{count} Textstellen, keine klare Antwort",
            "no passage": "keine Textstelle",
            "no passage, no clear answer": "keine Textstelle, keine klare Antwort",
        }
    },
)


def passage_count(count: int, *, answerable: bool = True) -> Phrase:
    """Return how many passages a search found; not ``answerable`` adds that none answers clearly."""
    found = {0: "no passage", 1: "1 passage"}.get(count, "{count} passages")
    return Phrase(text=found if answerable else f"{found}, no clear answer", values={"count": count})
