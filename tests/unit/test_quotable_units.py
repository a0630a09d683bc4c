"""Units of a passage: what belongs together is quoted together, and nothing short is lost."""

from __future__ import annotations

import pytest

from tools.language.quotable_units import is_heading, units
from tools.language.quotes import quotes_in


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (
            "They must not receive any of the following:\n• zelotane\n• bromidol\n• live vaccines",
            "They must not receive any of the following: • zelotane • bromidol • live vaccines",
        ),
        (
            "It should be given to all adults, except\n- adults with a known porphyria of any kind\n- pregnant women",
            "It should be given to all adults, except - adults with a known porphyria of any kind - pregnant women",
        ),
        ("Contraindications\n• gout\n• porphyria\nAsk again.", "Contraindications • gout • porphyria"),
        ("Table 5. Uses\n■ Fits\n■ Sleep", "Uses ■ Fits ■ Sleep"),
        ("1. Weigh the patient first.\n2. Call.", "Weigh the patient first. 2. Call."),
        (
            "If the rash is mild, continue. If it is severe, stop at once. Ask again after a week.",
            "If the rash is mild, continue. If it is severe, stop at once.",
        ),
        (
            "First, stop the infusion. Then give fluids. Finally, wait 30 minutes. Restart it slowly.",
            "First, stop the infusion. Then give fluids. Finally, wait 30 minutes.",
        ),
        ("The dose is 2.5 mg. It is taken at night.", "The dose is 2.5 mg."),
    ],
)
def test_what_belongs_together_is_one_unit_and_a_quote(text: str, whole: str) -> None:
    assert whole in [unit.text for unit in units(text)]
    assert " ".join(" ".join(quotes_in(whole, text)).split()) == whole


def test_short_items_of_a_long_list_are_kept_below_their_lead() -> None:
    long = "Adults with a history of angioedema, whatever its cause was and however long ago it has been treated"
    lead, *items = units("Do not give it to:\n• pregnant women\n" + "\n".join(f"• {long} {n}" for n in range(4)))
    assert lead.introduces_list
    assert [unit.text for unit in items] == ["pregnant women", *(f"{long} {n}" for n in range(4))]
    assert [unit.leans for unit in items] == [1, 2, 3, 4, 5]


def test_words_before_a_colon_are_never_shown_alone() -> None:
    assert [
        (unit.text, unit.introduces_list) for unit in units("Wait. Then avoid:\nPotassium\nStop both drugs at once.")
    ] == [
        ("Wait. Then avoid:", True),
        ("Stop both drugs at once.", False),
    ]


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        ("Director of the Division of Nutrition and Physical Activity, Center for Health Promotion, Atlanta", False),
        ("Severity, testing, antibiotics and follow-up of pneumonia in adults, condensed for demonstration", False),
        ("Schwere, Tests, Antibiotika und Nachsorge bei einer Pneumonie von Erwachsenen in aller Kürze", False),
        ("CHD, coronary heart disease; HDL, high-density lipoprotein; LVH, left ventricular hypertrophy.", False),
        ("All women should be screened every other year from age 40; more research is under way", True),
        ("Two-drug combination of a thiazide-type diuretic and an ACE inhibitor in stage 2 (SBP >160 mmHg)", True),
        ("Amoxicillin 500 mg three times a day for adults with mild pneumonia, or doxycycline for five days", True),
        ("First choice in adults with mild pneumonia: amoxicillin three times a day for five or seven days.", True),
    ],
)
def test_titles_names_and_keys_of_abbreviations_are_not_quoted(line: str, quoted: bool) -> None:
    assert [unit.text for unit in units(f"Drink water.\n{line}\nThen rest.")][1:-1] == [line] * quoted


def test_a_list_below_a_table_is_kept() -> None:
    assert [unit.text for unit in units("Stage\tDrug\n• gout\n• asthma\nThen rest.")] == ["gout • asthma", "Then rest."]


def test_rows_of_a_table_are_no_list() -> None:
    text = "Stage\tDrug\n1. First\tmetformin\n2. Second\tglipizide"
    assert [unit.cells for unit in units(text)] == [("1. First", "metformin"), ("2. Second", "glipizide")]


def test_the_rest_of_an_item_leads_into_nothing() -> None:
    text = "1. First report of the society.\nhttps://example.org/report\n2. Second report of the society."
    assert [(unit.text, unit.leans) for unit in units(text)] == [
        ("First report of the society.", 0),
        ("Second report of the society.", 0),
    ]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("3.3 Exceptions and cautions", True),
        ("5 When to refer", True),
        ("A.2 Methods", True),
        ("6.1.2 Pregnancy and breastfeeding", True),
        ("Exceptions and cautions", True),
        ("Version 2.1, 2026-04-15", False),
        ("1.4.2 Do not offer aspirin in gout", False),
        ("1 Give amoxicillin 500 mg three times daily", False),
        ("2.5 mg daily", False),
    ],
)
def test_the_number_of_a_section_belongs_to_its_heading(line: str, heading: bool) -> None:
    assert is_heading(line) is heading


def test_what_is_under_a_numbered_heading_has_it_above() -> None:
    found = units("3 Treatment\n\n3.3 Exceptions and cautions\n\n- Do not give naproxen in heart failure.\n")
    assert [(unit.heading, unit.text) for unit in found] == [
        ("Exceptions and cautions", "Do not give naproxen in heart failure.")
    ]


def test_a_condition_with_a_pronoun_is_read_with_the_sentence_before() -> None:
    before = "Start zorbatin after a flare."
    after = "If flares are frequent, it can be started at once."
    assert [unit.text for unit in units(f"{before} {after}")] == [f"{before} {after}"]
    named = after.replace("it can", "zorbatin can")
    assert [unit.text for unit in units(f"{before} {named}")] == [before, named]
