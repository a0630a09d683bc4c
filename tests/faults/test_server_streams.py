"""Streams of many servers, as seen or rebuilt from their threads: each word once, each call once, one outcome.

The first line of a file is a comment: its source, the text and the number of calls that the stream means, and how it
ends. Each stream passes through the engine, the HTTP API's event stream and the page's renderer.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chat_app.answer_options import ConsultOptions
from chat_app.events import AgentEvent
from chat_app.interface.api.turn_stream import event_stream
from chat_app.interface.rendering.chainlit_renderer import TurnRenderer
from chat_app.interface.rendering.turn_steps import TurnIds
from chat_app.interface.turns.asked_questions import AskedQuestion
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.turn_log import Cursor
from tests.support.engine import chained, clinic, ended
from tests.support.scripted_server import Raw, ScriptedServer, ScriptedTurn, Turn, text_reply
from tools.function_tool import FunctionTool

STREAMS = sorted((Path(__file__).resolve().parents[1] / "fixtures" / "streams").glob("*.sse"))
SOURCE = re.compile(
    r"[\w.-]+/[\w.-]+#\d+|rebuilt from [\w.-]+/[\w.-]+|^(specification|Azure OpenAI documentation|made up): |^seen at "
)
"""A thread, a parser's code, a specification, a server's version, or that there is none."""


def expected(stream: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stream.read_bytes().partition(b"\n")[0].removeprefix(b": "))
    return found


async def kept(events: AsyncIterator[AgentEvent], into: list[AgentEvent]) -> AsyncIterator[AgentEvent]:
    async for event in events:
        into.append(event)
        yield event


async def text_of_the_api(turn: LiveTurn) -> tuple[str, int]:
    """Return the text that a client of the HTTP API puts together, and the number of outcomes it is told."""
    body = event_stream(AskedQuestion("a", {"m": turn}), {"m": Cursor()}).body_iterator
    sent = "".join([part if isinstance(part, str) else bytes(part).decode() async for part in body])
    text, outcomes = "", 0
    for data in re.findall(r"^data: (.*)$", sent, re.MULTILINE):
        event = json.loads(data)
        if event["type"] == "text_replaced":
            text = ""
        elif event["type"] == "text_delta":
            text += event["text"]
        outcomes += event["type"] == "turn_ended"
    return text, outcomes


def page_of(events: list[AgentEvent]) -> tuple[str, list[str], int]:
    """Return what a browser has in the end: the answer's text, its outcomes, and the number of its drug searches."""
    renderer = TurnRenderer(TurnIds("turn", "thread", "run", datetime.now(UTC)))
    steps: dict[str, dict[str, Any]] = {}
    for event in events:
        for kind, payload in renderer.render([event]):
            if kind == "stream_token":
                steps[payload["id"]]["output"] += payload["token"]
            elif kind == "delete_message":
                steps.pop(payload["id"], None)
            elif "output" in payload:
                steps[payload["id"]] = dict(payload)
    answers = [step for step in steps.values() if step["type"] == "assistant_message"]
    outcomes = [step["metadata"]["outcome"]["kind"] for step in answers if "outcome" in step["metadata"]]
    searches = [step for step in steps.values() if step["type"] == "tool" and step["name"].startswith("Search drug")]
    return "".join(step["output"] for step in answers), outcomes, len(searches)


@pytest.mark.parametrize("chaining", [False, True])
@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
async def test_every_server_gives_the_same_answer_everywhere(stream: Path, chaining: bool, redis_url: str) -> None:
    """Row 8 and 54."""
    meant = expected(stream)
    asked: list[str] = []

    async def search_drug_database(drug_name: str) -> str:
        """Look a drug up."""
        asked.append(drug_name)
        return drug_name

    events: list[AgentEvent] = []
    turn = LiveTurn(owner="a", thread_id="t", question_id="q")
    turns: list[ScriptedTurn] = [Turn([Raw(stream.read_bytes())]), chained(text_reply("Done.", response_id="resp_2"))]
    async with (
        ScriptedServer(turns) as server,
        clinic(server, redis_url, [FunctionTool(search_drug_database)], chaining=chaining) as agent,
    ):
        await turn.run(kept(agent.consult("How much metformin?", ConsultOptions(user_id="a")), events))
    answer = "\n\n".join(filter(None, [meant["text"], "Done." if meant["calls"] else ""]))
    end = ended(events)
    assert (end.answer, end.outcome.kind) == (answer, meant["outcome"])
    assert len(asked) == len(set(asked)) + (stream.stem == "two_equal_calls") == meant["calls"]
    assert await text_of_the_api(turn) == (answer, 1)
    text, outcomes, searches = page_of(events)
    assert (text.replace("&lt;", "<").replace("\\", ""), outcomes) == (answer, [meant["outcome"]])
    assert searches == meant["calls"]


def test_the_library_names_its_sources() -> None:
    sources = [str(expected(stream)["source"]) for stream in STREAMS]
    assert all(SOURCE.search(source) for source in sources)
    assert sum(not source.startswith("made up: ") for source in sources) >= 150
