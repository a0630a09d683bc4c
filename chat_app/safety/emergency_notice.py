"""The notice that comes first when a question tells of an immediate danger to life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chat_app.events import Notice
from chat_app.safety.emergency_classifier import emergency_model
from tools.language.vocabulary.common_words import Language, language_of

ENGLISH: Final = (
    "This may be an emergency. Call your local emergency number now (112 in Europe, 911 in the United States). For an "
    "overdose or poisoning also call a poison centre (1-800-222-1222 in the United States); do not wait for symptoms. "
    "If someone may harm themselves, stay with them and call a crisis line (988 in the United States). "
    "Asclepius cannot assess an emergency, and a usual dose is no answer to an overdose."
)
GERMAN: Final = (
    "Das kann ein Notfall sein. Rufen Sie sofort den Notruf (112; in der Schweiz 144). Rufen Sie bei einer Überdosis "
    "oder Vergiftung auch eine Giftnotrufzentrale an (Berlin 030 19240, Wien 01 406 43 43, Schweiz 145) und warten Sie "
    "nicht auf Symptome. Wenn sich jemand etwas antun könnte, lassen Sie ihn nicht allein und rufen Sie die "
    "Telefonseelsorge (0800 111 0 111) an. Asclepius kann einen Notfall nicht beurteilen, und eine übliche Dosis ist "
    "keine Antwort auf eine Überdosis."
)
SPANISH: Final = (
    "Esto puede ser una emergencia. Llame ya al número de emergencias (112 en España; 911 en gran parte de América). "
    "En una sobredosis o intoxicación llame también a toxicología (91 562 04 20 en España) y no espere a los síntomas. "
    "Si alguien puede hacerse daño, no lo deje solo y llame a una línea de crisis (024 en España). Asclepius no puede "
    "valorar una emergencia, y una dosis habitual no es la respuesta a una sobredosis."
)
_TEXTS: Final[Mapping[Language, str]] = {"en": ENGLISH, "de": GERMAN, "es": SPANISH}


def emergency_notice(question: str, text: str | None = None) -> Notice | None:
    """Return the notice for ``question``, or None when it tells of no emergency.

    ``text`` is the installation's own. The shipped text is in the language of the question.
    """
    if not emergency_model().recognises(question):
        return None
    message = text or _TEXTS[language_of(question)]
    return Notice(code="emergency", params={"text": message}, message=message)
