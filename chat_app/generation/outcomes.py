"""Maps the end of a response, or the error that broke it, to the outcome of its turn."""

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
from chat_app.response_objects import FunctionCallItem, MessageItem, error_code


def _ended(code: OutcomeCode, message: str, reason: IncompleteReason | None = None) -> Outcome:
    """Return the outcome of an answer that is incomplete for ``reason``, or failed without one."""
    kind = "incomplete" if reason else "failed"
    return Outcome(kind=kind, reason=reason, code=code, message=message, retryable=True)


NO_TERMINAL_EVENT = _ended(
    "answer_truncated", "The answer broke off before its end; something important may be missing.", "truncated"
)
STOPPED = _ended("stopped", "Stopped. The answer is not complete.", "stopped")
STEP_LIMIT = _ended(
    "step_limit",
    "The assistant reached its limit of tool calls; it answered with what it had found by then.",
    "step_limit",
)
NO_ANSWER = _ended("no_answer", "The model ended without an answer. Ask again.", "other")
UNREADABLE_CALL = _ended(
    "tool_call_unreadable",
    "The model wrote a tool call in a form that cannot be read, so it was not run. Ask again.",
)
_TOO_LONG = _ended("length_limit", "The answer reached its length limit and is not complete.", "max_output_tokens")
_INCOMPLETE: dict[str, Outcome] = {
    **dict.fromkeys(("max_output_tokens", "max_tokens", "length"), _TOO_LONG),
    "content_filter": _ended(
        "content_filter", "The model server's content filter cut the answer short.", "content_filter"
    ),
}
_ENDED_EARLY = _ended("ended_early", "The model server ended the answer early.", "other")


def error_outcome(code: str | None) -> Outcome:
    """Return the outcome of an ``error`` event, or of a failed response, with the server's ``code``."""
    shown = f" ({code})" if (code := error_code(code)) else ""
    return _ended("model_server_error", f"The model server reported an error{shown}. Ask again, or try later.")


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
            details = response.incomplete_details.reason if response.incomplete_details else None
            return _INCOMPLETE.get(details or response.stop_reason or "", _ENDED_EARLY)
        case _:
            assert_never(ending)


def _ending(event: ResponseTerminalEvent) -> Literal["completed", "failed", "incomplete"]:
    """Return the worst that the event, the response or one of its items says: servers send cut answers as completed."""
    response = event.response
    said = {event.type.removeprefix("response."), response.status}
    said.update(one.status for one in response.output if isinstance(one, MessageItem | FunctionCallItem))
    details = response.incomplete_details
    error = response.error
    if "failed" in said or (error is not None and (error.code or error.message)):
        return "failed"
    cut = (details is not None and details.reason) or response.stop_reason in _INCOMPLETE
    if cut or said & {"incomplete", "cancelled"}:
        return "incomplete"
    return "completed"


def exception_outcome(error: AsclepiusError, *, any_text: bool) -> Outcome:
    """Return the outcome for an error; text that was already shown makes it incomplete rather than failed."""
    match error:
        case StreamTruncated():
            return NO_TERMINAL_EVENT
        case StreamStalled():
            return failed(error, reason="stalled")
        case ProtocolViolation():
            message = f"{error} The answer may be wrong or incomplete; do not rely on it."
            return _ended(error.code, message, "protocol_violation")
        case _ if any_text:
            return failed(error, reason="truncated")
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


def failed(error: AsclepiusError, *, reason: IncompleteReason | None = None) -> Outcome:
    """Return the outcome of a turn that ``error`` ended, incomplete for ``reason`` or before it had an answer."""
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
