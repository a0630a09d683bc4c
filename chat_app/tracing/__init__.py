"""Looking at what the app does, without looking at patients: prompt history, recorded calls, spans, guarded logs.

Nothing here is on by itself. What holds patients' text is written only where it is asked for, nothing waits for a
disk, and a trace that cannot be written never costs an answer.
"""

from chat_app.tracing.app_trace import GeneratorTrace, trace_app_generator
from chat_app.tracing.call_logger import GeneratorCallLogger, trace_generator_call
from chat_app.tracing.log_guard import guard_logs
from chat_app.tracing.spans.timings import TurnClock, TurnTimings
from chat_app.tracing.spans.turn_recorder import TurnRecorder, turn_recorder
from chat_app.tracing.state_logger import GeneratorStateLogger, trace_generator_states
from chat_app.tracing.trace_folder import TraceFolder
from chat_app.tracing.writer import TraceWriter

__all__ = [
    "GeneratorCallLogger",
    "GeneratorStateLogger",
    "GeneratorTrace",
    "TraceFolder",
    "TraceWriter",
    "TurnClock",
    "TurnRecorder",
    "TurnTimings",
    "guard_logs",
    "trace_app_generator",
    "trace_generator_call",
    "trace_generator_states",
    "turn_recorder",
]
