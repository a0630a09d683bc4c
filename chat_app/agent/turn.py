"""One turn: its request, and its answer while it streams."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chat_app.agent.chat_manager import Conversation
from chat_app.agent.citation_manager import CitationManager, CitedEvent
from chat_app.agent.run_types import RunnerEvent
from chat_app.agent.statements.statement_check import Claim
from chat_app.answer_options import ConsultOptions
from chat_app.events import (
    AgentEvent,
    Notice,
    RawResponsesStreamEvent,
    ReferencesReady,
    RunItemStreamEvent,
    RunnerResult,
    TextDelta,
    TextReplaced,
    ToolOutputRunItem,
)
from chat_app.generation.text_buffer import TextBuffer
from chat_app.generation.updates import CitationUpdate
from chat_app.response_objects import FILE_SEARCH
from tools.errors import ToolErrorCode

_FAULTS: Final[frozenset[ToolErrorCode]] = frozenset({"failed", "index_mismatch", "timeout", "unavailable"})
"""Errors of a tool that are none of the model's making."""
TOOL_FAILED: Final = Notice(
    code="tool_failed",
    message="A search or a tool failed, so this answer may be missing something. Ask again later.",
)


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One question with what the agent decided about it."""

    message: str
    options: ConsultOptions
    model: str
    tools: tuple[str, ...] = ()
    guideline_tools: frozenset[str] = frozenset()
    """Those of ``tools`` that the model server's own file search can replace."""
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hidden parameters of the tools, by tool and name."""
    notices: tuple[Notice, ...] = ()
    """Shown before the answer."""
    prompt_kwargs: Mapping[str, Any] = field(default_factory=dict)
    undosed: frozenset[str] = frozenset()
    """Those of ``tools`` whose results the model gets without usual doses."""
    prepare: "Callable[[TurnRequest, Sequence[str]], Awaitable[TurnRequest]] | None" = None
    """Completes the request with the last questions when its turn begins."""


class TurnAnswer:
    """Turns the runner's events into the reader's, and keeps what has to be recorded."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.notices: Sequence[Notice] = ()
        """Shown before the answer."""
        self._citations = CitationManager(conversation.number_passages, conversation.retrieved.items())
        self.render_output = self._citations.render_output
        self.text = TextBuffer()
        self.deltas = 0
        """Number of text deltas so far."""
        self._notified = 0
        self._failed: set[str] = set()

    @property
    def claims(self) -> Sequence[Claim]:
        """The cited statements so far."""
        return self._citations.claims

    def begin(self) -> Sequence[AgentEvent]:
        """Return the notices that precede the answer."""
        return (*self.notices, *self._new_notices())

    def shown(self, event: RunnerEvent) -> Sequence[AgentEvent]:
        """Return what the reader gets for one event of the runner."""
        if isinstance(event, TextDelta):
            return self._kept(self._citations.feed(event.text))
        if isinstance(event, CitationUpdate):
            return self._kept(self._citations.annotate(event))
        if isinstance(event, TextReplaced):
            self._citations.restart()
            self.text = TextBuffer()
            return (event,)
        if isinstance(event, RunItemStreamEvent) and isinstance(event.item, ToolOutputRunItem):
            output = event.item.function_output
            self._failed.discard(output.name)
            if output.error is not None and output.error_code in _FAULTS:
                self._failed.add(output.name)
            if output.name == FILE_SEARCH:
                self._citations.add_hosted(output)
        return (*self._new_notices(), *(() if isinstance(event, RawResponsesStreamEvent) else (event,)))

    def finish(self) -> Sequence[AgentEvent]:
        """Return the text and citations that were held back, once the text has ended."""
        return self._kept(self._citations.finish())

    def end(self) -> Sequence[AgentEvent]:
        """Return what follows the recorded answer: late notices, tools that failed to the end, and the references."""
        failed = (TOOL_FAILED,) if self._failed else ()
        references = self._citations.references()
        shown = (references,) if references.references or references.dropped else ()
        return (*self._new_notices(), *failed, *shown)

    async def record(self, question: str, result: RunnerResult, *, turn_id: str) -> None:
        """Save the question and the answer as the reader saw it."""
        references: ReferencesReady = self._citations.references()
        cited = [reference.passage for reference in references.references]
        # What the server's own search found becomes part of the conversation when it is cited, and no sooner: a number
        # that the model was never given must not turn into a citation.
        numbered = {passage.id for passage in self.conversation.retrieved.values()}
        found = [passage for passage in cited if passage.id not in numbered]
        if found:
            await self.conversation.number_passages(found)
        seen = result.model_copy(update={"answer": str(self.text)})
        await self.conversation.record(question, seen, [passage.id for passage in cited], turn_id=turn_id)

    def _kept(self, events: list[CitedEvent]) -> Sequence[AgentEvent]:
        for event in events:
            if isinstance(event, TextDelta):
                self.text.append(event.text)
                self.deltas += 1
        return events

    def _new_notices(self) -> Sequence[Notice]:
        fresh = self.conversation.notices[self._notified :]
        self._notified += len(fresh)
        return fresh
