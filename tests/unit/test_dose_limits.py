"""Amounts in questions, compared with the highest doses of labels."""

from __future__ import annotations

import pytest

from tools.drug_database.importers import demo
from tools.drug_database.labels.dose_limits import (
    clauses_with_amounts,
    daily_amounts,
    exceeds_labels,
    is_within_labels,
    stated_weight,
)
from tools.drug_database.records.drug_record import DataSource, DrugRecord, Label

SOURCE = DataSource(id="source", title="Labels", publisher="Nobody")


def record(dosage: tuple[str, ...], warnings: tuple[str, ...] = ()) -> DrugRecord:
    label = Label(source=SOURCE, sections={"dosage": dosage, "warnings": warnings})
    return DrugRecord(key="example", generic_name="example", ingredients=("example",), labels=(label,))


RECORD = record(
    ("Start example at 80 mg twice daily, up to 640 mg per day.", "In adults of 90 kg give 2 mg/kg."),
    ("In rats 900 g were fatal.",),
)


def test_the_amount_of_a_day_counts_each_dose() -> None:
    assert daily_amounts("400 mg twice daily") == {"mass": 800.0}
    assert daily_amounts("10 mg/kg at 70 kg", 100) == {"mass": 1000.0}
    assert daily_amounts("5 mg/mL and 20 mg/dL, weight 70 kg") == {}


@pytest.mark.parametrize(
    ("question", "above"),
    [
        ("Example 2 g two hours ago", True),
        ("Example 1,5 g vor einer Stunde", True),
        ("2000 mg example, what now", True),
        ("Example 640 mg a day", False),
        ("Example 1.2 g", False),
        ("Example level 5 mg/L at 90 kg", False),
    ],
)
def test_an_amount_far_above_the_labels_is_an_excess(question: str, above: bool) -> None:
    assert any(exceeds_labels(clause, [RECORD]) for clause in clauses_with_amounts(question)) == above


@pytest.mark.parametrize(
    ("clause", "within"),
    [
        ("on example", True),
        ("on example 160 mg daily", True),
        ("taking 800 mg of example a day", False),
        ("taking example 20 units", False),
    ],
)
def test_labels_allow_amounts_up_to_their_highest_dose_in_the_same_kind_of_unit(clause: str, within: bool) -> None:
    assert is_within_labels(clause, RECORD) is within


def test_an_amount_belongs_to_the_medicine_of_its_clause() -> None:
    assert list(clauses_with_amounts("Other 40 mg, example and 2 g of more")) == ["Other 40 mg", " 2 g of more"]
    assert not exceeds_labels("example or other 2 g", [RECORD, RECORD])
    assert not exceeds_labels("2 g", [])


WEEKLY = record(("Example starts at 7.5 mg once weekly.", "The maximum of example is 30 mg a week."))
BY_WEIGHT = record(
    (
        "Adults take example 1 g every 6 hours.",
        "Children get 15 mg/kg every 6 hours.",
        "Infuse example at 0.1 to 2 mcg/kg per minute.",
    )
)


@pytest.mark.parametrize(
    ("question", "above"),
    [
        ("Example 15 mg täglich seit vier Tagen", True),
        ("example 10 mg every day", True),
        ("Example 15 mg once a week", False),
        ("Example 25 mg, folic acid when?", False),
    ],
)
def test_a_weekly_dose_taken_every_day_is_an_excess(question: str, above: bool) -> None:
    assert any(exceeds_labels(clause, [WEEKLY]) for clause in clauses_with_amounts(question)) == above


@pytest.mark.parametrize(
    ("question", "above"),
    [
        ("Example 1 g iv in a 3.4 kg baby", True),
        ("Baby 3,4 kg: Example 50 mg", False),
        ("Example 400 mg for a child of 20 kg", False),
        ("Example 1 g, 80 kg", False),
    ],
)
def test_an_amount_is_compared_for_the_stated_weight(question: str, above: bool) -> None:
    weight = stated_weight(question)
    assert any(exceeds_labels(clause, [BY_WEIGHT], weight) for clause in clauses_with_amounts(question)) == above


def test_a_dose_per_kg_hides_no_tenfold_error() -> None:
    loading = record(("Give example 10 to 15 mcg/kg in total.",))
    assert exceeds_labels("example 2.5 mg instead of 0.25 mg", [loading])
    assert not exceeds_labels("example 1 mg", [loading])


def test_what_labels_say_of_doses_is_no_excess() -> None:
    for one in demo.records():
        dosage = one.label.sections.get("dosage", ())
        for sentence in dosage:
            weight, clauses = stated_weight(sentence), clauses_with_amounts(sentence)
            assert not any(exceeds_labels(clause, [record(dosage)], weight) for clause in clauses)
