"""German and Spanish names of medicines, and guesses that are withheld."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.drugs import index_entry
from tools.drug_database.names.aliases import AliasFile, aliases, medicine_names
from tools.drug_database.names.foreign_names import english_forms, international_key, ions_of
from tools.drug_database.names.german_compounds import with_separate_parts
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.query_words import parse_query
from tools.drug_database.names.resolve import Reading, interpret
from tools.drug_database.records.shipped_data import shipped
from tools.language.folding import fold_name
from tools.language.vocabulary.clinical_vocabulary import is_known_word
from tools.language.vocabulary.common_words import is_ordinary
from tools.language.vocabulary.text_language import language_of

INDEX = NameIndex(
    [
        index_entry("calcium chloride"),
        index_entry("potassium chloride"),
        index_entry("magnesium oxide"),
        index_entry("metoprolol", substances=["metoprolol succinate", "metoprolol tartrate"]),
        index_entry("amoxicillin", substances=["amoxicillin"]),
        index_entry("clavulanic acid"),
        index_entry("amoxicillin+clavulanic acid"),
        index_entry("morphine", substances=["morphine sulfate"]),
        index_entry("aspirin", brands=["Bayer Aspirin"]),
        index_entry("insulin human", brands=["Novolin"]),
        index_entry("penicillin v"),
        index_entry("nisoldipine", brands=["Sular"]),
        index_entry("furosemide", classes=["Diuretics"]),
        index_entry("metronidazole"),
    ]
)


def reading(text: str) -> Reading:
    return interpret(INDEX, parse_query(text))


def found(text: str) -> str:
    candidates = reading(text).candidates
    return INDEX.entries[candidates[0].entry].generic if candidates else ""


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Kaliumchlorid", "potassium chloride"),
        ("cloruro de potasio", "potassium chloride"),
        ("cloruro cálcico", "calcium chloride"),
        ("Magnesiumoxid", "magnesium oxide"),
        ("Metoprololsuccinat 47,5", "metoprolol"),
        ("metop succ 25", "metoprolol"),
        ("amoxicilina", "amoxicillin"),
        ("amoxicilina y ácido clavulánico", "amoxicillin and clavulanic acid"),
        ("Morphin", "morphine"),
        ("sulfato de morfina", "morphine"),
        ("ASS 100", "aspirin"),
        ("PCN VK", "penicillin v"),
        ("furos", "furosemide"),
        ("furo iv", "furosemide"),
        ("give furos now?", "furosemide"),
        ("Dosis von Metoprolol bei Herzinsuffizienz", "metoprolol"),
    ],
)
def test_a_german_spanish_or_shortened_name_is_read(typed: str, meant: str) -> None:
    assert found(typed) == meant
    assert not reading(typed).did_you_mean


@pytest.mark.parametrize(
    "typed",
    [
        "water tablet",
        "sugar pill",
        "Wassertablette",
        "Blutdruck",
        "presión arterial",
        "diabetics",
        "inhibited",
        "arrhythmias",
    ],
)
def test_an_ordinary_word_is_no_misspelt_medicine(typed: str) -> None:
    assert reading(typed) == Reading()


@pytest.mark.parametrize("typed", ["Kaliumphosphat", "Natriumchlorid", "sodium chloride", "magnesium hydroxide"])
def test_a_salt_is_never_guessed_as_another_one(typed: str) -> None:
    assert not reading(typed).candidates


def test_a_misspelt_salt_is_still_guessed() -> None:
    assert found("potasium cloride") == "potassium chloride"
    assert found("magnesum oxide") == "magnesium oxide"


@pytest.mark.parametrize("typed", ["Novalgin", "Novalgin Dosis", "Nebenwirkungen von Novalgin"])
def test_a_known_brand_that_is_not_loaded_is_named_and_not_guessed(typed: str) -> None:
    read_as = reading(typed)
    assert (read_as.candidates, read_as.did_you_mean) == ((), ())
    assert "metamizole" in read_as.notes[0]
    assert "potassium iodide" in reading("Kaliumjodid").notes[0]


@pytest.mark.parametrize(
    ("names", "key"),
    [
        (("morfina", "Morphin", "morphine"), "morfin"),
        (("hidroclorotiazida", "Hydrochlorothiazid", "hydrochlorothiazide"), "idroklorotiasid"),
        (("espironolactona", "Spironolacton", "spironolactone"), "spironolakton"),
        (("Chinidin", "quinidine"), "kvinidin"),
    ],
)
def test_spellings_of_one_international_name_share_a_key(names: tuple[str, ...], key: str) -> None:
    assert {international_key(fold_name(name)) for name in names} == {key}


def test_an_english_salt_beside_ordinary_words_is_found() -> None:
    assert found("calcium chloride chewing gum") == "calcium chloride"
    assert not any("another name" in note for note in reading("calcium chloride chewing gum").notes)


def test_ions_are_told_in_three_languages() -> None:
    for text in ("Kaliumchlorid", "cloruro potásico", "potassium chloride"):
        assert ions_of(fold_name(text)) == {"potassium", "chloride"}


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert all(form for form in english_forms(text))
    is_known_word(text)
    reading(text)


def test_the_language_is_told_by_frequent_words() -> None:
    assert language_of("Welche Dosis bei Kindern?") == "de"
    assert language_of("qué dosis para los niños") == "es"
    assert language_of("metoprolol succinate 25 mg") == "en"
    assert language_of("alcohol") == "en", "a word of several languages"
    assert language_of("Überdosis Paracetamol") == "de"
    assert language_of("Novalgin Dosis") == "de", "Spanish writes no noun with a capital"
    assert language_of("dosis") == "en", "a word of two languages, and no English one"
    assert language_of("Kreatinin-Clearance bestimmen") == "de"
    assert language_of("Hyperkaliämie Therapie") == "de", "clinical words tell a language that ordinary ones do not"
    assert language_of("insuficiencia renal grave ajuste") == "es"
    assert language_of("severe asthma edema") == "en"
    assert language_of("clopidogrel con omeprazol") == "es", "a word that English lists, too"
    assert is_ordinary("water")
    assert not is_ordinary("metoprolol")


@pytest.mark.parametrize(
    ("text", "language", "read_as"),
    [
        ("clopidogrel y omeprazol", "es", "clopidogrel y omeprazol"),
        ("warfarina e ibuprofeno", "es", "warfarina y ibuprofeno"),
        ("digoxina e hidroclorotiazida", "es", "digoxina y hidroclorotiazida"),
        ("vitamin e intake", "en", "vitamin e intake"),
        ("hepatitis e infection", "en", "hepatitis e infection"),
        ("treat e coli", "en", "treat e coli"),
    ],
)
def test_the_spanish_and_of_one_letter_tells_the_language_and_joins(text: str, language: str, read_as: str) -> None:
    assert (language_of(text), parse_query(text).whole) == (language, read_as)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("Betaloc", "metoprolol"),
        ("max daily dose of Frusol", "furosemide"),
        ("Infectomox Dosis", "amoxicillin"),
        ("dosis de Metrogyl", "metronidazole"),
        ("Furoreze", "furosemide"),
    ],
)
def test_brands_of_other_markets_lead_to_the_medicine(typed: str, name: str) -> None:
    assert found(typed) == name


@pytest.mark.parametrize(
    ("brand", "medicine"),
    [
        ("Clenil", "beclomethasone"),
        ("Fostair", "beclomethasone and formoterol"),
        ("Tazobac", "piperacillin and tazobactam"),
        ("Seropram", "citalopram"),
        ("L-Polamidon", "levomethadone"),
    ],
)
def test_a_brand_of_another_market_is_known_without_drug_data(brand: str, medicine: str) -> None:
    alias = aliases().name(brand)
    assert alias is not None
    assert alias.names == (medicine,)


def test_brands_of_other_markets_are_no_words_and_no_brands_of_another_medicine() -> None:
    data = shipped("aliases.json", AliasFile)
    other: dict[str, set[str]] = {}
    for name, means in (*((one.alias, one.names[0]) for one in data.names), *medicine_names().pairs()):
        other.setdefault(fold_name(name).replace(" ", ""), set()).add(means)
    brands = [one for one in data.names if one.source == "eu_brand"]
    assert len(brands) > 3_000
    for brand in brands:
        assert len(other[fold_name(brand.alias).replace(" ", "")]) == 1, brand.alias
        assert not all(map(is_known_word, fold_name(brand.alias).split())), brand.alias


def test_a_word_of_a_question_is_no_misspelt_brand_that_no_record_has() -> None:
    assert found("do not add anaerobic cover routinely") == ""
    assert found("anaerobix") == "metronidazole"


def test_a_misspelt_brand_whose_medicine_is_not_loaded_is_no_other_one() -> None:
    assert found("aroamsin") == ""


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("Prednisolondosis bei Asthma", "Prednisolon-Dosis bei Asthma"),
        ("Digitalisintoxikation?", "Digitalis-Intoxikation?"),
        ("adrenalindosis", "adrenalin-Dosis"),
        ("Sauerstoffziel, Nierenfunktionseinschränkung", "Sauerstoff-Ziel, Nierenfunktions-Einschränkung"),
        ("Erhaltungsdosis bei Vorhofflimmern", "Erhaltungsdosis bei Vorhofflimmern"),
        (
            "Metoprololsuccinat, Insulinresistenz, clarithromycin",
            "Metoprololsuccinat, Insulinresistenz, clarithromycin",
        ),
    ],
)
def test_the_parts_of_a_german_compound_are_separated(typed: str, read: str) -> None:
    assert with_separate_parts(typed) == read
