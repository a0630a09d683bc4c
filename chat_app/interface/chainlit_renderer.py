"""Agent events as what the page shows: a message, steps and one References element.

``TurnPainter`` folds the events of a turn into the messages that Chainlit's page understands (``new_message``,
``stream_start``, ``stream_token``, ``update_message``, ``delete_message``, ``element``). It does no I/O and gives the
same ids for the same turn, so that a page which reloads, a second tab and the history all show one answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, assert_never
from uuid import NAMESPACE_URL, uuid5

from chat_app.events import (
    AgentEvent,
    AnyRunItem,
    CitationAdded,
    FinalOutputItem,
    LLMResponseItem,
    Notice,
    Outcome,
    RawResponsesStreamEvent,
    Reference,
    ReferencesReady,
    RunItemStreamEvent,
    StepRunItem,
    TextDelta,
    ToolCallRunItem,
    ToolOutputRunItem,
    ToolProgressRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.interface.follow_ups import follow_ups
from chat_app.interface.markdown_fold import MarkdownFold
from chat_app.interface.markdown_text import code_block
from chat_app.interface.reference_cards import card, reference_list
from chat_app.interface.tool_steps import finished_name, progress_name, raw_result, step_content, step_icon, step_name
from tools.types import Function, Passage

Wire = Literal["new_message", "stream_start", "stream_token", "update_message", "delete_message", "element"]
StepDict = dict[str, Any]
ElementDict = dict[str, Any]

READING = "Reading the question…"
WRITING = "Writing the answer…"
REFERENCES_ELEMENT = "References"


class Emission(NamedTuple):
    """One message to the page: its Socket.IO event and payload."""

    event: Wire
    payload: dict[str, Any]


@dataclass(frozen=True)
class TurnIds:
    """What a turn's parts are called on the page."""

    turn_id: str
    thread_id: str
    run_id: str
    started_at: datetime
    author: str = "Asclepius"
    question: str = ""

    def part(self, name: str) -> str:
        return _part(self.turn_id, name)

    @property
    def message_id(self) -> str:
        return self.part("answer")


@dataclass
class TurnPainter:
    """Folds one turn. ``steps`` and ``elements`` are what belongs into the history."""

    ids: TurnIds
    extracts: bool = False
    """True when the offline model answers: its answers are extracts of the sources."""
    steps: dict[str, StepDict] = field(default_factory=dict)
    elements: dict[str, ElementDict] = field(default_factory=dict)
    written: int = 0
    """Characters of the answer so far."""
    _fold: MarkdownFold = field(default_factory=MarkdownFold)
    _phase: str | None = None
    _calls: dict[str, Function] = field(default_factory=dict)
    _open_calls: set[str] = field(default_factory=set)
    _plain: list[str] = field(default_factory=list)
    _notices: list[str] = field(default_factory=list)
    _references: ReferencesReady | None = None
    _retrieved: list[Passage] = field(default_factory=list)
    _model: str = ""

    def paint(self, events: Iterable[AgentEvent]) -> list[Emission]:
        """What to send for ``events``; the text among them goes as one piece."""
        shown: list[Emission] = []
        text: list[str] = []
        for event in events:
            match event:
                case TextDelta():
                    self._plain.append(event.text)
                    self.written += len(event.text)
                    text.append(self._fold.feed(event.text))
                case CitationAdded():
                    self._plain.append(f"[{event.number}]")
                    text.append(self._fold.cite(self._citation(event.number)))
                case _:
                    shown += self._flush(text)
                    shown += self._other(event)
        return shown + self._flush(text)

    def interrupted(self, outcome: Outcome) -> list[StepDict]:
        """The steps as they should stand in the history if nothing more is ever written."""
        steps = [dict(step) for step in self.steps.values()]
        for step in steps:
            step["streaming"] = False
            if step["id"] == self.ids.message_id:
                step["metadata"] = {**step["metadata"], "outcome": outcome.model_dump()}
        return steps

    def _citation(self, number: int) -> str:
        return f"[\\[{number}\\]](#cite-{self.ids.message_id}-{number})"

    def _flush(self, text: list[str]) -> list[Emission]:
        joined = "".join(text)
        text.clear()
        if not joined:
            return []
        message = self.steps.get(self.ids.message_id)
        if message is not None:
            message["output"] += joined
            token = {"id": message["id"], "token": joined, "isSequence": False, "isInput": False}
            return [Emission("stream_token", token)]
        shown = self._enter_phase(None)
        message = self._step(self.ids.message_id, self.ids.author, "assistant_message", self.ids.run_id, _now())
        message |= {"output": joined, "streaming": True, "start": message["createdAt"], "end": message["createdAt"]}
        self.steps[message["id"]] = message
        return [*shown, Emission("stream_start", dict(message))]

    def _other(self, event: AgentEvent) -> list[Emission]:
        match event:
            case TurnStarted():
                self._model = event.model
                return self._enter_phase(READING)
            case Notice():
                if event.code != "waiting_for_provider":
                    self._notices.append(event.message)
                return self._enter_phase(event.message) if self.ids.message_id not in self.steps else []
            case RunItemStreamEvent():
                return self._run_item(event.item)
            case ReferencesReady():
                self._references = event
                return []
            case TurnEnded():
                return self._end(event)
            case RawResponsesStreamEvent() | TextDelta() | CitationAdded():
                return []
            case _:
                assert_never(event)

    def _run_item(self, item: AnyRunItem) -> list[Emission]:
        match item:
            case ToolCallRunItem():
                return self._tool_started(item)
            case ToolProgressRunItem():
                return self._tool_progress(item)
            case ToolOutputRunItem():
                return self._tool_ended(item)
            case LLMResponseItem() | StepRunItem() | FinalOutputItem():
                return []
            case _:
                assert_never(item)

    def _tool_started(self, item: ToolCallRunItem) -> list[Emission]:
        call = item.function
        if call.call_id in self._calls:
            return []
        self._calls[call.call_id] = call
        self._open_calls.add(call.call_id)
        step = self._step(self.ids.part(call.call_id), step_name(call), "tool", self.ids.run_id, item.timestamp)
        step["metadata"]["icon"] = step_icon(call)
        self.steps[step["id"]] = step
        return [*self._enter_phase(None), Emission("new_message", dict(step))]

    def _tool_progress(self, item: ToolProgressRunItem) -> list[Emission]:
        call = self._calls.get(item.progress.call_id)
        if call is None or call.call_id not in self._open_calls:
            return []
        step = self.steps[self.ids.part(call.call_id)]
        step["name"] = progress_name(call, item.progress.item)
        return [Emission("update_message", dict(step))]

    def _tool_ended(self, item: ToolOutputRunItem) -> list[Emission]:
        output = item.function_output
        call_id = output.input.call_id
        shown: list[Emission] = []
        if call_id not in self._calls:
            shown += self._tool_started(ToolCallRunItem(function=output.input, timestamp=item.timestamp))
        self._open_calls.discard(call_id)
        self._retrieved += output.passages
        step = self.steps[self.ids.part(call_id)]
        step |= {"name": finished_name(output), "output": step_content(output), "isError": output.error is not None,
                 "end": _iso(output.finished_at)}
        shown.append(Emission("update_message", dict(step)))
        if output.error is None:
            raw = self._step(self.ids.part(f"{call_id}:raw"), "Raw result", "undefined", step["id"], item.timestamp)
            raw |= {"output": code_block(raw_result(output), "json"), "end": raw["start"]}
            self.steps[raw["id"]] = raw
            shown.append(Emission("new_message", dict(raw)))
        if not self._open_calls and self.ids.message_id not in self.steps:
            shown += self._enter_phase(WRITING)
        return shown

    def _end(self, event: TurnEnded) -> list[Emission]:
        shown = self._flush([self._fold.close()])
        shown += self._enter_phase(None)
        for call_id in self._open_calls:
            step = self.steps[self.ids.part(call_id)]
            step |= {"name": f"{step['name']} · not finished", "end": _iso(_now())}
            shown.append(Emission("update_message", dict(step)))
        message = self.steps.get(self.ids.message_id)
        if message is None:
            message = self._step(self.ids.message_id, self.ids.author, "assistant_message", self.ids.run_id, _now())
            self.steps[message["id"]] = message
        message |= {"streaming": False, "isError": event.outcome.kind == "failed"}
        message["metadata"] = {**message["metadata"], "outcome": event.outcome.model_dump(), "answer": event.answer}
        element = self._element(event.outcome)
        self.elements[element["id"]] = element
        return [*shown, Emission("new_message", dict(message)), Emission("element", element)]

    def _element(self, outcome: Outcome) -> ElementDict:
        references: tuple[Reference, ...] = self._references.references if self._references else ()
        listed = reference_list(references)
        props = {
            "message": self.ids.message_id,
            "outcome": outcome.model_dump(),
            "notices": list(dict.fromkeys(self._notices)),
            "references": [card(reference) for reference in references],
            "dropped": self._references.dropped if self._references else 0,
            "plain": "".join(self._plain) + (f"\n\n{listed}" if listed else ""),
            "question": self.ids.question,
            "thread": self.ids.thread_id,
            "follow_ups": [f._asdict() for f in follow_ups(self._retrieved, [r.passage.id for r in references])],
            "extracts": self.extracts,
            "model": self._model,
        }
        return {
            "id": self.ids.part("references"), "threadId": self.ids.thread_id, "type": "custom",
            "name": REFERENCES_ELEMENT, "display": "inline", "forId": self.ids.message_id,
            "mime": "application/json", "props": props,
        }

    def _enter_phase(self, phase: str | None) -> list[Emission]:
        """Shows ``phase`` as the line that says what is going on, or takes that line away."""
        if phase == self._phase:
            return []
        before, self._phase = self._phase, phase
        line = self._step(self.ids.part("phase"), phase or "", "undefined", self.ids.run_id, _now())
        line["metadata"]["icon"] = "hourglass"
        if phase is None:
            return [Emission("delete_message", line)]
        return [Emission("update_message" if before else "new_message", line)]

    def _step(self, step_id: str, name: str, kind: str, parent: str, at: datetime) -> StepDict:
        return {
            "id": step_id, "name": name, "type": kind, "threadId": self.ids.thread_id, "parentId": parent,
            "input": "", "output": "", "streaming": False, "isError": False, "showInput": False,
            "defaultOpen": False, "autoCollapse": False, "metadata": {"turn": self.ids.turn_id},
            "createdAt": _iso(at), "start": _iso(at), "end": None,
        }


def _part(turn_id: str, name: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"asclepius:{turn_id}:{name}"))


def phase_id(turn_id: str) -> str:
    """The id of the line that says what is going on in a turn."""
    return _part(turn_id, "phase")


def run_step(ids: TurnIds, question_id: str) -> StepDict:
    """The run that a turn's parts hang under, itself under the question."""
    at = _iso(ids.started_at)
    return {"id": ids.run_id, "name": "on_message", "type": "run", "threadId": ids.thread_id, "parentId": question_id,
            "input": "", "output": "", "streaming": False, "isError": False, "showInput": False, "metadata": {},
            "createdAt": at, "start": at, "end": None}


def finished_run(ids: TurnIds, question_id: str) -> StepDict:
    """The run when its answer has ended."""
    return {**run_step(ids, question_id), "end": _iso(_now())}


def _now() -> datetime:
    return datetime.now(UTC)


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
