"""Metrics and logs of served turns: what an operator gets, and that no patient is in it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from chat_app.agent.turn_queue import TurnQueue
from chat_app.errors import ConfigurationError
from chat_app.events import (
    AgentEvent,
    Notice,
    Outcome,
    ReferencesReady,
    RunItemStreamEvent,
    TextDelta,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.observability.app_metrics import AppMetrics
from chat_app.observability.log_format import JsonFormatter
from chat_app.observability.log_ids import LogIds
from chat_app.observability.metrics_port import metrics_served
from chat_app.observability.turn_watch import TurnWatch
from chat_app.settings import DiagnosticsSettings
from tests.support.api_server import Api, api, ask
from tests.support.engine import chained, clinic, passage, using
from tests.support.guarded_logs import guarded_logs
from tests.support.scripted_server import (
    ScriptedServer,
    ScriptedTurn,
    Status,
    WaitFor,
    calls_reply,
    text_reply,
)
from tests.support.services import free_port
from tests.support.waiting import until
from tools.function_tool import FunctionTool
from tools.types import Function, FunctionOutput, ToolResult

CANARY = "Quillfeather"
QUESTION = f"How much metformin for Mrs {CANARY}?"
SEARCH = "search_clinical_guidelines"
GUIDE = passage(text="Start metformin at 500 mg once daily with food.")
CALLS = (("call_1", SEARCH, json.dumps({"question": CANARY})), ("call_2", CANARY, "{}"))
TURN: list[ScriptedTurn] = [
    using(calls_reply(*CALLS, response_id="resp_1"), input_tokens_details={"cached_tokens": 4}),
    chained(text_reply("Start metformin at 500 mg once daily with food. [1] [9]", response_id="resp_2")),
]
logger = logging.getLogger("tests.tool")


def tool() -> FunctionTool:
    """A guideline search in a thread that logs what it does."""

    def search_clinical_guidelines(question: str) -> ToolResult:
        """Search the guidelines."""
        logger.info("searching")
        data = {"match": "strong", "passages": [{"cite": GUIDE.id, "text": GUIDE.text}]}
        return ToolResult(data=data, passages=(GUIDE,))

    return FunctionTool(search_clinical_guidelines)


@asynccontextmanager
async def watched(
    turns: list[ScriptedTurn], redis_url: str, folder: Path, *, queue: TurnQueue | None = None, **diagnostics: Any
) -> AsyncIterator[tuple[Api, str]]:
    """The API with metrics, and the address of these."""
    port = free_port()
    async with (
        ScriptedServer(turns, repeat=True) as server,
        clinic(server, redis_url, [tool()], queue=queue) as agent,
        api(agent, folder / "data", diagnostics={"metrics_port": port, **diagnostics}) as running,
    ):
        yield running, f"http://127.0.0.1:{port}/metrics"


def samples(exposition: str) -> dict[str, float]:
    """The samples by name and the values of their labels in alphabetical order, as Prometheus reads them."""
    return {
        " ".join((sample.name, *(sample.labels[name] for name in sorted(sample.labels)))): sample.value
        for family in text_string_to_metric_families(exposition)
        for sample in family.samples
    }


async def collected(url: str) -> str:
    async with httpx.AsyncClient(timeout=60) as prometheus:
        answer = await prometheus.get(url)
    assert answer.headers["content-type"].startswith("text/plain")
    return answer.text


async def test_a_turn_is_counted_with_its_tools_sources_and_tokens(redis_url: str, tmp_path: Path) -> None:
    async with watched(TURN, redis_url, tmp_path) as (running, url), running.client() as client:
        await ask(client, QUESTION)
        shown = await collected(url)
        found = samples(shown)
    assert found["asclepius_turns_total completed completed"] == 1
    assert found["asclepius_turn_seconds_count completed"] == 1
    assert found["asclepius_first_text_seconds_count"] == 1
    assert [found[f"asclepius_tokens_total {kind}"] for kind in ("input", "cached_input", "output")] == [20, 4, 10]
    assert found[f"asclepius_tool_calls_total ok {SEARCH}"] == 1
    assert found["asclepius_tool_calls_total other unknown"] == 1
    assert found[f"asclepius_tool_call_seconds_count {SEARCH}"] == 1
    assert found[f"asclepius_retrieved_passages_sum {SEARCH}"] == 1
    assert found["asclepius_retrieval_matches_total strong"] == 1
    assert found["asclepius_references_total"] == 1
    assert found["asclepius_citations_dropped_total"] == 1
    assert found["asclepius_http_responses_total 200"] >= 1
    assert found["asclepius_service_restarts milvus"] == 2
    assert found["asclepius_turns_active"] == found["asclepius_turns_waiting"] == found["asclepius_audit_failures"] == 0
    assert CANARY not in shown


async def test_questions_that_wait_for_others_are_counted(redis_url: str, tmp_path: Path) -> None:
    go_on = asyncio.Event()
    reply = text_reply("Take ", "with food.")

    async def counts(url: str) -> list[float]:
        found = samples(await collected(url))
        return [found[f"asclepius_turns_{state}"] for state in ("active", "waiting")]

    watching = watched([[*reply[:5], WaitFor(go_on), *reply[5:]]], redis_url, tmp_path, queue=TurnQueue(1))
    async with watching as (running, url), running.client() as client:
        asked = [asyncio.create_task(ask(client, QUESTION)) for _ in range(3)]
        async with asyncio.timeout(60):
            while await counts(url) != [3, 2]:
                await asyncio.sleep(0.05)
        go_on.set()
        await asyncio.gather(*asked)
        async with asyncio.timeout(60):
            while await counts(url) != [0, 0]:
                await asyncio.sleep(0.05)


async def test_metrics_with_a_token_are_for_its_owner_alone(redis_url: str, tmp_path: Path) -> None:
    async with (
        watched(TURN, redis_url, tmp_path, metrics_token="right") as (_, url),
        httpx.AsyncClient(timeout=60) as prometheus,
    ):
        answers = [
            await prometheus.get(url, headers={"authorization": f"Bearer {token}"}) for token in ("wrong", "right")
        ]
        answers.append(await prometheus.get(url))
    assert [answer.status_code for answer in answers] == [401, 200, 401]
    assert ["asclepius" in answer.text for answer in answers] == [False, True, False]


async def test_a_turn_that_fails_is_counted_by_the_code_of_its_outcome(redis_url: str, tmp_path: Path) -> None:
    refused = [Status(401, body={"error": {"message": CANARY}})]
    async with watched([refused], redis_url, tmp_path) as (running, url), running.client() as client:
        await ask(client, QUESTION)
        found = samples(await collected(url))
    assert found["asclepius_turns_total model_server_refused failed"] == 1
    assert "asclepius_first_text_seconds_count" in found
    assert found["asclepius_first_text_seconds_count"] == 0


async def test_the_lag_of_the_event_loop_is_measured(redis_url: str, tmp_path: Path) -> None:
    async with watched(TURN, redis_url, tmp_path) as (running, _):
        metrics = running.runtime.metrics
        assert metrics is not None

        def measured() -> bool:
            return samples(generate_latest(metrics.registry).decode())["asclepius_event_loop_lag_seconds_count"] > 0

        await until(measured, what="the lag")


async def test_a_taken_port_is_a_wrong_setting() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = DiagnosticsSettings(metrics_port=taken.getsockname()[1])
        with pytest.raises(ConfigurationError, match="ASCLEPIUS_METRICS_PORT"):
            async with metrics_served(AppMetrics(), settings):
                raise AssertionError("served on a port that is taken")


def a_turn(number: int) -> Iterator[AgentEvent]:
    """A turn in which all that may vary without bound does."""
    yield TurnStarted(conversation_id=f"conversation-{number}", turn_id=f"turn-{number}", model=f"model-{number}")
    yield Notice(code="new_conversation", message=f"{CANARY} {number}")
    call = Function(call_id=f"call-{number}", name=f"tool_{number}")
    for name, error in ((call.name, f"{CANARY} {number}"), (SEARCH, None)):
        output = FunctionOutput(name=name, input=call, error=error, output={"match": f"match-{number}"})
        yield RunItemStreamEvent(name="agent.tool_call_complete", item=ToolOutputRunItem(function_output=output))
    yield TextDelta(text=f"{CANARY} {number}")
    yield ReferencesReady(references=(), dropped=1)
    kind = "completed" if number % 2 else "failed"
    yield TurnEnded(outcome=Outcome(kind=kind, message=f"{CANARY} {number}"), answer=f"{CANARY} {number}")


def test_a_thousand_turns_make_no_more_series_than_two() -> None:
    metrics = AppMetrics()
    series: list[int] = []
    for number in range(1_000):
        watch = TurnWatch(LogIds(turn_id=str(number)), lambda: [SEARCH], metrics)
        for event in a_turn(number):
            watch(event)
        if number in {1, 999}:
            exposition = generate_latest(metrics.registry).decode()
            own = [line for line in exposition.splitlines() if line.startswith("asclepius_")]
            series.append(len(own))
    assert series[0] == series[1]
    assert samples(exposition)["asclepius_turns_total completed completed"] == 500
    assert CANARY not in exposition


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """All lines at every level, as JSON."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    with guarded_logs():
        yield lines
    root.removeHandler(handler)
    root.setLevel(level)


def lines_of(logged: io.StringIO, **members: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    return [line for line in lines if members.items() <= line.items()]


async def test_each_layer_logs_with_the_ids_of_the_turn(redis_url: str, tmp_path: Path, logged: io.StringIO) -> None:
    request_id = "0123456789abcdef"
    async with watched(TURN, redis_url, tmp_path, access_log=True) as (running, _), running.client() as client:
        client.headers["x-request-id"] = request_id
        read = await ask(client, QUESTION)
    started = read[0].data
    of_turn = lines_of(logged, turn_id=started["turn_id"])
    layers = {line["logger"] for line in of_turn}
    assert {"chat_app.observability.access_log", "chat_app.observability.turn_watch", "tests.tool", "httpx2"} <= layers
    assert {line["request_id"] for line in of_turn} == {request_id}
    told = [line for line in of_turn if line["logger"] in {"tests.tool", "httpx2", "chat_app.observability.turn_watch"}]
    assert {line.get("conversation_id") for line in told} == {started["conversation_id"]}
    end = lines_of(logged, turn_id=started["turn_id"], outcome="completed")
    assert [line["message"].split(":")[0] for line in end] == ["Turn ended"]
    assert CANARY not in logged.getvalue()


async def test_the_access_log_has_no_address_and_no_query(redis_url: str, tmp_path: Path, logged: io.StringIO) -> None:
    async with watched(TURN, redis_url, tmp_path, access_log=True) as (running, _), running.client() as client:
        assert (await client.get(f"/api/v1/{CANARY}?name={CANARY}")).status_code == 404
        answer = await client.get(f"/api/v1/status?name={CANARY}", headers={"x-request-id": CANARY})
    (missing,) = lines_of(logged, logger="chat_app.observability.access_log", route="/api/{path:path}")
    assert (missing["method"], missing["status"]) == ("GET", 404)
    (status,) = lines_of(logged, logger="chat_app.observability.access_log", route="/api/v1/status")
    assert status["request_id"] == answer.headers["x-request-id"] != CANARY
    own = [line for line in lines_of(logged) if line["logger"].startswith("chat_app")]
    assert CANARY not in json.dumps(own)


async def test_no_access_is_logged_unless_asked_for(redis_url: str, tmp_path: Path, logged: io.StringIO) -> None:
    async with watched(TURN, redis_url, tmp_path) as (running, _), running.client() as client:
        assert (await client.get("/healthz")).status_code == 200
    assert lines_of(logged, logger="chat_app.observability.access_log") == []
