"""The answers to questions about the library: what is loaded, and who issued it."""

from __future__ import annotations

from chat_app.offline import phrases
from chat_app.offline.composition.draft import Draft
from chat_app.offline.reading.evidence import Catalogue
from tools.language.library_questions import LibraryQuestion, library_question


def add_catalogue(draft: Draft, question: str, loaded: Catalogue) -> None:
    """Answer a question on the library itself."""
    asked = library_question(question) or LibraryQuestion(guidelines=True, drugs=True)
    if asked.guidelines:
        shown = loaded.on_subject or loaded.guidelines
        found = phrases.LOADED_ON if loaded.on_subject else phrases.NONE_ON if asked.subject else phrases.LOADED
        none = phrases.said(phrases.NO_DETAILS, draft.language)
        lines = "".join(f"\n- {title} – {details or none}" for title, details in shown)
        draft.paragraph(f"{phrases.said(found, draft.language)}\n{lines}" if shown else "")
        if not shown:
            draft.say(phrases.NONE_LOADED)
    if asked.drugs and loaded.drugs is not None:
        draft.say(phrases.DRUG_COUNT, count=[str(loaded.drugs)])
