"""One turn, from a question to its outcome.

Opens the conversation, prepares the tools, hands a request to the runner, passes its text through the citation manager,
and records what was said. Every turn yields ``TurnStarted`` first and ends in exactly one ``TurnEnded``, whatever
fails on the way. Closing the iteration is Stop: what was read by then is saved, marked as stopped.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import traceback
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import Field

from chat_app.agent.chat_manager import ChatManager, Conversation
from chat_app.agent.citation_manager import CitationManager
from chat_app.agent.citations.hosted_passages import HostedPassages
from chat_app.agent.run_step import FILE_SEARCH
from chat_app.agent.run_types import RunnerEvent, RunRequest
from chat_app.agent.runner import Runner
from chat_app.errors import AsclepiusError, SessionBusy
from chat_app.events import (
    AgentEvent,
    CitationAdded,
    CitationReceived,
    Notice,
    Outcome,
    Reference,
    ReferencesReady,
    RunItemStreamEvent,
    RunnerResult,
    TextDelta,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.generation.generator import Generator
from chat_app.generation.hosted.hosted_search import GUIDELINE_ID
from chat_app.generation.outcomes import STOPPED, exception_outcome, failed
from chat_app.generation.text_buffer import TextBuffer
from tools.tool_manager import ToolManager
from tools.types import Frozen

logger = logging.getLogger(__name__)

CRASHED = Outcome(
    kind="failed",
    code="internal",
    message="Something went wrong inside the assistant. Ask again; if it happens again, the log says more.",
    retryable=True,
)


class TurnRequest(Frozen):
    """One question, and which tools may help to answer it."""

    message: str
    conversation_id: str | None = None
    user_id: str = "demo"
    model: str
    tools: tuple[str, ...] = ()
    vector_store_id: str | None = None
    documents: tuple[str, ...] = ()
    """Guidelines that the vector store is searched for; none for all that it holds."""
    given: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Hidden parameters of the tools, by tool and name."""
    notices: tuple[Notice, ...] = ()
    """What the reader is to know from the beginning."""
    prompt_kwargs: dict[str, Any] = Field(default_factory=dict)
    include_raw: bool = False
    turn_id: str = Field(default_factory=lambda: uuid4().hex)


Observer = Callable[[AsyncGenerator[AgentEvent, None]], AsyncGenerator[AgentEvent, None]]
"""Looks on as a turn's events pass, and yields every one of them as it was."""


class ConsultResult(Frozen):
    """A whole turn, for those who do not follow it as it happens."""

    conversation_id: str
    answer: str
    outcome: Outcome
    references: tuple[Reference, ...] = ()
    notices: tuple[str, ...] = ()


class OpenAIResponseManager:
    """Runs turns with one generator and one set of tools; keeps nothing between turns but what the store keeps."""

    def __init__(
        self,
        *,
        generator: Generator[Any],
        tool_manager: ToolManager,
        chat_manager: ChatManager,
        server_key: str,
        max_steps: int = 5,
        chaining: bool = True,
        hosted: HostedPassages | None = None,
        save_seconds: float = 5.0,
        observe: Observer | None = None,
    ) -> None:
        self._generator = generator
        self._tools = tool_manager
        self._chats = chat_manager
        self._server_key = server_key
        self._max_steps = max_steps
        self._chaining = chaining
        self._hosted = hosted
        self.save_seconds = save_seconds
        self._observe = observe

    async def process_streaming_query(self, request: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        """The turn's events; see ``chat_app.events`` for their order."""
        events = self._turn_events(request)
        async with aclosing(self._observe(events) if self._observe else events) as observed:
            async for event in observed:
                yield event

    async def _turn_events(self, request: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        turn_id = request.turn_id
        model_key = f"{self._server_key}#{request.model}"
        try:
            async with self._chats.open(request.conversation_id, request.user_id, model_key=model_key) as conversation:
                yield TurnStarted(conversation_id=conversation.id, turn_id=turn_id, model=request.model)
                async with aclosing(_Turn(self, request, conversation).events()) as events:
                    async for event in events:
                        yield event
        except SessionBusy as busy:
            # The conversation could not be opened, so nothing has been said yet.
            yield TurnStarted(conversation_id=request.conversation_id or "", turn_id=turn_id, model=request.model)
            yield TurnEnded(outcome=failed(busy), answer="")

    async def handle_standard_query(self, request: TurnRequest) -> ConsultResult:
        """The same turn, drained."""
        conversation_id = ""
        references: tuple[Reference, ...] = ()
        notices: list[str] = []
        end = TurnEnded(outcome=CRASHED, answer="")
        async with aclosing(self.process_streaming_query(request)) as events:
            async for event in events:
                match event:
                    case TurnStarted():
                        conversation_id = event.conversation_id
                    case ReferencesReady():
                        references = event.references
                    case TurnEnded():
                        end = event
                    case Notice():
                        notices.append(event.message)
                    case _:
                        continue
        return ConsultResult(
            conversation_id=conversation_id,
            answer=end.answer,
            outcome=end.outcome,
            references=references,
            notices=tuple(notices),
        )

    async def aclose(self) -> None:
        """Closes the connections to the model server."""
        await self._generator.model_client.aclose()

    async def joined(self, event: RunItemStreamEvent) -> RunItemStreamEvent:
        """``event``; what the server's own file search found is joined with the passages that are stored here."""
        item = event.item
        if self._hosted is None or not isinstance(item, ToolOutputRunItem) or item.function_output.name != FILE_SEARCH:
            return event
        output = await self._hosted.join(item.function_output)
        return event.model_copy(update={"item": item.model_copy(update={"function_output": output})})

    def runner(self, citations: CitationManager) -> Runner:
        return Runner(self._generator, self._tools, max_steps=self._max_steps, render_output=citations.render_output)

    def run_request(self, request: TurnRequest, conversation: Conversation) -> RunRequest:
        """What the runner is asked: the new message, and the rest of the conversation by id or in full."""
        vector_store = request.vector_store_id or conversation.vector_store_id
        fields: dict[str, Any] = {
            "model": request.model,
            # Who asks, without saying who: providers use it to tell abusers apart.
            "safety_identifier": hashlib.sha256(f"asclepius:{request.user_id}".encode()).hexdigest()[:32],
        }
        if vector_store:
            fields["include"] = ("file_search_call.results",)
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": request.message}]}
        return RunRequest(
            items=(item,),
            previous_response_id=conversation.previous_response_id,
            transcript=conversation.transcript(),
            unchained=conversation.unchained(),
            chaining=self._chaining,
            prompt_kwargs=request.prompt_kwargs,
            tools=request.tools,
            hosted_tools=(_file_search(vector_store, request.documents),) if vector_store else (),
            given=request.given,
            fields=fields,
            include_raw=request.include_raw,
        )


class _Turn:
    """The events of one turn within its conversation."""

    def __init__(self, manager: OpenAIResponseManager, request: TurnRequest, conversation: Conversation) -> None:
        self._manager = manager
        self._request = request
        self._conversation = conversation
        self._citations = CitationManager(conversation.number_passages, conversation.retrieved.items())
        self._answer = TextBuffer()
        self._noticed = 0

    async def events(self) -> AsyncGenerator[AgentEvent, None]:
        runner = self._manager.runner(self._citations)
        running = runner.astream(self._manager.run_request(self._request, self._conversation))
        # What holds when nothing else is reached: the reader has left.
        outcome = STOPPED
        try:
            for notice in (*self._request.notices, *self._new_notices()):
                yield notice
            async with aclosing(running.stream_events()) as events:
                async for event in events:
                    known = await self._manager.joined(event) if isinstance(event, RunItemStreamEvent) else event
                    for shown in self._shown(known):
                        yield shown
            outcome = running.result.outcome
        except AsclepiusError as error:
            logger.warning("A turn failed: %s", type(error).__name__)
            outcome = exception_outcome(error, any_text=bool(self._answer))
        except Exception as error:  # noqa: BLE001 - the boundary of a turn: whatever breaks inside, it ends in an outcome
            # Neither the message nor the locals of an unforeseen error are known to be free of patient text.
            logger.error("A turn failed: %s", _where(error))  # noqa: TRY400
            outcome = CRASHED
        finally:
            # Also on Stop, when nothing can be yielded any more: what was read is kept.
            held = self._keep(self._citations.finish())
            await self._record(running.result, outcome)
        for shown in (*held, *self._new_notices()):
            yield shown
        references = self._citations.references()
        if references.references or references.dropped:
            yield references
        yield TurnEnded(outcome=outcome, answer=str(self._answer), usage=running.result.usage)

    def _shown(self, event: RunnerEvent) -> Sequence[AgentEvent]:
        """What the reader gets for one event of the runner."""
        if isinstance(event, TextDelta):
            return self._keep(self._citations.feed(event.text))
        if isinstance(event, CitationReceived):
            return self._keep(self._citations.annotate(event))
        if isinstance(event, RunItemStreamEvent) and isinstance(event.item, ToolOutputRunItem):
            output = event.item.function_output
            if output.name == FILE_SEARCH:
                self._citations.add_hosted(output)
        return (*self._new_notices(), event)

    def _keep(self, events: Sequence[TextDelta | CitationAdded | Any]) -> Sequence[AgentEvent]:
        for event in events:
            if isinstance(event, TextDelta):
                self._answer.append(event.text)
        return events

    def _new_notices(self) -> Sequence[AgentEvent]:
        fresh = self._conversation.notices[self._noticed :]
        self._noticed += len(fresh)
        return fresh

    async def _save(self, seen: RunnerResult) -> None:
        cited = [reference.passage for reference in self._citations.references().references]
        # What the server's own search found becomes part of the conversation when it is cited, and no sooner: a number
        # that the model was never given must not turn into a citation.
        numbered = {passage.id for passage in self._conversation.retrieved.values()}
        found = [passage for passage in cited if passage.id not in numbered]
        if found:
            await self._conversation.number_passages(found)
        await self._conversation.record(self._request.message, seen, [passage.id for passage in cited])

    async def _record(self, result: RunnerResult, outcome: Outcome) -> None:
        """Saves the turn as the reader saw it; a second Stop does not interrupt that."""
        seen = result.model_copy(update={"outcome": outcome, "answer": str(self._answer)})
        saving = asyncio.ensure_future(self._save(seen))
        try:
            await asyncio.wait_for(asyncio.shield(saving), self._manager.save_seconds)
        except TimeoutError:
            logger.warning("A turn could not be saved within %g s.", self._manager.save_seconds)


def _file_search(vector_store: str, documents: Sequence[str]) -> dict[str, Any]:
    """The server's own search, kept to ``documents`` when there are any."""
    tool: dict[str, Any] = {"type": "file_search", "vector_store_ids": [vector_store]}
    chosen = [{"type": "eq", "key": GUIDELINE_ID, "value": document} for document in documents]
    if chosen:
        tool["filters"] = chosen[0] if len(chosen) == 1 else {"type": "or", "filters": chosen}
    return tool


def _where(error: BaseException) -> str:
    """The kind of ``error`` and where it was raised, innermost first, without its message."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_where(part) for part in error.exceptions)
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {places}"
