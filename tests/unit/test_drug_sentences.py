"""Label text as sentences that can be quoted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tools.drug_database.labels.label_sentences import label_sections, label_sentences


def test_a_list_item_keeps_the_words_that_lead_into_it() -> None:
    """Alone, an item of "is not indicated for:" would say the opposite."""
    text = "DRUG is not indicated for: • Type 1 diabetes • Ketoacidosis\nIt may be taken with food."
    assert label_sentences(text) == (
        "DRUG is not indicated for: Type 1 diabetes",
        "DRUG is not indicated for: Ketoacidosis",
        "It may be taken with food.",
    )


def test_abbreviations_and_numbers_end_no_sentence() -> None:
    text = "Give 2.5 mg (e.g. Brand) once. In the U.S. It is rare. See section 5.1. Stop if K. pneumoniae grows."
    assert label_sentences(text)[0] == "Give 2.5 mg (e.g. Brand) once."
    assert any("K. pneumoniae" in sentence for sentence in label_sentences(text))


def test_the_heading_of_a_section_is_no_sentence() -> None:
    assert label_sentences("4 CONTRAINDICATIONS Hypersensitivity to the drug.") == ("Hypersensitivity to the drug.",)
    assert label_sentences("Risk Summary\nThere are no data.") == ("There are no data.",)


def test_kidney_and_liver_are_gathered_from_dosing() -> None:
    found = label_sections({"dosage": "Take one. Halve the dose if CrCl is below 30 mL/min."}, ["No liver data."])
    assert found["renal_dosing"] == ("Halve the dose if CrCl is below 30 mL/min.",)
    assert found["hepatic_dosing"] == ("No liver data.",)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_no_word_is_invented(text: str) -> None:
    words = set(text.replace("•", " ").replace("●", " ").replace("▪", " ").split())
    assert all(
        set(sentence.replace("•", " ").replace("●", " ").replace("▪", " ").split()) <= words
        for sentence in label_sentences(text)
    )
