"""Reasoning that a model wrote into its text, however the text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_app.generation.folding.thoughts import Thoughts


def read(text: str, size: int) -> tuple[str, str]:
    """Return the text and the reasoning that ``text`` means when it arrives in pieces of ``size``."""
    thoughts, said, thought = Thoughts(), "", ""
    found = [thoughts.feed(text[at : at + size]) for at in range(0, len(text), size)]
    for piece in [*found, thoughts.feed("", ended=True)]:
        if piece.only_thought:
            said, thought = "", said
        said, thought = said + piece.text, thought + piece.thought
    return said, thought


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Give it.", ("Give it.", "")),
        ("<think>A dose.</think>\n\nGive it.", ("Give it.", "A dose.")),
        ("\n<think>\nIs eGFR < 30?</think>Give it.", ("Give it.", "\nIs eGFR < 30?")),
        ("A dose.\n</think>\n\nGive it.", ("Give it.", "A dose.\n")),
        ("<think>A dose.", ("", "A dose.")),
        ("<thin", ("<thin", "")),
        ("If eGFR < 30 </thi", ("If eGFR < 30 </thi", "")),
        ("  Give <b>it</b>.", ("  Give <b>it</b>.", "")),
        ("Write `<think>` and `</think>`. Give it.", ("Write `<think>` and `</think>`. Give it.", "")),
        ("Give it.\n```\n</think>\n```\nSo.", ("Give it.\n```\n</think>\n```\nSo.", "")),
        ("A dose.</think>Give it. </think> So.", ("Give it. </think> So.", "A dose.")),
        ("<thinking>A dose.</thinking> Give it.", ("Give it.", "A dose.")),
        ("[THINK]A dose.[/THINK]Give it [1].", ("Give it [1].", "A dose.")),
        ("<|START_THINKING|>A dose.<|END_THINKING|>Give it.", ("Give it.", "A dose.")),
        ("<|channel>thought\nA dose.<channel|>Give it.", ("Give it.", "\nA dose.")),
        ("\u25c1think\u25b7A dose.\u25c1/think\u25b7Give it.", ("Give it.", "A dose.")),
        ("A dose.<channel|>Give it.", ("Give it.", "A dose.")),
        ("<think>A.</think>\n<think>B.</think>\nGive it.", ("Give it.", "A.B.")),
        ("<think>A.</think>Give it.\n<think>B.</think>\nSo.", ("Give it.\nSo.", "A.B.")),
        ("<think>A.</think>Write `<think>`.", ("Write `<think>`.", "A.")),
        (
            "<|channel|>analysis<|message|>A.<|end|>Give it.\n<|channel|>analysis<|message|>B.<|end|>So.",
            ("Give it.\nSo.", "A.B."),
        ),
        ("Give <think>A.</think>it.", ("Give it.", "A.")),
        ("Give<think>A.</think> it.", ("Give it.", "A.")),
        ("Give it.\n<|start|>assistant<|channel|>analysis<|message|>A.<|end|>So.", ("Give it.\nSo.", "A.")),
        ("A.</think>Give <think>B.</think>it.", ("Give it.", "A.B.")),
        ("Give `<think>` and <think>A.</think>it.", ("Give `<think>` and it.", "A.")),
        ("Write `<think>", ("Write `<think>", "")),
        ("Give <think>it and</thinking> more.", ("more.", "Give <think>it and")),
        ("Give <thinking>it</thing>.", ("Give <thinking>it</thing>.", "")),
    ],
)
def test_reasoning_is_told_from_text(text: str, meant: tuple[str, str], size: int) -> None:
    assert read(text, size) == meant


TAGS = ["<think>", "</think>", "<thinking>", "</thinking>", "[THINK]", "[/THINK]", "<|channel>thought", "<channel|>"]
TOKENS = ["<|start|>assistant", "<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|end|>"]
WORDS = ["A dose", "`", "<", "[", " ", "\n"]


@given(st.lists(st.sampled_from([*TAGS, *TOKENS, *WORDS]), max_size=9).map("".join))
def test_every_cut_of_a_text_gives_the_same_text_and_reasoning(text: str) -> None:
    assert read(text, 1) == read(text, 3) == read(text, len(text) + 1)
