"""Where the guidelines only mention a condition, the offline model does not take that for its care."""

from __future__ import annotations

import pytest

from chat_app.offline.extraction.conditions import cares_for, circumstances, conditions
from chat_app.offline.extraction.text import terms
from chat_app.offline.extraction.units import Table, Unit

NOTHING: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("How is gout treated?", ["gout"]),
        ("First-line treatment of severe depression in adults?", ["depression"]),
        ("Management of heart failure in patients with type 2 diabetes", ["heart failure", "type 2 diabetes"]),
        ("First line for CAP in outpatients?", ["community-acquired pneumonia"]),
        ("Which drug for high blood pressure?", ["hypertension"]),
        ("What is the target blood pressure?", []),
        ("Is metformin a treatment of heart failure?", []),
    ],
)
def test_a_question_of_care_names_its_conditions(question: str, named: list[str]) -> None:
    assert conditions(question) == tuple(terms(name) for name in named)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the target INR for a mechanical heart valve?", ["mechanical heart valve"]),
        ("Which vaccines are recommended for adults in pregnancy?", ["pregnancy"]),
        ("How is hypertension treated in adults?", []),
        ("And for children aged 6 to 11 years?", []),
        ("What is the dose of apixaban in atrial fibrillation on dialysis?", ["atrial fibrillation", "dialysis"]),
    ],
)
def test_a_question_names_its_circumstances(question: str, named: list[str]) -> None:
    assert circumstances(question) == tuple(terms(name) for name in named)


@pytest.mark.parametrize(
    "sentence",
    [
        "In patients with gout, give colchicine 0.5 mg twice daily.",
        "Treat gout with colchicine.",
        "Acute gout is treated with colchicine.",
        "Prednisolone, 30 mg once daily, is another choice in adults with a first severe attack of gout.",
    ],
)
def test_a_sentence_that_is_about_the_condition_is_taken(sentence: str) -> None:
    assert cares_for("How is gout treated?", Unit(sentence), NOTHING)


@pytest.mark.parametrize(
    "sentence",
    [
        "Check sodium, potassium, gout and glucose while treatment lasts.",
        "Thiazide-type diuretics are used with caution in patients with a history of acute gout.",
        "Diuretics are the usual treatment, and gout is one of their effects.",
        "Treat patients at risk of gout with another diuretic.",
    ],
)
def test_a_sentence_that_mentions_the_condition_is_not(sentence: str) -> None:
    assert not cares_for("How is gout treated?", Unit(sentence), NOTHING)
    assert cares_for("How is gout treated?", Unit(sentence), terms("Gout › Treatment"))


def test_a_drugs_row_that_warns_of_the_condition_does_not_treat_it() -> None:
    table = Table("Table 5. Doses for hypertension", ("Drug", "Daily dose", "Main points"))
    warns = Unit("Indapamide 1.25-2.5 mg gout", table=table, cells=("Indapamide", "1.25-2.5 mg", "gout"))
    treats = Unit("Gout colchicine", table=table, cells=("Gout", "colchicine", ""))
    above = terms("Hypertension Drug Daily dose Main points")
    assert not cares_for("How is gout treated?", warns, above)
    assert cares_for("How is gout treated?", treats, above)
    assert cares_for("What is the dose of indapamide?", warns, above)


def test_a_row_that_says_nothing_of_treatment_is_none() -> None:
    table = Table("Table 6. Checks for complications", ("Check", "First", "Then"))
    cells = ("Foot examination", "At once", "Every year")
    check = Unit(" ".join(cells), table=table, cells=cells)
    above = terms("Type 2 diabetes Check First Then")
    assert not cares_for("What is the first-line treatment of type 2 diabetes?", check, above)
    assert cares_for("What is checked in type 2 diabetes?", check, above)


def test_a_sentence_on_treatment_does_not_tell_how_the_condition_is_diagnosed() -> None:
    treats = Unit("In adults with COPD, treatment must include a long-acting bronchodilator.")
    assert cares_for("How is COPD treated?", treats, NOTHING)
    assert not cares_for("How is COPD diagnosed?", treats, NOTHING)
