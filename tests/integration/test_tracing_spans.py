"""Spans and timings of turns, read off real turns against a model server on a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from threading import Thread
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from chat_app.answer_options import ConsultOptions
from chat_app.events import (
    AgentEvent,
    LLMResponseItem,
    Notice,
    Outcome,
    RunItemStreamEvent,
    TextDelta,
    ToolCallRunItem,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing import TurnRecorder, turn_recorder
from chat_app.tracing.timings import TurnClock
from tests.support.engine import chained, clinic, consult, guideline_tool, question, runner
from tests.support.scripted_server import (
    Event,
    ScriptedServer,
    ScriptedTurn,
    Status,
    WaitFor,
    calls_reply,
    response_body,
    text_reply,
)
from tools.function_tool import FunctionTool
from tools.types import Function, FunctionOutput

TOOL = "search_clinical_guidelines"
ASK = ("call_1", TOOL, '{"question": "metformin"}')


@dataclass
class Telescope:
    """What was recorded."""

    recorder: TurnRecorder
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """The spans by name; two of one name are a failure of the test."""
        finished = self.exporter.get_finished_spans()
        by_name = {span.name: span for span in finished}
        assert len(by_name) == len(finished), [span.name for span in finished]
        return by_name

    def points(self, metric: str) -> list[HistogramDataPoint]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
            if isinstance(point, HistogramDataPoint)
        ]


def telescope(*, keep_text: bool = False, tool_names: Sequence[str] = (TOOL,)) -> Telescope:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    recorder = turn_recorder(
        DiagnosticsSettings(otel=True, trace_text=keep_text),
        tool_names=tool_names,
        tracer_provider=tracers,
        meter_provider=MeterProvider([reader]),
    )
    return Telescope(recorder, exporter, reader)


async def observed(
    scope: Telescope, server: ScriptedServer, redis_url: str, *tools: FunctionTool, **how: Any
) -> list[AgentEvent]:
    async with clinic(server, redis_url, tools or [guideline_tool()], max_retries=1) as agent:
        events = agent.consult("How much metformin?", ConsultOptions(**how))
        return [event async for event in scope.recorder.observe(events)]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def parent(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def begin_and_end(span: ReadableSpan) -> tuple[int, int]:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time, span.end_time


async def test_a_turn_is_an_agent_span_with_its_responses_and_tools_below(redis_url: str) -> None:
    scope = telescope()
    turns: list[ScriptedTurn] = [calls_reply(ASK), chained(text_reply("Start ", "low.", response_id="resp_2"))]
    async with ScriptedServer(turns) as server:
        await observed(scope, server, redis_url)

    finished = scope.exporter.get_finished_spans()
    [root] = [span for span in finished if span.name == "invoke_agent Asclepius"]
    [tool] = [span for span in finished if span.name == f"execute_tool {TOOL}"]
    first, second = sorted((span for span in finished if span.name == "chat scripted"), key=begin_and_end)
    assert len(finished) == 4
    assert root.kind is SpanKind.INTERNAL
    assert first.kind is SpanKind.CLIENT
    assert {parent(span) for span in (first, second, tool)} == {root.get_span_context().span_id}
    assert parent(root) is None

    shown = attributes(root)
    assert shown["gen_ai.operation.name"] == "invoke_agent"
    assert shown["gen_ai.agent.name"] == "Asclepius"
    assert shown["gen_ai.provider.name"] == "openai"
    assert shown["gen_ai.request.model"] == "scripted"
    assert shown["gen_ai.conversation.id"].startswith("session_")
    assert (shown["gen_ai.usage.input_tokens"], shown["gen_ai.usage.output_tokens"]) == (20, 10)
    assert shown["asclepius.outcome.kind"] == "completed"
    assert "error.type" not in shown

    assert attributes(first)["gen_ai.response.id"] == "resp_1"
    assert attributes(first)["gen_ai.usage.output_tokens"] == 5
    assert attributes(first)["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert attributes(second)["gen_ai.response.id"] == "resp_2"
    assert attributes(second)["gen_ai.response.finish_reasons"] == ("stop",)
    assert attributes(second)["gen_ai.usage.input_tokens"] == 10
    assert attributes(second)["gen_ai.response.model"] == "scripted"
    assert attributes(second)["gen_ai.response.time_to_first_chunk"] > 0
    assert attributes(tool)["gen_ai.operation.name"] == "execute_tool"
    assert attributes(tool)["gen_ai.tool.call.id"] == "call_1"
    assert attributes(tool)["gen_ai.tool.type"] == "function"

    in_time = [begin_and_end(span) for span in (first, second)]
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(in_time))
    assert begin_and_end(root)[0] <= in_time[0][0]
    assert in_time[1][1] <= begin_and_end(root)[1]
    assert begin_and_end(first)[0] <= begin_and_end(tool)[0] <= begin_and_end(tool)[1] <= in_time[1][0]


async def test_how_long_the_phases_took_stands_on_the_turn(redis_url: str) -> None:
    scope = telescope()

    async def search_clinical_guidelines(question: str) -> str:
        """Search the guidelines."""
        return question

    async with ScriptedServer([calls_reply(ASK), chained(text_reply("Low.", response_id="resp_2"))]) as server:
        await observed(scope, server, redis_url, FunctionTool(search_clinical_guidelines))
    [root] = [s for s in scope.exporter.get_finished_spans() if s.name.startswith("invoke_agent")]
    shown = attributes(root)
    assert 0 < shown["asclepius.time_in_tools"] < shown["asclepius.duration"]
    first_event, first_text = shown["asclepius.time_to_first_event"], shown["asclepius.time_to_first_text"]
    assert 0 < first_event <= first_text <= shown["asclepius.duration"]

    (chats,) = scope.points("gen_ai.client.operation.duration")
    assert chats.count == 2
    (turn,) = scope.points("gen_ai.invoke_agent.duration")
    assert turn.sum == pytest.approx(shown["asclepius.duration"])
    assert (turn.attributes or {})["gen_ai.agent.name"] == "Asclepius"
    (call,) = scope.points("gen_ai.execute_tool.duration")
    assert (call.count, (call.attributes or {})["gen_ai.tool.name"]) == (1, TOOL)
    assert scope.points("gen_ai.client.operation.time_to_first_chunk")[0].count == 2
    tokens = {
        point.attributes["gen_ai.token.type"]: point.sum  # type: ignore[index]
        for point in scope.points("gen_ai.client.token.usage")
    }
    assert tokens == {"input": 20, "output": 10}


async def test_observing_changes_no_event(redis_url: str) -> None:
    turns: list[ScriptedTurn] = [calls_reply(ASK), chained(text_reply("Start ", "low.", response_id="resp_2"))]
    async with ScriptedServer(turns * 2) as server, clinic(server, redis_url, [guideline_tool()]) as agent:
        seen: list[AgentEvent] = []

        async def kept(events: AsyncGenerator[AgentEvent, None]) -> AsyncGenerator[AgentEvent, None]:
            async for event in events:
                seen.append(event)
                yield event

        passed_on = [event async for event in telescope().recorder.observe(kept(agent.consult("How much?")))]
        assert all(one is other for one, other in zip(passed_on, seen, strict=True))
        unobserved = await consult(agent, "How much?")
    assert [event.type for event in passed_on] == [event.type for event in unobserved]


@pytest.mark.parametrize(
    ("turns", "error", "finish"),
    [
        ([[Status(401)]], "failed", "error"),
        ([text_reply("Do not ", "give")[:5]], "truncated", "truncated"),
        ([text_reply("Long", terminal="failed")], "failed", "error"),
    ],
    ids=["refused key", "cut off", "failed"],
)
async def test_a_turn_that_fails_is_an_error_of_its_kind(
    redis_url: str, turns: list[ScriptedTurn], error: str, finish: str
) -> None:
    scope = telescope()
    async with ScriptedServer(turns) as server:
        await observed(scope, server, redis_url)
    for name in ("invoke_agent Asclepius", "chat scripted"):
        span = scope.spans[name]
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description is None
        assert attributes(span)["error.type"] == error
        assert not span.events
    assert attributes(scope.spans["chat scripted"])["gen_ai.response.finish_reasons"] == (finish,)


async def test_an_answer_that_reaches_its_length_limit_is_no_error(redis_url: str) -> None:
    scope = telescope()
    limit = response_body("resp_1", "incomplete", incomplete_details={"reason": "max_output_tokens"})
    steps = [*text_reply("Long")[:-1], Event({"type": "response.incomplete", "sequence_number": 8, "response": limit})]
    async with ScriptedServer([steps]) as server:
        await observed(scope, server, redis_url)
    assert scope.spans["invoke_agent Asclepius"].status.status_code is StatusCode.UNSET
    assert attributes(scope.spans["invoke_agent Asclepius"])["asclepius.outcome.reason"] == "max_output_tokens"
    assert attributes(scope.spans["chat scripted"])["gen_ai.response.finish_reasons"] == ("length",)


async def test_a_wait_for_the_server_is_noted_on_the_response_that_waits(redis_url: str) -> None:
    scope = telescope()
    busy = [Status(429, headers={"Retry-After": "0"})]
    async with ScriptedServer([busy, text_reply("Yes.")]) as server:
        await observed(scope, server, redis_url)
    [noted] = scope.spans["chat scripted"].events
    assert dict(noted.attributes or {}) == {"asclepius.notice.code": "waiting_for_provider"}


async def test_stop_ends_the_spans_and_closes_the_turn_below(redis_url: str) -> None:
    """Row 15: the upstream connection is closed although the turn is observed."""
    scope = telescope()
    turns: list[ScriptedTurn] = [[*text_reply("Do not ", "give it.")[:5], WaitFor(asyncio.Event())]]
    async with ScriptedServer(turns) as server, clinic(server, redis_url) as agent:
        events = scope.recorder.observe(agent.consult("How much?"))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        async with asyncio.timeout(60):
            await (await server.request()).left.wait()
    root = scope.spans["invoke_agent Asclepius"]
    assert attributes(root)["asclepius.outcome.reason"] == "stopped"
    assert root.status.status_code is StatusCode.UNSET
    assert scope.spans["chat scripted"].end_time is not None


async def test_a_failing_tool_and_one_that_does_not_exist_are_errors_without_words(redis_url: str) -> None:
    scope = telescope()

    async def search_clinical_guidelines(question: str) -> str:
        """Search the guidelines."""
        raise ValueError(question)

    turns: list[ScriptedTurn] = [
        calls_reply(ASK, ("call_2", "Quillfeather", "{}")),
        chained(text_reply("Sorry.", response_id="resp_2")),
    ]
    async with ScriptedServer(turns) as server:
        await observed(scope, server, redis_url, FunctionTool(search_clinical_guidelines))
    tools = {s.name: s for s in scope.exporter.get_finished_spans() if s.name.startswith("execute_tool")}
    assert set(tools) == {f"execute_tool {TOOL}", "execute_tool unknown"}
    assert {attributes(span)["error.type"] for span in tools.values()} == {"tool_error"}


async def test_closing_what_is_observed_closes_what_is_below_at_once() -> None:
    closed: list[str] = []

    async def events() -> AsyncGenerator[AgentEvent, None]:
        try:
            yield TextDelta(text="x")
            yield TextDelta(text="y")
        finally:
            closed.append("below")

    below = events()
    above = telescope().recorder.observe(below)
    await anext(above)
    await above.aclose()
    assert closed == ["below"]


async def test_words_held_back_until_the_end_belong_to_the_response_that_said_them(redis_url: str) -> None:
    """A bracket may be the begin of a citation: it is shown only when the response has ended."""
    scope = telescope()
    async with ScriptedServer([text_reply("See table ", "[1")]) as server:
        events = await observed(scope, server, redis_url)
    after = [event.type for event in events[[e.type for e in events].index("run_item_stream_event") :]]
    assert "text_delta" in after
    assert set(scope.spans) == {"invoke_agent Asclepius", "chat scripted"}


async def test_words_between_a_responses_end_and_its_steps_end_begin_no_other_response() -> None:
    scope = telescope()
    said = LLMResponseItem(step=1, response_id="resp_1", text="x")

    async def events() -> AsyncGenerator[AgentEvent, None]:
        yield TextDelta(text="x")
        yield RunItemStreamEvent(name="agent.llm_response", item=said)
        yield TextDelta(text="[")
        yield TurnEnded(outcome=Outcome(), answer="x[")

    async for _ in scope.recorder.observe(events()):
        pass
    assert set(scope.spans) == {"invoke_agent Asclepius", "chat"}


async def test_a_tool_that_still_runs_when_the_reader_leaves_is_cancelled_in_its_span(redis_url: str) -> None:
    scope = telescope()

    async def search_clinical_guidelines(question: str) -> str:
        """Search the guidelines."""
        await asyncio.Event().wait()
        return question

    tools = [FunctionTool(search_clinical_guidelines)]
    async with ScriptedServer([calls_reply(ASK)]) as server, clinic(server, redis_url, tools) as agent:
        events = scope.recorder.observe(agent.consult("How much?"))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, RunItemStreamEvent) and event.name == "agent.tool_call_start":
                    break
    assert attributes(scope.spans[f"execute_tool {TOOL}"])["error.type"] == "cancelled"
    assert attributes(scope.spans["invoke_agent Asclepius"])["asclepius.outcome.reason"] == "stopped"


async def test_the_servers_own_file_search_is_a_tool_of_kind_datastore() -> None:
    scope = telescope()
    search: dict[str, Any] = {
        "type": "file_search_call",
        "id": "fs_1",
        "status": "completed",
        "queries": ["x"],
        "results": [{"file_id": "file_1", "filename": "a.pdf", "text": "t", "score": 0.5}],
    }
    bodies = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**search, "results": None}},
        {"type": "response.output_item.done", "output_index": 0, "item": search},
    ]
    steps = [
        *map(Event, bodies),
        Event({"type": "response.completed", "response": response_body("resp_1", "completed", [search])}),
    ]
    async with ScriptedServer([steps]) as server:
        async for _ in scope.recorder.observe(runner(server).astream(question()).stream_events()):
            pass
    found = attributes(scope.spans["execute_tool file_search"])
    assert (found["gen_ai.tool.type"], found["gen_ai.tool.call.id"]) == ("datastore", "fs_1")


async def test_an_output_whose_call_was_never_seen_has_a_span_as_long_as_it_took() -> None:
    scope = telescope(tool_names=["tool"])
    output = FunctionOutput(name="tool", input=_function("call_1"), output=1, duration_ms=250)
    item = ToolOutputRunItem(function_output=output)

    async def events() -> AsyncGenerator[AgentEvent, None]:
        yield RunItemStreamEvent(name="agent.tool_call_complete", item=item)

    async for _ in scope.recorder.observe(events()):
        pass
    begun, ended = begin_and_end(scope.spans["execute_tool tool"])
    assert (ended - begun) / 1e6 == pytest.approx(250, abs=0.01)
    assert attributes(scope.spans["invoke_agent Asclepius"])["error.type"] == "truncated"


def test_providers_that_the_process_has_are_used() -> None:
    work = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from chat_app.events import Outcome, TurnEnded
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing import turn_recorder

async def turn():
    yield TurnEnded(outcome=Outcome(), answer="")

async def main():
    async for _ in turn_recorder(DiagnosticsSettings(otel=True)).observe(turn()):
        pass

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
asyncio.run(main())
print([span.name for span in exporter.get_finished_spans()])
"""
    shown = subprocess.run([sys.executable, "-c", work], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == "['invoke_agent Asclepius']"


async def test_a_runners_events_can_be_observed_too() -> None:
    scope = telescope()
    turns: list[ScriptedTurn] = [calls_reply(ASK), chained(text_reply("Low.", response_id="resp_2"))]
    async with ScriptedServer(turns) as server:
        running = runner(server, [guideline_tool()]).astream(question())
        async for _ in scope.recorder.observe(running.stream_events()):
            pass
    finished = scope.exporter.get_finished_spans()
    assert sorted(span.name for span in finished) == ["chat", "chat", f"execute_tool {TOOL}", "invoke_agent Asclepius"]
    [root] = [span for span in finished if span.name.startswith("invoke_agent")]
    assert attributes(root)["asclepius.outcome.kind"] == "completed"
    assert attributes(root)["gen_ai.usage.output_tokens"] == 10


async def test_an_exception_from_below_is_recorded_by_type_and_goes_on() -> None:
    scope = telescope()

    async def breaking() -> AsyncGenerator[AgentEvent, None]:
        yield TurnStarted(conversation_id="c1", turn_id="t1", model="m")
        raise ValueError("Mrs Quillfeather")

    with pytest.raises(ValueError, match="Quillfeather"):
        async for _ in scope.recorder.observe(breaking()):
            pass
    root = scope.spans["invoke_agent Asclepius"]
    assert attributes(root)["error.type"] == "ValueError"
    assert "Quillfeather" not in root.to_json()


async def test_answer_arguments_and_results_are_in_spans_where_text_is_asked_for(redis_url: str) -> None:
    turns: list[ScriptedTurn] = [calls_reply(ASK), chained(text_reply("Start low.", response_id="resp_2"))]
    for keep_text in (True, False):
        scope = telescope(keep_text=keep_text)
        async with ScriptedServer(list(turns)) as server:
            await observed(scope, server, redis_url)
        spans = {span.name: attributes(span) for span in scope.exporter.get_finished_spans()}
        answer = spans["invoke_agent Asclepius"].get("gen_ai.output.messages")
        if keep_text:
            assert json.loads(answer)[0]["parts"][0]["content"] == "Start low."
            assert spans[f"execute_tool {TOOL}"]["gen_ai.tool.call.arguments"] == ASK[2]
            assert "metformin" in spans[f"execute_tool {TOOL}"]["gen_ai.tool.call.result"]
        else:
            assert answer is None
            assert "metformin" not in repr(spans)


async def test_an_event_that_cannot_be_recorded_costs_its_spans_and_no_event(caplog: pytest.LogCaptureFixture) -> None:
    class Hostile(TurnStarted):
        @property
        def conversation_id(self) -> str:  # type: ignore[override]
            raise RuntimeError("Mrs Quillfeather")

    hostile = Hostile.model_construct(turn_id="t", model="m")
    ended = TurnEnded(outcome=Outcome(), answer="")

    async def events() -> AsyncGenerator[AgentEvent, None]:
        yield hostile
        yield ended

    assert [event async for event in telescope().recorder.observe(events())] == [hostile, ended]
    assert "could not be recorded" in caplog.text
    assert "Quillfeather" not in caplog.text


async def test_recorders_that_are_off_hand_back_the_very_events() -> None:
    async with ScriptedServer([text_reply("Yes.")]) as server:
        running = runner(server).astream(question()).stream_events()
        recorder = turn_recorder(DiagnosticsSettings())
        assert recorder.observe(running) is running
        await running.aclose()
        await recorder.aclose()


def test_recorders_that_are_off_import_nothing() -> None:
    work = (
        "import sys\n"
        "from chat_app.settings import DiagnosticsSettings\nfrom chat_app.tracing import turn_recorder\n"
        "turn_recorder(DiagnosticsSettings(otel=False))\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", work], check=False).returncode == 0


def test_asking_for_spans_without_opentelemetry_says_what_to_install() -> None:
    work = (
        "import sys\nsys.modules['opentelemetry'] = None\n"
        "from chat_app.errors import ConfigurationError\nfrom chat_app.settings import DiagnosticsSettings\n"
        "from chat_app.tracing import turn_recorder\n"
        "try:\n    turn_recorder(DiagnosticsSettings(otel=True))\n"
        "except ConfigurationError as error:\n    print(error)\n"
    )
    shown = subprocess.run([sys.executable, "-c", work], check=True, capture_output=True, text=True).stdout
    assert "asclepius[tracing]" in shown


async def test_spans_and_metrics_are_sent_where_the_standard_variables_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            received.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        Thread(target=collector.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
        recorder = turn_recorder(DiagnosticsSettings(otel=True))
        async with ScriptedServer([text_reply("Yes.")]) as server:
            async for _ in recorder.observe(runner(server).astream(question()).stream_events()):
                pass
        await recorder.aclose()
        collector.shutdown()
    assert set(received) == {"/v1/traces", "/v1/metrics"}


SEND_TO_NOBODY = """
import asyncio, socket, sys
from chat_app.events import Outcome, TurnEnded
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing import turn_recorder

async def turn():
    yield TurnEnded(outcome=Outcome(), answer="")

async def main():
    recorder = turn_recorder(DiagnosticsSettings(otel=True))
    async for event in recorder.observe(turn()):
        print(event.type, flush=True)
    await recorder.aclose(timeout=0.5)

asyncio.run(main())
print("ended", flush=True)
"""


def test_a_collector_that_never_answers_holds_up_neither_the_answer_nor_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-c", SEND_TO_NOBODY],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
            env={
                **os.environ,
                "OTEL_EXPORTER_OTLP_ENDPOINT": address,
                "OTEL_EXPORTER_OTLP_TIMEOUT": "600",
                "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "600",
            },
        )
    assert done.stdout.split() == ["turn_ended", "ended"]
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in done.stderr


def test_tools_side_by_side_count_once_and_notices_are_no_sign_of_the_server() -> None:
    moments = iter([0.0, 1.0, 2.0, 3.0, 5.0, 6.0, 7.0])
    clock = TurnClock(now=lambda: next(moments))
    clock.see(TurnStarted(conversation_id="c", turn_id="t", model="m"))
    clock.see(Notice(code="history_not_saved", message=""))
    for call in ("one", "two"):
        clock.see(RunItemStreamEvent(name="agent.tool_call_start", item=ToolCallRunItem(function=_function(call))))
    for call in ("one", "two"):
        output = FunctionOutput(name="tool", input=_function(call), output=1)
        item = ToolOutputRunItem(function_output=output)
        clock.see(RunItemStreamEvent(name="agent.tool_call_complete", item=item))
    clock.see(TextDelta(text="x"))
    timings = clock.timings()
    assert (timings.first_event, timings.first_text, timings.tools, timings.total) == (1.0, 6.0, 4.0, 7.0)


def _function(call_id: str) -> Function:
    return Function(call_id=call_id, name="tool")
