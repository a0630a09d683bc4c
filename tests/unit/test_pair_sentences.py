"""Sentences of guidelines on a pair of medicines, found by their names and classes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from chat_app.offline.composition.compose import compose
from chat_app.offline.reading.dialogue import ToolOutput
from chat_app.offline.reading.tool_outputs import gather

CLASSES = {
    "liraglutide": ["Glucagon-like peptide-1 receptor agonist", "Antidiabetic agent"],
    "sitagliptin": ["Dipeptidyl peptidase-4 inhibitor", "DPP-4 inhibitor", "Antidiabetic agent"],
    "ramipril": ["ACE inhibitor", "Antihypertensive agent"],
    "losartan": ["ARB", "Antihypertensive agent"],
    "rifampin": ["Antimycobacterial"],
    "tadalafil": ["Phosphodiesterase 5 (PDE5) inhibitor"],
}


def answer_on(names: Sequence[str], guideline: Sequence[str]) -> str:
    results = [
        {"generic_name": name, "drug_classes": CLASSES[name], "matched": {"how": "exact", "on": name}} for name in names
    ]
    outputs = [
        ToolOutput("search_drug_database", "{}", json.dumps({"results": results, "did_you_mean": []})),
        ToolOutput("search", "{}", json.dumps({"passages": [{"text": "\n".join(guideline), "cite": "[1]"}]})),
        ToolOutput("check", "{}", json.dumps({"pairs": [{"medicines": names, "note": "Nothing found."}]})),
    ]
    return compose(f"Can I give {names[0]} together with {names[1]}?", gather(outputs)).text


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("liraglutide", "sitagliptin"), "DPP-4 inhibitors must not be combined with liraglutide."),
        (("ramipril", "losartan"), "An ACE inhibitor and an ARB must not be combined."),
        (("losartan", "ramipril"), "Avoid losartan with ACE inhibitors."),
        (("rifampin", "losartan"), "Rifampicin should be avoided with losartan."),
    ],
)
def test_a_sentence_that_names_both_by_name_or_class_is_quoted(names: Sequence[str], sentence: str) -> None:
    answer = answer_on(names, ["Wash your hands before every visit.", sentence])
    assert f"From the guidelines:\n\n- {sentence} [1]" in answer
    assert "No sentence clearly answers" not in answer


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("ramipril", "losartan"), "Combine an ACE inhibitor or an ARB with a calcium channel blocker."),
        (("ramipril", "losartan"), "Antihypertensive agents may be combined."),
        (("ramipril", "losartan"), "Start with an ACE inhibitor; an ARB must not be combined with a renin inhibitor."),
        (("ramipril", "tadalafil"), "An ACE inhibitor must not be combined with a renin inhibitor."),
    ],
)
def test_alternatives_shared_classes_and_parts_of_a_class_are_no_pair(names: Sequence[str], sentence: str) -> None:
    assert f"From the guidelines:\n\n- {sentence}" not in answer_on(names, [sentence])


def table_on(name: str, *rows: tuple[str, str]) -> list[str]:
    return [f"Table 1. Interactions with {name}", "Medicine\tAdvice", *map("\t".join, rows)]


def test_a_row_of_a_table_on_one_of_them_that_names_the_other_is_quoted_once() -> None:
    row = "Rifabutin, rifampicin", "Adjust the dose when both are combined"
    answer = answer_on(("losartan", "rifampin"), table_on("losartan", ("Ramipril", "Not combined"), row))
    quoted = "| Medicine | Advice |\n|---|---|\n| Rifabutin, rifampicin | Adjust the dose when both are combined"
    assert f"From the guidelines:\n\nTable 1. Interactions with losartan\n\n{quoted}" in answer
    assert answer.count("Rifabutin") == 1
    assert "Ramipril" not in answer


def test_a_row_that_lists_both_is_no_statement_on_the_pair() -> None:
    row = "Losartan, rifampicin, or both", "Adjust the dose when combined"
    assert "From the guidelines:" not in answer_on(("losartan", "rifampin"), table_on("estradiol", row))


def test_the_gravest_sentence_on_a_pair_leads() -> None:
    mild, grave = "ACE inhibitors are combined with ARBs in trials.", "Do not combine an ACE inhibitor with an ARB."
    answer = answer_on(("ramipril", "losartan"), [mild, grave])
    assert answer.index(grave) < answer.index(mild)


def test_what_labels_say_leads_where_a_name_is_misspelt_as_typed() -> None:
    hit = {"generic_name": "tramadol", "matched": {"how": "exact", "on": "tramadol"}}
    found = {"results": [hit], "did_you_mean": ["sertraline"], "also_named": ["sertaline"]}
    said = "Tramadol raises the risk with sertraline."
    row = {"label_of": "sertraline", "about": "tramadol", "severity": "monitor", "label": {"interactions": [said]}}
    pair = {"medicines": ["tramadol", "sertraline"], "note": "sertaline was read as sertraline."}
    passage = {"text": "Serotonin syndrome is an emergency with tramadol.", "cite": "[1]"}
    outputs = [
        ToolOutput("search_drug_database", "{}", json.dumps(found)),
        ToolOutput("search", "{}", json.dumps({"passages": [passage]})),
        ToolOutput("check", "{}", json.dumps({"pairs": [pair], "results": [row]})),
    ]
    answer = compose("tramadol with sertaline serotonin syndrome", gather(outputs)).text
    assert answer.index(said) < answer.index("was read as") < answer.index("Serotonin syndrome is an emergency")
