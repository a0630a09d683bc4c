"""The extractive model: calls the tools that a question needs, and answers with sentences of what they bring.

It never writes a sentence that is not an extract or one of its fixed phrases, and it is deterministic: the same
conversation gets the same answer.
"""

import re
from collections.abc import AsyncIterator, Sequence
from typing import Final

from chat_app.offline.calculating.calculations import calculations, is_calculator
from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.calls import comparison, kind_of_function, plan
from chat_app.offline.extraction.compose import compose
from chat_app.offline.extraction.dialogue import Exchange, exchanges
from chat_app.offline.extraction.evidence import EvidencePassage
from chat_app.offline.extraction.followups import standalone
from chat_app.offline.extraction.question import read_question
from chat_app.offline.extraction.reading import asked_for, gather, looked_up
from chat_app.offline.extraction.selection import select
from chat_app.offline.schema_filling.structured import formatted
from chat_app.offline.wire.model import Answer, Call, FileSearch, ModelInput, ModelStep, Searched, Searching, Thought
from chat_app.offline.wire.requests import FunctionToolIn
from tools.language.quotable_units import sentences

_GREETING: Final = re.compile(
    r"^\s*(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings|say hello)\b[^?]{0,60}$", re.IGNORECASE
)
_THANKS: Final = re.compile(r"^\s*(?:thanks|thank you|many thanks|cheers)\b[^?]{0,40}$", re.IGNORECASE)


class ExtractiveModel:
    """Answers any prompt; keeps nothing between calls."""

    async def respond(self, prompt: ModelInput, search: FileSearch) -> AsyncIterator[ModelStep]:
        """Yield the steps of one response: the reasoning, then calls, or a search and the answer."""
        turns = exchanges(prompt.items)
        async for step in self._steps(turns, prompt, search):
            yield (
                formatted(step, turns[-1].question if turns else "", prompt.format)
                if isinstance(step, Answer)
                else step
            )

    async def _steps(
        self, turns: Sequence[Exchange], prompt: ModelInput, search: FileSearch
    ) -> AsyncIterator[ModelStep]:
        if not turns or not turns[-1].question.strip():
            yield Answer(phrases.IMAGE if turns and turns[-1].has_image else phrases.EMPTY)
            return
        current = turns[-1]
        question = standalone(turns, [function.name for function in prompt.functions])
        small_talk = _small_talk(current)
        computed, alone = calculations(prompt.functions, turns)
        calls = [] if small_talk and not prompt.forced else _calls(question, current, prompt, computed, alone=alone)
        if calls:
            yield Thought(_doing(calls, prompt.functions))
            for call in calls if prompt.parallel else calls[:1]:
                yield call
            return
        if small_talk:
            yield Answer(small_talk)
            return
        if prompt.file_search is not None and not alone:
            yield Thought(phrases.SEARCHING.format(places=phrases.FILES))
            yield Searching((question,))
            found = await search(prompt.file_search, [question])
            yield Searched(tuple(found))
            yield compose(question, gather(current.outputs, found, searched=True), newest=current.question)
            return
        if current.outputs:
            yield Thought(phrases.CHOOSING)
            yield compose(question, gather(current.outputs), newest=current.question)
            return
        yield _without_sources(turns, current)


def _small_talk(current: Exchange) -> str:
    if current.outputs:
        return ""
    if _GREETING.match(current.question):
        return phrases.GREETING
    return phrases.THANKS if _THANKS.match(current.question) else ""


def _calls(question: str, current: Exchange, prompt: ModelInput, computed: list[Call], *, alone: bool) -> list[Call]:
    """Return the calls that are still to be made for this question; ``computed`` are those of calculators."""
    if alone:
        return computed
    functions = [function for function in prompt.functions if prompt.forced or not is_calculator(function)]
    made = {(output.name, looked_up(output)) for output in current.outputs}
    planned = plan(question, functions, forced=prompt.forced and not (current.outputs or computed))
    if current.outputs:
        planned += comparison(question, gather(current.outputs), functions)
    return [*(call for call in planned if (call.name, asked_for(call.arguments)) not in made), *computed]


def _doing(calls: Sequence[Call], functions: Sequence[FunctionToolIn]) -> str:
    """Return what the calls do, for the reasoning summary."""
    kinds = {function.name: kind_of_function(function) for function in functions}
    places = {"documents": phrases.GUIDELINES, "drugs": phrases.DRUGS}
    searched = [places[kinds[call.name]] for call in calls if kinds[call.name] in places]
    said = [phrases.SEARCHING.format(places=phrases.listed(list(dict.fromkeys(searched))))] if searched else []
    compared = [asked_for(call.arguments) for call in calls if kinds[call.name] == "interactions"]
    others = [call.name for call in calls if kinds[call.name] == "other"]
    said += [phrases.COMPARING.format(names=names) for names in compared]
    return " ".join([*said, *([phrases.CALLING.format(names=phrases.listed(others))] if others else [])])


def _without_sources(turns: Sequence[Exchange], current: Exchange) -> Answer:
    """With nothing to search, what the user wrote earlier is the only source there is."""
    *before, asked = sentences(current.question) or [current.question]
    said = [*(turn.question for turn in turns[:-1]), " ".join(before)]
    told = [EvidencePassage(text, rank=index) for index, text in enumerate(reversed(said)) if text]
    selection = select(read_question(asked), told)
    quotes = [quote for quote in selection.quotes if not quote.unit.text.endswith("?")] if selection.answers else []
    if quotes:
        lines = "\n".join(f"- {quote.unit.text}" for quote in quotes)
        return Answer(f"{phrases.FROM_CONVERSATION}\n\n{lines}")
    if current.has_image:
        return Answer(phrases.IMAGE)
    return Answer(phrases.NO_SOURCES)
