"""The offline model answers the demonstration's questions with extracts alone, and declines the rest."""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chat_app.interface.page.starters import starter_questions
from tests.support.offline_answers import Answered, Asker, invented
from tests.support.offline_server import offline_server
from tools.drug_database import DrugDatabase
from tools.drug_database.drug_tools import drug_tools
from tools.function_tool import FunctionTool
from tools.guidelines import GuidelineLibrary, guideline_tools
from tools.loaded_sources import loaded_sources_tool
from tools.tool_manager import ToolManager

pytestmark = pytest.mark.slow

Json = dict[str, Any]
PROJECT = Path(__file__).resolve().parents[2]
GUIDELINE_QUESTIONS: list[Json] = json.loads(
    (PROJECT / "tools/guidelines/demo/questions.json").read_text(encoding="utf-8")
)
ALL_QUESTIONS: list[Json] = json.loads(Path(__file__).with_name("offline_questions.json").read_text(encoding="utf-8"))
LEAST_SHARE = 0.92
"""Of the facts that are in the answer."""
MOST_UNCLEAR = 0.12
"""Of the answerable questions, those whose quotes are said to be no clear answer."""
LEAST_DECLINED = 0.6
"""Of the questions without an answer: words alone cannot tell all of them."""
MOST_WORDS = 90


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with offline_server(tmp_path_factory.mktemp("offline"), "--delta-ms", "0") as base_url:
        yield base_url


@pytest.fixture(scope="module")
def loaded(milvus_uri: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Load the demonstration; return where it is."""
    folder = tmp_path_factory.mktemp("guidelines")

    async def load() -> None:
        for content in (GuidelineLibrary(milvus_uri, folder), DrugDatabase(milvus_uri)):
            await content.load_demo()
            await content.aclose()

    asyncio.run(load())
    return milvus_uri, folder


@pytest.fixture
async def library(loaded: tuple[str, Path]) -> AsyncIterator[GuidelineLibrary]:
    found = GuidelineLibrary(*loaded)
    yield found
    await found.aclose()


@pytest.fixture
async def drugs(loaded: tuple[str, Path]) -> AsyncIterator[DrugDatabase]:
    found = DrugDatabase(loaded[0])
    yield found
    await found.aclose()


async def ask_all(asker: Asker, questions: list[Json]) -> list[tuple[Json, Answered]]:
    try:
        return [(q, await asker.ask(*filter(None, [q.get("after"), q["question"]]))) for q in questions]
    finally:
        await asker.aclose()


def everyday_tools(library: GuidelineLibrary, drugs: DrugDatabase) -> list[FunctionTool]:
    """Return the searches without that of Overdosage sections, which the agent offers in emergencies alone."""
    return [*guideline_tools(library), *(tool for tool in drug_tools(drugs) if tool.source != "overdosage")]


def lacking(question: Json, answered: Answered) -> list[str]:
    plain = answered.plain.lower()
    return [fact for fact in question["must"] if fact.lower() not in plain]


def judge(results: list[tuple[Json, Answered]]) -> None:
    answerable = [(q, a) for q, a in results if q["kind"] != "unanswerable"]
    missed = {q["question"]: lacking(q, a) for q, a in answerable if lacking(q, a)}
    assert len(missed) <= len(answerable) * (1 - LEAST_SHARE), missed
    assert [q["question"] for q, a in answerable if a.denied] == []
    unclear = [q["question"] for q, a in answerable if a.declined]
    assert len(unclear) <= len(answerable) * MOST_UNCLEAR, unclear
    declined = [a.declined for q, a in results if q["kind"] == "unanswerable"]
    assert sum(declined) >= len(declined) * LEAST_DECLINED
    assert {q["question"]: parts for q, a in results if (parts := invented(a))} == {}
    assert statistics.median(len(a.plain.split()) for _, a in answerable) < MOST_WORDS


async def test_guideline_questions_are_answered_from_the_guidelines_alone(
    server: str, library: GuidelineLibrary
) -> None:
    asker = Asker(server, ToolManager(guideline_tools(library)))
    judge(await ask_all(asker, GUIDELINE_QUESTIONS))


async def test_questions_are_answered_from_guidelines_and_drugs_together(
    server: str, library: GuidelineLibrary, drugs: DrugDatabase
) -> None:
    asker = Asker(server, ToolManager(everyday_tools(library, drugs)))
    judge(await ask_all(asker, ALL_QUESTIONS))


STARTER_FACTS = {
    "hypertension": "history of angioedema",
    "type-2-diabetes": "below 7 %",
    "atrial-fibrillation-anticoagulation": "score of 2 or more in men or 3 or more in women",
    "asthma": "low-dose ICS-formoterol",
    "community-acquired-pneumonia": "Amoxicillin",
    "chronic-kidney-disease": "staged by cause, GFR category and albuminuria category",
}


async def test_the_page_starts_with_questions_that_the_demonstration_answers(
    server: str, library: GuidelineLibrary
) -> None:
    starters = {document.id: starter_questions([document.title])[0] for document in await library.documents()}
    questions: list[Json] = [{"question": q.message, "must": [STARTER_FACTS[name]]} for name, q in starters.items()]
    answers = await ask_all(Asker(server, ToolManager(guideline_tools(library))), questions)

    assert len(questions) == len(STARTER_FACTS)
    assert {q["question"]: a.plain for q, a in answers if lacking(q, a)} == {}


def test_the_question_set_is_as_large_as_it_should_be() -> None:
    kinds = [question["kind"] for question in ALL_QUESTIONS]
    assert len(kinds) >= 60
    assert kinds.count("unanswerable") >= 12
    assert kinds.count("follow_up") >= 8


async def test_questions_on_the_library_are_answered_from_its_catalogue(
    server: str, library: GuidelineLibrary, drugs: DrugDatabase
) -> None:
    asker = Asker(server, ToolManager([*guideline_tools(library), loaded_sources_tool(library, drugs)]))
    asked = ("What guidelines do you have?", "Which drugs are in your database?", "Do you have a guideline on asthma?")
    all_of_them, medicines, on_asthma = [
        answered.plain for _, answered in await ask_all(asker, [{"question": question} for question in asked])
    ]
    titles = [document.title for document in await library.documents()]
    assert len(titles) == 6
    assert all(f"{title} – Asclepius demonstration library, version" in all_of_them for title in titles)
    assert f"{(await drugs.stats()).records} medicines" in medicines
    assert [title for title in titles if title in on_asthma] == ["Asthma in adults and children from 6 years"]


async def test_the_usual_dose_is_no_clear_answer_after_a_harm_was_told(
    library: GuidelineLibrary, drugs: DrugDatabase, server: str
) -> None:
    """The dose may be asked of a reversal. One after the medicine's name alone, or after its use, is answered."""
    asker = Asker(server, ToolManager(everyday_tools(library, drugs)))
    try:
        for told, asked in (
            ("haematemesis on apixaban", "what's the dose?"),
            ("GI bleed on rivaroxaban, hb 68", "dose?"),
            ("Blutung unter Apixaban", "welche Dosis?"),
        ):
            assert (await asker.ask(told, asked)).declined, told
        later = await asker.ask("lisinopril, lip swelling", "what instead?", "when can I start it?")
        warned, _, usual = later.plain.partition("lisinopril, dosage:")
        assert "history of angioedema" in warned
        assert later.declined or not usual
        assert "give apixaban 5 mg twice daily" in (await asker.ask("apixaban", "dose?")).plain
        migraine = await asker.ask("pt with migraine on propranolol", "max dose?")
        assert not migraine.declined
        assert "For migraine prevention start propranolol" in migraine.plain.partition("hypertension")[0]
    finally:
        await asker.aclose()


async def test_a_short_follow_up_is_not_clearly_answered_from_another_subject(
    library: GuidelineLibrary, drugs: DrugDatabase, server: str
) -> None:
    """A follow-up that is the title of another guideline changes the subject; one on the subject is answered."""
    asker = Asker(server, ToolManager(everyday_tools(library, drugs)))
    try:
        for first, then in (("HbA1c target", "frail?"), ("asthma controller", "frail?")):
            assert (await asker.ask(first, then)).declined, first
        for first, then in (("AF anticoagulation", "falls?"), ("asthma controller", "hypertension?")):
            assert not (await asker.ask(first, then)).declined, first
    finally:
        await asker.aclose()
