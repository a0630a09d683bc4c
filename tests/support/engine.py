"""The engine connected to a scripted model server, and tools whose results can be cited."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from chat_app.agent.asclepius_agent import INSTRUCTIONS, AsclepiusHealthcareAgent
from chat_app.agent.chat_manager import ChatManager
from chat_app.agent.citations.hosted_passages import HostedPassages
from chat_app.agent.guideline_route import GuidelineRoute
from chat_app.agent.response_manager import OpenAIResponseManager
from chat_app.agent.run_types import RunnerEvent, RunRequest
from chat_app.agent.runner import Runner
from chat_app.agent.statements.statement_check import StatementCheck
from chat_app.agent.turn_queue import TurnQueue
from chat_app.answer_options import ConsultOptions
from chat_app.events import AgentEvent, RunItemStreamEvent, RunnerResult, TextDelta, TurnEnded
from chat_app.generation.generator import Generator
from chat_app.generation.prompt import Prompt
from chat_app.generation.response_api_adapter import ResponseAPIAdapter
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.scripted_server import Event, Json, Request, ScriptedServer, Step
from tools.function_tool import FunctionTool
from tools.tool_manager import ToolManager
from tools.types import Passage, ToolResult, ToolSource

SOURCES: Mapping[str, ToolSource] = {
    "search_clinical_guidelines": "guidelines",
    "search_drug_database": "drugs",
    "get_drug_label": "drugs",
    "check_drug_interactions": "drugs",
    "search_overdosage": "overdosage",
}
KEY = "sk-test-canary-key"


def passage(identity: str = "guide:1", text: str = "Start metformin at 500 mg once daily with food.") -> Passage:
    document_id = identity.partition(":")[0]
    return Passage(id=identity, kind="guideline", document_id=document_id, title="Diabetes", text=text)


def guideline_tool(*passages: Passage) -> FunctionTool:
    """Return a tool that always finds ``passages``."""
    found = passages or (passage(),)

    async def search_clinical_guidelines(question: str) -> ToolResult:
        """Search the guidelines."""
        data = {"question": question, "passages": [{"cite": p.id, "text": p.text} for p in found]}
        return ToolResult(data=data, passages=found, summary=f"{len(found)} passages")

    return FunctionTool(search_clinical_guidelines)


def adapter(server: ScriptedServer | str, *, key: str = KEY, **limits: float) -> ResponseAPIAdapter:
    """Return a client of any base URL, or of a scripted server, which closes it at its end."""
    if isinstance(server, str):
        return ResponseAPIAdapter(api_key=key, base_url=server, **limits)
    client = ResponseAPIAdapter(api_key=key, base_url=server.base_url, **limits)
    server.closing.append(client.aclose)
    return client


def runner(
    server: ScriptedServer | str,
    tools: Iterable[FunctionTool] = (),
    *,
    max_steps: int = 5,
    model_kwargs: Mapping[str, Any] | None = None,
    limits: Mapping[str, float] | None = None,
    manager: ToolManager | None = None,
    **options: Any,
) -> Runner:
    generator: Generator[Any] = Generator(
        adapter(server, **(limits or {})),
        prompt=Prompt("Be exact."),
        model_kwargs={"model": "m", **(model_kwargs or {})},
        **options,
    )
    return Runner(generator, manager or ToolManager(tools), max_steps=max_steps)


def question(text: str = "How much metformin?", **fields: Any) -> RunRequest:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return RunRequest(items=(item,), **fields)


async def drain(runner: Runner, request: RunRequest | None = None) -> tuple[list[RunnerEvent], RunnerResult]:
    running = runner.astream(request or question(include_raw=False))
    events = [event async for event in running.stream_events()]
    return events, running.result


def names(events: Iterable[object]) -> list[str]:
    """Return the names of the run items, in order."""
    return [event.name for event in events if isinstance(event, RunItemStreamEvent)]


def text_of(events: Iterable[object]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def ended(events: list[AgentEvent]) -> TurnEnded:
    """Return the outcome event, after checking that it is the only one and the last event."""
    assert [isinstance(event, TurnEnded) for event in events].count(True) == 1
    last = events[-1]
    assert isinstance(last, TurnEnded)
    return last


def outputs_sent(request: Request) -> dict[str, str]:
    """Return the tool outputs of a request by call id, in the order sent."""
    items = request.json["input"]
    return {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}


def chained(steps: Iterable[Step]) -> Callable[[Request], list[Step]]:
    """Play the turn like a server that chains: responses name the response they follow."""

    def play(request: Request) -> list[Step]:
        previous = request.json.get("previous_response_id")
        return [_following(step, previous) for step in steps]

    return play


def _following(step: Step, previous: str | None) -> Step:
    if not (isinstance(step, Event) and isinstance(step.body, Mapping) and "response" in step.body):
        return step
    return Event({**step.body, "response": {**step.body["response"], "previous_response_id": previous}})


def renumbered(*steps: Step) -> list[Step]:
    """Number the events from 0, for scripts assembled from parts."""
    numbers = itertools.count()
    return [
        Event({**step.body, "sequence_number": next(numbers)}, step.name, step.newline)
        if isinstance(step, Event) and isinstance(step.body, Mapping)
        else step
        for step in steps
    ]


def without(steps: Iterable[Step], *fields: str) -> list[Step]:
    """Remove ``fields`` from the events, like servers that do not send them."""
    return [
        Event({k: v for k, v in step.body.items() if k not in fields})
        if isinstance(step, Event) and isinstance(step.body, Mapping)
        else step
        for step in steps
    ]


def using(steps: Iterable[Step], **usage: Any) -> list[Step]:
    """Add these details to the usage in the terminal event, which is 10 tokens of input and 5 of output."""
    *rest, end = steps
    counts = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **usage}
    return [*rest, Event({**body(end), "response": {**body(end)["response"], "usage": counts}})]


def body(step: Step) -> Json:
    assert isinstance(step, Event)
    assert isinstance(step.body, Mapping)
    return dict(step.body)


@asynccontextmanager
async def clinic(
    server: ScriptedServer | str,
    redis_url: str,
    tools: Iterable[FunctionTool] = (),
    *,
    max_steps: int = 5,
    chaining: bool = True,
    max_retries: int = 2,
    lock_wait: float = 10.0,
    model_kwargs: Mapping[str, Any] | None = None,
    limits: Mapping[str, float] | None = None,
    store: RedisSessionStore | None = None,
    save_seconds: float = 5.0,
    key: str = KEY,
    model: str = "scripted",
    route: GuidelineRoute | None = None,
    hosted: HostedPassages | None = None,
    statements: StatementCheck | None = None,
    emergency_text: str | None = None,
    queue: TurnQueue | None = None,
) -> AsyncIterator[AsclepiusHealthcareAgent]:
    """Open the whole agent with this model server, Redis and tools."""
    sessions = store or RedisSessionStore(redis_url)
    offered = list(tools)
    for tool in offered:
        tool.source = SOURCES.get(tool.name)
    manager = ToolManager(offered)
    chats = ChatManager(sessions, lock_wait)
    generator: Generator[Any] = Generator(
        adapter(server, key=key, **(limits or {})),
        prompt=INSTRUCTIONS,
        model_kwargs=model_kwargs or {},
        max_retries=max_retries,
    )
    responses = OpenAIResponseManager(
        generator=generator,
        tool_manager=manager,
        chat_manager=chats,
        server_key="test",
        max_steps=max_steps,
        chaining=chaining,
        save_seconds=save_seconds,
        hosted=hosted,
        route=route,
        statements=statements or StatementCheck(),
        queue=queue or TurnQueue(sys.maxsize),
    )
    agent = AsclepiusHealthcareAgent(
        responses=responses,
        chats=chats,
        tool_manager=manager,
        default_model=model,
        emergency_text=emergency_text,
    )
    try:
        yield agent
    finally:
        await generator.model_client.aclose()
        manager.close()
        await sessions.aclose()


async def consult(
    agent: AsclepiusHealthcareAgent, message: str = "How much metformin?", **how: Any
) -> list[AgentEvent]:
    return [event async for event in agent.consult(message, ConsultOptions(**how))]
