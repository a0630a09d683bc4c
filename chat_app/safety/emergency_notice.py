"""The notice that comes first when a question tells of an immediate danger to life."""

from __future__ import annotations

from typing import Final

from chat_app.events import Notice
from chat_app.safety.emergency_classifier import emergency_model
from tools.language.vocabulary.common_words import language_of

ENGLISH: Final = (
    "This may be an emergency. Call your local emergency number now (112 in Europe, 911 in the United States). For an "
    "overdose or poisoning also call a poison centre (1-800-222-1222 in the United States); do not wait for symptoms. "
    "If someone may harm themselves, stay with them and call a crisis line (988 in the United States). "
    "Asclepius cannot assess an emergency, and a usual dose is no answer to one."
)
GERMAN: Final = (
    "Das kann ein Notfall sein. Rufen Sie sofort den Notruf (112; in der Schweiz 144). Rufen Sie bei einer Überdosis "
    "oder Vergiftung auch eine Giftnotrufzentrale an (Berlin 030 19240, Wien 01 406 43 43, Schweiz 145) und warten Sie "
    "nicht auf Symptome. Wenn sich jemand etwas antun könnte, lassen Sie ihn nicht allein und rufen Sie die "
    "Telefonseelsorge (0800 111 0 111) an. Asclepius kann einen Notfall nicht beurteilen, und eine übliche Dosis ist "
    "keine Antwort darauf."
)


def emergency_notice(question: str, text: str | None = None) -> Notice | None:
    """Return the notice for ``question``, or None when it tells of no emergency.

    ``text`` is the installation's own. The shipped text is German for a German question, and else English.
    """
    if not emergency_model().is_emergency(question):
        return None
    message = text or (GERMAN if language_of(question) == "de" else ENGLISH)
    return Notice(code="emergency", params={"text": message}, message=message)
