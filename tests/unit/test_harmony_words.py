"""Harmony's headers without their tokens: reasoning is not shown, calls are run, and prose stays as it is."""

from __future__ import annotations

import pytest

from chat_app.generation.folding.harmony_words import HarmonyWords
from chat_app.generation.response_fold import ResponseFold
from chat_app.response_events import parse_event
from tests.support.scripted_server import response_body

TOOLS = {"find_drug": {"properties": {"name": {"type": "string"}}}}
CALL = '{"name": "a"}'


def answer(text: str, size: int) -> tuple[str, list[tuple[str, str]], str]:
    """Return the text, the calls and the outcome of a message that arrives in pieces of ``size``."""
    fold = ResponseFold(TOOLS)
    for at in range(0, len(text), size):
        piece = {"type": "response.output_text.delta", "item_id": "m", "delta": text[at : at + size]}
        fold.apply(parse_event(piece))
    fold.apply(parse_event({"type": "response.completed", "response": response_body("r", "completed")}))
    return fold.text, [(call.name, call.arguments) for call in fold.calls], fold.outcome.kind


@pytest.mark.parametrize("size", [2, 3, 4, 5, 1000])
@pytest.mark.parametrize(
    "text",
    [
        f"commentary to=functions.find_drugjson{CALL}",
        f"assistantcommentary to=functions.find_drug json{CALL}",
        f"assistantcommentary to=functions.find_drug<|constrain|>json{CALL}",
        f"assistantcommentary to=find_drug code{CALL}",
        f"analysisThey ask.assistantcommentary to=functions.find_drug json{CALL}",
        f"analysisI call find_drug.commentary to=functions.find_drug json{CALL}",
        f" to=functions.find_drugcommentary json{CALL}",
        f"assistant to=functions.find_drugcommentary json{CALL}",
    ],
)
def test_a_call_without_tokens_is_run(text: str, size: int) -> None:
    assert answer(text, size) == ("", [("find_drug", CALL)], "completed")


@pytest.mark.parametrize("size", [2, 3, 4, 5, 1000])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("analysisThey ask.assistantfinalGive it.", "Give it."),
        ("analysisThey ask.assistantanalysisAnd more.assistantfinalGive it.", "Give it."),
        ("assistantfinalGive it.", "Give it."),
        ("commentaryLet me look.assistantfinalGive it.", "Let me look.Give it."),
        ("analysis shows that it helps.", "analysis shows that it helps."),
        ("analysis", "analysis"),
        ("assistants help.", "assistants help."),
        ("commentary to the guideline", "commentary to the guideline"),
        ("  Give it to the assistant.", "  Give it to the assistant."),
        ("Call `commentary to=functions.find_drug json{}` so.", "Call `commentary to=functions.find_drug json{}` so."),
    ],
)
def test_reasoning_without_tokens_is_not_shown_and_prose_is(text: str, shown: str, size: int) -> None:
    assert answer(text, size) == (shown, [], "completed")


def test_a_call_of_an_unknown_tool_is_a_failure() -> None:
    assert answer("commentary to=functions.other json{}", 4) == ("", [], "failed")


def test_text_without_headers_passes_at_once() -> None:
    words = HarmonyWords()
    assert (words.feed("a"), words.absent) == ("a", True)
