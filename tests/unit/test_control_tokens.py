"""Special tokens of chat templates are no part of the text, however it is cut; what looks like them is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_app.generation.response_fold import ResponseFold
from chat_app.response_events import parse_event

TOOLS = {"search_drug_database": {"properties": {"drug_name": {"type": "string"}}}}


def read(text: str, size: int, *, tools: bool = True) -> str:
    """Return the text that ``text`` means when it arrives in pieces of ``size``."""
    fold = ResponseFold(TOOLS if tools else {})
    for at in range(0, len(text), size):
        fold.apply(parse_event({"type": "response.output_text.delta", "item_id": "m", "delta": text[at : at + size]}))
    fold.apply(parse_event({"type": "response.completed", "response": {"id": "r", "status": "completed"}}))
    return fold.text


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Give it.<|im_end|>", "Give it."),
        ("Give it.<|im_end|><|endoftext|></s></s>", "Give it."),
        ("Give <|begin_of_box|>5 mg<|end_of_box|> daily.", "Give 5 mg daily."),
        ("<|im_start|>assistant\nGive it.", "Give it."),
        ("<|im_start|>\n Give it.", "Give it."),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nGive it.<|eot_id|>", "Give it."),
        ("<|channel|>analysis<|message|>A.<|end|><|start|>assistant<|channel|>final<|message|>Give it.", "Give it."),
        ("Give.<|end|><|start|>assistant<|channel|>final<|message|> It.", "Give. It."),
        ("<think>A.</think>\n<answer>\nGive it.</answer>\n", "Give it."),
        ("<response>Give it.</response><eos>", "Give it."),
        ("<unused62>Give \ue200cite\ue202turn1view0\ue201it.", "Give it."),
        ("Give it.</parameter>[e~[", "Give it."),
        ("<|START_TEXT|>Give it.<|END_TEXT|><turn|>", "Give it."),
        ("Give it.<end_of_turn><\uff5cend\u2581of\u2581sentence\uff5c>", "Give it."),
        ("If eGFR <5 mg or K< 3 [1] [e", "If eGFR <5 mg or K< 3 [1] [e"),
        ("Write `<|im_end|>`, `<response>` and `</s>`", "Write `<|im_end|>`, `<response>` and `</s>`"),
        ("```\n<|im_start|>assistant\n</answer>", "```\n<|im_start|>assistant\n</answer>"),
        ("As XML: <answer>yes</answer>", "As XML: <answer>yes</answer>"),
        ("Give it.</s> So </response> on.", "Give it.</s> So </response> on."),
        ("Give <b>it</b>, <|x|> or <|a b|> <br>", "Give <b>it</b>, <|x|> or <|a b|> <br>"),
        ("Give it \ue200entity\ue202metformin\ue201", "Give it \ue200entity\ue202metformin\ue201"),
        ("  Give it. <", "  Give it. <"),
        ("  Give <|begin_of_box|>it.", "  Give it."),
    ],
)
def test_tokens_are_told_from_text(text: str, meant: str, size: int, tools: bool) -> None:
    assert read(text, size, tools=tools).rstrip() == meant


TOKENS = ["<|im_start|>", "assistant", "<|end|>", "</s>", "<answer>", "</answer>", "<unused1>", "[e~[", "\ue200cite"]
WORDS = ["A dose", "`", "<", "[", "|>", " ", "\n", "\ue201"]


@given(st.lists(st.sampled_from([*TOKENS, *WORDS]), max_size=9).map("".join), st.booleans())
def test_every_cut_of_a_text_gives_the_same_text(text: str, tools: bool) -> None:
    whole = read(text, len(text) + 1, tools=tools).rstrip()
    assert read(text, 1, tools=tools).rstrip() == read(text, 3, tools=tools).rstrip() == whole
