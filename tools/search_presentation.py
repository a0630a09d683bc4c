"""How searches of the guidelines are shown: the app's own, and the model server's file search."""

from tools.types import Phrase, ToolPresentation

GUIDELINE_SEARCH = ToolPresentation(
    title="Guidelines",
    icon="book-open",
    subjects=("question", "queries"),
)


def passage_count(count: int, *, answerable: bool = True) -> Phrase:
    """Return how many passages a search found; not ``answerable`` adds that none answers clearly."""
    if not count:
        return Phrase(text="no passage" if answerable else "no passage, no clear answer")
    if answerable:
        return Phrase(text="{count} passages", singular="{count} passage", values={"count": count})
    return Phrase(
        text="{count} passages, no clear answer", singular="{count} passage, no clear answer", values={"count": count}
    )
