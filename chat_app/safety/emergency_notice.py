"""The notice that comes first when a question tells of an immediate danger to life."""

from __future__ import annotations

import json
from importlib import resources
from typing import Final

from chat_app.events import Notice
from chat_app.safety.emergency_classifier import EmergencyKind
from tools.language.vocabulary.common_words import Language
from tools.language.vocabulary.text_language import language_of

_SHARED: Final[dict[EmergencyKind, EmergencyKind]] = {"reaction": "illness"}
"""Kinds with the text of another: no poison centre is needed for an allergic reaction."""
TEXTS: Final[dict[Language, dict[EmergencyKind, str]]] = json.loads(
    (resources.files("chat_app.safety") / "data" / "emergency_notices.json").read_text("utf-8")
)


def emergency_notice(question: str, kind: EmergencyKind, text: str | None = None) -> Notice:
    """Return the notice for an emergency; ``text`` is the installation's own, else it is in the question's language."""
    message = text or TEXTS[language_of(question)][_SHARED.get(kind, kind)]
    return Notice(code="emergency", params={"text": message}, message=message)
