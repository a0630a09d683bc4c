"""Row 46: what a patient is about stands in no log, no trace, no span and no error message, whatever goes wrong.

A turn is asked about a patient whom nothing else knows of, with everything that can be traced being traced and every
logger at its most talkative; then all that was written is searched for her.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
import websockets
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.answer_options import ConsultOptions
from chat_app.errors import AsclepiusError
from chat_app.events import AgentEvent, Notice, RunItemStreamEvent, TextDelta, ToolOutputRunItem, TurnEnded, TurnStarted
from chat_app.generation.generator import Generator
from chat_app.generation.output import PydanticProcessor
from chat_app.generation.prompt import Prompt
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import Session
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing import trace_app_generator, turn_recorder
from tests.support.drugs import drug_database
from tests.support.engine import adapter, chained, clinic, guideline_tool, passage
from tests.support.guarded_logs import guarded_logs
from tests.support.scripted_server import (
    Disconnect,
    Event,
    Raw,
    ScriptedServer,
    ScriptedTurn,
    Status,
    Step,
    calls_reply,
    response_body,
    text_reply,
)
from tools.drug_database import DrugDatabase
from tools.drug_database.drug_tools import drug_tools
from tools.function_tool import FunctionTool
from tools.guidelines import GuidelineLibrary, guideline_tools

NAME = "Quillfeather"
PATIENT = f"Mrs {NAME}, 71, potassium 6.1"
QUESTION = f"{PATIENT}: may she go on with ramipril?"
TOOL = "search_clinical_guidelines"


def text_of(file: Path) -> str:
    """Return what is in ``file``; nothing where it took another file's place meanwhile, which is read instead."""
    try:
        return file.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""


@dataclass
class Written:
    """Everything that leaves the process other than the answer itself."""

    caplog: pytest.LogCaptureFixture
    capfd: pytest.CaptureFixture[str]
    folder: Path
    spans: InMemorySpanExporter
    metrics: InMemoryMetricReader
    messages: list[str] = field(default_factory=list)
    """Sentences for the reader: outcomes, notices, errors of tools."""

    def parts(self) -> dict[str, str]:
        streams = self.capfd.readouterr()
        data = self.metrics.get_metrics_data()
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        return {
            "logs": self.caplog.text,
            "standard output": streams.out,
            "standard error": streams.err,
            "spans": "".join(span.to_json() for span in self.spans.get_finished_spans()),
            "metrics": data.to_json() if data else "",
            "messages": "\n".join(self.messages),
            **{str(file.relative_to(self.folder)): text_of(file) for file in files},
        }

    def told_of_the_patient(self) -> list[str]:
        return [part for part, text in self.parts().items() if NAME in text]

    def take(self, event: AgentEvent) -> None:
        match event:
            case TurnEnded():
                self.messages.append(event.outcome.message)
            case Notice():
                self.messages.append(event.message)
            case RunItemStreamEvent(item=ToolOutputRunItem() as item) if item.function_output.error is not None:
                self.messages.append(item.function_output.error)
            case _:
                pass


@dataclass
class Ward:
    """An agent whose every turn is traced in full."""

    agent: AsclepiusHealthcareAgent
    observe: Callable[[AsyncGenerator[AgentEvent, None]], AsyncGenerator[AgentEvent, None]]
    written: Written

    async def ask(self, question: str = QUESTION, **how: Any) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        async for event in self.observe(self.agent.consult(question, ConsultOptions(**how))):
            self.written.take(event)
            events.append(event)
        return events


@asynccontextmanager
async def ward(
    written: Written,
    server: ScriptedServer,
    redis_url: str,
    tools: Sequence[FunctionTool] = (),
    *,
    keep_text: bool = False,
    store: RedisSessionStore | None = None,
) -> AsyncGenerator[Ward, None]:
    diagnostics = DiagnosticsSettings(trace_dir=written.folder, trace_calls="all", trace_text=keep_text, otel=True)
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(written.spans))
    async with clinic(
        server, redis_url, tools or [guideline_tool()], max_retries=0, store=store, limits={"idle_timeout": 5.0}
    ) as agent:
        trace = trace_app_generator(agent.responses.generator, diagnostics)
        recorder = turn_recorder(
            diagnostics,
            tool_names=(TOOL, "search_drug_database"),
            tracer_provider=tracers,
            meter_provider=MeterProvider([written.metrics]),
        )
        yield Ward(agent, recorder.observe, written)
        await trace.aclose()


@pytest.fixture
def written(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Written:
    caplog.set_level(1)
    return Written(caplog, capfd, tmp_path / "traces", InMemorySpanExporter(), InMemoryMetricReader())


async def turn(
    written: Written, redis_url: str, turns: Sequence[ScriptedTurn], tools: Sequence[FunctionTool] = (), **how: Any
) -> list[AgentEvent]:
    """One turn, asked about the patient; its trace is on disk when this returns."""
    async with ScriptedServer(turns) as server, ward(written, server, redis_url, tools, **how) as place:
        return await place.ask()


def ended(events: Sequence[AgentEvent]) -> TurnEnded:
    last = events[-1]
    assert isinstance(last, TurnEnded)
    return last


def tool_errors(events: Sequence[AgentEvent]) -> list[str | None]:
    return [
        event.item.function_output.error
        for event in events
        if isinstance(event, RunItemStreamEvent) and isinstance(event.item, ToolOutputRunItem)
    ]


def asking(arguments: str, name: str = TOOL) -> list[ScriptedTurn]:
    """The model calls a tool, then answers about the patient."""
    return [
        calls_reply(("call_1", name, arguments)),
        chained(text_reply(f"For {PATIENT}: ", "no.", response_id="resp_2")),
    ]


async def test_the_search_finds_the_patient_where_text_is_asked_for(written: Written, redis_url: str) -> None:
    """What makes the other tests here worth something."""
    await turn(written, redis_url, asking(json.dumps({"question": PATIENT})), keep_text=True)
    assert written.told_of_the_patient() == ["spans", "Asclepius/generator_call.jsonl"]


async def test_an_answered_question_leaves_no_trace_of_the_patient(written: Written, redis_url: str) -> None:
    """Row 46: question, arguments, result, citation, answer, follow-up."""
    about_her = passage(text=f"{PATIENT} must not take it.")
    answer = text_reply(f"{PATIENT} must not take it. [1]", response_id="resp_2")
    turns = [
        calls_reply(("call_1", TOOL, json.dumps({"question": PATIENT}))),
        chained(answer),
        chained(text_reply(f"{PATIENT}, again.", response_id="resp_3")),
    ]
    async with ScriptedServer(turns) as server, ward(written, server, redis_url, [guideline_tool(about_her)]) as place:
        first = await place.ask()
        assert NAME in ended(first).answer
        conversation = getattr(first[0], "conversation_id", None)
        second = await place.ask(f"And {PATIENT} tomorrow?", conversation_id=conversation, model="another-model")
    assert NAME in ended(second).answer
    assert len((written.folder / "Asclepius" / "generator_call.jsonl").read_text().splitlines()) == 3
    assert written.told_of_the_patient() == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(f'{{"question": "{PATIENT}', id="cut off"),
        pytest.param(json.dumps({"question": {PATIENT: 1}}), id="wrong type"),
        pytest.param(json.dumps({"question": "x", NAME: 1}), id="one too many"),
        pytest.param(json.dumps({NAME: PATIENT}), id="wrong name"),
        pytest.param(json.dumps([PATIENT]), id="a list"),
        pytest.param(f'"{PATIENT}"', id="a string"),
        pytest.param("[" * 100_000 + PATIENT, id="too deep"),
    ],
)
async def test_arguments_that_cannot_be_taken_are_refused_without_repeating_them(
    written: Written, redis_url: str, arguments: str
) -> None:
    events = await turn(written, redis_url, asking(arguments))
    assert any(tool_errors(events)) or ended(events).outcome.kind != "completed"
    assert written.told_of_the_patient() == []


async def test_half_a_character_in_arguments_is_taken_as_unknown_and_not_repeated(
    written: Written, redis_url: str
) -> None:
    arguments = json.dumps({"question": PATIENT}).replace("71", "\ud800")
    events = await turn(written, redis_url, asking(arguments))
    assert ended(events).outcome.kind == "completed"
    assert written.told_of_the_patient() == []


async def test_a_tool_that_does_not_exist_is_refused_without_repeating_its_name(
    written: Written, redis_url: str
) -> None:
    events = await turn(written, redis_url, asking("{}", name=NAME))
    assert any(tool_errors(events))
    assert written.told_of_the_patient() == []


class Strict(BaseModel):
    question: int


def failing_tools() -> dict[str, Callable[[str], object]]:
    def broken(question: str) -> object:
        raise ValueError(question)

    def validating(question: str) -> object:
        return Strict.model_validate({"question": question})

    def missing(question: str) -> object:
        return {}[question]

    def grouped(question: str) -> object:
        raise ExceptionGroup(question, [OSError(2, question, question)])

    def no_json(question: str) -> object:
        return {"result": {question: {object()}}}

    def no_utf8(question: str) -> object:
        return question + "\ud800"

    return {tool.__name__: tool for tool in (broken, validating, missing, grouped, no_json, no_utf8)}


@pytest.mark.parametrize("how", failing_tools())
async def test_a_tool_that_fails_says_nothing_of_what_it_was_asked(written: Written, redis_url: str, how: str) -> None:
    fail = failing_tools()[how]

    def search_clinical_guidelines(question: str) -> object:
        """Search the guidelines."""
        return fail(question)

    turns = asking(json.dumps({"question": PATIENT}))
    events = await turn(written, redis_url, turns, [FunctionTool(search_clinical_guidelines)])
    assert any(tool_errors(events)) or ended(events).outcome.kind == "failed"
    assert written.told_of_the_patient() == []


async def test_tools_whose_database_is_away_say_so_and_not_what_was_looked_for(
    written: Written, redis_url: str, tmp_path: Path
) -> None:
    """Row 29: Milvus refuses the connection."""
    nowhere = "http://127.0.0.1:1"
    drugs, library = DrugDatabase(nowhere), GuidelineLibrary(nowhere, tmp_path / "guidelines")
    turns: list[ScriptedTurn] = [
        calls_reply(
            ("call_1", "search_drug_database", json.dumps({"drug_name": PATIENT, "drug_class": PATIENT})),
            ("call_2", TOOL, json.dumps({"question": PATIENT})),
        ),
        chained(text_reply("Neither answers.", response_id="resp_2")),
    ]
    try:
        events = await turn(written, redis_url, turns, [*drug_tools(drugs), *guideline_tools(library)])
    finally:
        await drugs.aclose()
        await library.aclose()
    assert any("MILVUS_URI" in error for error in tool_errors(events) if error)
    assert written.told_of_the_patient() == []


async def test_a_real_search_for_a_name_that_breaks_filters_leaves_it_out_of_every_log(
    written: Written, redis_url: str, milvus_uri: str
) -> None:
    """The database client writes filters to standard error when it can."""
    hostile = f"{NAME}\"' or 1 == 1 \\ \x00"
    arguments = json.dumps({"drug_name": hostile, "drug_class": hostile, "route": hostile, "strength": hostile})
    async with drug_database(milvus_uri) as drugs:
        await drugs.load_demo()
        turns = [
            calls_reply(("call_1", "search_drug_database", arguments)),
            chained(text_reply("Nothing.", response_id="resp_2")),
        ]
        events = await turn(written, redis_url, turns, drug_tools(drugs))
    assert ended(events).outcome.kind == "completed"
    assert written.told_of_the_patient() == []


REPEATED = {"error": {"message": f"Cannot answer: {PATIENT}", "type": NAME, "param": PATIENT, "code": PATIENT}}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 429, 500, 503])
async def test_a_refusal_that_repeats_the_question_is_not_repeated(
    written: Written, redis_url: str, status: int
) -> None:
    events = await turn(written, redis_url, [[Status(status, body=REPEATED)]])
    assert ended(events).outcome.kind == "failed"
    assert ended(events).outcome.message
    assert written.told_of_the_patient() == []


def broken_streams() -> dict[str, list[Step]]:
    begun = text_reply(f"{PATIENT} ", "may ")[:5]
    number = len(begun)
    failed = response_body("resp_1", "failed", error={"code": PATIENT, "message": PATIENT})
    limited = response_body("resp_1", "incomplete", incomplete_details={"reason": PATIENT})
    delta = {"type": "response.output_text.delta", "item_id": "msg_resp_1", "output_index": 0, "content_index": 0}
    return {
        "HTML": [Status(200, headers={"Content-Type": "text/html"}, body=f"<p>{PATIENT}</p>".encode())],
        "bad JSON": [*begun, Raw(f'data: {{"delta": "{PATIENT}\n\n'.encode())],
        "bad UTF-8": [*begun, Raw(b"data: \xff\xfe " + PATIENT.encode() + b"\n\n")],
        "no object": [*begun, Event([PATIENT])],
        "no type": [*begun, Event({"delta": PATIENT})],
        "unknown type": [*begun, Event({"type": PATIENT, "delta": PATIENT, "sequence_number": number})],
        "wrong shape": [*begun, Event({**delta, "delta": {PATIENT: 1}, "sequence_number": number})],
        "wrong item": [*begun, Event({"type": "response.output_item.done", "item": {"type": NAME, "id": [PATIENT]}})],
        "wrong annotation": [
            *begun,
            Event(
                {
                    "type": "response.output_text.annotation.added",
                    "annotation": {"type": "file_citation", "file_id": {NAME: PATIENT}},
                }
            ),
        ],
        "a gap": [*begun, Event({**delta, "delta": PATIENT, "sequence_number": number + 7})],
        "contradiction": [
            *begun,
            Event(
                {
                    "type": "response.output_text.done",
                    "item_id": "msg_resp_1",
                    "content_index": 0,
                    "text": f"{NAME} must not",
                }
            ),
        ],
        "error event": [*begun, Event({"type": "error", "code": PATIENT, "message": PATIENT, "param": PATIENT})],
        "failed": [*begun, Event({"type": "response.failed", "sequence_number": number, "response": failed})],
        "incomplete": [*begun, Event({"type": "response.incomplete", "sequence_number": number, "response": limited})],
        "cut off": begun,
        "broken off": [*begun, Disconnect()],
        "half a frame": [*begun, Raw(f"data: {PATIENT}".encode())],
        "an id that tells": text_reply("No.", response_id=f"resp_{NAME}"),
    }


@pytest.mark.parametrize("how", broken_streams())
async def test_a_stream_that_breaks_is_reported_without_what_it_said(
    written: Written, redis_url: str, how: str
) -> None:
    events = await turn(written, redis_url, [broken_streams()[how]])
    assert ended(events).outcome.kind != "completed" or how == "an id that tells"
    assert written.told_of_the_patient() == []


async def test_a_server_that_cannot_be_reached_is_reported_without_the_question(
    written: Written, redis_url: str
) -> None:
    async with ScriptedServer([]) as gone:
        pass
    gone_url = "http://127.0.0.1:1/v1"
    assert gone.requests == []
    async with ScriptedServer([]) as server, ward(written, server, redis_url) as place:
        place.agent.responses.generator.model_client = adapter(gone_url)
        events = await place.ask()
    assert ended(events).outcome.kind == "failed"
    assert written.told_of_the_patient() == []


async def test_a_session_store_that_is_away_is_reported_without_the_question(written: Written) -> None:
    """Row 26: the answer is delivered."""
    events = await turn(written, "unix:///nowhere/redis.sock", [text_reply(f"{PATIENT}: no.")])
    assert NAME in ended(events).answer
    assert any(isinstance(event, Notice) and event.code == "history_not_saved" for event in events)
    assert written.told_of_the_patient() == []


class BreakingStore(RedisSessionStore):
    """A store with a fault of its own, whose error quotes what it was given."""

    async def append_messages(self, session_id: str, messages: Any) -> Any:
        raise ValueError(f"{session_id}: {messages}")


class BreakingAtOnce(RedisSessionStore):
    async def create(self, user_id: str, **how: Any) -> Session:
        raise ValueError(PATIENT)


class BreakingAtTheEnd(RedisSessionStore):
    @asynccontextmanager
    async def lock(self, session_id: str, *, wait: float) -> AsyncGenerator[None, None]:
        async with super().lock(session_id, wait=wait):
            yield
        raise ValueError(PATIENT)


class BreakingModel:
    """A client of another make, whose errors are none of ours."""

    def stream(self, request: Any) -> Any:
        raise RuntimeError(f"cannot send {request}")

    async def aclose(self) -> None:
        pass


async def test_a_fault_inside_the_app_is_logged_by_where_it_happened(written: Written, redis_url: str) -> None:
    async with ScriptedServer([]) as server, ward(written, server, redis_url) as place:
        place.agent.responses.generator.model_client = BreakingModel()  # type: ignore[assignment]
        events = await place.ask()
    assert ended(events).outcome.kind == "failed"
    assert "RuntimeError" in written.caplog.text
    assert written.told_of_the_patient() == []


@pytest.mark.parametrize(
    ("kind", "outcome", "answer", "notices"),
    [
        (BreakingStore, "completed", f"{PATIENT}: no.", ["history_not_saved"]),
        (BreakingAtOnce, "failed", "", []),
        (BreakingAtTheEnd, "completed", f"{PATIENT}: no.", []),
    ],
)
async def test_a_fault_of_the_session_store_ends_the_turn_and_tells_nobody_of_the_patient(
    written: Written, redis_url: str, kind: type[RedisSessionStore], outcome: str, answer: str, notices: list[str]
) -> None:
    events = await turn(written, redis_url, [text_reply(f"{PATIENT}: no.")], store=kind(redis_url))
    assert [type(event) for event in events if isinstance(event, TurnStarted | TurnEnded)] == [TurnStarted, TurnEnded]
    assert isinstance(events[0], TurnStarted)
    assert (ended(events).outcome.kind, ended(events).answer) == (outcome, answer)
    assert [event.code for event in events if isinstance(event, Notice)] == notices
    assert "ValueError" in written.caplog.text
    assert written.told_of_the_patient() == []


async def talk_about_her(folder: Path) -> None:
    """What the page's history and its socket do with a question."""
    async with aiosqlite.connect(folder / "history.db") as database:
        await database.execute("CREATE TABLE messages (text)")
        await database.execute("INSERT INTO messages VALUES (?)", (QUESTION,))
    async with websockets.serve(lambda socket: socket.send(QUESTION), "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with websockets.connect(f"ws://127.0.0.1:{port}") as client:
            assert await client.recv() == QUESTION


async def test_libraries_that_log_contents_are_kept_from_it_at_every_level(written: Written, tmp_path: Path) -> None:
    """Row 46, known leakers: without the guard both write her name."""
    (tmp_path / "without").mkdir()
    await talk_about_her(tmp_path / "without")
    leaking = {record.name.partition(".")[0] for record in written.caplog.records if NAME in record.getMessage()}
    assert leaking == {"aiosqlite", "websockets"}

    written.caplog.clear()
    with guarded_logs():
        await talk_about_her(tmp_path)
    assert written.told_of_the_patient() == []


async def test_half_a_character_in_the_question_is_refused_in_a_sentence_of_ours(
    written: Written, redis_url: str
) -> None:
    """A lone surrogate: JSON can carry it, UTF-8 cannot."""
    async with ScriptedServer([text_reply("No.")]) as server, ward(written, server, redis_url) as place:
        try:
            events = await place.ask(f"{PATIENT} \ud83d")
        except AsclepiusError as error:
            written.messages.append(str(error))
        else:
            assert ended(events).outcome.kind in {"completed", "failed"}
    assert written.told_of_the_patient() == []


async def test_a_stopped_answer_leaves_no_trace_of_the_patient(written: Written, redis_url: str) -> None:
    turns = [text_reply(*([f"{PATIENT} "] * 50))]
    async with ScriptedServer(turns) as server, ward(written, server, redis_url) as place:
        events = place.observe(place.agent.consult(QUESTION))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    break
    assert written.told_of_the_patient() == []


async def test_output_that_cannot_be_parsed_is_reported_by_its_shape(written: Written) -> None:
    answers = (f'{{"question": "{PATIENT}"}}', f'{{"{NAME}": 1}}', PATIENT)
    errors: list[str] = []
    async with ScriptedServer([text_reply(answer) for answer in answers]) as server:
        client = adapter(server)
        generator: Generator[Strict] = Generator(
            client,
            prompt=Prompt("For {{ patient }}."),
            model_kwargs={"model": "m"},
            output_processors=[PydanticProcessor(Strict)],
        )
        trace = trace_app_generator(generator, DiagnosticsSettings(trace_dir=written.folder))
        for _ in answers:
            output = await generator.acall(
                items=[{"type": "message", "role": "user", "content": QUESTION}],
                prompt_kwargs={"patient": PATIENT},
                metadata={"patient": PATIENT},
            )
            assert output.error is not None
            errors.append(output.error.message)
        await trace.aclose()
        await client.aclose()
    written.messages += errors
    assert written.told_of_the_patient() == []


def test_settings_that_are_wrong_are_named_without_their_values(written: Written) -> None:
    from chat_app.settings import Settings

    with pytest.raises(AsclepiusError) as refused:
        Settings(diagnostics={"trace_calls": PATIENT})
    assert "ASCLEPIUS_TRACE_CALLS" in str(refused.value)
    assert NAME not in str(refused.value)
