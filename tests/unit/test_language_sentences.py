"""Sentence bounds in English and German."""

from __future__ import annotations

import pytest

from tools.language.sentences import last_sentence, sentence_spans, sentences


@pytest.mark.parametrize(
    "whole",
    [
        "You should start with approx. 5 mg of bisoprolol once daily.",
        "Give an antibiotic (e.g. Amoxicillin) for 5–7 days.",
        "Compare warfarin vs. Apixaban in Fig. 3 and Tab. IV of the report.",
        "Dr. J. R. Smith agrees with Prof. Jones.",
        "See Smith et al. The trial was small.",
        "Do not give it (see fig. 3).",
        "See section 5.1 Dosage.",
        "The ratio of 2.5 to 10.25 mg is kept.",
        "The U.S. Preventive Services Task Force recommends it.",
        "Wait ... 5 minutes and then look again.",
        "Stop if K. pneumoniae grows.",
        "1. Start with a low dose",
        "(a) Measure the pressure",
        "Die 1. Wahl ist Amoxicillin.",
        "Am 3. Tag z.B. Ibuprofen bzw. Paracetamol, ca. 400 mg, absetzen.",
        "Abb. 3 zeigt den Verlauf.",
        "It is measured at an age of\nat least 65 years.",
        "Not recommended for pts. Older than 65 years of age get it.",
        "Do not exceed wt. 10 kg per dose.",
        "Not for carriers of Hep. B in any phase.",
        "No more than 2 tbl. Paracetamol a day.",
        "Nicht für Kinder unter 2 J. Ibuprofen geben.",
        "Do not give it p.r.n. Morphine is for regular use.",
    ],
)
def test_no_sentence_ends_at_an_abbreviation_number_or_list_mark(whole: str) -> None:
    assert sentences(whole) == [whole]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BP falls during sleep.59 It rises on waking.", ["BP falls during sleep.59", "It rises on waking."]),
        ("The dose is 2.5 mg. Double it weekly.", ["The dose is 2.5 mg.", "Double it weekly."]),
        ("Inject over 10 min. Repeat it once.", ["Inject over 10 min.", "Repeat it once."]),
        ("Take vitamin D. Avoid the sun.", ["Take vitamin D.", "Avoid the sun."]),
        ("The answer is no. Stop it.", ["The answer is no.", "Stop it."]),
        ("Advice is followed.a Remarks follow.† More.", ["Advice is followed.a", "Remarks follow.†", "More."]),
        ("Check for CKD. Stop it.", ["Check for CKD.", "Stop it."]),
        ("It is given i.v. once. Wait 2 h. Repeat it.", ["It is given i.v. once.", "Wait 2 h.", "Repeat it."]),
        ("In the U.S. It is rare.", ["In the U.S.", "It is rare."]),
        ("Start A.\n2. Stop B.", ["Start A.", "2. Stop B."]),
        (
            "Ärzte warten. Öfter ist es gut. „Ja!“ Über 5 mg: nein.",
            ["Ärzte warten.", "Öfter ist es gut.", "„Ja!“", "Über 5 mg: nein."],
        ),
        ("Doses\nStart low.\n\nGo slow", ["Doses", "Start low.", "Go slow"]),
        ("drug\tdose\nMetformin\t500 mg. Twice", ["drug\tdose", "Metformin\t500 mg.", "Twice"]),
        ("For: • one • two", ["For:", "• one", "• two"]),
        ("Is it? Yes! Then go… Stop.", ["Is it?", "Yes!", "Then go…", "Stop."]),
        ("", []),
    ],
)
def test_a_sentence_ends_where_a_reader_would_end_it(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_list_items_know_the_words_that_lead_into_their_list() -> None:
    text = "Steps:\n1. Do not give it in:\n– asthma\n– gout\n2. Ask again.\nAfter the list."
    led = [(text[start:end], lead and text[slice(*lead)]) for start, end, lead in sentence_spans(text)]
    assert led == [
        ("Steps:", None),
        ("1. Do not give it in:", "Steps:"),
        ("– asthma", "1. Do not give it in:"),
        ("– gout", "1. Do not give it in:"),
        ("2. Ask again.", "Steps:"),
        ("After the list.", None),
    ]


def test_the_last_sentence_of_nothing_is_nothing() -> None:
    assert last_sentence("One. Give e.g. Aspirin.") == "Give e.g. Aspirin."
    assert last_sentence(" \n") == ""
