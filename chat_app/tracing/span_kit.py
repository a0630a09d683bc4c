"""Tracer and meters of the spans, and the app's outcomes and counts in OpenTelemetry's terms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from chat_app.events import Outcome
from chat_app.response_objects import Usage

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AttributeValue

AGENT = "Asclepius"
PROVIDER = "openai"
_NO_ERRORS = frozenset({"stopped", "step_limit", "max_output_tokens", "content_filter"})
_FINISH = {"max_output_tokens": "length", "content_filter": "content_filter"}


@dataclass(frozen=True, slots=True)
class SpanKit:
    """Tracer, meters and names; the same for all turns."""

    tracer: Tracer
    durations: Histogram
    """Of each response of the model."""
    turn_durations: Histogram
    tool_durations: Histogram
    first_chunks: Histogram
    tokens: Histogram
    tool_names: Collection[str]
    """Tools that exist; any other name in a call is made up by the model and may contain anything."""
    keep_text: bool


def error_type_of(outcome: Outcome) -> str | None:
    """Return ``error.type`` of a turn; None when it did not fail."""
    if outcome.kind == "failed":
        return "failed"
    if outcome.kind == "incomplete" and outcome.reason not in _NO_ERRORS:
        return outcome.reason or "other"
    return None


def finish_reason_of(outcome: Outcome) -> str:
    """Return the value of ``gen_ai.response.finish_reasons``."""
    if outcome.kind in {"completed", "refused"}:
        return "stop"
    return _FINISH.get(outcome.reason or "", "error" if outcome.kind == "failed" else outcome.reason or "other")


def usage_attributes(usage: Usage) -> dict[str, int | None]:
    """Return the attributes ``gen_ai.usage.*``."""
    cached = usage.input_tokens_details.cached_tokens if usage.input_tokens_details else None
    thought = usage.output_tokens_details.reasoning_tokens if usage.output_tokens_details else None
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": cached or None,
        "gen_ai.usage.reasoning.output_tokens": thought or None,
    }


def set_given(span: Span, attributes: dict[str, Any]) -> None:
    """Set those attributes that are not None."""
    given: dict[str, AttributeValue] = {key: value for key, value in attributes.items() if value is not None}
    span.set_attributes(given)


def mark_failed(span: Span, error_type: str) -> None:
    """Set the span's status to an error of ``error_type``."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", error_type)
    # Without a description: the type says enough, and a message might say too much.
    span.set_status(Status(StatusCode.ERROR))


def nanoseconds(moment: datetime) -> int:
    """Return the nanoseconds from the epoch to ``moment``."""
    return round(moment.timestamp() * 1e9)
