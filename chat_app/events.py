"""The events that a consultation yields, in one discriminated union: ``AgentEvent``.

Order within a turn: one ``TurnStarted``; then, as they happen, ``TextDelta``, ``CitationAdded``, ``Notice`` and
run items; then, once the stream has ended, at most one ``StatementsChecked`` and at most one ``ReferencesReady``; last,
always, exactly one ``TurnEnded``.

The answer is the concatenation of all ``TextDelta.text`` since the last ``TextReplaced``; nothing is stripped or
reordered. A citation belongs after the text that precedes its event. The marker that the model wrote for it (``[4]``)
is not part of any delta; ``CitationAdded.marker`` contains it.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Literal, Self
from uuid import uuid4

import orjson
from pydantic import Field, JsonValue, SerializeAsAny, TypeAdapter

from chat_app.errors import ErrorCode
from chat_app.response_events import OutputTextDelta, ResponseEvent, StreamEvent
from chat_app.response_objects import Usage
from tools.types import Frozen, Function, FunctionOutput, Passage, ToolPresentation, ToolProgress


class RawResponsesStreamEvent(Frozen):
    """One event of the model server, unchanged."""

    type: Literal["raw_response_event"] = "raw_response_event"
    data: SerializeAsAny[StreamEvent]

    @classmethod
    def of(cls, event: ResponseEvent) -> Self:
        """Return ``event`` as one of the turn."""
        return cls(data=StreamEvent.model_validate(event.body) if isinstance(event, OutputTextDelta) else event)


class RunItem(Frozen):
    id: str = Field(default_factory=lambda: uuid4().hex)
    timestamp: datetime = Field(default_factory=lambda: datetime.now(UTC))


class LLMResponseItem(RunItem):
    """A step's response is complete; its tool calls may still run."""

    type: Literal["llm_response"] = "llm_response"
    step: int
    response_id: str | None
    text: str
    model: str | None = None
    """The model that answered, as the server names it."""
    usage: Usage | None = None


class ReasoningRunItem(RunItem):
    """Reasoning that the model wrote before its next text or call: its own words, supported by no source."""

    type: Literal["reasoning"] = "reasoning"
    text: str


class ToolCallRunItem(RunItem):
    type: Literal["tool_call"] = "tool_call"
    function: Function
    presentation: ToolPresentation | None = None
    """How the call is shown; None for a tool that has none."""


class ToolProgressRunItem(RunItem):
    """One progress item of a running generator tool."""

    type: Literal["tool_progress"] = "tool_progress"
    progress: ToolProgress


class ToolOutputRunItem(RunItem):
    type: Literal["tool_output"] = "tool_output"
    function_output: FunctionOutput


class StepOutput(Frozen):
    """One step: a response, its calls and their outputs, in call order."""

    step: int
    response_id: str | None
    text: str
    functions: tuple[Function, ...] = ()
    observations: tuple[FunctionOutput, ...] = ()


class StepRunItem(RunItem):
    type: Literal["step"] = "step"
    step_output: StepOutput


OutcomeKind = Literal["completed", "incomplete", "refused", "failed"]
IncompleteReason = Literal[
    "truncated",
    "protocol_violation",
    "max_output_tokens",
    "content_filter",
    "stalled",
    "stopped",
    "step_limit",
    "other",
]


OutcomeCode = (
    ErrorCode
    | Literal[
        "abandoned",
        "answered_elsewhere",
        "completed",
        "content_filter",
        "ended_early",
        "length_limit",
        "model_server_busy_for",
        "no_answer",
        "refused",
        "step_limit",
        "stopped",
        "tool_call_unreadable",
    ]
)


class Outcome(Frozen):
    """How a turn ended.

    ``message`` says it in English where the turn did not simply complete; ``code`` and ``params`` identify the same
    sentence in the catalogues of other languages.
    """

    kind: OutcomeKind = "completed"
    reason: IncompleteReason | None = None
    code: OutcomeCode = "completed"
    params: dict[str, str | int] = Field(default_factory=dict)
    message: str = ""
    retryable: bool = False
    """Whether the same question may succeed when asked again."""


class RunnerResult(Frozen):
    """A whole run: its steps, the answer, and how it ended."""

    step_history: tuple[StepOutput, ...] = ()
    final_output: JsonValue = None
    answer: str = ""
    response_id: str | None = None
    """The last response that is complete and has no open tool call; the next turn may chain to it."""
    usage: Usage | None = None
    outcome: Outcome = Outcome()


class FinalOutputItem(RunItem):
    type: Literal["final_output"] = "final_output"
    runner_response: RunnerResult
    final_output: JsonValue = None


AnyRunItem = Annotated[
    LLMResponseItem
    | ReasoningRunItem
    | ToolCallRunItem
    | ToolProgressRunItem
    | ToolOutputRunItem
    | StepRunItem
    | FinalOutputItem,
    Field(discriminator="type"),
]
RunItemName = Literal[
    "agent.llm_response",
    "agent.reasoning",
    "agent.tool_call_start",
    "agent.tool_call_progress",
    "agent.tool_call_complete",
    "agent.step_complete",
    "agent.final_output",
    "agent.execution_complete",
]


class RunItemStreamEvent(Frozen):
    type: Literal["run_item_stream_event"] = "run_item_stream_event"
    name: RunItemName
    item: AnyRunItem


class TurnStarted(Frozen):
    type: Literal["turn_started"] = "turn_started"
    conversation_id: str
    turn_id: str
    model: str


class TextDelta(Frozen):
    """The next characters of the answer, unchanged."""

    type: Literal["text_delta"] = "text_delta"
    text: str


class TextReplaced(Frozen):
    """All text and citations so far are void, because the server corrected them; the answer follows again."""

    type: Literal["text_replaced"] = "text_replaced"


class CitationAdded(Frozen):
    """A citation at this point of the answer. ``number`` counts passages in order of first use, from 1."""

    type: Literal["citation"] = "citation"
    number: int = Field(ge=1)
    passage: Passage
    marker: str = ""


NoticeCode = Literal[
    "answer_resumed",
    "citation_dropped",
    "conversation_lost",
    "emergency",
    "history_not_saved",
    "history_unavailable",
    "language_of_sources",
    "new_conversation",
    "queue_left",
    "queued",
    "sources_loading",
    "starting",
    "tool_failed",
    "transcript_always_replayed",
    "transcript_replayed",
    "waiting_for_provider",
]
_TRANSIENT: frozenset[NoticeCode] = frozenset(
    {"answer_resumed", "queue_left", "queued", "starting", "waiting_for_provider"}
)


class Notice(Frozen):
    """Something the reader should know while the turn goes on.

    ``message`` says it in English; ``code`` and ``params`` identify the same sentence in the catalogues of other
    languages.
    """

    type: Literal["notice"] = "notice"
    code: NoticeCode
    params: dict[str, str | int] = Field(default_factory=dict)
    message: str

    @property
    def is_transient(self) -> bool:
        """Whether the notice says what the turn waits for, and is over when the turn goes on."""
        return self.code in _TRANSIENT

    @property
    def comes_first(self) -> bool:
        """Whether the notice is shown above the answer, as the advice itself."""
        return self.code == "emergency"


class Reference(Frozen):
    """An entry of the References section; every quote was verified to occur verbatim in ``passage.text``."""

    number: int = Field(ge=1)
    passage: Passage
    quotes: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    """Of the passage's sections those that the answer cites; none where that is not known: then it is any of them."""
    strengths: tuple[str, ...] = ()
    """What the guideline states on the strength of the quoted recommendations and the certainty of their evidence."""

    @property
    def section(self) -> str:
        """The headings above the cited text, without the source's title, which precedes them in a reference."""
        title = self.passage.title
        named = self.sections or tuple(dict.fromkeys(start.section for start in self.passage.sections))
        below = (section.removeprefix(f"{title} › ") for section in named)
        return "; ".join(section for section in below if section not in {"", title})


SupportReason = Literal["number", "unit", "negation", "name", "wording", "model"]
"""What of a statement is not in its passages; ``model``: the second model did not find it there."""


class UnsupportedStatement(Frozen):
    """A cited statement that was not found in its source."""

    text: str
    """The statement as the answer has it, without its citations."""
    numbers: tuple[int, ...]
    """The citations that it carries."""
    reasons: tuple[SupportReason, ...]
    details: tuple[str, ...] = ()
    """The figures and names that the passages do not have."""

    @property
    def marks(self) -> str:
        """Its citations, such as ``[1][2]``."""
        return "".join(f"[{number}]" for number in self.numbers)

    @property
    def missing(self) -> str:
        """Its details, in brackets after a space."""
        return f" ({', '.join(self.details)})" if self.details else ""


class StatementsChecked(Frozen):
    """Comes once the text has ended, when a cited statement was not found in its source."""

    type: Literal["statements_checked"] = "statements_checked"
    checked: int
    """Cited statements of the answer."""
    unsupported: tuple[UnsupportedStatement, ...]
    verifier: str = ""
    """The second model that also checked them, if one did."""


class ReferencesReady(Frozen):
    type: Literal["references"] = "references"
    references: tuple[Reference, ...]
    dropped: int = 0
    """Citations that the model made to something that was never retrieved."""


class TurnEnded(Frozen):
    """The one outcome of a turn. ``answer`` equals the joined text deltas since the last ``TextReplaced``."""

    type: Literal["turn_ended"] = "turn_ended"
    outcome: Outcome
    answer: str
    usage: Usage | None = None


AgentEvent = Annotated[
    TurnStarted
    | TextDelta
    | TextReplaced
    | CitationAdded
    | Notice
    | RunItemStreamEvent
    | StatementsChecked
    | ReferencesReady
    | TurnEnded,
    Field(discriminator="type"),
]


class ModelEvent(Frozen):
    """An event of the turn of ``model``, where one question is asked of several models side by side."""

    model: str
    event: AgentEvent


agent_event_adapter: TypeAdapter[AgentEvent] = TypeAdapter(AgentEvent)


def event_json(event: AgentEvent) -> bytes:
    """Return ``event`` as JSON; text, which is most of them, without the search for its type."""
    if isinstance(event, TextDelta):
        return b'{"type":"text_delta","text":%b}' % orjson.dumps(event.text)
    return agent_event_adapter.dump_json(event)


def events_of(lines: Iterable[str]) -> list[AgentEvent]:
    """Return the events of lines that ``event_json`` wrote. Raises ``ValidationError`` for those of another version."""
    return list(map(agent_event_adapter.validate_json, lines))
