"""The state of a run between its steps: the conversation's items, the chain, the steps and the answer so far."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_jsonable_python

from chat_app.agent.run_types import RunRequest
from chat_app.events import Outcome, RunnerResult, StepOutput
from chat_app.generation.response_fold import ResponseFold
from chat_app.generation.text_buffer import TextBuffer
from chat_app.response_objects import Usage


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
        self._answer = TextBuffer()
        self._message_id: str | None = None
        self._final: object = None

    @property
    def answer(self) -> str:
        """The text of all steps so far."""
        return str(self._answer)

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
        message_id = f"{len(self.steps)}:{item_id}"
        if self._message_id not in {None, message_id}:
            text = _paragraph_break(self.answer) + text
        self._message_id = message_id
        self._answer.append(text)
        return text

    def add_response(self, fold: ResponseFold, *, final: object) -> None:
        """Add a finished response: its items, its place in the chain, its usage."""
        self._items += _output_items(fold)
        self._new = []
        self._chain_id = fold.response_id
        self._final = final
        self.usage = _add(self.usage, fold.usage)
        if fold.is_complete and not fold.calls:
            self.response_id = fold.response_id

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
    return [_message(fold.text), *calls] if fold.text else calls


def _message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _add(total: Usage | None, usage: Usage | None) -> Usage | None:
    if total is None or usage is None:
        return usage or total
    return Usage(
        input_tokens=total.input_tokens + usage.input_tokens,
        output_tokens=total.output_tokens + usage.output_tokens,
        total_tokens=total.total_tokens + usage.total_tokens,
    )
