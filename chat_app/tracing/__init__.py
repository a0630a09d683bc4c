"""Observability without patient data: prompt history, recorded calls, spans, guarded logs.

Nothing here is enabled by default. Patients' text is written only on request, no answer waits for a disk, and a trace
that cannot be written never costs an answer.
"""

from chat_app.tracing.app_trace import GeneratorTrace, trace_app_generator
from chat_app.tracing.call_logger import GeneratorCallLogger, trace_generator_call
from chat_app.tracing.log_guard import guard_logs
from chat_app.tracing.state_logger import GeneratorStateLogger, trace_generator_states
from chat_app.tracing.trace_files import TraceFolder
from chat_app.tracing.turn_recorder import TurnRecorder, turn_recorder
from chat_app.tracing.writer import TraceWriter

__all__ = [
    "GeneratorCallLogger",
    "GeneratorStateLogger",
    "GeneratorTrace",
    "TraceFolder",
    "TraceWriter",
    "TurnRecorder",
    "guard_logs",
    "trace_app_generator",
    "trace_generator_call",
    "trace_generator_states",
    "turn_recorder",
]
