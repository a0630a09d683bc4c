"""Maps the end of a response, or the error that broke it, to the outcome of its turn."""

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
from chat_app.events import IncompleteReason, Outcome, OutcomeCode
from chat_app.response_events import ResponseTerminalEvent

_CODE = re.compile(r"[a-z0-9_.-]{1,64}")

NO_TERMINAL_EVENT = Outcome(
    kind="incomplete",
    reason="truncated",
    code="answer_truncated",
    message="The answer broke off before its end; something important may be missing.",
    retryable=True,
)
STOPPED = Outcome(
    kind="incomplete",
    reason="stopped",
    code="stopped",
    message="Stopped. The answer is not complete.",
    retryable=True,
)
STEP_LIMIT = Outcome(
    kind="incomplete",
    reason="step_limit",
    code="step_limit",
    message="The assistant reached its limit of tool calls; it answered with what it had found by then.",
    retryable=True,
)
NO_ANSWER = Outcome(
    kind="incomplete",
    reason="other",
    code="no_answer",
    message="The model ended without an answer. Ask again.",
    retryable=True,
)
UNREADABLE_CALL = Outcome(
    kind="failed",
    code="tool_call_unreadable",
    message="The model wrote a tool call in a form that cannot be read, so it was not run. Ask again.",
    retryable=True,
)
_INCOMPLETE: dict[str, tuple[IncompleteReason, OutcomeCode, str]] = {
    "max_output_tokens": (
        "max_output_tokens",
        "length_limit",
        "The answer reached its length limit and is not complete.",
    ),
    "content_filter": (
        "content_filter",
        "content_filter",
        "The model server's content filter cut the answer short.",
    ),
}
_ENDED_EARLY: tuple[IncompleteReason, OutcomeCode, str] = (
    "other",
    "ended_early",
    "The model server ended the answer early.",
)


def error_outcome(code: str | None) -> Outcome:
    """Return the outcome of an ``error`` event, or of a failed response, with the server's ``code``."""
    shown = f" ({code})" if code and _CODE.fullmatch(code) else ""
    return Outcome(
        kind="failed",
        code="model_server_error",
        message=f"The model server reported an error{shown}. Ask again, or try later.",
        retryable=True,
    )


def terminal_outcome(event: ResponseTerminalEvent, *, refused: bool) -> Outcome:
    """Return the outcome for the event that ended a response."""
    response = event.response
    ending = _ending(event)
    match ending:
        case "completed":
            if refused:
                return Outcome(kind="refused", code="refused", message="The model declined to answer this.")
            return Outcome()
        case "failed":
            return error_outcome(response.error.code if response.error else None)
        case "incomplete":
            given = (response.incomplete_details.reason if response.incomplete_details else None) or ""
            reason, code, message = _INCOMPLETE.get(given, _ENDED_EARLY)
            return Outcome(kind="incomplete", reason=reason, code=code, message=message, retryable=True)
        case _:
            assert_never(ending)


def _ending(event: ResponseTerminalEvent) -> Literal["completed", "failed", "incomplete"]:
    """Return the worse of the event's type and the response's status: servers send cut answers as completed."""
    said = {event.type.removeprefix("response."), event.response.status}
    details = event.response.incomplete_details
    if "failed" in said:
        return "failed"
    if said & {"incomplete", "cancelled"} or (details is not None and details.reason):
        return "incomplete"
    return "completed"


def exception_outcome(error: AsclepiusError, *, any_text: bool) -> Outcome:
    """Return the outcome for an error; text that was already shown makes it incomplete rather than failed."""
    match error:
        case StreamTruncated():
            return NO_TERMINAL_EVENT
        case StreamStalled():
            return _from_error(error, reason="stalled")
        case ProtocolViolation():
            return Outcome(
                kind="incomplete",
                reason="protocol_violation",
                code=error.code,
                message=f"{error} The answer may be wrong or incomplete; do not rely on it.",
                retryable=True,
            )
        case _ if any_text:
            return _from_error(error, reason="truncated")
        case ProviderError(retry_after=float(seconds)):
            return Outcome(
                kind="failed",
                code="model_server_busy_for",
                params={"seconds": max(1, round(seconds))},
                message=f"{error} Ask again in {_duration(seconds)}.",
                retryable=True,
            )
        case _:
            return failed(error)


def failed(error: AsclepiusError) -> Outcome:
    """Return the outcome of a turn that ``error`` ended before it had an answer."""
    return _from_error(error, reason=None)


def _from_error(error: AsclepiusError, *, reason: IncompleteReason | None) -> Outcome:
    return Outcome(
        kind="incomplete" if reason else "failed",
        reason=reason,
        code=error.code,
        params=dict(error.params),
        message=str(error),
        retryable=reason is not None or not isinstance(error, ProviderRejected),
    )


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} minutes"
