"""From how a response ended, or broke, to the one outcome of its turn, with a sentence for the reader."""

from __future__ import annotations

import re
from typing import Literal, assert_never

from chat_app.errors import (
    AsclepiusError,
    ProtocolViolation,
    ProviderError,
    ProviderRejected,
    StreamStalled,
    StreamTruncated,
)
from chat_app.events import IncompleteReason, Outcome
from chat_app.response_events import ResponseTerminalEvent

_CODE = re.compile(r"[a-z0-9_.-]{1,64}")

NO_TERMINAL_EVENT = Outcome(
    kind="incomplete",
    reason="truncated",
    message="The answer broke off before its end. What stands here may be missing something important.",
    retryable=True,
)
STOPPED = Outcome(kind="incomplete", reason="stopped", message="Stopped. The answer is not complete.", retryable=True)
STEP_LIMIT = Outcome(
    kind="incomplete",
    reason="step_limit",
    message="The assistant reached its limit of look-ups; it answered with what it had found by then.",
    retryable=True,
)
NO_ANSWER = Outcome(
    kind="incomplete", reason="other", message="The model ended without an answer. Ask again.", retryable=True
)
_INCOMPLETE: dict[str, tuple[IncompleteReason, str]] = {
    "max_output_tokens": ("max_output_tokens", "The answer reached its length limit and is not complete."),
    "content_filter": ("content_filter", "The model server's content filter cut the answer short."),
}


def error_outcome(code: str | None) -> Outcome:
    """For an ``error`` event, or a failed response, with the server's ``code``."""
    shown = f" ({code})" if code and _CODE.fullmatch(code) else ""
    return Outcome(
        kind="failed",
        message=f"The model server reported an error{shown}. Ask again, or try later.",
        retryable=True,
    )


def terminal_outcome(event: ResponseTerminalEvent, *, refused: bool) -> Outcome:
    """For the event that ended a response."""
    response = event.response
    ending = _ending(event)
    match ending:
        case "completed":
            if refused:
                return Outcome(kind="refused", message="The model declined to answer this.")
            return Outcome()
        case "failed":
            return error_outcome(response.error.code if response.error else None)
        case "incomplete":
            given = (response.incomplete_details.reason if response.incomplete_details else None) or ""
            reason, message = _INCOMPLETE.get(given, ("other", "The model server ended the answer early."))
            return Outcome(kind="incomplete", reason=reason, message=message, retryable=True)
        case _:
            assert_never(ending)


def _ending(event: ResponseTerminalEvent) -> Literal["completed", "failed", "incomplete"]:
    """The worse of what the event's name and the response in it say: servers send a cut answer as completed."""
    said = {event.type.removeprefix("response."), event.response.status}
    details = event.response.incomplete_details
    if "failed" in said:
        return "failed"
    if said & {"incomplete", "cancelled"} or (details is not None and details.reason):
        return "incomplete"
    return "completed"


def exception_outcome(error: AsclepiusError, *, any_text: bool) -> Outcome:
    """For an error that ended a response early. Text already shown makes it incomplete rather than failed."""
    match error:
        case StreamTruncated():
            return NO_TERMINAL_EVENT
        case StreamStalled():
            return Outcome(kind="incomplete", reason="stalled", message=str(error), retryable=True)
        case ProtocolViolation():
            return Outcome(
                kind="incomplete",
                reason="protocol_violation",
                message=f"{error} What stands here may be wrong or missing something: do not rely on it.",
                retryable=True,
            )
        case _ if any_text:
            return Outcome(kind="incomplete", reason="truncated", message=str(error), retryable=True)
        case ProviderError(retry_after=float(seconds)):
            return Outcome(kind="failed", message=f"{error} Ask again in {_duration(seconds)}.", retryable=True)
        case _:
            return Outcome(kind="failed", message=str(error), retryable=not isinstance(error, ProviderRejected))


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} minutes"
