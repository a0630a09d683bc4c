"""Decides which declared functions a question needs, and fills their arguments from it.

Functions are known by their schema, not by their name: one that takes a question searches documents, one that takes
a drug's name searches drugs, one that takes several compares them, and any other is called when the question names
what it does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from chat_app.offline.extraction.evidence import Evidence
from chat_app.offline.schema_filling.arguments import FillSource, fill, fill_each, fill_schema
from chat_app.offline.schema_filling.schemas import is_nullable
from chat_app.offline.wire.model import Call
from chat_app.offline.wire.requests import FunctionToolIn
from tools.language.terms import terms

Json = dict[str, Any]
_QUESTION: Final = frozenset({"question", "query", "q", "search_query", "search", "text", "topic"})
_DRUG: Final = re.compile(r"^(?:drug|medication|medicine|generic)(?:_?names?|s)?$", re.IGNORECASE)
_NAME: Final = re.compile(r"^names?$", re.IGNORECASE)
_MEDICINES: Final = re.compile(r"\b(?:drug|medicine|medication)s?\b", re.IGNORECASE)
_FINDS: Final = re.compile(r"search|find|look|retriev|guideline|document|knowledge|passage|librar", re.IGNORECASE)
_VERBS: Final = re.compile(
    r"\b(?:get|set|find|search|list|fetch|look|lookup|show|read|create|update|delete|send|run|call|make|add|check"
    r"|current|new|all|data|info|information|tool|function)\b"
)
_ABOUT_OTHERS: Final = re.compile(
    r"\binteract\w*|\bwechselwirk\w*"
    r"|\A(?=\W*was\b|.*\b(?:what|which|\w+thing|drugs|medicines|medications|welche\w*|womit|medikamente|arzneimittel)\b)"
    r"(?=.*\b(?:not|\w+n['’]t|cannot|avoid\w*|never|(?:contra|kontra)indi\w+|in\w*compatible|dangerous|unsafe|clash\w*"
    r"|nicht|\w*meide\w*|vermieden)\b)"
    r"(?=.*\b(?:with|together|on|while|alongside|next to|add|mit|womit|zusammen|zu|dazu|unter|neben|gleichzeitig)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Asks what may not be taken with a medicine."""
_MOST_CALLS: Final = 8
"""Calls of functions that are neither a search nor a look-up."""
_MOST_NAMES: Final = 4
"""Drugs of one question that are compared."""


@dataclass(frozen=True)
class Toolbox:
    """The declared functions by what they do."""

    documents: tuple[FunctionToolIn, ...]
    drugs: tuple[FunctionToolIn, ...]
    interactions: tuple[FunctionToolIn, ...]
    others: tuple[FunctionToolIn, ...]


def sort_tools(functions: Sequence[FunctionToolIn]) -> Toolbox:
    sorted_out: dict[str, list[FunctionToolIn]] = {kind.name: [] for kind in fields(Toolbox)}
    for function in functions:
        sorted_out[_kind(function)].append(function)
    # Of several functions that look one drug up, the one that searches knows most spellings and fields.
    sorted_out["drugs"].sort(key=lambda function: "search" not in function.name.lower())
    return Toolbox(**{kind: tuple(found) for kind, found in sorted_out.items()})


def _kind(function: FunctionToolIn) -> str:
    properties = _properties(function)
    drug = next((schema for name, schema in properties.items() if _is_drug(function, name)), None)
    if drug is not None:
        return "interactions" if _is_list(drug) else "drugs"
    finds = _QUESTION & set(properties) and _FINDS.search(f"{function.name} {function.description or ''}")
    return "documents" if finds else "others"


def plan(question: str, functions: Sequence[FunctionToolIn], *, forced: bool = False) -> list[Call]:
    """The first calls that ``question`` needs, best first; with ``forced`` at least one when any function is declared.

    Every document search and one drug search get the whole question: the drug database finds the names in it.
    """
    box = sort_tools(functions)
    others = [function for function in box.others if _named(function, question)]
    if not others and not (box.documents or box.drugs or box.interactions):
        others = [function for function in box.others if _mentions(question, function.description or "")]
    calls = [Call(function.name, given) for function in others for given in fill_each(function, question)]
    calls = calls[:_MOST_CALLS]
    if not calls:
        calls += [_call(function, question, question) for function in (*box.documents, *box.drugs[:1])]
    if not calls and forced and functions:
        calls.append(Call(functions[0].name, fill(functions[0], question)))
    return calls


def comparison(question: str, evidence: Evidence, functions: Sequence[FunctionToolIn]) -> list[Call]:
    """The check of the drugs that the question was found to name: two or more, or one when it asks about others.

    A class, a food, a herb or a drug without a record is checked with the others; after an overdose none is.
    """
    box = sort_tools(functions)
    also = [name for lookup in evidence.lookups for name in lookup.also_named]
    names = list(dict.fromkeys([*(record.name for record in evidence.named), *also]))[:_MOST_NAMES]
    needed = 1 if _ABOUT_OTHERS.search(question) else 2
    checks = box.interactions[:1] if len(names) >= needed and not evidence.pairs else ()
    return [_call(check, question, names) for check in checks]


def _call(function: FunctionToolIn, question: str, drug: str | list[str] = "") -> Call:
    """A call with the question, or a drug's name; filters and limits keep their defaults."""
    arguments: Json = {}
    required = set((function.parameters or {}).get("required", ()))
    for name, schema in _properties(function).items():
        if drug and _is_drug(function, name):
            arguments[name] = drug
        elif name in _QUESTION:
            arguments[name] = question
        elif name in required:
            arguments[name] = fill_schema(
                name, schema, FillSource("", function.parameters or {}), optional=is_nullable(schema)
            )
    return Call(function.name, arguments)


def _is_drug(function: FunctionToolIn, name: str) -> bool:
    """True for a parameter that takes a drug's name, or several."""
    if _DRUG.match(name):
        return True
    described = str(_properties(function)[name].get("description", ""))
    return _NAME.match(name) is not None and _MEDICINES.search(f"{described} {function.description}") is not None


def _properties(function: FunctionToolIn) -> dict[str, Json]:
    properties = (function.parameters or {}).get("properties")
    return properties if isinstance(properties, dict) else {}


def _is_list(schema: Json) -> bool:
    return any(
        "array" in (kinds if isinstance(kinds := branch.get("type"), list) else [kinds])
        for branch in (schema, *schema.get("anyOf", ()))
        if isinstance(branch, dict)
    )


def _named(function: FunctionToolIn, question: str) -> bool:
    """True when the question names what the function is called after: the weather for ``get_weather2``."""
    return _mentions(question, " ".join(re.split(r"[_\W\d]+|(?<=[a-z])(?=[A-Z])", function.name)))


def _mentions(question: str, text: str) -> bool:
    return not set(terms(question)).isdisjoint(terms(_VERBS.sub(" ", text.lower())))
