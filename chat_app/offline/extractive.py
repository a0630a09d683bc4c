"""The extractive model: calls the tools that a question needs, and answers with sentences of what they bring.

It never writes a sentence that is not an extract or one of its fixed phrases, and it is deterministic: the same
conversation gets the same answer.
"""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from chat_app.offline import phrases
from chat_app.offline.composition.pairs import of_one_patient
from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.selection import select
from chat_app.offline.planning.calls import kind_of_function
from chat_app.offline.planning.prior_turns import since_last_subject
from chat_app.offline.planning.readings import goes_on
from chat_app.offline.planning.small_talk import small_talk
from chat_app.offline.reading.dialogue import Exchange, exchanges
from chat_app.offline.reading.evidence import Evidence, EvidencePassage
from chat_app.offline.reading.tool_outputs import asked_for, gather
from chat_app.offline.schema_filling.arguments import FillSource, fill_schema
from chat_app.offline.turn_plan import TurnPlan, beside, needed_calls, plans_of_last
from chat_app.offline.wire.model import (
    Answer,
    Call,
    FileMark,
    FileSearch,
    ModelInput,
    ModelStep,
    Searched,
    Searching,
    Thought,
)
from chat_app.offline.wire.requests import FileSearchToolIn, FunctionToolIn
from tools.language.quotable_units import sentences
from tools.language.vocabulary.common_words import Language
from tools.language.vocabulary.text_language import language_of

_MARKUP: Final = re.compile(r"[\\*`\[]")
_ESCAPED: Final = r"\\\g<0>"


async def respond(prompt: ModelInput, search: FileSearch) -> AsyncIterator[ModelStep]:
    """Yield the steps of one response: the reasoning, then calls, or a search and the answer."""
    turns = since_last_subject(exchanges(prompt.items))
    asked = turns[-1].question if turns else ""
    async for step in _steps(turns, prompt, search):
        yield _formatted(step, asked, prompt.format) if isinstance(step, Answer) else step


async def _steps(turns: Sequence[Exchange], prompt: ModelInput, search: FileSearch) -> AsyncIterator[ModelStep]:
    language = language_of(*(turn.question for turn in reversed(turns)))
    if not turns or not turns[-1].question.strip():
        yield Answer(phrases.said(phrases.IMAGE if turns and turns[-1].has_image else phrases.EMPTY, language))
        return
    current = turns[-1]
    courtesy = "" if current.outputs else small_talk(current.question)
    if courtesy and not prompt.forced:
        yield Answer(courtesy)
        return
    plans = plans_of_last(turns, prompt)
    calls = needed_calls(current, plans, prompt) if prompt.functions else []
    if calls:
        yield Thought(_doing(calls, prompt.functions, language))
        for call in calls if prompt.parallel else calls[:1]:
            yield call
        return
    if current.outputs and not prompt.file_search:
        yield Thought(phrases.said(phrases.CHOOSING, language))
    answers: list[tuple[str, Answer]] = []
    for _, plan in plans:
        if prompt.file_search is not None and not plan.alone:
            async for step in _searched(plan, prompt.file_search, search, language):
                if isinstance(step, Answer):
                    answers.append((plan.heading, step))
                else:
                    yield step
        elif current.outputs:
            answers.append((plan.heading, plan.composed(plan.question, gather(plan.outputs))))
    yield (
        _joined(answers, beside(current, plans), language) if answers else _without_sources(turns, current, language)
    )


async def _searched(
    plan: TurnPlan, tool: FileSearchToolIn, search: FileSearch, language: Language
) -> AsyncIterator[ModelStep]:
    """Search files for the readings of a question until one is answered; yield the steps, the answer last."""
    yield Thought(phrases.filled(phrases.SEARCHING, language, {"places": [phrases.FILES]}))
    question, evidence = plan.question, gather(plan.outputs)
    for reading in plan.readings[plan.readings.index(question) :]:
        yield Searching((reading,))
        found = await search(tool, [reading])
        yield Searched(tuple(found))
        question, evidence = reading, gather(plan.outputs, found, searched=True)
        if goes_on(question, evidence, newest=plan.asked):
            break
    yield plan.composed(question, evidence)


def _joined(answers: Sequence[tuple[str, Answer]], shared: Evidence, language: Language) -> Answer:
    """Return the answers to the questions of a message as one, each below its question if there are several.

    Before them come grave statements of the ``shared`` evidence on medicines of different questions.
    """
    if len(answers) == 1:
        return answers[0][1]
    text, citations = of_one_patient(shared, [answer.text for _, answer in answers], language), list[FileMark]()
    for number, (heading, answer) in enumerate(answers, 1):
        text += "\n\n" if text else ""
        text += f"**{number}. {_MARKUP.sub(_ESCAPED, heading)}**\n\n"
        citations += [replace(mark, index=mark.index + len(text)) for mark in answer.citations]
        text += answer.text
    return Answer(text, tuple(citations))


def _doing(calls: Sequence[Call], functions: Sequence[FunctionToolIn], language: Language) -> str:
    """Return what the calls do, for the reasoning summary."""
    kinds = {function.name: kind_of_function(function) for function in functions}
    places = {"documents": phrases.GUIDELINES, "drugs": phrases.DRUGS}
    searched = dict.fromkeys(places[kinds[call.name]] for call in calls if kinds[call.name] in places)
    compared = [asked_for(call.arguments) for call in calls if kinds[call.name] == "interactions"]
    others = [call.name for call in calls if kinds[call.name] == "other"]
    done = [
        (phrases.SEARCHING, {"places": list(searched)}),
        *((phrases.COMPARING, {"names": [one]}) for one in compared),
        (phrases.CALLING, {"names": others}),
    ]
    return " ".join(phrases.filled(phrase, language, names) for phrase, names in done if any(names.values()))


def _without_sources(turns: Sequence[Exchange], current: Exchange, language: Language) -> Answer:
    """With nothing to search, what the user wrote earlier is the only source there is."""
    *before, asked = sentences(current.question) or [current.question]
    said = [*(turn.question for turn in turns[:-1]), " ".join(before)]
    told = [EvidencePassage(text, rank=index) for index, text in enumerate(reversed(said)) if text]
    selection = select(read_question(asked), told)
    quotes = [quote for quote in selection.quotes if not quote.unit.text.endswith("?")] if selection.answers else []
    if quotes:
        lines = "\n".join(f"- {quote.unit.text}" for quote in quotes)
        return Answer(f"{phrases.said(phrases.FROM_CONVERSATION, language)}\n\n{lines}")
    return Answer(phrases.said(phrases.IMAGE if current.has_image else phrases.NO_SOURCES, language))


def _formatted(answer: Answer, question: str, wanted: dict[str, Any]) -> Answer:
    """Return ``answer`` in the request's ``text.format``: as it is, or as JSON whose fields take the extracts."""
    match wanted.get("type"):
        case "json_schema":
            schema = wanted.get("schema") or {}
            body = fill_schema("answer", schema, FillSource(question, schema, answer.text), optional=False)
        case "json_object":
            body = {"answer": answer.text}
        case _:
            return answer
    return Answer(orjson.dumps(body).decode())
