"""What the reader may ask next: follow-ups, and where no source answers another name, source or section."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import JsonValue

from chat_app.events import Outcome
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.conversation.uploads import TOOL as ADD_FILE
from chat_app.interface.i18n.translation import Language, say
from tools.types import FunctionOutput, Passage

_MOST_NAMES = 3
_MOST_FOLLOW_UPS = 3
_LONGEST = 80


class Suggestion(NamedTuple):
    """A button that asks ``question`` after changing the conversation's settings by ``settings``.

    Without a question it puts the original one back into the box to be rephrased.
    """

    label: str
    question: str = ""
    settings: Mapping[str, Any] | None = None


Outputs = Sequence[FunctionOutput]


def fitting(outputs: Outputs) -> list[Passage]:
    """Return the passages of the searches that fit their question; a search that does not say so is taken to."""
    return [passage for output in outputs if _match_of(output) == "strong" for passage in output.passages]


def _match_of(output: FunctionOutput) -> object:
    return output.output.get("match", "strong") if isinstance(output.output, dict) else "strong"


def abstained(outcome: Outcome, outputs: Outputs, options: PageOptions, *, cited: bool) -> bool:
    """Return whether an answer has no source although one was searched for or none may be searched.

    A calculator's question for its inputs is an answer, which the reader completes.
    """
    if any(isinstance(output.output, dict) and "needs" in output.output for output in outputs):
        return False
    may_look = options.guidelines or options.drugs
    # With or without results; adding a file is no search.
    searched = any(output.error is None and output.name != ADD_FILE for output in outputs)
    return outcome.kind == "completed" and not cited and (searched or not may_look)


def suggestions(
    question: str, outputs: Outputs, options: PageOptions, language: Language, *, extracts: bool
) -> list[Suggestion]:
    """Return what to try instead of ``question``, most likely first."""
    # Extracts are found by the question's words, so it stays in the language of the sources.
    retrieved = (passage for output in outputs for passage in output.passages)
    near = follow_ups(retrieved, (), "en" if extracts else language)
    return [
        *other_names(question, outputs, language),
        *_other_sources(question, options, language),
        *near,
        Suggestion(say(language, "suggestion.rephrase")),
    ]


def follow_ups(retrieved: Iterable[Passage], cited: Sequence[str], language: Language = "en") -> list[Suggestion]:
    """Return at most three questions, each on a guideline section that the answer does not use."""
    looked_up = tuple(retrieved)
    used = {(p.title, start.section) for p in looked_up if p.id in cited for start in p.sections}
    found: dict[tuple[str, str], Suggestion] = {}
    for passage in looked_up:
        place = (passage.title, passage.section)
        leaf = passage.section.rpartition("›")[2].strip()
        if passage.kind != "guideline" or not leaf or leaf == passage.title or place in used or len(leaf) > _LONGEST:
            continue
        label = f"{leaf} ({passage.title})"
        question = say(language, "suggestion.section", title=passage.title, section=leaf)
        found.setdefault(place, Suggestion(label, question))
    return list(found.values())[:_MOST_FOLLOW_UPS]


def _other_sources(question: str, options: PageOptions, language: Language) -> Iterable[Suggestion]:
    if not options.guidelines:
        yield Suggestion(say(language, "suggestion.guidelines"), question, {"guidelines": True})
    elif options.documents:
        yield Suggestion(say(language, "suggestion.all_guidelines"), question, {"documents": []})
    if not options.drugs:
        yield Suggestion(say(language, "suggestion.drugs"), question, {"drugs": True})


def other_names(question: str, outputs: Outputs, language: Language) -> list[Suggestion]:
    """Return the question with each name that a drug tool suggests instead of the one it was given."""
    found: dict[str, Suggestion] = {}
    for output in outputs:
        for asked, name in _meant(output):
            word = _misspelt(asked, name)
            asked_again = name.join(re.split(re.escape(word), question, flags=re.IGNORECASE)) if word else question
            if asked_again != question:
                found.setdefault(name, Suggestion(say(language, "suggestion.name", name=name), asked_again))
    return list(found.values())[:_MOST_NAMES]


def _misspelt(asked: str, name: str) -> str:
    """Return the part of ``asked`` that ``name`` replaces: its most similar word, where it is a whole question."""
    words = re.findall(r"[\w-]+", asked)
    return next(iter(difflib.get_close_matches(name.lower(), [word.lower() for word in words], n=1)), asked)


def _meant(output: FunctionOutput) -> Iterable[tuple[str, str]]:
    """Yield the names that a drug tool suggests, each with the name it was given."""
    data = output.output
    if not isinstance(data, dict):
        return
    query = data.get("query")
    asked = data.get("name") or (query.get("name") if isinstance(query, dict) else None)
    yield from ((str(asked or ""), name) for name in _names(data.get("did_you_mean")))
    unknown = data.get("unknown")
    for entry in unknown if isinstance(unknown, list) else ():
        if isinstance(entry, dict):
            yield from ((str(entry.get("name") or ""), name) for name in _names(entry.get("did_you_mean")))


def _names(value: JsonValue) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
