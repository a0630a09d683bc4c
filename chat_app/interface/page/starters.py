"""Starter questions of the start page, which the loaded sources can answer."""

from collections.abc import Sequence
from typing import NamedTuple

from chat_app.interface.i18n.translation import ENGLISH, Language, say
from chat_app.interface.markdown.markdown_text import short

TOPICS = ("hypertension", "blood_pressure", "diabetes", "fibrillation", "asthma", "pneumonia", "kidney")
"""Words of guidelines' titles for which the catalogues have a question."""
_COUNT = 4
_LONGEST_TITLE = 48


class StarterQuestion(NamedTuple):
    """A button of the start page; ``label`` shortens ``message``, the question that it asks."""

    label: str
    message: str


def starter_questions(
    titles: Sequence[str], language: Language = ENGLISH, *, extracts: bool = False, drugs: bool = True
) -> list[StarterQuestion]:
    """Return three questions on the guidelines with these titles, and one on ``drugs`` where there are any.

    With ``extracts`` the questions stay in the sources' language, because they are found by their words.
    """
    asked_in = ENGLISH if extracts else language
    topics: list[str] = []
    others: list[StarterQuestion] = []
    for title in titles:
        known = (topic for topic in TOPICS if topic.replace("_", " ") in title.lower() and topic not in topics)
        if topic := next(known, None):
            topics.append(topic)
        else:
            question = say(asked_in, "starter.recommendations", title=title)
            others.append(StarterQuestion(short(title, _LONGEST_TITLE), question))
    chosen = [_starter(topic, language, asked_in) for topic in sorted(topics, key=TOPICS.index)] + others
    return chosen[: _COUNT - 1] + ([_starter("drugs", language, asked_in)] if drugs else [])


def _starter(topic: str, language: Language, asked_in: Language) -> StarterQuestion:
    return StarterQuestion(say(language, f"starter.{topic}.label"), say(asked_in, f"starter.{topic}.question"))
