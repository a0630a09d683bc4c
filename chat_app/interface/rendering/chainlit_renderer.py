"""Agent events as what the page shows: a message, steps and one References element.

``TurnRenderer`` folds the events of a turn into the messages that Chainlit's page understands (``new_message``,
``stream_start``, ``stream_token``, ``update_message``, ``delete_message``, ``element``). It does no I/O and gives the
same ids for the same turn, so that a page which reloads, a second tab and the history all show one answer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, assert_never

from chat_app.events import (
    AgentEvent,
    AnyRunItem,
    CitationAdded,
    FinalOutputItem,
    LLMResponseItem,
    Notice,
    ReasoningRunItem,
    ReferencesReady,
    RunItemStreamEvent,
    StatementsChecked,
    StepRunItem,
    TextDelta,
    TextReplaced,
    ToolCallRunItem,
    ToolOutputRunItem,
    ToolProgressRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.i18n.translation import say, say_notice
from chat_app.interface.markdown.markdown_fold import MarkdownFold
from chat_app.interface.markdown.markdown_text import code_block
from chat_app.interface.rendering.answer_end import AnswerEnd
from chat_app.interface.rendering.answer_parts import PART, AnswerParts
from chat_app.interface.rendering.tool_steps import finished_name, progress_name, raw_result, step_content, step_name
from chat_app.interface.rendering.turn_steps import (
    GOES_ON,
    ElementDict,
    StepDict,
    TurnIds,
    answer_step,
    empty_step,
    iso,
    now,
)

Wire = Literal["new_message", "stream_start", "stream_token", "update_message", "delete_message", "element"]


class Emission(NamedTuple):
    """A message to the page: its Socket.IO event and payload."""

    event: Wire
    payload: dict[str, Any]


@dataclass
class TurnRenderer:
    """Renders one turn. ``steps`` and ``elements`` are stored in the history."""

    ids: TurnIds
    extracts: bool = False
    """True when the offline model answers: its answers are extracts of the sources."""
    options: PageOptions = field(default_factory=PageOptions)
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of the selected guidelines by id, as far as they are known when the turn ends."""
    steps: dict[str, StepDict] = field(default_factory=dict)
    elements: dict[str, ElementDict] = field(default_factory=dict)
    written: int = 0
    """Characters of the answer so far."""
    _fold: MarkdownFold = field(default_factory=MarkdownFold)
    _phase: str | None = None
    _calls: dict[str, ToolCallRunItem] = field(default_factory=dict)
    _open_calls: set[str] = field(default_factory=set)
    _closing: AnswerEnd = field(init=False)
    _parts: AnswerParts = field(init=False)
    _part: int = 0
    _first_part: int = 0
    """Number of the part where the agent's answer begins, after notices and the report of added files."""
    _lead: str = ""
    """A notice above the answer."""

    def __post_init__(self) -> None:
        self._closing = AnswerEnd(self.ids, self.extracts, self.options, self.titles)
        self._parts = AnswerParts(None if self.ids.column else PART)

    @property
    def growing(self) -> int:
        """Number of characters that the page renders again with every piece of text."""
        return self._parts.length

    @property
    def answer_id(self) -> str:
        """Id of the message that the next text goes into."""
        return self.ids.answer_id(self._part)

    def begin(self) -> list[Emission]:
        """Return the column of a compared model, which is shown before any event."""
        if not self.ids.column or self.ids.message_id in self.steps:
            return []
        return [Emission("new_message", dict(self._message()))]

    def render(self, events: Iterable[AgentEvent]) -> list[Emission]:
        """Return what to send for ``events``; adjacent text is one piece."""
        shown = self.begin()
        text: list[str] = []
        for event in events:
            self._closing.see(event)
            match event:
                case TextDelta():
                    self.written += len(event.text)
                    text.append(self._fold.feed(event.text))
                case CitationAdded():
                    link = f"[\\[{event.number}\\]](#cite-{self.ids.message_id}-{event.number})"
                    text.append(self._fold.cite(link))
                case _:
                    shown += self._flush(text)
                    shown += self._other(event)
        return shown + self._flush(text)

    def _message(self) -> StepDict:
        message = self.steps.get(self.answer_id)
        if message is None:
            message = self.steps[self.answer_id] = answer_step(self.ids, self._part)
        return message

    def _flush(self, text: list[str]) -> list[Emission]:
        joined = "".join(text)
        text.clear()
        shown: list[Emission] = []
        for number, piece in enumerate(self._parts.cut(joined)):
            if number:
                shown.append(self._seal_part())
            if piece:
                shown += self._write(piece)
        return shown

    def _write(self, piece: str) -> list[Emission]:
        message = self._message()
        begun = bool(message["output"])
        message["output"] += piece
        if begun:
            token = {"id": message["id"], "token": piece, "isSequence": False, "isInput": False}
            return [Emission("stream_token", token)]
        message["streaming"] = True
        if not self.ids.column:
            message["end"] = message["start"]
        return [*self._enter_phase(None), Emission("stream_start", dict(message))]

    def _seal_part(self) -> Emission:
        """Close the open part; later text goes into the next one."""
        message = self._message()
        message["streaming"] = False
        message["metadata"] = {**message["metadata"], GOES_ON: True}
        self._part += 1
        return Emission("update_message", {key: message[key] for key in ("id", "streaming", "metadata")})

    def _other(self, event: AgentEvent) -> list[Emission]:
        match event:
            case TurnStarted():
                # The report of added files stays above the tool calls.
                shown = self._begin_answer() if self.written else []
                return [*shown, *self._enter_phase(say(self.ids.language, "phase.reading"))]
            case Notice(comes_first=True):
                return self._first(say_notice(self.ids.language, event))
            case Notice():
                return self._enter_phase(say_notice(self.ids.language, event)) if not self.written else []
            case RunItemStreamEvent():
                return self._run_item(event.item)
            case TextReplaced():
                return self._restart()
            case TurnEnded():
                return self._end(event)
            case TextDelta() | CitationAdded() | StatementsChecked() | ReferencesReady():
                return []
            case _:
                assert_never(event)

    def _first(self, notice: str) -> list[Emission]:
        """Show ``notice`` above the answer: as a part, or in a comparison as the beginning of the column."""
        self._lead = f"> **{notice}**\n\n"
        return [*self._write(self._lead), *self._begin_answer()]

    def _begin_answer(self) -> list[Emission]:
        """Begin the answer in a new message; in a column, continue the same one."""
        if self.ids.column:
            return []
        sealed = self._seal_part()
        self._first_part = self._part
        return [sealed]

    def _restart(self) -> list[Emission]:
        """Empty the answer, below a notice that comes first; its text follows again."""
        first = self._first_part if self._lead and not self.ids.column else 0
        later = [self.ids.answer_id(part) for part in range(self._part + 1) if part not in (first - 1, first)]
        shown = [Emission("delete_message", dict(self.steps.pop(key))) for key in later if key in self.steps]
        self._part, self._first_part, self.written = first, first, 0
        self._fold, self._parts = MarkdownFold(), AnswerParts(None if self.ids.column else PART)
        message = self.steps.get(self.ids.answer_id(first))
        if message is not None:
            message["output"] = self._lead if self.ids.column else ""
            message["metadata"] = {key: value for key, value in message["metadata"].items() if key != GOES_ON}
            shown.append(Emission("update_message", dict(message)))
        return shown

    def _run_item(self, item: AnyRunItem) -> list[Emission]:
        match item:
            case ToolCallRunItem():
                return self._tool_started(item)
            case ToolProgressRunItem():
                return self._tool_progress(item)
            case ToolOutputRunItem():
                return self._tool_ended(item)
            case ReasoningRunItem():
                return self._reasoned(item)
            case LLMResponseItem() | StepRunItem() | FinalOutputItem():
                return []
            case _:
                assert_never(item)

    def _reasoned(self, item: ReasoningRunItem) -> list[Emission]:
        if self.extracts:
            # The offline model's reasoning only names its calls, which are steps themselves.
            return []
        fold = MarkdownFold()
        step = self._tool_step(item.id, say(self.ids.language, "step.reasoning"), item.timestamp, icon="brain")
        step |= {"output": fold.feed(item.text) + fold.close(), "end": iso(item.timestamp)}
        return [Emission("new_message", dict(step))]

    def _tool_step(self, key: str, name: str, at: datetime, *, icon: str) -> StepDict:
        step = empty_step(self.ids, self.ids.part(key), name, kind="tool", parent=self.ids.holder_id, at=at, icon=icon)
        self.steps[step["id"]] = step
        return step

    def _tool_started(self, item: ToolCallRunItem) -> list[Emission]:
        call = item.function
        if call.call_id in self._calls:
            return []
        self._calls[call.call_id] = item
        self._open_calls.add(call.call_id)
        icon = item.presentation.icon if item.presentation else "wrench"
        name = step_name(call, item.presentation, self.ids.language)
        step = self._tool_step(call.call_id, name, item.timestamp, icon=icon)
        return [*self._enter_phase(None), Emission("new_message", dict(step))]

    def _tool_progress(self, item: ToolProgressRunItem) -> list[Emission]:
        call_id = item.progress.call_id
        if call_id not in self._open_calls:
            return []
        call, step = self._calls[call_id], self.steps[self.ids.part(call_id)]
        step["name"] = progress_name(call.function, item.progress.item, call.presentation, self.ids.language)
        return [Emission("update_message", dict(step))]

    def _tool_ended(self, item: ToolOutputRunItem) -> list[Emission]:
        output = item.function_output
        call_id = output.input.call_id
        shown: list[Emission] = []
        if call_id not in self._calls:
            shown += self._tool_started(ToolCallRunItem(function=output.input, timestamp=item.timestamp))
        self._open_calls.discard(call_id)
        step, tool = self.steps[self.ids.part(call_id)], self._calls[call_id].presentation
        step |= {
            "name": finished_name(output, tool, self.ids.language),
            "output": step_content(output, tool, self.ids.language, question=self.ids.question),
            "isError": output.error is not None,
            "end": iso(output.finished_at),
        }
        shown.append(Emission("update_message", dict(step)))
        if output.error is None:
            part = self.ids.part(f"{call_id}:raw")
            name = say(self.ids.language, "step.raw")
            raw = empty_step(self.ids, part, name, kind="undefined", parent=step["id"], at=item.timestamp)
            raw |= {"output": code_block(raw_result(output, self.ids.language), "json"), "end": raw["start"]}
            self.steps[part] = raw
            shown.append(Emission("new_message", dict(raw)))
        if not self._open_calls and not self.written:
            shown += self._enter_phase(say(self.ids.language, "phase.writing"))
        return shown

    def _end(self, event: TurnEnded) -> list[Emission]:
        shown = self._flush([self._fold.close()])
        shown += self._enter_phase(None)
        for call_id in self._open_calls:
            step = self.steps[self.ids.part(call_id)]
            step |= {"name": f"{step['name']} · {say(self.ids.language, 'step.unfinished')}", "end": iso(now())}
            shown.append(Emission("update_message", dict(step)))
        message = self._message()
        message |= {"streaming": False, "isError": event.outcome.kind == "failed"}
        if self.ids.column:
            message["end"] = iso(now())
        message["metadata"] = {**message["metadata"], "outcome": event.outcome.model_dump(), "answer": event.answer}
        element = self._closing.element(event.outcome, under=message["id"], first_part=self._first_part)
        self.elements[element["id"]] = element
        return [*shown, Emission("new_message", dict(message)), Emission("element", element)]

    def _enter_phase(self, phase: str | None) -> list[Emission]:
        """Show ``phase`` as the line that says what the turn is doing, or remove that line."""
        if phase == self._phase:
            return []
        before, self._phase = self._phase, phase
        part, holder = self.ids.part("phase"), self.ids.holder_id
        line = empty_step(self.ids, part, phase or "", kind="undefined", parent=holder, at=now(), icon="hourglass")
        if phase is None:
            return [Emission("delete_message", line)]
        return [Emission("update_message" if before else "new_message", line)]
