"""Streams of servers that deviate from the protocol, rebuilt from their issues: the text arrives whole and once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chat_app.generation.response_fold import ResponseFold
from chat_app.generation.updates import TextUpdate, ToolCallReady, Update
from chat_app.response_events import parse_event

STREAMS = Path(__file__).resolve().parents[1] / "fixtures" / "streams"
TEXT = "Give metformin 500 mg."
CALLS = {"vllm_other_call_id": ["call_1"], "two_equal_calls": ["call_1", "call_2"]}


def recorded(name: str) -> list[dict[str, Any]]:
    """Return the events of a stream; its first line names the source."""
    source, *events = map(json.loads, (STREAMS / f"{name}.jsonl").read_text("utf-8").splitlines())
    assert source["source"]
    return events


def folded(name: str) -> tuple[list[Update], ResponseFold]:
    fold = ResponseFold()
    return [update for body in recorded(name) for update in fold.apply(parse_event(body))], fold


@pytest.mark.parametrize("name", sorted(path.stem for path in STREAMS.glob("*.jsonl") if path.stem not in CALLS))
def test_the_text_arrives_once(name: str) -> None:
    updates, fold = folded(name)
    assert "".join(update.text for update in updates if isinstance(update, TextUpdate)) == fold.text == TEXT
    assert fold.outcome.kind == "completed"


@pytest.mark.parametrize("name", ["litellm_gemini", "litellm_anthropic", "copilot_proxy", "deltas_without_item_id"])
def test_one_message_stays_one_message(name: str) -> None:
    updates, _ = folded(name)
    assert len({update.item_id for update in updates if isinstance(update, TextUpdate)}) == 1


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_ready_once(name: str) -> None:
    updates, fold = folded(name)
    assert [update.item.call_id for update in updates if isinstance(update, ToolCallReady)] == CALLS[name]
    assert [call.call_id for call in fold.calls] == CALLS[name]
