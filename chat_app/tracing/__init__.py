"""Observability without patient data: prompt history, recorded calls, spans, guarded logs.

Nothing here is enabled by default. Patients' text is written only on request, no answer waits for a disk, and a trace
that cannot be written never costs an answer.
"""

from chat_app.tracing.app_trace import GeneratorTrace as GeneratorTrace
from chat_app.tracing.app_trace import trace_app_generator as trace_app_generator
from chat_app.tracing.call_logger import GeneratorCallLogger as GeneratorCallLogger
from chat_app.tracing.call_logger import trace_generator_call as trace_generator_call
from chat_app.tracing.log_guard import guard_logs as guard_logs
from chat_app.tracing.state_logger import GeneratorStateLogger as GeneratorStateLogger
from chat_app.tracing.state_logger import trace_generator_states as trace_generator_states
from chat_app.tracing.trace_files import TraceFolder as TraceFolder
from chat_app.tracing.turn_recorder import TurnRecorder as TurnRecorder
from chat_app.tracing.turn_recorder import turn_recorder as turn_recorder
from chat_app.tracing.writer import TraceWriter as TraceWriter
