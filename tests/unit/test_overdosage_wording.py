"""What the words of a conversation tell of an exposure: what was taken, and whether a question is still about it."""

import pytest

from tools.drug_database.names.overdosage_wording import (
    Told,
    adds_to_exposure,
    dose_clauses,
    may_be_one_dose,
    states_od,
    tells_of_allergy,
    tells_of_taking,
    told_parts,
)


@pytest.mark.parametrize(
    ("question", "taken", "usual"),
    [
        ("pt on warfarin, took 8 nurofen", "took 8 nurofen", "pt on warfarin"),
        ("he's on metformin and swallowed 30 amlodipine", "swallowed 30 amlodipine", "he's on metformin"),
        ("OD on amitriptyline", "OD on amitriptyline", ""),
        ("can I give flumazenil, she took diazepam", "took diazepam", "can I give flumazenil"),
        ("on warfarin 5 mg od, took 8 ibuprofen", "took 8 ibuprofen", "on warfarin 5 mg bd"),
        ("nimmt Marcumar, hat 30 Ibuprofen geschluckt", "hat 30 Ibuprofen geschluckt", "nimmt Marcumar"),
    ],
)
def test_what_was_taken_is_told_from_usual_medicines(question: str, taken: str, usual: str) -> None:
    told = told_parts(question)
    assert (told.taken.strip(), told.usual.strip()) == (taken, usual)
    assert isinstance(told, Told)


@pytest.mark.parametrize(
    ("question", "goes_on"),
    [
        ("and his ramipril, about 20", True),
        ("he also took amlodipine", True),
        ("flumazenil?", True),
        ("can he have ondansetron", True),
        ("und noch 10 Bisoprolol", True),
        ("domperidone 10 tds instead", False),
        ("What is the usual dose of metformin?", False),
        ("another patient, she also takes warfarin", False),
        ("Is gabapentin 900 mg tds too much in CKD 4?", False),
    ],
)
def test_a_further_medicine_is_of_the_same_exposure_or_another_topic(question: str, goes_on: bool) -> None:
    assert adds_to_exposure(question) is goes_on


@pytest.mark.parametrize(
    ("question", "taken", "stated"),
    [
        ("domperidone 10 mg od instead", False, True),
        ("apixaban 5 mg od in AF", False, True),
        ("bisoprolol 5 mg od chest pain", False, True),
        ("amlodipine 10 od", False, True),
        ("levothyroxine 1,000 mcg od", False, True),
        ("amitriptyline 2g OD", True, True),
        ("glargine 300 units od", True, True),
        ("17 OD on co-codamol", True, False),
        ("female 30 od", True, False),
        ("patient 19 od of diazepam", True, False),
        ("tramadol 50mg od'd", True, False),
    ],
)
def test_od_tells_of_taking_unless_it_follows_a_usual_amount(question: str, taken: bool, stated: bool) -> None:
    assert tells_of_taking(question) is adds_to_exposure(question) is taken
    assert states_od(question) is stated


def test_amounts_of_one_dose_are_below_a_gram_or_100_units() -> None:
    assert may_be_one_dose(500)
    assert may_be_one_dose(900, "mcg")
    assert not may_be_one_dose(1, "g")
    assert not may_be_one_dose(100, "IU")


def test_signs_of_an_allergy_are_found() -> None:
    assert tells_of_allergy("hives and wheeze after ceftriaxone")
    assert not tells_of_allergy("metformin today, contrast this afternoon")


@pytest.mark.parametrize(
    "question",
    [
        "Anaphylaxie: Adrenalin i.m. wieviel?",
        "Overdose. Adrenalin i. m. dose?",
        "Reaktion: z.B. Adrenalin s.c. wieviel",
    ],
)
def test_the_full_stops_of_an_abbreviation_end_no_clause(question: str) -> None:
    assert "Adrenalin" in next(iter(dose_clauses(question)))


def test_a_full_stop_after_a_word_or_a_letter_ends_a_clause() -> None:
    assert [*dose_clauses("Overdose of vitamin K. How much naloxone i.v.?")] == [" How much naloxone i.v."]
