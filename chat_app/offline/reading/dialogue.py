"""The conversation as turns: what was asked, what the tools brought, what was answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import orjson

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.objects import text_of
from tools.drug_database.names.german_compounds import with_separate_parts

ADDED: Final = re.compile(
    r"\b(?:add(?:s|ed|ing)?|in addition|as well|also|on top|too(?=[,.?!]|$)|(?:al)?together|combined|simultaneous\w*"
    r"|concomitant\w*|at the same time|noch(?! (?:nicht|nie|mal|einmal|immer|kein))|zusammen|gleichzeitig|zusätzlich"
    r"|auch|dazu|hinzu\w*|junto|además|también|añad\w+|agreg\w+)\b"
    r"|^\s*(?:with|plus|alongside|mit|con)\b",
    re.IGNORECASE,
)
"""Words that add something to the question before, such as a second medicine."""


@dataclass(frozen=True)
class ToolOutput:
    """The output of one call: the function's name, its arguments as sent, and the text that came back."""

    name: str
    arguments: str
    output: str

    @property
    def given(self) -> Json:
        """The arguments."""
        return fields_of(decoded(self.arguments))


@dataclass
class Exchange:
    """One question with everything that followed it."""

    question: str
    """The question with the parts of German compounds separated."""
    typed: str = ""
    """The question as it was typed."""
    has_image: bool = False
    outputs: list[ToolOutput] = field(default_factory=list[ToolOutput])
    answer: str = ""


def exchanges(items: Sequence[Json]) -> list[Exchange]:
    """Return the conversation's exchanges, oldest first; consecutive user messages are one question."""
    found: list[Exchange] = []
    calls: dict[str, tuple[str, str]] = {}
    open_question = False
    for item in items:
        kind = item.get("type", "message")
        if kind == "message" and item["role"] == "user":
            typed, image = text_of(item), _has_image(item)
            if open_question:
                found[-1].typed = "\n".join(filter(None, [found[-1].typed, typed]))
                found[-1].has_image = found[-1].has_image or image
            else:
                found.append(Exchange("", typed, has_image=image))
            found[-1].question = with_separate_parts(found[-1].typed)
            open_question = True
        elif not found:
            continue
        elif kind == "message" and item["role"] == "assistant":
            found[-1].answer += text_of(item)
            open_question = False
        elif kind == "function_call":
            calls[item["call_id"]] = (item["name"], item["arguments"])
            open_question = False
        elif kind == "function_call_output":
            name, arguments = calls.get(item["call_id"], ("", "{}"))
            found[-1].outputs.append(ToolOutput(name, arguments, text_of(item)))
    return found


def as_typed(part: str, typed: str) -> str:
    """Return ``part`` of a question as ``typed``, where compounds are not separated."""
    words = ("-?".join(map(re.escape, word.replace("-", ""))) for word in part.split())
    found = re.search(r"\s+".join(words), typed, re.IGNORECASE)
    return found[0] if found else part


def _has_image(item: Json) -> bool:
    content = item.get("content")
    return isinstance(content, list) and any(part.get("type") == "input_image" for part in content)


def decoded(text: str) -> Any:
    """Return the JSON value of an output or of arguments; the text itself where it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def fields_of(value: object) -> Json:
    """Return a JSON object, and an empty one for any other value."""
    return cast("Json", value) if isinstance(value, dict) else {}
