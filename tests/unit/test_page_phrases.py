"""The message catalogues: every text that is said is there in every language, with its placeholders, and no other."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from babel.messages.catalog import Message

from chat_app.bootstrap import LoadPart
from chat_app.errors import ErrorCode
from chat_app.events import Notice, NoticeCode, Outcome, OutcomeCode
from chat_app.interface.api.operators.administration_routes import View
from chat_app.interface.i18n.translation import (
    catalogue,
    language_of,
    languages,
    say,
    say_notice,
    say_outcome,
    say_phrase,
    script_texts,
)
from chat_app.interface.page.page_document import scripts_address
from chat_app.interface.page.starters import TOPICS
from chat_app.interface.rendering.tool_steps import finished_name, progress_name
from tools.drug_database.labels.severity import SEVERITIES
from tools.drug_database.records.drug_record import SECTIONS
from tools.errors import ToolErrorCode
from tools.guidelines.models import IngestStage
from tools.search_presentation import passage_count
from tools.types import Function, FunctionOutput, Phrase, ToolPresentation

PROJECT = Path(__file__).resolve().parents[2]
PLACEHOLDER = re.compile(r"\{(\w+)\}")
COMPLETE = {"en", "de"}
"""Languages that say every message; another one falls back to English where it has none."""
Key = tuple[str, str]
"""Context and id of a message."""


def literals(kind: Any) -> set[str]:
    """The strings of a ``Literal``, or of a union of them."""
    return {s for part in get_args(kind) for s in (literals(part) if get_args(part) else {part})}


FAMILIES: dict[str, set[str]] = {
    "administration.": literals(View),
    "loading.": literals(LoadPart),
    "notice.": literals(NoticeCode),
    "outcome.": literals(OutcomeCode) - {"completed"},
    "panel.": {"guidelines", "documents", "drugs", "length", "language", "models"}
    | {f"{name}.hint" for name in ("guidelines", "documents", "drugs", "models")},
    "panel.length.": {"brief", "standard", "full"},
    "section.": set(SECTIONS),
    "severity.": set(SEVERITIES),
    "starter.": {f"{topic}.{part}" for topic in (*TOPICS, "drugs") for part in ("label", "question")},
    "step.": {"drug", "form", "route", "strengths", "brands", "labelers", "document", "section", "page", "text"}
    | {"argument", "field", "value"},
    "tool_error.": literals(ToolErrorCode) - {"other"},
    "upload.": literals(IngestStage),
}
"""Ids that are made of a prefix and a code."""


def entries(language: str) -> dict[Key, Message]:
    found = {}
    for message in catalogue(language):
        name = message.id[0] if message.pluralizable else message.id
        if name:
            found[message.context or "", name] = message
    return found


def texts(message: Message) -> list[str]:
    return list(message.string) if message.pluralizable else [message.string]


@cache
def python_calls() -> tuple[tuple[str, ast.Call], ...]:
    return tuple(_python_calls())


def _python_calls() -> Iterator[tuple[str, ast.Call]]:
    for path in [*PROJECT.glob("chat_app/**/*.py"), *PROJECT.glob("tools/**/*.py")]:
        if "offline" in path.parts or "evaluation" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield getattr(node.func, "id", getattr(node.func, "attr", "")), node


def scripts() -> str:
    return "\n".join(path.read_text() for path in sorted((PROJECT / "public").rglob("*.js*")))


def said_ids() -> set[str]:
    """Every literal id that Python code and templates say."""
    found = {"step.did_you_mean", "step.note"}
    for name, call in python_calls():
        if name in {"say", "partial", "toast"}:
            given = (a for arg in call.args for a in ((arg.body, arg.orelse) if isinstance(arg, ast.IfExp) else (arg,)))
            found |= {a.value for a in given if isinstance(a, ast.Constant) and "." in str(a.value)}
    for template in PROJECT.glob("chat_app/interface/**/*.jinja"):
        found |= set(re.findall(r'\bsay\("([\w.]+\w)"', template.read_text()))
    return found | {"administration.not_allowed"}


def script_ids() -> set[str]:
    source = scripts()
    direct = set(re.findall(r"\b(?:t|asclepiusSay)\('(\w+)'", source))
    chosen = {name for pair in re.findall(r"\bt\([\w.= '!]+ \? '(\w+)' : '(\w+)'", source) for name in pair}
    table = re.search(r"const names = \[(.*?)\];", source, re.DOTALL)
    assert table is not None
    named = set(re.findall(r"', '(\w+)'\]", table[1]))
    rated = set(re.findall(r"name: '(\w+)'", source))
    toasts = re.search(r"const toasts = \[(.*?)\];", source, re.DOTALL)
    assert toasts is not None
    named |= set(re.findall(r"'(\w+)'\]", toasts[1]))
    return direct | chosen | named | rated


def calculator_titles() -> set[str]:
    tables = json.loads((PROJECT / "tools/calculators/data/calculators.json").read_text())
    return {table["title"] for table in tables}


def tool_phrases() -> set[str]:
    found = {"Add file"} | calculator_titles()
    for name, call in python_calls():
        if name in {"Phrase", "ToolPresentation"}:
            found |= {
                str(k.value.value)
                for k in call.keywords
                if k.arg in {"text", "title"} and isinstance(k.value, ast.Constant)
            }
    return found


def test_every_message_that_is_said_is_in_the_english_catalogue_and_no_other() -> None:
    by_code = {f"{prefix}{code}" for prefix, codes in FAMILIES.items() for code in codes}
    wanted = said_ids() | by_code | {f"page.{name}" for name in script_ids()}
    known = {name for context, name in entries("en") if not context}
    assert known - wanted == set(), "said nowhere"
    assert wanted - known == set(), "without a text"


def test_every_phrase_of_the_tools_is_in_the_catalogues() -> None:
    known = {str(m.id[1] if m.pluralizable else m.id) for (context, _), m in entries("en").items() if context == "tool"}
    assert tool_phrases() <= known
    sources = "".join(path.read_text() for path in PROJECT.glob("tools/**/*.py")) + '"Add file" "{count} pages"'
    unsaid = [text for text in known - calculator_titles() if f'"{text.partition(" (label")[0]}' not in sources]
    assert unsaid == []


@pytest.mark.parametrize("language", languages())
def test_a_catalogue_is_complete_and_has_the_placeholders_of_the_english_one(language: str) -> None:
    english, translated = entries("en"), entries(language)
    assert translated.keys() <= english.keys()
    if language in COMPLETE:
        assert translated.keys() == english.keys()
    for key, message in translated.items():
        assert all(texts(message)), key
        assert not message.fuzzy, key
        places = {frozenset(PLACEHOLDER.findall(text)) for text in texts(message)}
        assert places == {frozenset(PLACEHOLDER.findall(text)) for text in texts(english[key])}, key


def test_every_call_fills_the_placeholders_of_its_message() -> None:
    english, checked = entries("en"), 0
    for name, call in python_calls():
        ids = [a.value for a in call.args[1:2] if isinstance(a, ast.Constant)]
        if name != "say" or not ids or any(k.arg is None for k in call.keywords):
            continue
        places = {p for text in texts(english["", str(ids[0])]) for p in PLACEHOLDER.findall(text)}
        assert {str(k.arg) for k in call.keywords} == places, ids
        checked += 1
    assert checked > 40


def test_every_code_comes_with_the_parameters_of_its_message() -> None:
    english, checked = entries("en"), 0
    families = {"Notice": "notice.", "Outcome": "outcome.", "InputRejected": "outcome.", "TooManyQuestions": "outcome."}
    families |= {"SourceRejected": "tool_error."}
    for name, call in python_calls():
        given = {k.arg: k.value for k in call.keywords}
        code = given.get("code")
        if name not in families or not isinstance(code, ast.Constant) or code.value is None:
            continue
        params = given.get("params")
        keys = (
            {str(k.value) for k in params.keys if isinstance(k, ast.Constant)}
            if isinstance(params, ast.Dict)
            else set()
        )
        keys = {"what"} if code.value == "starting" else keys
        places = {p for text in texts(english["", families[name] + code.value]) for p in PLACEHOLDER.findall(text)}
        assert keys == places, code.value
        checked += 1
    assert checked > 25


def test_every_script_fills_the_placeholders_of_its_text() -> None:
    english = entries("en")
    for name, values in re.findall(r"\bt\('(\w+)'(?:, \{([^}]*)\})?\)", scripts()):
        places = {p for text in texts(english["", f"page.{name}"]) for p in PLACEHOLDER.findall(text)}
        assert {part.partition(":")[0].strip() for part in values.split(",") if part.strip()} == places, name


def test_errors_that_end_a_turn_without_parameters_have_messages_without_placeholders() -> None:
    english = entries("en")
    with_params = {"message_too_long", "too_many_at_once", "too_many_models", "too_many_per_minute"}
    for code in literals(ErrorCode) - with_params:
        assert not PLACEHOLDER.findall(texts(english["", f"outcome.{code}"])[0]), code


def test_notices_and_outcomes_are_said_in_the_readers_language() -> None:
    notice = Notice(code="waiting_for_provider", params={"seconds": 120, "attempt": 1, "most": 4}, message="…")
    assert say_notice("de", notice) == "Der Modellserver antwortet nicht. Neuer Versuch in 2 Minuten (1 von 4)…"
    starting = Notice(code="starting", params={"part": "drugs"}, message="Drugs: loading the index…")
    assert say_notice("en", starting) == "Loading the drug database…"
    outcome = Outcome(kind="failed", code="message_too_long", params={"limit": 20_000}, message="…")
    assert say_outcome("en", outcome) == "The limit is 20,000 characters; please shorten your question."
    assert "20.000" in say_outcome("de", outcome)
    assert say_outcome("de", Outcome()) == ""


def test_counts_take_the_plural_form_of_the_language() -> None:
    assert say("en", "page.guidelines", count=1) == "1 guideline"
    assert say("de", "page.guidelines", count=1234) == "1.234 Leitlinien"
    assert script_texts("de")["guidelines"] == {"one": "{count} Leitlinie", "other": "{count} Leitlinien"}


def test_the_tools_own_words_are_known() -> None:
    assert say_phrase("de", passage_count(0, answerable=False), {}) == "keine Textstelle, keine klare Antwort"
    assert say_phrase("de", passage_count(1), {}) == "1 Textstelle"
    assert say_phrase("de", passage_count(4), {}) == "4 Textstellen"


def test_a_custom_tool_brings_its_own_translations() -> None:
    tool = ToolPresentation(title="Doses", translations={"de": {"Doses": "Dosen", "{mg} mg": "{mg} Milligramm"}})
    call = Function(call_id="c1", name="doses")
    output = FunctionOutput(
        name="doses", input=call, output={}, summary="5 mg", summary_phrase=Phrase(text="{mg} mg", values={"mg": 5})
    )
    assert finished_name(output, tool, "de") == "Dosen · 5 Milligramm · 0\u00a0ms"
    assert finished_name(output, tool, "en") == "Doses · 5 mg · 0\u00a0ms"
    assert progress_name(call, "halfway", tool, "de") == "Dosen · halfway"


def test_a_value_is_never_taken_for_a_placeholder() -> None:
    assert say("de", "references.page", label="{label}") == "Seite {label}"
    assert say("en", "references.page", label="xii") == "page xii"
    assert say("en", "references.page") == "page {label}"


def test_a_third_language_needs_a_catalogue_and_no_code() -> None:
    assert language_of("es-MX") == "es"
    assert say("es", "references.heading") == script_texts("es")["references"] == "Referencias"
    assert say("es", "page.earlier", count=2) == "No se muestran 2 preguntas anteriores."
    assert scripts_address("es").startswith("/scripts/es.js?v=")
    code = [*PROJECT.glob("chat_app/interface/**/*.py"), *PROJECT.glob("public/**/*.js*")]
    assert [path for path in code if re.search(r"""["'](es|es-ES|Spanish)["']""", path.read_text())] == []


@pytest.mark.parametrize(
    ("tags", "language"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("DE-ch,en;q=0.8", "de"),
        ("en-GB", "en"),
        ("fr", "en"),
        ("fr, de;q=0.8", "de"),
        ("*", "en"),
        ("", "en"),
        (None, "en"),
    ],
)
def test_the_language_is_the_first_with_a_catalogue_that_the_browser_asks_for(tags: str | None, language: str) -> None:
    assert language_of(tags) == language
