"""Questions and guidelines that say the same in other words meet in the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.language.terms import terms, usual_form
from tools.language.vocabulary.clinical_vocabulary import translations


@pytest.mark.parametrize(
    ("asked", "printed"),
    [
        ("renal impairment", "impaired kidney"),
        ("hepatic insufficiency", "liver dysfunction"),
        ("paediatric dosing in neonates", "dose in pediatrics, newborn"),
        ("pregnant women", "pregnancy in a woman"),
        ("hypertension in diabetics", "hypertensive diabetes"),
        ("goals of therapy", "targets of treatment"),
        ("HbA1c", "A1C"),
        ("CKD4", "CKD 4"),
        (
            "dose reduction, stroke prophylaxis, allergic, diagnosed",
            "reduced dose, preventing stroke, allergy, diagnosis",
        ),
        (
            "anaemia, haemoglobin, ischaemic, hyperglycaemia, leukaemia",
            "anemia hemoglobin ischemic hyperglycemia leukemia",
        ),
        ("oedema, oesophagus, oestrogen, foetal, diarrhoea", "edema esophageal estrogen fetus diarrhea"),
        ("gynaecology, caesarean, orthopaedic, anaesthetic", "gynecology cesarean orthopedic anesthetic"),
        ("tumours, behaviour, ageing, fibre, litres, centres", "tumors behavior aging fiber liters centers"),
        ("ECG in AFib, T2DM and HTN", "electrocardiogram in AF, T2D and hypertension"),
        ("acetaminophen, albuterol, epinephrine, furosemide", "paracetamol, salbutamol, adrenaline, frusemide"),
        ("steroids in an asthma attack, when to refer", "corticosteroid in an asthma exacerbation, when to referral"),
        ("hospitalisation, randomised, dialysed, sulphonylurea", "hospitalization randomized dialyzed sulfonylurea"),
    ],
)
def test_what_means_the_same_has_the_same_terms(asked: str, printed: str) -> None:
    assert sorted(terms(asked)) == sorted(terms(printed))


@pytest.mark.parametrize(
    "word",
    [
        "disease",
        "raised",
        "rise",
        "noise",
        "four",
        "hour",
        "acre",
        "mitral",
        "aerosol",
        "dose",
        "women",
        "menstrual",
    ],
)
def test_a_word_that_only_looks_like_a_spelling_keeps_its_form(word: str) -> None:
    assert usual_form(word) == word


def test_what_differs_in_care_stays_apart() -> None:
    for one, other in (("kidney", "liver"), ("child", "infant"), ("men", "women"), ("hyper", "hypo"), ("mg", "mcg")):
        assert terms(one) != terms(other)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=15))
def test_the_usual_form_of_a_usual_form_is_itself(word: str) -> None:
    assert usual_form(usual_form(word)) == usual_form(word)


@pytest.mark.parametrize("written", ["Child-Pugh B", "Child–Pugh B", "child pugh B", "CHILD-PUGH B"])
def test_the_name_of_a_score_is_no_ordinary_word(written: str) -> None:
    assert terms(written) == ["childpugh", "pugh", "b"]
    assert terms("a child with Graves disease") == ["child", "gravesdiseas", "diseas"]


def test_a_prefix_with_a_hyphen_is_the_same_word_as_without() -> None:
    assert terms("severe pre-eclampsia") == [*terms("severe preeclampsia"), *terms("eclampsia")]
    assert terms("anti-Xa") == ["anti", "xa"]


def test_a_class_without_the_second_name_of_its_score_is_no_ordinary_word() -> None:
    assert terms("Zirrhose Child C")[1:] == ["childpugh", "c"]
    assert terms("a dose for my child") == ["dose", "child"]


@pytest.mark.parametrize(("form", "word"), [("rose", "rise"), ("fell", "fall"), ("lost", "loss"), ("begun", "begins")])
def test_irregular_forms_are_one_term(form: str, word: str) -> None:
    assert terms(form) == terms(word)


def test_a_second_line_is_no_alternative_of_anything() -> None:
    found = [term for one in translations(["second", "line", "treatment", "of", "gout"], "en") for term in one.terms]
    assert "alternative" not in found
    assert found


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("screenen", ["screen"]), ("boostern", ["booster"]), ("gebridgt", ["bridge"]), ("getapert", ["taper"]),
        ("warten", []), ("clont", []), ("raten", []), ("gebt", []),
    ],
)  # fmt: skip
def test_a_german_form_of_an_english_verb_means_it_and_a_german_verb_does_not(german: str, english: list[str]) -> None:
    assert [term for one in translations([german], "de") for term in one.terms][:1] == english
