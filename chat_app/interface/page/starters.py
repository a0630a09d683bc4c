"""What the start page offers: four questions that the loaded sources can answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chat_app.interface.i18n.translation import Language, say


class StarterQuestion(NamedTuple):
    label: str
    message: str


# A word of a guideline's title, and a question that such a guideline answers.
_BY_TOPIC: tuple[tuple[str, StarterQuestion], ...] = (
    (
        "hypertension",
        StarterQuestion("ACE inhibitors: contraindications", "What are the contraindications for ACE inhibitors?"),
    ),
    (
        "blood pressure",
        StarterQuestion("Blood pressure: when to treat", "At what blood pressure should drug treatment be started?"),
    ),
    ("diabetes", StarterQuestion("Type 2 diabetes: HbA1c goal", "What HbA1c goal is usual in type 2 diabetes?")),
    (
        "fibrillation",
        StarterQuestion(
            "Atrial fibrillation: who needs anticoagulation",
            "At which CHA2DS2-VASc score is anticoagulation recommended in atrial fibrillation?",
        ),
    ),
    ("asthma", StarterQuestion("Asthma: preferred reliever", "What is the preferred reliever for adults with asthma?")),
    (
        "pneumonia",
        StarterQuestion(
            "Pneumonia: antibiotics for outpatients",
            "Which antibiotic is first-line for community-acquired pneumonia in outpatients?",
        ),
    ),
    ("kidney", StarterQuestion("Kidney disease: stages", "How is chronic kidney disease staged?")),
)
_DRUGS = StarterQuestion("Metformin: formulations", "What formulations of metformin are available in our database?")
_RECOMMENDATIONS = "What are the main recommendations of “{title}”?"
_COUNT = 4


def starter_questions(
    titles: Sequence[str], language: Language = "en", *, extracts: bool = False
) -> list[StarterQuestion]:
    """Three questions on the guidelines called ``titles`` and one on drugs; fewer when less is loaded.

    With ``extracts`` the questions stay in the sources' own language: that is what they are found by.
    """
    asked_in = "en" if extracts else language
    found: list[StarterQuestion] = []
    for title in titles:
        topic = next((q for word, q in _BY_TOPIC if word in title.lower() and q not in found), None)
        found.append(topic or StarterQuestion(_short(title), say(asked_in, _RECOMMENDATIONS, title=title)))
    # Guidelines with a question of their own come first, in the order of the topics.
    order = [question for _, question in _BY_TOPIC]
    found.sort(key=lambda question: order.index(question) if question in order else len(order))
    chosen = [*found[: _COUNT - 1], _DRUGS]
    return [StarterQuestion(say(language, q.label), say(asked_in, q.message)) for q in chosen]


def _short(title: str) -> str:
    return title if len(title) <= 48 else title[:47].rstrip() + "…"
