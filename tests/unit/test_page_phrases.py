"""The server's own phrases in the reader's language: every sentence that reaches the page is there in German."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from chat_app.agent import asclepius_agent, chat_manager, citation_manager, response_manager, runner
from chat_app.generation import outcomes
from chat_app.interface import runtime
from chat_app.interface.conversation import page_options
from chat_app.interface.i18n.german import GERMAN
from chat_app.interface.i18n.translation import language_of, say, translated
from chat_app.interface.page import page, question_events, socket_handlers
from chat_app.interface.rendering import tool_steps
from chat_app.interface.rendering.tool_steps import finished_name, progress_name
from chat_app.interface.turns import live_turns
from tools.search_presentation import GUIDELINE_SEARCH, passage_count
from tools.types import Function, FunctionOutput, Phrase, ToolPresentation

PROJECT = Path(__file__).resolve().parents[2]
SENTENCES = [
    asclepius_agent.ONLY_EXTRACTS.message,
    chat_manager.NOT_SAVED.message,
    chat_manager.NEW_CONVERSATION.message,
    citation_manager.DROPPED.message,
    runner.REPLAYED.message,
    runner.REPLAYING.message,
    response_manager.CRASHED.message,
    outcomes.STOPPED.message,
    outcomes.STEP_LIMIT.message,
    outcomes.NO_ANSWER.message,
    outcomes.NO_TERMINAL_EVENT.message,
    outcomes.error_outcome(None).message,
    outcomes.error_outcome("server_error").message,
    live_turns.STOPPED.message,
    live_turns.ABANDONED.message,
    live_turns.SHUT_DOWN.message,
    live_turns.BROKEN.message,
    question_events.BUSY,
    question_events.NOT_KNOWN,
    page.UNSAVED,
    page.SIGNED_OUT,
    page.INTERRUPTED.message,
    socket_handlers.EDIT_FAILED,
    runtime.STARTING,
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_of_the_app_is_there_in_german(sentence: str) -> None:
    assert translated("de", sentence) != sentence
    assert translated("en", sentence) == sentence


@pytest.mark.parametrize("module", [page_options, tool_steps])
def test_every_phrase_that_a_module_says_is_there_in_german(module: object) -> None:
    said = set()
    for node in ast.walk(ast.parse(Path(str(getattr(module, "__file__"))).read_text())):  # noqa: B009 - of a module
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in _SAYING:
            said |= {a.value for a in node.args if isinstance(a, ast.Constant) and str(a.value)[:1].isupper()}
    assert len(said) > 8
    assert said - GERMAN.keys() == set()


_SAYING = {"say", "_said", "switch", "select", "several"}


def test_a_translation_has_the_places_of_its_phrase() -> None:
    for english, german in GERMAN.items():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", german)), english


@pytest.mark.parametrize(
    ("sentence", "german"),
    [
        (
            "The model server is busy and asks to wait. Ask again in 2 minutes.",
            "Der Modellserver ist ausgelastet und bittet zu warten. Fragen Sie wieder in 2 Minuten.",
        ),
        (
            "At most 3 models can be asked at once. Ask fewer.",
            "Zugleich lassen sich höchstens 3 Modelle fragen. Wählen Sie weniger.",
        ),
        (
            "What answers at OPENAI_BASE_URL is not a Responses server (it sent text/html). Check the address.",
            "Was unter OPENAI_BASE_URL antwortet, ist kein Responses-Server (es sandte text/html). Prüfen Sie die Adresse.",
        ),
        (
            "The message holds half a character (a lone surrogate). Type that character again.",
            "Die Nachricht enthält ein halbes Zeichen. Geben Sie dieses Zeichen noch einmal ein.",
        ),
        ("Starting the app's services…", "Die Dienste der Anwendung starten…"),
        ("Guidelines: reading asthma.pdf", "Leitlinien: wird gelesen, asthma.pdf"),
        ("A sentence that nobody wrote here.", "A sentence that nobody wrote here."),
    ],
)
def test_what_was_filled_in_stays_and_what_is_not_known_is_left_as_it_is(sentence: str, german: str) -> None:
    assert translated("de", sentence) == german


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("answerable", [True, False])
def test_a_tools_own_phrases_are_shown_in_german(count: int, answerable: bool) -> None:
    call = Function(call_id="c", name="search_clinical_guidelines", arguments='{"question": "HER2"}')
    phrase = passage_count(count, answerable=answerable)
    output = FunctionOutput(name=call.name, input=call, summary=str(phrase), summary_phrase=phrase, duration_ms=3)
    found = {0: "keine Textstelle", 1: "1 Textstelle", 5: "5 Textstellen"}[count]
    unclear = "" if answerable else ", keine klare Antwort"
    assert finished_name(output, GUIDELINE_SEARCH, "de") == f"Leitlinien: HER2 · {found}{unclear} · 3 ms"


def test_a_custom_tool_brings_its_own_translations() -> None:
    tool = ToolPresentation(title="Doses", translations={"de": {"Doses": "Dosen", "{mg} mg": "{mg} Milligramm"}})
    call = Function(call_id="c", name="doses")
    output = FunctionOutput(
        name="doses", input=call, summary="5 mg", summary_phrase=Phrase(text="{mg} mg", values={"mg": 5})
    )
    assert finished_name(output, tool, "de") == "Dosen · 5 Milligramm · 0 ms"
    assert finished_name(output, tool, "en") == "Doses · 5 mg · 0 ms"
    assert progress_name(call, "Doses", tool, "de") == "Dosen · Dosen"


def test_a_value_is_never_taken_for_a_place() -> None:
    assert say("de", "page {label}", label="{label}") == "Seite {label}"
    assert say("en", "page {label}", label="xii") == "page xii"
    assert say("en", "page {label}") == "page {label}"


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("DE-ch,en;q=0.8", "de"),
        ("en-GB", "en"),
        ("fr", "en"),
        ("", "en"),
        (None, "en"),
    ],
)
def test_the_language_is_that_which_the_browser_asks_for_first(tag: str | None, language: str) -> None:
    assert language_of(tag) == language
