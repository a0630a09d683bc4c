"""One turn, from a question to its outcome.

The manager opens the conversation, prepares the tools, hands a request to the runner, passes the text through the
citation manager and records the messages. Every turn yields ``TurnStarted`` first and ends in exactly one
``TurnEnded``, whatever fails. Closing the iteration stops the turn: what was read by then is saved, marked as stopped.
"""

import asyncio
import hashlib
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import to_jsonable_python

from chat_app.agent.chat_manager import NOT_SAVED, ChatManager, Conversation
from chat_app.agent.citations.hosted_passages import HostedPassages
from chat_app.agent.guideline_route import GuidelineRoute
from chat_app.agent.hosted_results import file_search_tool
from chat_app.agent.run_types import RunRequest
from chat_app.agent.runner import Runner, RunnerStreamingResult
from chat_app.agent.statements.statement_check import StatementCheck
from chat_app.agent.turn import TurnAnswer, TurnRequest
from chat_app.agent.turn_queue import TurnQueue
from chat_app.errors import AsclepiusError
from chat_app.events import (
    AgentEvent,
    Outcome,
    RunItemStreamEvent,
    RunnerResult,
    StatementsChecked,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.generation.generator import Generator, input_message
from chat_app.generation.outcomes import STOPPED, exception_outcome
from chat_app.response_objects import FILE_SEARCH
from chat_app.safety.withheld_doses import without_doses
from chat_app.sessions.session_store import ResumableTurn, StreamingState
from chat_app.tracing.redaction import describe_error
from chat_app.turn_facts import TurnFacts
from tools.language.vocabulary.text_language import language_of
from tools.tool_manager import ToolManager
from tools.types import FunctionOutput

logger = logging.getLogger(__name__)

_RECENT_QUESTIONS = 3
"""Earlier questions that decide which tools are declared: a calculation may go over several, "it" mean a medicine."""
Observer = Callable[[AsyncGenerator[AgentEvent, None]], AsyncGenerator[AgentEvent, None]]
"""Observes a turn's events as they pass, and yields each of them unchanged."""

CRASHED = Outcome(
    kind="failed",
    code="internal",
    message="Something went wrong inside the assistant. Ask again; if it happens again, the log says more.",
    retryable=True,
)


@dataclass(kw_only=True, slots=True)
class OpenAIResponseManager:
    """Runs turns; keeps nothing between them except what the session store keeps."""

    generator: Generator[Any]
    tool_manager: ToolManager
    chat_manager: ChatManager
    server_key: str
    """Identifies the model server, whose response ids mean nothing to another one."""
    max_steps: int = 5
    """Most responses of a turn."""
    chaining: bool = True
    """False sends the whole conversation with every request."""
    route: GuidelineRoute | None = None
    """Decides whether the server's file search replaces the guideline tools."""
    hosted: HostedPassages | None = None
    """Joins what that search found with the stored passages."""
    save_seconds: float = 5.0
    """Limit for saving a turn."""
    observe: Observer | None = None
    statements: StatementCheck = field(default_factory=StatementCheck)
    queue: TurnQueue = field(default_factory=lambda: TurnQueue(sys.maxsize))
    """Bounds how many turns run at once."""

    def process_streaming_query(self, request: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        """Return the turn's events; ``chat_app.events`` describes their order."""
        events = self._turn(request)
        return self.observe(events) if self.observe else events

    async def handle_standard_query(self, request: TurnRequest) -> TurnFacts:
        """Return the same turn, drained."""
        facts = TurnFacts(outcome=CRASHED)
        async with aclosing(self.process_streaming_query(request)) as events:
            async for event in events:
                facts.collect(event)
        return facts

    async def _turn(self, request: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        options, key = request.options, f"{self.server_key}#{request.model}"
        asked_in = options.conversation_id or ""
        started = TurnStarted(conversation_id=asked_in, turn_id=options.turn_id, model=request.model)
        answer: TurnAnswer | None = None
        ended: TurnEnded | None = None
        try:
            opened = self.chat_manager.open(options.conversation_id, options.user_id, model_key=key)
            async with opened as conversation:
                answer = TurnAnswer(conversation)
                yield started.model_copy(update={"conversation_id": conversation.id})
                # Beside the turn, so that a slow store does not delay the first word.
                report = conversation.report(options.turn_id, StreamingState(status="streaming"))
                reporting = asyncio.create_task(report, name="streaming state")
                running: RunnerStreamingResult | None = None
                # Holds when nothing else is reached: the reader has left.
                outcome = STOPPED
                try:
                    async with self.queue.place(options.asked_at, options.turn_id) as notices:
                        async for notice in notices:
                            yield notice
                        running = await self._run(request, answer, after=reporting)
                        for shown in answer.begin():
                            yield shown
                        async with running.started() as events:
                            async for event in events:
                                known = await self._joined(event) if isinstance(event, RunItemStreamEvent) else event
                                for shown in answer.shown(known):
                                    yield shown
                    outcome = running.result.outcome
                except Exception as error:  # noqa: BLE001 - the boundary of a turn, which ends in an outcome
                    outcome = _outcome_of(error, any_text=bool(answer.text))
                finally:
                    # Also on Stop, when nothing can be yielded any more: what was read is kept.
                    held = answer.finish()
                    result = (running.result if running else RunnerResult()).model_copy(update={"outcome": outcome})
                    await self._record(request, answer, result, after=reporting)
                for shown in (*held, *await self._checked(answer), *answer.end()):
                    yield shown
                if outcome.kind == "failed" and self.route is not None:
                    self.route.invalidate()
                ended = TurnEnded(outcome=outcome, answer=str(answer.text), usage=result.usage)
        except Exception as error:  # noqa: BLE001 - so that a turn ends in an outcome also when its conversation fails
            if answer is None:
                # The conversation could not be opened, so nothing has been said yet.
                yield started
            text = str(answer.text) if answer else ""
            # Logs the error, also where the turn has ended already.
            outcome = _outcome_of(error, any_text=bool(text))
            ended = ended or TurnEnded(outcome=outcome, answer=text)
        yield ended

    async def _run(
        self, request: TurnRequest, answer: TurnAnswer, *, after: asyncio.Task[None]
    ) -> RunnerStreamingResult:
        """Return the run, not yet started: the new message, and the rest of the conversation by id or in full."""
        conversation = answer.conversation
        asked = [message.content for message in conversation.messages if message.role == "user"]
        recent = [*asked[-_RECENT_QUESTIONS:], request.message]
        request = await request.prepare(request, recent) if request.prepare else request
        answer.notices = request.notices
        options = request.options
        store, tools = await self._search(request, conversation)
        tools = self.tool_manager.relevant(tools, "\n".join(recent))
        chosen = options.language if options.language != "auto" else None
        spoken = {"language": chosen or language_of(*reversed(recent))}
        speaking = self.tool_manager.taking("language")
        conversation.searched_in(store)
        fields: dict[str, Any] = {
            "model": request.model,
            # Identifies the asker without naming them, so that providers can tell abusers apart.
            "safety_identifier": hashlib.sha256(f"asclepius:{options.user_id}".encode()).hexdigest()[:32],
        }
        if store:
            fields["include"] = ("file_search_call.results",)
        run = RunRequest(
            items=(input_message("user", request.message),),
            previous_response_id=conversation.previous_response_id,
            transcript=conversation.transcript(),
            unchained=conversation.unchained(),
            chaining=self.chaining,
            prompt_kwargs=dict(request.prompt_kwargs),
            tools=tools,
            hosted_tools=(file_search_tool(store, options.documents),) if store else (),
            given={
                name: {**request.given.get(name, {}), **(spoken if name in speaking else {})}
                for name in {*request.given, *speaking}
            },
            fields=fields,
            resumed=options.resumed,
            on_response=self._progress(request, conversation, after=after),
            include_raw=False,
        )

        async def render(output: FunctionOutput) -> str:
            kept = {"output": without_doses(output.output)} if output.name in request.undosed else {}
            return await answer.render_output(output.model_copy(update=kept))

        return Runner(self.generator, self.tool_manager, max_steps=self.max_steps, render_output=render).astream(run)

    def _progress(
        self, request: TurnRequest, conversation: Conversation, *, after: asyncio.Task[None]
    ) -> Callable[[str], Awaitable[None]] | None:
        """Return a function that stores the id of a background response, for when this process dies."""
        if not self.generator.model_kwargs.get("background"):
            return None
        options = replace(request.options, conversation_id=conversation.id, model=request.model)
        stored, begun = to_jsonable_python(options), list(options.resumed)

        async def store(response_id: str) -> None:
            if response_id in begun:
                return
            begun.append(response_id)
            turn = ResumableTurn(question=request.message, options=stored, response_ids=tuple(begun))
            await after
            await conversation.report(options.turn_id, StreamingState(status="streaming", resumable=turn))

        return store

    async def _search(self, request: TurnRequest, conversation: Conversation) -> tuple[str | None, tuple[str, ...]]:
        """Return the vector store to search, if any, and the tools that are declared beside it.

        The server's file search does not have the files of a conversation (``scope``), and one search over both is
        better than two. Without a route the conversation keeps the store it began with.
        """
        options = request.options
        if options.vector_store_id or not request.guideline_tools or options.scope is not None:
            return options.vector_store_id, request.tools
        if self.route is None:
            return conversation.vector_store_id, request.tools
        try:
            store = await self.route.vector_store()
        except Exception as error:  # noqa: BLE001 - a question always has guidelines: the app's own index holds them
            logger.error("The guideline route could not be chosen: %s", type(error).__name__)  # noqa: TRY400
            return None, request.tools
        if store is None:
            return None, request.tools
        return store, tuple(name for name in request.tools if name not in request.guideline_tools)

    async def _joined(self, event: RunItemStreamEvent) -> RunItemStreamEvent:
        """Return ``event``; what the server's own file search found is joined with the passages stored here."""
        item = event.item
        if self.hosted is None or not isinstance(item, ToolOutputRunItem) or item.function_output.name != FILE_SEARCH:
            return event
        output = await self.hosted.join(item.function_output)
        return event.model_copy(update={"item": item.model_copy(update={"function_output": output})})

    async def _checked(self, answer: TurnAnswer) -> tuple[StatementsChecked, ...]:
        """Return what the check of the statements found, if anything."""
        try:
            checked = await self.statements.check(answer.claims)
        except Exception as error:  # noqa: BLE001 - the answer has been shown: what checks it must not break its end
            logger.error("The statements could not be checked: %s", describe_error(error))  # noqa: TRY400
            return ()
        return (checked,) if checked.unsupported else ()

    async def _record(
        self, request: TurnRequest, answer: TurnAnswer, result: RunnerResult, *, after: asyncio.Task[None]
    ) -> None:
        """Save the turn as the reader saw it; a second Stop does not interrupt that."""

        async def save() -> None:
            try:
                await answer.record(request.message, result, turn_id=request.options.turn_id)
                await after
                kind, response_id = result.outcome.kind, result.response_id
                state = StreamingState(status=kind, chunk_count=answer.deltas, response_id=response_id)
                await answer.conversation.report(request.options.turn_id, state)
            except Exception as error:  # noqa: BLE001 - what has been read stays an answer
                logger.error("A turn could not be saved: %s", describe_error(error))  # noqa: TRY400
                answer.conversation.notices.append(NOT_SAVED)

        saving = asyncio.ensure_future(save())
        try:
            await asyncio.wait_for(asyncio.shield(saving), self.save_seconds)
        except TimeoutError:
            logger.warning("A turn could not be saved within %g s.", self.save_seconds)


def _outcome_of(error: Exception, *, any_text: bool) -> Outcome:
    if isinstance(error, AsclepiusError):
        logger.warning("A turn failed: %s", type(error).__name__)
        return exception_outcome(error, any_text=any_text)
    # Neither the message nor the locals of an unforeseen error are known to be free of patient text.
    logger.error("A turn failed: %s", describe_error(error))
    return CRASHED
