"""Reasoning that a model wrote into its text, however the text is cut."""

from __future__ import annotations

import pytest

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
    ],
)
def test_reasoning_is_told_from_text(text: str, meant: tuple[str, str], size: int) -> None:
    assert read(text, size) == meant
