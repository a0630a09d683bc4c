"""Which words say that a medicine was taken, and whether a later question is about the same exposure."""

import pytest

from tools.drug_database.names.overdosage_wording import (
    ExposureClauses,
    adds_to_exposure,
    counted_words,
    counts_tablets,
    dose_clauses,
    exposure_clauses,
    leaves_exposure,
    may_be_one_dose,
    states_od,
    tells_of_allergy,
    tells_of_taking,
)


@pytest.mark.parametrize(
    ("question", "taken", "usual"),
    [
        ("pt on warfarin, took 8 nurofen", "took 8 nurofen", "pt on warfarin"),
        ("he's on metformin and swallowed 30 amlodipine", "swallowed 30 amlodipine", "he's on metformin"),
        ("OD on amitriptyline", "OD on amitriptyline", ""),
        ("can I give flumazenil, she took diazepam", "took diazepam", "can I give flumazenil"),
        ("on warfarin 5 mg od, took 8 ibuprofen", "took 8 ibuprofen", "on warfarin 5 mg qd"),
        ("nimmt Marcumar, hat 30 Ibuprofen geschluckt", "hat 30 Ibuprofen geschluckt", "nimmt Marcumar"),
    ],
)
def test_what_was_taken_is_told_from_usual_medicines(question: str, taken: str, usual: str) -> None:
    told = exposure_clauses(question)
    assert (", ".join(told.taken).strip(), ", ".join((*told.usual, *told.treats)).strip()) == (taken, usual)
    assert isinstance(told, ExposureClauses)


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
        ("can we give him loperamide for the diarrhoea", True),
        ("what about glucagon for him", True),
        ("does she need ondansetron for vomiting", True),
        ("darf er Ondansetron", True),
        ("Er nimmt auch Ramipril", True),
        ("and metoprolol in the same glass", True),
        ("and some beer with diazepam", True),
        ("oxycodone ER dose in the elderly", False),
        ("metformin ER maximum dose", False),
        ("What about metformin in type 2 diabetes with CKD?", False),
        ("Is metformin also used in PCOS?", False),
        ("amoxicillin dose for otitis in the child", False),
        ("Does metformin also cause B12 deficiency?", False),
        ("Ist Metformin auch bei PCOS zugelassen?", False),
        ("how about ramipril for heart failure", False),
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


@pytest.mark.parametrize(
    ("question", "leaves"),
    [
        ("he took another one an hour ago", False),
        ("the other one he swallowed was metoprolol", False),
        ("she may have had another one", False),
        ("next one he took was aspirin", False),
        ("he ate one, then the next one", False),
        ("another thing: he also had amlodipine", False),
        ("another child in the room took 3", False),
        ("in that case give naloxone?", False),
        ("new case: metformin in CKD", True),
        ("Thanks. Next one - enoxaparin", True),
        ("ok next one, lisinopril", True),
        ("other pt now - enoxaparin", True),
        ("Anderer Patient: Dosis Metformin?", True),
    ],
)
def test_another_patient_or_topic_ends_an_exposure_and_another_tablet_does_not(question: str, leaves: bool) -> None:
    assert leaves_exposure(question) is leaves


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("on three times her normal lithium, took 10 ibuprofen", "on three times her normal lithium"),
        ("taking double the dose of digoxin, took 10 ibuprofen", "taking double the dose of digoxin"),
        ("nimmt die doppelte Dosis Lithium, hat Ibuprofen genommen", "nimmt die doppelte Dosis Lithium"),
    ],
)
def test_a_multiple_of_a_usual_dose_is_not_usual(question: str, other: str) -> None:
    assert [part.strip() for part in exposure_clauses(question).other if part.strip()] == [other]


def test_a_frequency_is_no_multiple() -> None:
    assert exposure_clauses("on metformin three times a day, took 30 amlodipine").usual == (
        "on metformin three times a day",
    )


@pytest.mark.parametrize(
    ("part", "counted"),
    [
        ("has been taking 20 paracetamol daily", ["paracetamol"]),
        ("takes six ibuprofen a day", ["ibuprofen"]),
        ("takes one aspirin a day", []),
        ("on warfarin 5 mg daily", []),
        ("75yo on digoxin", []),
    ],
)
def test_words_behind_a_count_may_name_what_was_counted(part: str, counted: list[str]) -> None:
    assert counted_words(part) == counted


def test_numbers_of_tablets_are_found() -> None:
    assert counts_tablets("taking 8 tablets of paracetamol a day")
    assert counts_tablets("takes two boxes of paracetamol a day")
    assert not counts_tablets("on warfarin 5 mg daily")


@pytest.mark.parametrize(
    ("question", "allergic"),
    [
        ("hives and wheeze after ceftriaxone", True),
        ("itchy all over and BP 70/40 after ceftriaxone", True),
        ("amoxicillin, two minutes later hypotensive", True),
        ("rash and collapse after penicillin injection", True),
        ("fainted after the cefazolin", True),
        ("Exanthem und Blutdruckabfall nach Penicillin", True),
        ("RR 70/40 nach Ceftriaxon", True),
        ("Juckreiz und Kollaps nach Amoxicillin", True),
        ("prurito generalizado tras amoxicilina", True),
        ("se desmayó tras la penicilina", True),
        ("metformin today, contrast this afternoon", False),
        ("ceftriaxone running fast, chest gone red and itchy", False),
        ("Juckreiz am ganzen Körper nach Penicillin", True),
        ("chest gone red during vancomycin", False),
        ("BP 120/80 after amoxicillin, feels sick", False),
        ("loose stools after amoxicillin", False),
    ],
)
def test_signs_of_an_allergy_are_found(question: str, allergic: bool) -> None:
    assert tells_of_allergy(question) is allergic


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
