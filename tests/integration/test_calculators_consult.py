"""A question with a patient's numbers: the offline model calls a calculator, and the answer cites its source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_app.agent.citations.reference_formats import vancouver
from chat_app.events import AgentEvent, CitationAdded, ReferencesReady, TextDelta
from tests.support.engine import clinic, consult, ended, text_of
from tests.support.offline_server import offline_server
from tools.calculators import calculator_tools

QUESTION = "eGFR 67 yo woman creatinine 1.3 mg/dl"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("offline")
    with offline_server(folder, "--delta-ms", "0") as base_url:
        yield base_url


def references(events: list[AgentEvent]) -> ReferencesReady:
    return next(event for event in events if isinstance(event, ReferencesReady))


async def test_the_answer_states_result_inputs_and_formula_and_cites_the_source(server: str, redis_url: str) -> None:
    async with clinic(server, redis_url, calculator_tools()) as agent:
        events = await consult(agent, QUESTION)

    assert ended(events).outcome.kind == "completed"
    answer = text_of(events)
    lines = (
        "**eGFR (CKD-EPI 2021, creatinine)**",
        "Result: eGFR 45 ml/min/1.73 m²",
        "Inputs: Age: 67 years; Sex: female; Serum creatinine: 1.3 mg/dl",
        "Interpretation: G3a, 45–59: Mildly to moderately decreased",
        "Formula: eGFR = 142 × min(Scr/κ, 1)^α",
    )
    places = [answer.find(line) for line in lines]
    assert -1 not in places
    assert places == sorted(places)
    assert "Kidney failure" not in answer
    calculated, interpreted = references(events).references
    assert calculated.passage.kind == "calculation"
    assert "Kidney failure" in calculated.passage.text
    assert references(events).dropped == 0
    # Neither the result nor the inputs are words of the paper.
    assert calculated.quotes == interpreted.quotes == ()
    assert vancouver(calculated) == (
        "1. Calculation: eGFR (CKD-EPI 2021, creatinine). Formula: Inker LA, Eneanya ND, Coresh J, et al. "
        "N Engl J Med 2021;385:1737-1749. New Creatinine- and Cystatin C–Based Equations to Estimate GFR without Race. "
        "Available from: https://doi.org/10.1056/NEJMoa2102953"
    )


async def test_an_interpretation_is_cited_to_its_own_source(server: str, redis_url: str) -> None:
    async with clinic(server, redis_url, calculator_tools()) as agent:
        events = await consult(agent, "CHADSVASC 75 year old woman hypertension diabetes")

    shown = [
        event.text if isinstance(event, TextDelta) else f"[{event.number}]"
        for event in events
        if isinstance(event, TextDelta | CitationAdded)
    ]
    lines = [line for line in "".join(shown).splitlines() if line.startswith("- ")]
    assert len(lines) == 6
    assert [line for line in lines if "[1]" not in line] == [line for line in lines if "Interpretation: " in line]
    score, interpretation = references(events).references
    assert "Chest 2010" in score.section
    assert "Circulation 2024;149:e1-e156" in interpretation.section
    assert interpretation.passage.title == "Interpretation: CHA2DS2-VASc score"
    assert interpretation.passage.url == "https://doi.org/10.1161/CIR.0000000000001193"


async def test_what_is_missing_is_asked_and_the_next_message_completes_it(server: str, redis_url: str) -> None:
    async with clinic(server, redis_url, calculator_tools()) as agent:
        asked = await consult(agent, "What is the eGFR of a 67 year old woman?")
        conversation = next(event.conversation_id for event in asked if event.type == "turn_started")
        answered = await consult(agent, "Her creatinine is 115 µmol/l", conversation_id=conversation)

    assert text_of(asked) == "eGFR needs: Serum creatinine (mg/dl or µmol/l)."
    assert not any(event.type == "citation" for event in asked)
    assert "Result: eGFR 45 ml/min/1.73 m²" in text_of(answered)
    assert "Serum creatinine: 115 µmol/l (1.301 mg/dl)" in text_of(answered)


async def test_a_german_question_is_answered_in_german(server: str, redis_url: str) -> None:
    async with clinic(server, redis_url, calculator_tools()) as agent:
        asked = await consult(agent, "Berechne die eGFR einer 67-jährigen Frau")
        conversation = next(event.conversation_id for event in asked if event.type == "turn_started")
        answered = await consult(agent, "115 µmol/l", conversation_id=conversation)
        switched = await consult(agent, "What is the BMI of a man of 80 kg and 180 cm?", conversation_id=conversation)
        of_figures = await consult(agent, "BMI 80 kg 180 cm")
        of_names = await consult(agent, "HAS-BLED Mann 71, Leberzirrhose")

    assert text_of(asked) == "Für „eGFR“ fehlen noch: Serumkreatinin (mg/dl oder µmol/l)."
    assert "Ergebnis: HAS-BLED 2 von 9 Punkten" in text_of(of_names)
    assert not any(event.type == "statements_checked" for event in of_names)
    answer = text_of(answered)
    assert "**eGFR (CKD-EPI 2021, Kreatinin)**" in answer
    assert "Angaben: Alter: 67 Jahre; Geschlecht: weiblich; Serumkreatinin: 115 µmol/l (1.301 mg/dl)" in answer
    assert "Beurteilung: G3a, 45–59: Leicht bis mäßig vermindert" in answer
    calculated, interpreted = references(answered).references
    assert calculated.passage.title == "Berechnung: eGFR (CKD-EPI 2021, Kreatinin)"
    assert interpreted.section.startswith("Quelle: Kidney Int 2024")
    assert references(answered).dropped == 0
    for english in (switched, of_figures):
        assert "Interpretation: 18.5–24.9: Normal range" in text_of(english)
