"""A message with several questions: each is searched for and answered under its own heading."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from chat_app.offline import phrases
from chat_app.offline.extractive import respond
from chat_app.offline.planning.several_questions import questions_in
from chat_app.offline.wire.model import Answer, Call, FileSearch, Found, ModelInput, Searched, Searching
from chat_app.offline.wire.requests import FileSearchToolIn, FunctionToolIn

Json = dict[str, Any]
GUIDELINES = FunctionToolIn(
    type="function", name="search_guidelines",
    parameters={"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
)  # fmt: skip
DRUGS = FunctionToolIn(
    type="function", name="search_drugs",
    parameters={"type": "object", "properties": {"drug_name": {"type": "string"}}, "required": ["drug_name"]},
)  # fmt: skip
CHECK = FunctionToolIn(
    type="function", name="check",
    parameters={
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}, "description": "Medicines"}},
        "required": ["names"],
    },
)  # fmt: skip
FUNCTIONS = (GUIDELINES, DRUGS, CHECK)
LABELS = {
    "zorbium": {
        "dosage": ["Zorbium is given as 5 mg once daily."],
        "pregnancy": ["Zorbium is stopped in pregnancy."],
    },
    "velcor": {"dosage": ["Velcor is given as 20 mg twice daily."]},
}
CLASH = "Velcor with zorbium is contraindicated."


@pytest.mark.parametrize(
    ("message", "told", "asked"),
    [
        ("1) dose of zorbium? 2) is it safe in gout?", "", ["dose of zorbium?", "is it safe in gout?"]),
        ("Zorbium in gout: a) what dose b) which tests", "Zorbium in gout:", ["what dose", "which tests"]),
        ("What is zorbium and can she breastfeed?", "", ["What is zorbium", "can she breastfeed?"]),
        ("68M, CrCl 28.\n- dose of zorbium\n-when do I stop", "68M, CrCl 28.", ["dose of zorbium", "when do I stop"]),
        ("Can he have zorbium? And how much? eGFR 28.", "eGFR 28.", ["Can he have zorbium?", "how much?"]),
        ("Welche Dosis? Und darf sie Zorbium nehmen?", "", ["Welche Dosis?", "darf sie Zorbium nehmen?"]),
        ("¿Qué dosis de zorbium? ¿Puede tomar velcor?", "", ["¿Qué dosis de zorbium?", "¿Puede tomar velcor?"]),
    ],
)
def test_questions_are_told_apart(message: str, told: str, asked: Sequence[str]) -> None:
    parts = questions_in(message)

    assert [part.question for part in parts] == asked
    assert {part.told for part in parts} == {told}


@pytest.mark.parametrize(
    "message",
    [
        "Which dose of zorbium, and how often?",
        "Amoxicillin for pneumonia, ok? Or is zorbium better?",
        "By how much and how often do I raise zorbium?",
        "After starting zorbium, how soon should he come back?",
        "68M, asthma, which is well controlled. No drug allergies. Can he have zorbium?",
        "1. zorbium 5 mg\n2. velcor 20 mg\nany interactions?",
        "Ab welchem Hb muss bei chron. Niereninsuffizienz Zorbium gegeben werden?",
        "- zorbium",
        "",
    ],
)
def test_one_question_stays_whole(message: str) -> None:
    assert questions_in(message) == []


def test_another_patient_has_nothing_of_the_one_before() -> None:
    first, second = questions_in("82F, CrCl 20. Dose of zorbium? Another patient: 30M, gout. Which dose of velcor?")

    assert first.told == "82F, CrCl 20."
    assert "82F" not in second.told


def test_questions_beyond_the_sixth_are_read_with_it() -> None:
    parts = questions_in(" ".join(f"Is drug{number} safe in gout?" for number in range(9)))

    assert len(parts) == 6
    assert all(f"drug{number}" in parts[-1].question for number in range(5, 9))


async def test_each_question_is_answered_under_its_heading() -> None:
    calls, answer = await asked("What is the dose of zorbium? And is it ok in pregnancy? Also, what dose of velcor?")

    assert answer.index("**1. What is the dose of zorbium?**") < answer.index("Zorbium is given as 5 mg")
    assert answer.index("**2. is it ok in pregnancy?**") < answer.index("Zorbium is stopped in pregnancy.")
    assert answer.index("**3. what dose of velcor?**") < answer.index("Velcor is given as 20 mg")
    assert "Zorbium is given as 5 mg" not in answer.partition("**3.")[2]
    assert [name for name, _ in calls].count("search_drugs") == 3


async def test_medicines_of_different_questions_are_checked_together() -> None:
    calls, answer = await asked("What is the dose of zorbium? What is the dose of velcor?", clash=True)

    assert ("check", {"names": ["zorbium", "velcor"]}) in calls
    assert answer.startswith(phrases.ONE_PATIENT)
    assert answer.index(CLASH) < answer.index("**1.")
    assert answer.count(CLASH) == 1


async def test_a_pair_of_one_question_is_not_said_twice() -> None:
    _, answer = await asked("Can zorbium be given with velcor? And what is the dose of velcor?", clash=True)

    assert phrases.ONE_PATIENT not in answer
    assert answer.index("**1.") < answer.index(CLASH)


async def test_a_follow_up_goes_on_from_the_last_question_of_a_message() -> None:
    calls, _ = await asked("What is the dose of zorbium? What is the dose of velcor?", "and in pregnancy?")

    searched = [given["drug_name"] for name, given in calls if name == "search_drugs"]
    assert searched
    assert all("velcor" in one and "zorbium" not in one for one in searched)


async def test_a_pronoun_after_another_one_means_the_same() -> None:
    calls, _ = await asked("What is the dose of zorbium? Can she take velcor with it? When is it stopped in pregnancy?")

    searched = [given["drug_name"] for name, given in calls if name == "search_drugs"]
    last = [one for one in searched if "pregnancy" in one]
    assert last
    assert all("zorbium" in one and "velcor" not in one for one in last)


async def test_without_more_steps_each_question_is_answered_from_what_was_found() -> None:
    _, answer = await asked("What is the dose of zorbium? What is the dose of velcor?", most_steps=1)

    assert "Zorbium is given as 5 mg" in answer.partition("**2.")[0]
    assert "Velcor is given as 20 mg" in answer.partition("**2.")[2]


async def test_calls_are_made_one_at_a_time_where_the_client_asks_for_that() -> None:
    calls, answer = await asked("What is the dose of zorbium? And in pregnancy?", parallel=False)

    assert len(calls) == len({json.dumps(call) for call in calls})
    assert "Zorbium is stopped in pregnancy." in answer.partition("**2.")[2]


async def test_files_are_searched_for_each_question() -> None:
    async def search(tool: FileSearchToolIn, queries: Sequence[str]) -> list[Found]:
        found = "Plaxia is treated with light." if "plaxia" in queries[0] else "Zorbin is started at 5 mg."
        return [Found("file_1", "guide.md", found, 1.0)]

    prompt = ModelInput(
        (user("How is plaxia treated? How is zorbin started?"),),
        file_search=FileSearchToolIn(type="file_search", vector_store_ids=["vs_1"]),
    )
    steps = [step async for step in respond(prompt, search)]
    answer = steps[-1]

    assert isinstance(answer, Answer)
    assert sum(isinstance(step, Searching) for step in steps) == sum(isinstance(step, Searched) for step in steps) == 2
    cited = [answer.text[: mark.index].rpartition("\n")[2].removeprefix("- ") for mark in answer.citations]
    assert cited == ["Plaxia is treated with light.", "Zorbin is started at 5 mg."]


async def test_a_heading_is_as_typed_and_no_markup() -> None:
    _, answer = await asked("Vaginalpilz: *zorbium* [1] wie viel? Welche Dosis velcor?")

    assert r"**1. Vaginalpilz: \*zorbium\* \[1] wie viel?**" in answer


def user(text: str) -> Json:
    return {"type": "message", "role": "user", "content": text}


async def no_search(tool: FileSearchToolIn, queries: Sequence[str]) -> list[Found]:
    raise AssertionError(tool, queries)


async def asked(
    *questions: str, clash: bool = False, most_steps: int = 9, parallel: bool = True
) -> tuple[list[tuple[str, Json]], str]:
    """Ask ``questions`` in turn; return the calls for the last one, and its answer."""
    search: FileSearch = no_search
    items: list[Json] = []
    calls: list[tuple[str, Json]] = []
    last = Answer("")
    for question in questions:
        items.append(user(question))
        calls = []
        for step in range(most_steps + 1):
            allowed = FUNCTIONS if step < most_steps else ()
            prompt = ModelInput(tuple(items), functions=allowed, declared=FUNCTIONS, parallel=parallel)
            found = [one async for one in respond(prompt, search)]
            if isinstance(found[-1], Answer):
                last = found[-1]
                break
            for call in (one for one in found if isinstance(one, Call)):
                calls.append((call.name, call.arguments))
                place, given = f"call_{len(items)}", json.dumps(call.arguments)
                body = json.dumps(output(call, clash=clash))
                items.append({"type": "function_call", "call_id": place, "name": call.name, "arguments": given})
                items.append({"type": "function_call_output", "call_id": place, "output": body})
        items.append({"type": "message", "role": "assistant", "content": last.text})
    return calls, last.text


def output(call: Call, *, clash: bool) -> Json:
    """Return what the app's tool of the same shape returns."""
    if call.name == "search_guidelines":
        return {"passages": [], "terms": []}
    if call.name == "search_drugs":
        named = [name for name in LABELS if name in call.arguments["drug_name"].lower()]
        results = [
            {"generic_name": one, "label": LABELS[one], "cite": f"[{one}]", "matched": {"how": "generic", "on": one}}
            for one in named
        ]
        return {"results": results, "did_you_mean": []}
    said = {
        "generic_name": "velcor", "label_of": "velcor", "about": "zorbium", "severity": "contraindicated",
        "label": {"interactions": [CLASH]}, "cite": "[velcor]",
    }  # fmt: skip
    return {"pairs": [{"medicines": call.arguments["names"]}], "results": [said] if clash else []}
