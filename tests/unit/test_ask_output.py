"""What ``asclepius ask`` prints while an answer comes."""

from __future__ import annotations

import json

import pytest

from chat_app.cli.ask_output import JsonLines, Plain, Sections
from chat_app.events import AgentEvent, CitationAdded, Outcome, TextDelta, TextReplaced, TurnEnded, TurnStarted
from tools.types import Passage

PASSAGE = Passage(id="p1", kind="guideline", document_id="d", title="Asthma", text="Do not give it.")
CORRECTED: list[AgentEvent] = [
    TurnStarted(conversation_id="session_x", turn_id="t", model="m"),
    TextDelta(text="Give it"),
    TextReplaced(),
    TextDelta(text="Do not give it."),
    CitationAdded(number=1, passage=PASSAGE),
    TurnEnded(outcome=Outcome(), answer="Do not give it."),
]


@pytest.mark.parametrize("printer", [Plain, lambda: Sections(["m"])], ids=["one model", "several"])
def test_a_corrected_text_is_printed_again_below_a_line_that_says_so(
    printer: type[Plain], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = printer()
    for event in CORRECTED:
        shown.show("m", event)
    before, notice, after = capsys.readouterr().out.partition("[The model server corrected its text.")
    assert notice
    assert before.split("\n")[-3:] == ["Give it", "", ""]
    assert after.strip() == "The answer from its beginning:]\n\nDo not give it.[1]"


def test_each_event_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    lines = JsonLines(compared=False)
    for event in CORRECTED:
        lines.show("m", event)
    printed = [json.loads(line)["type"] for line in capsys.readouterr().out.splitlines()]
    assert printed == ["turn_started", "text_delta", "text_replaced", "text_delta", "citation", "turn_ended"]
