"""The extractive model: calls the tools that a question needs, and answers with sentences of what they bring.

It never writes a sentence that is not an extract or one of its fixed phrases, and it is deterministic: the same
conversation gets the same answer.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson

from chat_app.offline import phrases
from chat_app.offline.calculating.calculations import calculations, is_calculator
from chat_app.offline.composition.compose import compose
from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.selection import select
from chat_app.offline.planning.calls import comparison, kind_of_function, plan
from chat_app.offline.planning.medicines_before import replaced_medicines
from chat_app.offline.planning.prior_turns import since_last_subject, standalone
from chat_app.offline.planning.readings import chosen_reading, goes_on, tried_readings
from chat_app.offline.planning.small_talk import small_talk
from chat_app.offline.reading.cases import asked_in, case_in
from chat_app.offline.reading.dialogue import Exchange, ToolOutput, exchanges
from chat_app.offline.reading.evidence import Evidence, EvidencePassage
from chat_app.offline.reading.tool_outputs import asked_for, gather
from chat_app.offline.schema_filling.arguments import FillSource, fill_schema
from chat_app.offline.wire.model import Answer, Call, FileSearch, ModelInput, ModelStep, Searched, Searching, Thought
from chat_app.offline.wire.requests import FunctionToolIn
from tools.language.quotable_units import sentences
from tools.language.vocabulary.common_words import Language
from tools.language.vocabulary.text_language import language_of


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
    newest = asked_in(current.question)
    earlier = [turn.question for turn in reversed(turns[:-1])]
    readings = standalone(turns, [function.name for function in prompt.functions])
    tried = tried_readings(readings, current.outputs)
    computed, alone = calculations(prompt.functions, turns)
    unfinished = not prompt.parallel and _calls(tried[-1][:1], [], prompt, turns, [], alone=alone)
    question, outputs = tried[-1] if alone or unfinished else chosen_reading(newest, readings, tried)
    courtesy = "" if current.outputs else small_talk(current.question)
    # The first reading is searched for alone, since it mostly suffices; the others together, since steps are limited.
    asked = readings[1:] if question in readings[1:] and not outputs else (question,)
    calls = _calls(asked, outputs, prompt, turns, computed, alone=alone)
    calls = [] if courtesy and not prompt.forced else calls
    if calls:
        yield Thought(_doing(calls, prompt.functions, language))
        for call in calls if prompt.parallel else calls[:1]:
            yield call
    elif courtesy:
        yield Answer(courtesy)
    elif prompt.file_search is not None and not alone:
        yield Thought(phrases.filled(phrases.SEARCHING, language, {"places": [phrases.FILES]}))
        evidence = gather(outputs)
        for reading in readings[readings.index(question) :]:
            yield Searching((reading,))
            found = await search(prompt.file_search, [reading])
            yield Searched(tuple(found))
            question, evidence = reading, gather(outputs, found, searched=True)
            if goes_on(question, evidence, newest=newest):
                break
        yield _composed(question, evidence, newest, earlier)
    elif current.outputs:
        yield Thought(phrases.said(phrases.CHOOSING, language))
        yield _composed(question, gather(outputs), newest, earlier)
    else:
        yield _without_sources(turns, current, language)


def _composed(question: str, evidence: Evidence, newest: str, earlier: Sequence[str]) -> Answer:
    """Return the answer to ``question``, which may be a case, or be completed from one by the ``newest`` words."""
    case = case_in(question)
    asked = case.question if case and not evidence.names_in(newest) else newest
    return compose(question, evidence, newest=asked, earlier=earlier, in_case=case is not None)


def _calls(
    questions: Sequence[str],
    outputs: Sequence[ToolOutput],
    prompt: ModelInput,
    turns: Sequence[Exchange],
    computed: list[Call],
    *,
    alone: bool,
) -> list[Call]:
    """Return the calls that ``questions`` need after ``outputs`` and that were not made in the last of the ``turns``.

    ``computed`` are those of calculators, which may be needed ``alone``. There are no outputs for several questions.
    """
    made, evidence = [(output.name, output.given) for output in turns[-1].outputs], gather(outputs)
    functions = [function for function in prompt.functions if prompt.forced or not is_calculator(function)]
    forced = prompt.forced and not (outputs or computed)
    planned = [] if alone else [call for one in questions for call in plan(one, functions, forced=forced)]
    before = replaced_medicines(turns, questions[0], evidence)
    compared = comparison(questions[0], evidence, functions, before) if outputs and not alone else []
    needed = [call for call in (*planned, *compared, *computed) if (call.name, call.arguments) not in made]
    return [call for place, call in enumerate(needed) if call not in needed[:place]]


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
