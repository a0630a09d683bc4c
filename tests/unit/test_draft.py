"""The headings of an answer, and which quotes share one heading."""

from __future__ import annotations

from chat_app.offline.composition.draft import Draft
from chat_app.offline.reading.evidence import EvidencePassage, Quote
from tools.language.quotable_units import Unit

TABLETS = "Warfarin (label only for tablets), dosage"
INJECTION = "Warfarin (label only for injection), dosage"


def quote(title: str, text: str) -> Quote:
    return Unit(text), EvidencePassage(text, title=title)


def drafted(*quotes: Quote) -> str:
    draft = Draft()
    for one in quotes:
        draft.quotes([one])
    return draft.text


def test_labels_with_different_remarks_have_headings_of_their_own() -> None:
    text = drafted(quote(TABLETS, "Take 2 mg."), quote(INJECTION, "Inject 3 mg."))
    assert text == f"{TABLETS}\n\n- Take 2 mg.\n\n{INJECTION}\n\n- Inject 3 mg."


def test_a_remark_is_said_once_for_quotes_of_one_label() -> None:
    warnings = TABLETS.replace("dosage", "warnings")
    text = drafted(quote(TABLETS, "Take 2 mg."), quote(TABLETS, "Take it daily."), quote(warnings, "It may bleed."))
    assert text == f"{TABLETS}\n\n- Take 2 mg.\n- Take it daily.\n\nWarfarin, warnings\n\n- It may bleed."


def test_a_remark_is_said_again_after_another_label_of_the_medicine() -> None:
    text = drafted(quote(TABLETS, "Take 2 mg."), quote(INJECTION, "Inject 3 mg."), quote(TABLETS, "Take it daily."))
    assert text.endswith(f"- Inject 3 mg.\n\n{TABLETS}\n\n- Take it daily.")
