"""Follow-up questions on retrieved passages that the answer does not cite."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chat_app.interface.i18n.translation import Language, say
from tools.types import Passage

_MOST = 3
_LONGEST = 80


class FollowUp(NamedTuple):
    """A button that asks ``question``."""

    label: str
    question: str


def follow_ups(retrieved: Iterable[Passage], cited: Sequence[str], language: Language = "en") -> list[FollowUp]:
    """Return at most three questions, each on a guideline section that the answer does not use."""
    looked_up = tuple(retrieved)
    used = {(p.title, start.section) for p in looked_up if p.id in cited for start in p.sections}
    found: dict[tuple[str, str], FollowUp] = {}
    for passage in looked_up:
        place = (passage.title, passage.section)
        leaf = passage.section.rpartition("›")[2].strip()
        if passage.kind != "guideline" or not leaf or leaf == passage.title or place in used or len(leaf) > _LONGEST:
            continue
        label = f"{leaf} ({passage.title})"
        question = say(language, "suggestion.section", title=passage.title, section=leaf)
        found.setdefault(place, FollowUp(label, question))
    return list(found.values())[:_MOST]
