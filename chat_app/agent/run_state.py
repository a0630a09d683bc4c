"""The state of a run between its steps: the conversation's items, the chain, the steps and the answer so far."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_jsonable_python

from chat_app.agent.run_types import RunRequest
from chat_app.events import Outcome, RunnerResult, StepOutput, TextDelta, TextReplaced
from chat_app.generation.generator import input_message
from chat_app.generation.response_fold import ResponseFold
from chat_app.generation.text_buffer import TextBuffer
from chat_app.generation.updates import CitationUpdate
from chat_app.response_objects import Usage, Wire
from tools.types import Function


@dataclass(slots=True)
class _Said:
    """The text of one message, and the citations behind so many of its characters."""

    message_id: str
    text: TextBuffer = field(default_factory=TextBuffer)
    length: int = 0
    citations: list[tuple[int, CitationUpdate]] = field(default_factory=list[tuple[int, CitationUpdate]])


class RunState:
    """The state of one run; only its own steps change it."""

    def __init__(self, request: RunRequest) -> None:
        self.request = request
        self.steps: list[StepOutput] = []
        self.usage: Usage | None = None
        self.response_id = request.previous_response_id
        """The last response that the next question can chain to."""
        self._chain_id = request.previous_response_id
        self._chaining = request.chaining
        self._items: list[dict[str, Any]] = list(request.items)
        self._new: list[dict[str, Any]] = [*request.unchained, *request.items]
        self._said: list[_Said] = []
        self._final: object = None

    @property
    def answer(self) -> str:
        """The text of all steps so far."""
        answer = ""
        for said in self._said:
            answer += _paragraph_break(answer) + str(said.text)
        return answer

    def has_called(self, function: Function) -> bool:
        """Return whether a step before made this very call, with its id and arguments."""
        said = (function.call_id, function.name, function.arguments)
        return any((one.call_id, one.name, one.arguments) == said for step in self.steps for one in step.functions)

    def replay(self) -> None:
        """Send the whole conversation with every further request."""
        self._chaining = False

    def next_input(self) -> dict[str, Any]:
        """Return ``items`` and ``previous_response_id`` of the next request."""
        if self._chaining and (self._chain_id or not self.request.transcript):
            return {"items": self._new, "previous_response_id": self._chain_id}
        return {"items": [*self.request.transcript, *self._items], "previous_response_id": None}

    def add_text(self, item_id: str, text: str) -> str:
        """Append ``text`` of message ``item_id`` and return it; a new message starts a new paragraph."""
        message_id, opening = self._message_id(item_id), ""
        if not self._said or self._said[-1].message_id != message_id:
            opening = _paragraph_break(self.answer)
            self._said.append(_Said(message_id))
        said = self._said[-1]
        said.text.append(text)
        said.length += len(text)
        return opening + text

    def add_citation(self, citation: CitationUpdate) -> None:
        """Keep ``citation`` at the end of the text so far, for when that is shown again."""
        if self._said:
            self._said[-1].citations.append((self._said[-1].length, citation))

    def replace_text(self, item_id: str, text: str) -> Iterator[TextReplaced | TextDelta | CitationUpdate]:
        """Set the text of message ``item_id``; yield the answer and its citations again, from the beginning."""
        message_id = self._message_id(item_id)
        corrected = [_Said(message_id, TextBuffer(text), len(text))] if text else []
        places = [place for place, said in enumerate(self._said) if said.message_id == message_id]
        at = places[0] if places else len(self._said)
        others = [said for said in self._said[at:] if said.message_id != message_id]
        self._said[at:] = [*corrected, *others]
        yield TextReplaced()
        before = ""
        for said in self._said:
            text, start = _paragraph_break(before) + str(said.text), 0
            opening = len(text) - said.length
            for place, citation in said.citations:
                yield TextDelta(text=text[start : opening + place])
                yield citation
                start = opening + place
            yield TextDelta(text=text[start:])
            before += text

    def _message_id(self, item_id: str) -> str:
        return f"{len(self.steps)}:{item_id}"

    def add_response(self, fold: ResponseFold, *, final: object) -> None:
        """Add a finished response: its items, its place in the chain, its usage."""
        self._items += _output_items(fold)
        self._new = []
        self._chain_id = fold.response_id
        self._final = final
        self.usage = _sum(self.usage, fold.usage)
        if fold.is_complete and not fold.calls:
            self.response_id = fold.response_id
        if fold.unknown_calls:
            # The server knows no such call, so it accepts its output only in a conversation that is sent whole.
            self.replay()

    def add_outputs(self, outputs: list[dict[str, Any]]) -> None:
        """Add the tools' outputs, which the next request sends."""
        self._items += outputs
        self._new = outputs

    def result(self, outcome: Outcome) -> RunnerResult:
        """Return the result of the run so far, ended by ``outcome``."""
        structured = self._final is not None and not isinstance(self._final, str)
        return RunnerResult(
            step_history=tuple(self.steps),
            final_output=to_jsonable_python(self._final) if structured else self.answer,
            answer=self.answer,
            response_id=self.response_id,
            usage=self.usage,
            outcome=outcome,
        )


def _paragraph_break(before: str) -> str:
    if not before or before.endswith("\n\n"):
        return ""
    return "\n" if before.endswith("\n") else "\n\n"


def _output_items(fold: ResponseFold) -> list[dict[str, Any]]:
    """Return a response's output as input items, for a server that does not store the conversation."""
    calls = [
        {"type": "function_call", "call_id": c.call_id, "name": c.name, "arguments": c.arguments or "{}"}
        for c in fold.calls
    ]
    return [input_message("assistant", fold.text), *calls] if fold.text else calls


def _sum(total: Any, more: Any) -> Any:
    """Add two numbers, or two usages field by field; None counts as nothing."""
    if total is None or more is None:
        return more if total is None else total
    if not isinstance(total, Wire):
        return total + more
    return type(total)(**{name: _sum(getattr(total, name), getattr(more, name)) for name in type(total).model_fields})
