"""Decides which declared functions a question needs, and fills their arguments from it.

A function's schema, not its name, tells what it does: one that takes a question searches documents, one that takes a
drug's name searches drugs, one that takes several names compares them. Any other is called if the question names what
it does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from chat_app.offline.reading.cases import asked_in, case_in
from chat_app.offline.reading.evidence import Evidence
from chat_app.offline.schema_filling.arguments import fill, fill_each
from chat_app.offline.schema_filling.schemas import part_of
from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.model import Call
from chat_app.offline.wire.requests import FunctionToolIn
from tools.language.library_questions import library_question
from tools.language.terms import terms

FunctionKind = Literal["documents", "drugs", "interactions", "catalogue", "other"]
_QUESTION: Final = frozenset({"question", "query", "q", "search_query", "search", "text", "topic"})
_DRUG: Final = re.compile(r"^(?:drug|medication|medicine|generic)(?:_?names?|s)?$", re.IGNORECASE)
_NAME: Final = re.compile(r"^names?$", re.IGNORECASE)
_MEDICINES: Final = re.compile(r"\b(?:drug|medicine|medication)s?\b", re.IGNORECASE)
_FINDS: Final = re.compile(r"search|find|look|retriev|guideline|document|knowledge|passage|librar", re.IGNORECASE)
_CATALOGUE: Final = re.compile(r"\bcatalogue\b", re.IGNORECASE)
_VERBS: Final = re.compile(
    r"\b(?:get|set|find|search|list|fetch|look|lookup|show|read|create|update|delete|send|run|call|make|add|check"
    r"|current|new|all|data|info|information|tool|function)\b"
)
_ABOUT_OTHERS: Final = re.compile(
    r"\binterac\w*|\bwechselwirk\w*"
    r"|\A(?=\W*was\b|.*\b(?:what|which|\w+thing|drugs|medicines|medications|welche\w*|womit|medikamente|arzneimittel)\b)"
    r"(?=.*\b(?:not|\w+n['’]t|cannot|avoid\w*|never|(?:contra|kontra)indi\w+|in\w*compatible|dangerous|unsafe|clash\w*"
    r"|nicht|\w*meide\w*|vermieden)\b)"
    r"(?=.*\b(?:with|together|on|while|alongside|next to|add|mit|womit|zusammen|zu|dazu|unter|neben|gleichzeitig)\b)"
    r"|\A(?=\W*(?:con )?que\b|.*\b(?:qué|cuál\w*|medicamentos?|fármacos?|medicinas)\b)"
    r"(?=.*\b(?:no|nunca|evit\w+|contraindi\w+|incompatib\w+|peligros\w+)\b)(?=.*\b(?:con|junt[oa]s?|tomando)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches a question what may not be taken with a medicine."""
_MOST_CALLS: Final = 8
"""Maximum number of calls of functions that do not search."""


def kind_of_function(function: FunctionToolIn) -> FunctionKind:
    """Return what a function does, by its parameters."""
    properties = _properties(function)
    drug = next((schema for name, schema in properties.items() if _is_drug(function, name)), None)
    if drug is not None:
        return "interactions" if part_of(drug, function.parameters or {}).kind == "array" else "drugs"
    if properties.keys() <= {"subject"} and _CATALOGUE.search(function.description or ""):
        return "catalogue"
    finds = _QUESTION & set(properties) and _FINDS.search(f"{function.name} {function.description or ''}")
    return "documents" if finds else "other"


def plan(question: str, functions: Sequence[FunctionToolIn], *, forced: bool = False) -> list[Call]:
    """Return the first calls that ``question`` needs; with ``forced`` at least one if any function is declared.

    Every document search and one drug search get the whole question. The drug database finds the names in it. A case
    is searched for what is asked, with the words of the description that matter.
    """
    asked, catalogues = library_question(question), _of_kind("catalogue", functions)
    if asked and catalogues:
        return [Call(catalogues[0].name, {"subject": asked.subject})]
    others = _of_kind("other", functions)
    named = [function for function in others if _mentions(question, _words_of(function.name))]
    if not named and len(others) == len(functions):
        named = [function for function in others if _mentions(question, function.description or "")]
    calls = [Call(function.name, given) for function in named for given in fill_each(function, question)]
    if calls:
        return calls[:_MOST_CALLS]
    # Of several functions that take a drug's name, a search knows most spellings and fields.
    drugs = sorted(_of_kind("drugs", functions), key=lambda function: "search" not in function.name.lower())
    case = case_in(question)
    text, names = (case.search_text, case.drug_text) if case else (question, question)
    searches = [_call(function, text, text) for function in _of_kind("documents", functions)]
    searches += [_call(function, names, names) for function in drugs[:1]]
    return searches or [Call(function.name, fill(function, question)) for function in functions[:1] if forced]


def comparison(
    question: str, evidence: Evidence, functions: Sequence[FunctionToolIn], before: Sequence[str] = ()
) -> list[Call]:
    """Return the call that checks the named drugs for interactions, if any, also with those named ``before``.

    It needs two names, or one if the question asks what may not be taken with it and no pair was checked yet. Classes,
    foods, herbs and drugs without a record are checked, too.
    """
    also = [name for lookup in evidence.lookups for name in lookup.also_named]
    # A synonym is checked as it was typed, since an abbreviation may mean several drugs.
    named = (record.matched_on if record.matched == "synonym" else record.name for record in evidence.named)
    names = list(dict.fromkeys([*named, *also]))
    names += before if names else ()
    needed = 1 if _ABOUT_OTHERS.search(asked_in(question)) and not evidence.pairs else 2
    checks = _of_kind("interactions", functions)[:1] if len(names) >= needed else ()
    return [_call(check, question, names) for check in checks]


def _of_kind(kind: FunctionKind, functions: Sequence[FunctionToolIn]) -> list[FunctionToolIn]:
    return [function for function in functions if kind_of_function(function) == kind]


def _call(function: FunctionToolIn, question: str, drug: str | list[str]) -> Call:
    """Return a call with the question, or a drug's name; filters and limits keep their defaults."""
    given = {name: drug if _is_drug(function, name) else question for name in _properties(function)
             if name in _QUESTION or _is_drug(function, name)}  # fmt: skip
    return Call(function.name, {**fill(function, ""), **given})


def _is_drug(function: FunctionToolIn, name: str) -> bool:
    """Return whether a parameter takes a drug's name, or several."""
    if _DRUG.match(name):
        return True
    described = str(_properties(function)[name].get("description", ""))
    return _NAME.match(name) is not None and _MEDICINES.search(f"{described} {function.description}") is not None


def _properties(function: FunctionToolIn) -> dict[str, Json]:
    properties = (function.parameters or {}).get("properties")
    return properties if isinstance(properties, dict) else {}


def _words_of(name: str) -> str:
    """Return the words of a function's name: "get weather" for ``get_weather2``."""
    return " ".join(re.split(r"[_\W\d]+|(?<=[a-z])(?=[A-Z])", name))


def _mentions(question: str, text: str) -> bool:
    return not set(terms(question)).isdisjoint(terms(_VERBS.sub(" ", text.lower())))
