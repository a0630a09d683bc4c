"""What to try when nothing that was looked up answers a question: another name, another source, a near heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

from chat_app.events import Outcome
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.i18n.translation import Language, say
from chat_app.interface.rendering.follow_ups import follow_ups
from tools.types import FunctionOutput, Passage

_MOST_NAMES = 3


class Suggestion(NamedTuple):
    """A button: it asks ``question``, after the conversation's settings were changed by ``settings``.

    Without a question it puts the one that was asked back into the box, to be put in other words.
    """

    label: str
    question: str = ""
    settings: Mapping[str, Any] | None = None


@dataclass
class LookUps:
    """What a turn's tools brought."""

    outputs: list[FunctionOutput] = field(default_factory=list)

    @property
    def passages(self) -> list[Passage]:
        return [passage for output in self.outputs for passage in output.passages]

    @property
    def done(self) -> bool:
        """Whether anything was looked up, found or not."""
        return any(output.error is None for output in self.outputs)


def abstained(outcome: Outcome, look_ups: LookUps, options: PageOptions, *, cited: bool) -> bool:
    """Whether nothing stands behind an answer although it was looked for, or nothing may be looked for."""
    may_look = options.guidelines or options.drugs
    return outcome.kind == "completed" and not cited and (look_ups.done or not may_look)


def suggestions(
    question: str, look_ups: LookUps, options: PageOptions, language: Language, *, extracts: bool
) -> list[Suggestion]:
    """What to try in place of ``question``, the likeliest first."""
    # Extracts are found by the words of the question: it stays in the words of the sources' own language.
    near = follow_ups(look_ups.passages, (), "en" if extracts else language)
    return [
        *other_names(question, look_ups, language),
        *_other_sources(question, options, language),
        *(Suggestion(heading.label, heading.question) for heading in near),
        Suggestion(say(language, "suggestion.rephrase")),
    ]


def _other_sources(question: str, options: PageOptions, language: Language) -> Iterable[Suggestion]:
    if not options.guidelines:
        yield Suggestion(say(language, "suggestion.guidelines"), question, {"guidelines": True})
    elif options.documents:
        yield Suggestion(say(language, "suggestion.all_guidelines"), question, {"documents": []})
    if not options.drugs:
        yield Suggestion(say(language, "suggestion.drugs"), question, {"drugs": True})


def other_names(question: str, look_ups: LookUps, language: Language) -> list[Suggestion]:
    """The question with each name that a drug tool proposes in place of the one that it was asked for."""
    found: dict[str, Suggestion] = {}
    for output in look_ups.outputs:
        for asked, name in _meant(output):
            asked_again = name.join(re.split(re.escape(asked), question, flags=re.IGNORECASE)) if asked else question
            if asked_again != question:
                found.setdefault(name, Suggestion(say(language, "suggestion.name", name=name), asked_again))
    return list(found.values())[:_MOST_NAMES]


def _meant(output: FunctionOutput) -> Iterable[tuple[str, str]]:
    """Names that a drug tool proposes, each with the name that it was asked for."""
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
