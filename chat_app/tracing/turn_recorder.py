"""OpenTelemetry spans and timings of turns, computed from their events; disabled by default.

    recorder = turn_recorder(settings.diagnostics, tool_names=tools.names())
    async for event in recorder.observe(agent.consult(message)):

One turn is ``invoke_agent Asclepius``; below it each response is ``chat <model>`` and each tool call is
``execute_tool <name>``. Names and attributes follow OpenTelemetry's semantic conventions for generative AI (status
"development", version 1.41). The turn's span holds the durations of its phases in seconds:
``asclepius.time_to_first_event``, ``asclepius.time_to_first_text``, ``asclepius.time_in_tools`` and
``asclepius.duration``. Durations and tokens are recorded as metrics, too: ``gen_ai.invoke_agent.duration``,
``gen_ai.execute_tool.duration``, ``gen_ai.client.operation.duration``,
``gen_ai.client.operation.time_to_first_chunk`` and ``gen_ai.client.token.usage``.

The events pass through unchanged. Content and exceptions' messages are recorded only where text is requested.
``opentelemetry`` is imported only by a recorder that is enabled.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from chat_app.errors import ConfigurationError
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing.redaction import describe_error
from chat_app.tracing.span_kit import SpanKit
from chat_app.tracing.turn_spans import TurnSpans

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

E = TypeVar("E")
logger = logging.getLogger(__name__)

_SCOPE = "asclepius"
_SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
# As the conventions advise, in seconds and in tokens.
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


@dataclass(frozen=True, slots=True)
class TurnRecorder:
    """Records turns with ``kit``; without one it does nothing."""

    kit: SpanKit | None = None
    shut_down: Sequence[Callable[[], None]] = ()

    def observe(self, events: AsyncGenerator[E, None]) -> AsyncGenerator[E, None]:
        """Record the ``AgentEvent``s or ``RunnerEvent``s of one turn while they are read.

        Closing the result closes ``events``.
        """
        return events if self.kit is None else _observed(self.kit, events)

    async def aclose(self, timeout: float = 3.0) -> None:
        """Send queued spans; give up after ``timeout`` seconds."""
        # Daemons, so that a collector that does not answer cannot delay the end of the process.
        threads = [threading.Thread(target=end, name="spans-shutdown", daemon=True) for end in self.shut_down]
        deadline = time.monotonic() + timeout
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join, max(0.0, deadline - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            logger.warning("The last spans could not be sent. Check OTEL_EXPORTER_OTLP_ENDPOINT.")


def turn_recorder(
    settings: DiagnosticsSettings,
    *,
    tool_names: Collection[str] = (),
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> TurnRecorder:
    """Return the recorder that ``settings.otel`` requests; tools other than ``tool_names`` are recorded as ``unknown``.

    Without both providers, those of the process are used where it has some (such as under
    ``opentelemetry-instrument``), else ones that send OTLP over HTTP as the ``OTEL_...`` variables say. Raises
    ``ConfigurationError`` when OpenTelemetry is not installed.
    """
    if not settings.otel:
        return TurnRecorder()
    try:
        shut_down: Sequence[Callable[[], None]] = ()
        if tracer_provider is None or meter_provider is None:
            tracer_provider, meter_provider, shut_down = _providers()
    except ImportError:
        raise ConfigurationError(
            "ASCLEPIUS_OTEL needs OpenTelemetry, which is not installed: `pip install 'asclepius[tracing]'`."
        ) from None
    meter = meter_provider.get_meter(_SCOPE, schema_url=_SCHEMA)
    in_seconds = partial(meter.create_histogram, unit="s", explicit_bucket_boundaries_advisory=_SECONDS)
    in_tokens = partial(meter.create_histogram, unit="{token}", explicit_bucket_boundaries_advisory=_TOKENS)
    kit = SpanKit(
        tracer=tracer_provider.get_tracer(_SCOPE, schema_url=_SCHEMA),
        durations=in_seconds("gen_ai.client.operation.duration"),
        turn_durations=in_seconds("gen_ai.invoke_agent.duration"),
        tool_durations=in_seconds("gen_ai.execute_tool.duration"),
        first_chunks=in_seconds("gen_ai.client.operation.time_to_first_chunk"),
        tokens=in_tokens("gen_ai.client.token.usage"),
        tool_names=frozenset(tool_names),
        keep_text=settings.trace_text,
    )
    return TurnRecorder(kit, shut_down)


def _providers() -> tuple[TracerProvider, MeterProvider, Sequence[Callable[[], None]]]:
    from opentelemetry import metrics, trace

    given = trace.get_tracer_provider()
    if not isinstance(given, trace.ProxyTracerProvider):
        return given, metrics.get_meter_provider(), ()
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider as Meters
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as Tracers
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource({"service.name": _SCOPE}).merge(Resource.create({}))
    # Not set as the providers of the process: other libraries that find them would send contents along.
    tracers = Tracers(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    meters = Meters([reader], resource=resource, shutdown_on_exit=False)
    return tracers, meters, (tracers.shutdown, meters.shutdown)


async def _observed(kit: SpanKit, events: AsyncGenerator[E, None]) -> AsyncGenerator[E, None]:
    spans = _Guarded(kit)
    try:
        async for event in events:
            spans.see(event)
            yield event
        spans.end()
    except (GeneratorExit, asyncio.CancelledError):
        spans.end(stopped=True)
        raise
    except Exception as error:
        spans.end(error_type=type(error).__name__)
        raise
    finally:
        await events.aclose()


class _Guarded:
    """One turn's spans, abandoned at the first error: recording must not disturb the answer."""

    def __init__(self, kit: SpanKit) -> None:
        self._turn: TurnSpans | None = None
        with self._recording():
            self._turn = TurnSpans(kit)

    def see(self, event: object) -> None:
        with self._recording():
            if self._turn is not None:
                self._turn.see(event)

    def end(self, *, stopped: bool = False, error_type: str | None = None) -> None:
        with self._recording():
            if self._turn is not None:
                self._turn.end(stopped=stopped, error_type=error_type)

    @contextmanager
    def _recording(self) -> Generator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - see above
            self._turn = None
            logger.warning("A turn could not be recorded as spans: %s", describe_error(error))
