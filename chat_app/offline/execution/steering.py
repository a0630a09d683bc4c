"""Steering: what a user adds while a response is being made, taken up by the response that follows it.

The response that is under way is finished; what was added becomes the input of a successor with the same settings. A
response that waits for the output of calls has none: what was added is put before the outputs when they come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from chat_app.offline.execution.response_run import LiveTurn
from chat_app.offline.wire.objects import new_id
from chat_app.offline.wire.requests import CreateResponse
from chat_app.offline.wire.wire_base import Closed, Open
from chat_app.offline.wire.wire_items import InputItem, MessageIn, Part

Json = dict[str, Any]
_MOST_WAITING: Final = 16
ErrorCode = Literal[
    "response_not_found",
    "invalid_input",
    "steering_not_supported",
    "too_many_pending_steers",
    "response_already_completed",
    "successor_creation_failed",
]
_WHY: Final[dict[ErrorCode, str]] = {
    "response_not_found": "This connection makes no such response.",
    "invalid_input": "Only messages of the role 'user' can steer a response.",
    "steering_not_supported": "A response of a conversation, or in the background, cannot be steered.",
    "too_many_pending_steers": "Too much is waiting for this response already.",
    "response_already_completed": "The response has ended. Send a response.create instead.",
    "successor_creation_failed": "The response that was to follow could not be made.",
}


class SteerPart(Open):
    type: Literal["input_text", "input_image", "input_file"]
    text: str | None = None


class SteerMessage(Closed):
    type: Literal["message"] = "message"
    role: Literal["user"]
    content: str | list[SteerPart]


class Steer(Closed):
    """A ``response.steer`` message."""

    type: Literal["response.steer"]
    previous_response_id: str
    input: Annotated[str, Field(min_length=1)] | Annotated[list[SteerMessage], Field(min_length=1)]

    def items(self) -> list[InputItem]:
        if isinstance(self.input, str):
            return [MessageIn(role="user", content=self.input)]
        return [MessageIn(role=message.role, content=_parts(message.content)) for message in self.input]


def _parts(content: str | list[SteerPart]) -> str | list[Part]:
    return content if isinstance(content, str) else [Part.model_validate(part.model_dump()) for part in content]


@dataclass(frozen=True)
class Accepted:
    """A submission that the server owns until a successor takes it up."""

    steer: Steer
    id: str = field(default_factory=lambda: new_id("steer"))

    def body(self) -> Json:
        return {"id": self.id, "previous_response_id": self.steer.previous_response_id}


class Steering:
    """What was added to the responses of one connection and is not taken up yet."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Accepted]] = {}

    def accept(self, steer: Steer, turn: LiveTurn | None, waits_for_calls: bool) -> Accepted | ErrorCode:
        """Takes ``steer`` for ``turn``, the response that it means, or says why not.

        ``turn`` is None when the connection has no such response; ``waits_for_calls`` says that it asked for calls.
        """
        if turn is None:
            return "response_not_found"
        if turn.response["background"] or turn.response["conversation"]:
            return "steering_not_supported"
        if turn.ended and not waits_for_calls:
            return "response_already_completed"
        waiting = self._waiting.setdefault(turn.response["id"], [])
        if len(waiting) >= _MOST_WAITING:
            return "too_many_pending_steers"
        accepted = Accepted(steer)
        waiting.append(accepted)
        return accepted

    def waiting(self, response_id: str) -> list[Accepted]:
        return list(self._waiting.get(response_id, ()))

    def take(self, response_id: str | None) -> list[Accepted]:
        """What waits for a response, which from now on is the caller's."""
        return self._waiting.pop(response_id, []) if response_id is not None else []


def successor(request: CreateResponse, response_id: str, added: list[Accepted]) -> CreateResponse:
    """The request that continues the response to ``request`` with what was added to it."""
    items = [item for accepted in added for item in accepted.steer.items()]
    return request.model_copy(update={"previous_response_id": response_id, "input": items})


def with_added(request: CreateResponse, added: list[Accepted]) -> CreateResponse:
    """A request of the client, with what was added before it."""
    own = request.input or []
    items: list[InputItem] = [item for accepted in added for item in accepted.steer.items()]
    items += [MessageIn(role="user", content=own)] if isinstance(own, str) else own
    return request.model_copy(update={"input": items})


def accepted_event(accepted: Accepted) -> Json:
    return {"type": "response.steer.accepted", "steer": accepted.body()}


def pending_event(accepted: Accepted, calls: list[Json]) -> Json:
    """Says which outputs the response still needs before ``accepted`` is taken up."""
    stubs = [{"type": "function_call_output", "call_id": call["call_id"], "name": call["name"]} for call in calls]
    return {
        "type": "response.steer.pending",
        "steer": accepted.body(),
        "reason": "waiting_for_required_input",
        "required_input": stubs,
    }


def failed_event(steer: Json, code: ErrorCode, steer_id: str | None = None) -> Json:
    """Gives the input of ``steer``, as it was sent, back."""
    known = {} if steer_id is None else {"id": steer_id}
    returned = {"input": steer["input"], "previous_response_id": steer["previous_response_id"]}
    return {
        "type": "response.steer.failed",
        "steer": {**known, **returned},
        "error": {"type": "invalid_request_error", "code": code, "message": _WHY[code]},
    }
