"""A few words after a question may go on from it or not: what the searches find decides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from chat_app.offline import phrases
from chat_app.offline.composition.answer_checks import is_answered
from chat_app.offline.composition.compose import compose
from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.selection import select
from chat_app.offline.extractive import respond
from chat_app.offline.phrases import CLOSEST
from chat_app.offline.planning.calls import plan
from chat_app.offline.planning.followup_signs import is_medicine
from chat_app.offline.planning.prior_turns import standalone
from chat_app.offline.planning.readings import chosen_reading
from chat_app.offline.planning.small_talk import small_talk, without_courtesy
from chat_app.offline.reading.dialogue import Exchange, ToolOutput, exchanges
from chat_app.offline.reading.evidence import EvidencePassage
from chat_app.offline.reading.tool_outputs import gather
from chat_app.offline.wire.model import Answer, Call, FileSearch, Found, ModelInput, Searching
from chat_app.offline.wire.requests import FileSearchToolIn, FunctionToolIn
from tools.language.library_questions import library_question
from tools.language.vocabulary.common_words import Language

Json = dict[str, Any]
SCHEMA: Json = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}
SEARCH = FunctionToolIn(type="function", name="search_clinical_guidelines", parameters=SCHEMA)
LIBRARY = {
    "zorbin": "Zorbin is started at 5 mg; in liver disease nothing is changed.",
    "plaxia": "Plaxia of the skin is treated with light.",
}


def user(text: str) -> Json:
    return {"type": "message", "role": "user", "content": text}


def passages(question: str) -> str:
    """Return what a search finds: the passages that share a name with ``question``."""
    found = [text for name, text in LIBRARY.items() if name in question.lower()]
    return json.dumps({"passages": [{"text": text, "cite": f"[{n}]"} for n, text in enumerate(found, start=1)]})


async def no_search(tool: FileSearchToolIn, queries: Sequence[str]) -> list[Found]:
    raise AssertionError(tool, queries)


async def steps(items: list[Json], search: FileSearch = no_search, **options: Any) -> list[Any]:
    return [step async for step in respond(ModelInput(tuple(items), **options), search)]


async def conversation(*questions: str) -> tuple[list[str], list[str]]:
    """Ask ``questions`` in turn; return what was searched for after the last one, and all answers."""
    items: list[Json] = []
    answers: list[str] = []
    searched: list[str] = []
    for question in questions:
        items.append(user(question))
        searched = []
        while not isinstance(last := (found := await steps(items, functions=(SEARCH,)))[-1], Answer):
            calls = [step for step in found if isinstance(step, Call)]
            assert last in calls
            for call in calls:
                place, arguments = f"call_{len(items)}", json.dumps(call.arguments)
                searched.append(call.arguments["question"])
                items.append({"type": "function_call", "call_id": place, "name": call.name, "arguments": arguments})
                items.append({"type": "function_call_output", "call_id": place, "output": passages(searched[-1])})
        answers.append(last.text)
        items.append({"type": "message", "role": "assistant", "content": answers[-1]})
    return searched, answers


async def test_words_that_one_sentence_answers_with_the_question_before_go_on_from_it() -> None:
    searched, answers = await conversation("Starting dose of zorbin?", "liver disease - change anything?")
    assert searched == ["Starting dose of zorbin, liver disease - change anything?"]
    assert "in liver disease nothing is changed" in answers[-1]


async def test_a_subject_with_more_words_than_its_answer_holds_is_gone_on_from() -> None:
    """The sentence holds the new words, and the one before that names the subject."""
    searched, answers = await conversation("zorbin urticaria angioedema", "liver disease")
    assert searched == ["zorbin urticaria angioedema, liver disease?"]
    assert "in liver disease nothing is changed" in answers[-1]


async def test_words_on_another_subject_are_searched_for_alone() -> None:
    searched, answers = await conversation("Starting dose of zorbin?", "light for plaxia?")
    assert searched == ["Starting dose of zorbin, light for plaxia?", "light for plaxia?"]
    assert "Plaxia of the skin" in answers[-1]
    assert "Zorbin" not in answers[-1]


@pytest.mark.parametrize("question", ["restart?", "alternatives?", "mg per kg?", "wann wieder?"])
async def test_words_that_name_no_subject_are_not_searched_for_alone(question: str) -> None:
    """A question about restarting means the medicine before, not any other."""
    searched, _ = await conversation("Starting dose of zorbin?", question)
    assert searched
    assert all("zorbin" in one for one in searched)


@pytest.mark.parametrize(
    "question",
    [
        *("kidney stones?", "gout?", "Evenity?", "dolor de espalda?", "MRSA?"),
        *("potassium 7.2, what first?", "HAS-BLED 4, still anticoagulate?"),
    ],
)
async def test_a_disease_medicine_or_value_is_searched_for_alone_too(question: str) -> None:
    searched, _ = await conversation("Starting dose of zorbin?", question)
    assert question in searched


@pytest.mark.parametrize("question", ["How is plaxia treated?", "Could plaxia be treated with light?"])
async def test_a_whole_question_on_another_subject_is_searched_for_alone_at_once(question: str) -> None:
    searched, _ = await conversation("Starting dose of zorbin?", question)
    assert searched == [question]


def test_a_question_that_asks_is_no_name_of_a_medicine() -> None:
    assert is_medicine("Finerenon")
    assert not is_medicine("Finerenon - was tun")


@pytest.mark.parametrize("opening", ["new patient: ", "ok, different question, ", "anderes Thema: ", "otro caso: "])
async def test_another_subject_that_is_announced_takes_nothing_from_the_questions_before(opening: str) -> None:
    searched, answers = await conversation("Starting dose of zorbin?", f"{opening}light for plaxia?", "and pregnant?")
    assert searched == ["light for plaxia, pregnant?"]
    assert not any("Zorbin" in answer for answer in answers[1:])


async def test_what_comes_next_goes_on_from_the_reading_that_was_answered() -> None:
    searched, answers = await conversation("Starting dose of zorbin?", "light for plaxia?", "and in pregnancy?")
    assert searched == ["light for plaxia in pregnancy?", "Starting dose of zorbin, in pregnancy?"]
    assert "Plaxia of the skin" in answers[-1]


@pytest.mark.parametrize(
    ("readings", "chosen"),
    [
        (("zorbin dose, heel is sore?", "zorbin, heel is sore?", "heel is sore"), "zorbin, heel is sore?"),
        (("zorbin dose, value 5?", "zorbin, value 5?"), "zorbin, value 5?"),
        (("zorbin dose, liver is bad?", "zorbin, liver is bad?"), "zorbin dose, liver is bad?"),
        (("light for plaxia, heel is sore?", "zorbin, heel is sore?"), "light for plaxia, heel is sore?"),
    ],
)
def test_of_words_that_no_quote_holds_the_subject_is_kept_and_not_the_question(
    readings: tuple[str, ...], chosen: str
) -> None:
    tried = [(one, [ToolOutput(SEARCH.name, json.dumps({"question": one}), passages(one))]) for one in readings]
    assert chosen_reading(readings[0].split(", ")[1].rstrip("?"), readings, tried)[0] == chosen


async def test_the_readings_after_the_first_are_searched_for_in_one_step() -> None:
    """A turn has few steps, and the check of a pair needs one, too."""
    said = {"type": "message", "role": "assistant", "content": "5 mg."}
    asked = [user("zorbin urticaria angioedema"), said, user("and in liver disease?"), said, user("light, daily?")]
    first, *others = standalone(exchanges(asked), [SEARCH.name])
    assert len(others) == 2
    assert _searches(await steps(asked, functions=(SEARCH,))) == [first]
    output = {"type": "function_call_output", "call_id": "call_1", "output": passages("none")}
    call = {"type": "function_call", "call_id": "call_1", "name": SEARCH.name}
    asked += [call | {"arguments": json.dumps({"question": first})}, output]
    assert _searches(await steps(asked, functions=(SEARCH,))) == others


async def test_without_parallel_calls_a_reading_is_judged_after_all_its_searches() -> None:
    drugs = FunctionToolIn(
        type="function",
        name="search_drugs",
        parameters={"type": "object", "properties": {"drug_name": {"type": "string"}}, "required": ["drug_name"]},
    )
    said = {"type": "message", "role": "assistant", "content": "5 mg."}
    items = [user("plaxia urticaria angioedema"), said, user("urtilol light, daily?")]
    made: list[tuple[str, str]] = []
    while isinstance(last := (await steps(items, functions=(SEARCH, drugs), parallel=False))[-1], Call):
        ((argument, value),) = last.arguments.items()
        made.append((argument, value))
        found = passages("none") if argument == "question" else json.dumps({"results": [], "did_you_mean": []})
        place, arguments = f"call_{len(items)}", json.dumps(last.arguments)
        items.append({"type": "function_call", "call_id": place, "name": last.name, "arguments": arguments})
        items.append({"type": "function_call_output", "call_id": place, "output": found})
    readings = [value for argument, value in made if argument == "question"]
    assert len(readings) > 1
    assert made == [(argument, reading) for reading in readings for argument in ("question", "drug_name")]


def _searches(found: Sequence[Any]) -> list[str]:
    return [step.arguments["question"] for step in found if isinstance(step, Call)]


async def test_the_servers_own_search_tries_both_readings_and_stops_at_an_answer() -> None:
    asked: list[str] = []

    async def search(tool: FileSearchToolIn, queries: Sequence[str]) -> list[Found]:
        asked.extend(queries)
        return [Found("f", "a.txt", text, 1.0) for name, text in LIBRARY.items() if name in queries[0]]

    tool = FileSearchToolIn.model_validate({"type": "file_search", "vector_store_ids": ["vs_1"]})
    told = [user("Starting dose of zorbin?"), {"type": "message", "role": "assistant", "content": CLOSEST}]
    found = await steps([*told, user("liver disease - change anything?")], search, file_search=tool)
    assert len([step for step in found if isinstance(step, Searching)]) == 1
    await steps([*told, user("light for plaxia?")], search, file_search=tool)
    assert asked[1:] == ["Starting dose of zorbin, light for plaxia?", "light for plaxia?"]


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Hi can I give colchicine with eGFR 20", "can I give colchicine with eGFR 20"),
        ("hello, metformin max dose", "metformin max dose"),
        ("thanks, and the starting dose", "and the starting dose"),
        ("Danke, und in der Schwangerschaft", "und in der Schwangerschaft"),
        ("Buenos días, dosis de apixaban", "dosis de apixaban"),
        ("Hey quick one: dose of sitagliptin?", "dose of sitagliptin?"),
        ("Good glycaemic control", "Good glycaemic control"),
        ("good, and in pregnancy?", "and in pregnancy?"),
    ],
)
def test_a_question_behind_a_courtesy_is_asked_without_it(message: str, question: str) -> None:
    assert without_courtesy(message) == question
    assert small_talk(message) == ""


@pytest.mark.parametrize(
    ("message", "answer", "language"),
    [
        ("Hallo!", phrases.GREETING, "de"),
        ("hi there", phrases.GREETING, "en"),
        ("ok thanks", phrases.THANKS, "en"),
        ("thanks, that was great", phrases.THANKS, "en"),
        ("Danke, das hat geholfen", phrases.THANKS, "de"),
        ("muchas gracias", phrases.THANKS, "es"),
        ("ok, bye", phrases.FAREWELL, "en"),
        ("great", phrases.NEXT, "en"),
        ("Was kannst du?", phrases.ABOUT, "de"),
        ("hello, who are you?", phrases.ABOUT, "en"),
        ("¿Estás seguro?", phrases.ABOUT, "es"),
        ("warum?", phrases.NO_REASONS, "de"),
    ],
)
def test_small_talk_is_answered_in_its_language(message: str, answer: str, language: Language) -> None:
    assert small_talk(message) == phrases.said(answer, language)


def test_a_follow_up_goes_on_from_before_the_thanks() -> None:
    turns = [Exchange("dose of metformin"), Exchange("thanks"), Exchange("and in pregnancy?")]
    assert standalone(turns, ["search"])[0].startswith("dose of metformin")


CATALOGUE = FunctionToolIn(
    type="function",
    name="list_loaded_sources",
    description="Return the catalogue of the library.",
    parameters={"type": "object", "properties": {"subject": {"type": "string"}}},
)


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What guidelines do you have?", ""),
        ("Do you have a guideline on migraine?", "migraine"),
        ("¿Hay una guía sobre migraña?", "migraña"),
        ("who issued the asthma guideline", "asthma"),
        ("Which drugs are in your database?", ""),
        ("Welche Leitlinien hast du?", ""),
    ],
)
def test_a_question_on_the_library_is_answered_from_the_catalogue(question: str, subject: str) -> None:
    assert plan(question, (SEARCH, CATALOGUE)) == [Call("list_loaded_sources", {"subject": subject})]
    assert standalone([Exchange("Zorbin in liver disease?"), Exchange(question)], [])[0] == question


@pytest.mark.parametrize(
    "question",
    [
        "What do guidelines recommend for asthma in pregnancy?",
        "Which drugs are in the class of SGLT2 inhibitors?",
        "which drugs can I use?",
        "What does the label say?",
    ],
)
def test_a_clinical_question_is_none_on_the_library(question: str) -> None:
    assert library_question(question) is None


def test_the_catalogue_is_answered_in_a_few_lines() -> None:
    asthma = {"title": "Asthma in adults", "details": "Demo, 2026"}
    listed = {"guidelines": [asthma, {"title": "Gout", "details": ""}], "guidelines_on_subject": [], "drugs": 263}
    evidence = gather([ToolOutput("list_loaded_sources", "{}", json.dumps(listed))])
    all_loaded = "- Asthma in adults – Demo, 2026\n- Gout – its file names no issuer or date"
    assert compose("Which guidelines are loaded?", evidence).text == f"{phrases.LOADED}\n\n{all_loaded}"
    assert compose("Is there a guideline on epilepsy?", evidence).text == f"{phrases.NONE_ON}\n\n{all_loaded}"
    assert "263" in compose("¿Qué medicamentos hay en la base de datos?", evidence).text


@pytest.mark.parametrize(
    ("question", "fitting", "other"),
    [
        ("switch zorbium to plaxol", "Zorbium\tPlaxol\tOverlap both.", "Plaxol\tZorbium\tStop first."),
        ("change from plaxol to zorbium", "Plaxol\tZorbium\tStop first.", "Zorbium\tPlaxol\tOverlap both."),
        ("Plaxol auf Zorbium umstellen", "Plaxol\tZorbium\tStop first.", "Zorbium\tPlaxol\tOverlap both."),
        (
            "switch zorbium to plaxol",
            "Patients are switched from zorbium to plaxol late.",
            "A switch from plaxol to zorbium is early.",
        ),
    ],
)
def test_a_change_is_answered_in_its_direction(question: str, fitting: str, other: str) -> None:
    head = "Table 1. Changes\nFrom\tTo\tHow\n" if "\t" in fitting else ""
    passages = [EvidencePassage(f"{head}{other}\n{fitting}", "[1]", "Guide")]
    texts = [quote.unit.text for quote in select(read_question(question), passages).quotes]
    assert texts == [fitting.replace("\t", " ")]


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("plaxia in the family for generations now?", "plaxia in the family for generations now?"),
        ("liver in the family for generations now?", "dose of zorbin, liver in the family for generations now?"),
    ],
)
def test_of_equally_close_readings_one_that_joins_two_subjects_is_last(question: str, chosen: str) -> None:
    readings = (f"dose of zorbin, {question}", question)
    found = [passages(readings[0]), passages(f"{question} zorbin" if "liver" in question else question)]
    tried = [
        (one, [ToolOutput(SEARCH.name, json.dumps({"question": one}), output)])
        for one, output in zip(readings, found, strict=True)
    ]
    assert chosen_reading(question, readings, tried)[0] == chosen


async def test_words_that_show_no_language_are_answered_in_that_of_the_conversation() -> None:
    _, answers = await conversation("Wie wird Zorbin begonnen, in welcher Dosis?", "plaxia urticaria")
    assert answers[-1].startswith(("Kein Satz", "Aus den"))


def test_everyday_words_are_no_question_on_another_medicine() -> None:
    body = {"passages": [{"text": "A missed dose of apixaban is taken on the same day.", "cite": "[1]"}]}
    found = [ToolOutput("search_clinical_guidelines", "{}", json.dumps(body))]
    question = "missed a dose?"
    assert is_answered(question, gather(found), newest=question)
    assert not is_answered(question, gather(found), newest=question, on=["levothyroxine"])
    for medicine, chosen in (("levothyroxine", 0), ("apixaban", 1)):
        readings = (f"{medicine}, {question}", question)
        tried = [(readings[0], [ToolOutput("search_clinical_guidelines", "{}", "{}")]), (question, found)]
        assert chosen_reading(question, readings, tried) == tried[chosen], medicine


CASE = (
    "A 72-year-old retired teacher, who lives alone with her dog, has had plaxia since spring. Takes velcor at night "
    "after supper, walks to the shops, never smoked. How is plaxia treated?"
)


async def test_a_case_and_its_follow_up_are_searched_for_what_is_asked() -> None:
    searched, answers = await conversation(CASE)
    assert len(searched) == 1
    assert searched[0].startswith("How is plaxia treated? (")
    assert "treated with light" in answers[-1]
    searched, answers = await conversation(CASE, "and the starting dose of zorbin?")
    assert "Zorbin is started at 5 mg" in answers[-1]
    assert not any("teacher" in one for one in searched)
