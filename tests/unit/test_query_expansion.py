"""Other words for the words of a clinical question."""

from __future__ import annotations

import pytest

from tests.support.drugs import index_entry
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.query_words import parse_query, without_form
from tools.drug_database.names.resolve import interpret
from tools.drug_database.query_expander import QueryExpander
from tools.language.query_expansion import Expansion, QueryExpansion
from tools.language.question_words import asked_terms, telling
from tools.language.vocabulary.clinical_vocabulary import is_known_word

BETA2 = "beta2-Adrenergic Agonist [EPC]"
SHORT = "Short-acting beta2-adrenergic agonist (SABA)"
INDEX = NameIndex(
    [
        index_entry("dabigatran", brands=["Pradaxa"], classes=["Direct Thrombin Inhibitor [EPC]"]),
        index_entry("sacubitril+valsartan", brands=["Entresto"]),
        index_entry("albuterol", classes=[BETA2, SHORT]),
        index_entry("salmeterol", classes=[BETA2]),
        index_entry("metformin", brands=["Glucophage"]),
        index_entry("morphine"),
        index_entry("ketorolac"),
        index_entry("aluminum+arsenic+gold+iron", brands=["Allergy"]),
        index_entry("menthol", brands=["Relief"]),
    ]
)
EXPANDER = QueryExpander(INDEX)


def expanded(question: str, asked: str) -> Expansion:
    found = {one.asked: one for one in EXPANDER.expand(question).expansions}
    return found.get(asked, Expansion(asked=asked))


def test_a_brand_leads_to_its_ingredients_and_their_class() -> None:
    assert expanded("When should I halve Pradaxa?", "pradaxa").same == ("dabigatran",)
    assert "Direct Thrombin Inhibitor" in expanded("Pradaxa", "pradaxa").related
    assert expanded("Entresto after an ACE inhibitor", "entresto").same == ("sacubitril", "valsartan")


def test_a_class_leads_to_its_own_members_alone() -> None:
    found = expanded("Is a SABA alone enough?", "saba")
    assert "short-acting beta agonist" in found.same
    assert {"albuterol", "salbutamol"} <= set(found.related)
    assert "salmeterol" not in found.related


def test_a_member_leads_to_its_class_and_its_other_name() -> None:
    found = expanded("salbutamol in an attack", "salbutamol")
    assert found.same == ("albuterol",)
    assert "SABA" in found.related


def test_a_medicine_that_is_not_loaded_leads_to_its_class() -> None:
    assert expanded("low sugar on gliclazide", "gliclazide").related == ("sulfonylurea",)
    assert expanded("glibenclamide at 80", "glibenclamide") == Expansion(
        asked="glibenclamide", same=("glyburide",), related=("sulfonylurea",)
    )


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("pain relief", "relief"),
        ("allergy to eggs", "allergy"),
        ("fatigue in MS", "ms"),
        ("PE in pregnancy", "pe"),
        ("low HCT", "hct"),
        ("MCP pain", "mcp"),
        ("¿Cuál es la dosis de los pacientes?", "los"),
    ],
)
def test_ambiguous_and_ordinary_words_are_left_alone(question: str, asked: str) -> None:
    assert expanded(question, asked) == Expansion(asked=asked)


def test_an_abbreviation_with_one_meaning_is_spelt_out() -> None:
    assert expanded("apixaban in AF", "af").same == ("atrial fibrillation",)


def test_weeks_of_a_pregnancy_in_british_notation_are_spelt_out() -> None:
    assert expanded("32/40, BP 158/104", "32 40").same == ("pregnancy",)
    assert expanded("Seretide 25/50", "25 50").same == ()


def test_an_abbreviation_means_what_it_does_in_the_language_of_the_question() -> None:
    assert expanded("HF unter Betablocker beim Erwachsenen zu hoch", "hf").same == ("heart rate",)
    assert expanded("starting dose in HF", "hf").same == ("heart failure",)
    assert expanded("dosis de metformina con filtrado de 40", "filtrado").same[0] == "glomerular filtration rate"


@pytest.mark.parametrize(
    ("question", "asked", "same"),
    [
        ("hold before surg", "surg", ("surgery", "surgical")),
        ("no comorbs", "comorbs", ("comorbidity",)),
        ("dabi reversal", "dabi", ("dabigatran",)),
        ("s/p stent", "s p", ("after",)),
        ("apixaban/metformin", "apixaban", ()),
        ("keto diet", "keto", ("ketoacidosis", "ketone")),
        ("cardiac arrest", "cardiac", ()),
        ("con side", "con", ()),
    ],
)
def test_a_shortened_word_is_read_by_its_beginning(question: str, asked: str, same: tuple[str, ...]) -> None:
    assert expanded(question, asked).same == same


@pytest.mark.parametrize(
    ("question", "asked", "same"),
    [
        ("glucose 48 mg/dL alert", "glucose", ("hypoglycemia",)),
        ("potassium 6.7 with ECG changes", "potassium", ("hyperkalemia", "severe hyperkalemia")),
        ("glucose 110 mg/dL", "glucose", ()),
        ("potassium 4.2", "potassium", ()),
        ("vitamin K 5 mg", "k", ()),
    ],
)
def test_a_value_outside_the_reference_range_is_called_by_its_name(
    question: str, asked: str, same: tuple[str, ...]
) -> None:
    assert expanded(question, asked).same == same


@pytest.mark.parametrize(
    ("question", "asked", "meant"),
    [
        ("restart the blood thinner after surgery", "blood thinner", "anticoagulant"),
        ("Blood thinners before a tooth extraction", "blood thinners", "anticoagulant"),
        ("how do I wean off prednisolone", "wean off", "taper"),
        ("his kidneys packed up", "kidneys packed up", "renal failure"),
    ],
)
def test_a_colloquial_word_leads_to_the_clinical_one(question: str, asked: str, meant: str) -> None:
    assert meant in expanded(question, asked).same


def test_a_name_is_no_colloquial_word() -> None:
    assert expanded("Relief Allergy for hay fever", "hay fever").same == ("allergic rhinitis",)
    assert expanded("Relief Allergy for hay fever", "allergy").same == ()


def test_a_german_question_is_searched_in_english_too() -> None:
    found = EXPANDER.expand("Welche Dosis Metformin bei Niereninsuffizienz?")
    assert found.language == "de"
    assert {one.asked: one.same for one in found.expansions if one.same} == {
        "dosis": ("dose",),
        "niereninsuffizienz": ("renal impairment", "chronic kidney disease"),
    }


def test_a_spanish_name_leads_to_the_english_one() -> None:
    assert expanded("dosis de metformina en insuficiencia renal", "metformina").same == ("metformin",)
    assert expanded("dosis de metformina en insuficiencia renal", "insuficiencia renal").same
    assert "salmeterol" in expanded("dosis de salmeteról", "salmeterol").same


def test_an_english_question_is_not_read_as_german() -> None:
    found = EXPANDER.expand("When do patients die after a stroke?")
    assert found.language == "en"
    assert [(one.asked, one.same) for one in found.expansions] == [("die", ("mortality", "death"))]


def test_without_an_index_the_shipped_names_serve() -> None:
    found = QueryExpander(NameIndex(())).expand("paracetamol with a DOAC").expansions
    assert {one.asked: one.same[0] for one in found} == {"paracetamol": "acetaminophen", "doac": "NOAC"}


def test_a_german_note_of_names_is_translated_and_english_words_are_not() -> None:
    assert expanded("Metformin Höchstdosis", "hochstdosis").same == ("maximum dose",)
    assert expanded("metformin in renal failure, art of dosing", "art") == Expansion(asked="art")


def test_german_function_words_are_not_searched_as_english_ones() -> None:
    question = "Darf man die Dosis halbieren?"
    searched = asked_terms(question, EXPANDER.expand(question))
    assert {"man", "die"}.isdisjoint(searched)
    assert {"dosi", "halbieren"} <= set(searched)
    assert set(asked_terms("Did any man die?", EXPANDER.expand("Did any man die?"))) == {"men", "die"}


def test_a_word_whose_translation_only_asks_is_not_telling() -> None:
    question = "Metformin laut Leitlinie"
    expansion = EXPANDER.expand(question)
    assert "leitlini" in asked_terms(question, expansion)
    assert telling(asked_terms(question, expansion), [["metformin"]], expansion) == ["metformin"]


def test_the_spanish_and_is_not_searched_for() -> None:
    question = "warfarina e ibuprofeno"
    assert asked_terms(question, EXPANDER.expand(question)) == ("warfarina", "ibuprofeno")


def test_a_part_of_a_combination_is_found_by_its_spanish_name() -> None:
    (found,) = interpret(INDEX, parse_query("sacubitrilo")).candidates
    assert found.on == "sacubitril and valsartan"
    assert interpret(INDEX, parse_query("valsartano y sacubitrilo")).candidates[0].on == "sacubitril and valsartan"


def test_an_ordinary_word_is_not_the_name_of_a_medicine_that_is_not_there() -> None:
    assert interpret(INDEX, parse_query("inr 7.2 no bleeding")).notes == ()


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("how long warfarin, how much?", ("warfarin",)),
        ("how many days of warfarin?", ("warfarin",)),
        ("wie lange Warfarin und wie viel?", ("warfarin",)),
        ("¿cuánto tiempo warfarina?", ("warfarina",)),
        ("how many warfarin tablets?", ("warfarin", "tablet")),
        ("long acting warfarin", ("long", "act", "warfarin")),
    ],
)
def test_interrogatives_are_not_searched_for(question: str, searched: tuple[str, ...]) -> None:
    assert asked_terms(question, EXPANDER.expand(question)) == searched


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("warfarin i.v. 5 mg/kg/h", ("warfarin", "5", "mg", "kg")),
        ("V. a. warfarin 2 h", ("warfarin", "2")),
        ("3 l/d warfarin", ("3", "warfarin")),
        ("vitamin K, hepatitis A/B, V", ("vitamin", "k", "hepat", "b", "v")),
    ],
)
def test_letters_of_abbreviations_and_units_are_not_searched_for(question: str, searched: tuple[str, ...]) -> None:
    assert asked_terms(question, QueryExpansion()) == searched


def test_the_parts_of_contractions_are_not_searched_for() -> None:
    question = "Isn't the patient's dose what's wrong? Don’t they’re"
    assert asked_terms(question, EXPANDER.expand(question)) == ("patient", "dose", "wrong")
    question = "Shes on a dose thats wrong, dont theyre HES patients"
    assert asked_terms(question, EXPANDER.expand(question)) == ("dose", "wrong", "hes", "patient")


@pytest.mark.parametrize(
    ("question", "asked", "meant"),
    [
        ("labetalol iv in pregnancy", "iv", "intravenous"),
        ("salbutamol prn alone", "prn", "as needed"),
        ("CAP in a smoker", "cap", "community-acquired pneumonia"),
    ],
)
def test_an_abbreviation_that_is_noise_in_a_drug_name_is_expanded(question: str, asked: str, meant: str) -> None:
    assert expanded(question, asked).same == (meant,)


def test_all_spellings_of_a_nonproprietary_name_are_searched_for() -> None:
    assert expanded("When is phytomenadione needed?", "phytomenadione").same == ("phytonadione", "vitamin k")


@pytest.mark.parametrize("word", ["kopfplatzwunde", "alpträume", "alptraume", "talspiegel"])
def test_a_german_compound_or_form_of_known_words_is_no_unknown_name(word: str) -> None:
    assert is_known_word(word)
    assert not is_known_word("zorbiumwunde")


def test_a_form_is_only_left_out_of_a_word_that_is_unknown() -> None:
    assert [without_form(word) for word in ("nitrospray", "talspiegel")] == ["nitro", "talspiegel"]
