"""Harmony's headers without their tokens: reasoning is not shown, calls are run, and prose stays as it is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 1000])
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
        f"to=functions.find_drug {CALL}",
    ],
)
def test_a_call_without_tokens_is_run(text: str, size: int) -> None:
    assert answer(text, size) == ("", [("find_drug", CALL)], "completed")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 1000])
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
        ("Call `a to=functions.find_drug {}` so.", "Call `a to=functions.find_drug {}` so."),
        ("Give it `so`. The assistant to the commentary", "Give it `so`. The assistant to the commentary"),
    ],
)
def test_reasoning_without_tokens_is_not_shown_and_prose_is(text: str, shown: str, size: int) -> None:
    assert answer(text, size) == (shown, [], "completed")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 1000])
@pytest.mark.parametrize(
    "said", ["Let me look.", "Let me `look`. ", "Let me look:\n", "Eine Gabe genügt nicht (5 mg) "]
)
@pytest.mark.parametrize(
    "header",
    [
        "commentary to=functions.find_drug json",
        "commentary to=find_drug ",
        "assistantcommentary to=functions.find_drug<|constrain|>json",
        "assistant to=functions.find_drugcommentary json",
        "to=functions.find_drug ",
    ],
)
def test_a_call_behind_prose_is_run(said: str, header: str, size: int) -> None:
    shown, calls, outcome = answer(f"{said}{header}{CALL}", size)
    assert (shown.strip(), calls, outcome) == (said.strip(), [("find_drug", CALL)], "completed")


FRAGMENTS = [
    *(
        "analysis",
        "assistant",
        "commentary",
        "final",
        " to=",
        "to=",
        "functions.",
        "find_drug",
        " json",
        CALL,
        "They",
        "X",
    ),
    *(" ", "\n", ".", "`", "```", "a", "as", " the", "<|channel|>", "<|message|>", "assistantfinal", "tothe", "c"),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=9).map("".join), st.lists(st.integers(0, 60), max_size=9))
def test_every_cut_of_a_text_gives_the_same_tokens(text: str, places: list[int]) -> None:
    cuts = sorted({0, len(text), *(place for place in places if place < len(text))})
    words = HarmonyWords()
    restored = [words.feed(text[start:end]) for start, end in itertools.pairwise(cuts)]
    assert "".join(restored) + words.feed("", ended=True) == HarmonyWords().feed(text, ended=True)


def test_a_call_in_the_reasoning_is_run() -> None:
    fold = ResponseFold(TOOLS)
    thought = f"They ask.assistantcommentary to=functions.find_drug json{CALL}"
    fold.apply(parse_event({"type": "response.reasoning_text.delta", "delta": thought}))
    fold.apply(parse_event({"type": "response.completed", "response": response_body("r", "completed")}))
    assert [call.arguments for call in fold.calls] == [CALL]


def test_a_call_of_an_unknown_tool_is_a_failure() -> None:
    assert answer("commentary to=functions.other json{}", 4) == ("", [], "failed")


def test_words_of_prose_pass_at_once() -> None:
    words = HarmonyWords()
    assert [words.feed(word) for word in ("Give", " it", " to", "day", " patient", "as")] == [
        *("Give", " it", " ", "today", " patient", "as")
    ]
