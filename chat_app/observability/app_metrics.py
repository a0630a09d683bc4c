"""The app's Prometheus metrics. Every label has few values, all of them known in advance."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

from chat_app.events import Notice, ReferencesReady, StatementsChecked, TurnEnded
from chat_app.tracing.timings import TurnTimings
from tools.types import FunctionOutput

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320)
_TOOL_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_LAG_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_PASSAGES = (0, 1, 2, 4, 6, 10, 20)
_MATCHES = frozenset({"strong", "weak", "none"})


class AppMetrics:
    """The metrics of one process, in a separate registry."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        counter, histogram = partial(Counter, registry=own), partial(Histogram, registry=own)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=own)
        self._turns = counter("asclepius_turns", "Answers by how they ended.", ["outcome", "code"])
        self._turn_seconds = histogram(
            "asclepius_turn_seconds", "Time from question to end.", ["outcome"], buckets=_SECONDS
        )
        self._first_text = histogram(
            "asclepius_first_text_seconds", "Time from question to first text.", buckets=_SECONDS
        )
        self._tokens = counter("asclepius_tokens", "Tokens of the model.", ["direction"])
        self._tool_calls = counter("asclepius_tool_calls", "Tool calls.", ["tool", "outcome"])
        self._tool_seconds = histogram(
            "asclepius_tool_call_seconds", "Time of a tool call.", ["tool"], buckets=_TOOL_SECONDS
        )
        self._passages = histogram(
            "asclepius_retrieved_passages", "Passages found by a call.", ["tool"], buckets=_PASSAGES
        )
        self._matches = counter("asclepius_retrieval_matches", "Guideline searches by how well they match.", ["match"])
        self._references = counter("asclepius_references", "References shown.")
        self._dropped = counter("asclepius_citations_dropped", "Citations without a source.")
        self._unsupported = counter("asclepius_statements_unsupported", "Cited statements not found in their source.")
        self._notices = counter("asclepius_notices", "Notices shown.", ["code"])
        self._responses = counter("asclepius_http_responses", "HTTP responses.", ["status"])
        self.loop_lag = histogram("asclepius_event_loop_lag_seconds", "Delay of a due task.", buckets=_LAG_SECONDS)

    def count_turn(self, event: TurnEnded, timings: TurnTimings) -> None:
        """Count a turn that has ended."""
        outcome = event.outcome
        self._turns.labels(outcome.kind, outcome.code).inc()
        self._turn_seconds.labels(outcome.kind).observe(timings.total)
        if timings.first_text is not None:
            self._first_text.observe(timings.first_text)
        if (usage := event.usage) is not None:
            cached = usage.input_tokens_details.cached_tokens if usage.input_tokens_details else 0
            self._tokens.labels("input").inc(usage.input_tokens)
            self._tokens.labels("cached_input").inc(cached or 0)
            self._tokens.labels("output").inc(usage.output_tokens)

    def count_tool_call(self, tool: str, outcome: str, seconds: float, output: FunctionOutput) -> None:
        """Count a tool call that has ended, and what it retrieved."""
        self._tool_calls.labels(tool, outcome).inc()
        self._tool_seconds.labels(tool).observe(seconds)
        match = output.output.get("match") if isinstance(output.output, Mapping) else None
        if isinstance(match, str) and match in _MATCHES:
            self._matches.labels(match).inc()
        if output.passages or match == "none":
            self._passages.labels(tool).observe(len(output.passages))

    def count_event(self, event: Notice | ReferencesReady | StatementsChecked) -> None:
        """Count what readers are told besides the answer."""
        match event:
            case Notice():
                self._notices.labels(event.code).inc()
            case ReferencesReady():
                self._references.inc(len(event.references))
                self._dropped.inc(event.dropped)
            case StatementsChecked():
                self._unsupported.inc(len(event.unsupported))

    def count_response(self, status: int) -> None:
        """Count an HTTP response; 101 is an opened WebSocket, 0 a client that left first."""
        self._responses.labels(str(status)).inc()

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value ``read`` returns when metrics are collected."""
        Gauge(f"asclepius_{name}", meaning, registry=self.registry).set_function(read)

    def watch_restarts(self, services: Iterable[str], read: Callable[[], Mapping[str, int]]) -> None:
        """Add a gauge of the restarts of each of ``services``."""
        gauge = Gauge("asclepius_service_restarts", "Restarts since start.", ["service"], registry=self.registry)
        for service in services:
            gauge.labels(service).set_function(partial(_value_of, service, read))


def _value_of(name: str, read: Callable[[], Mapping[str, int]]) -> float:
    return float(read().get(name, 0))
