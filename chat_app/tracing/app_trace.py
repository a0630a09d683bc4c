"""The traces of the app's own generator, as the settings request them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chat_app.generation.generator import Generator
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing.call_logger import GeneratorCallLogger
from chat_app.tracing.state_logger import GeneratorStateLogger
from chat_app.tracing.trace_files import TraceFolder
from chat_app.tracing.writer import TraceWriter

_PROJECT: Final = "Asclepius"
_NAME: Final = "generator"


@dataclass(frozen=True)
class GeneratorTrace:
    """The traces of one generator, until it is closed."""

    writer: TraceWriter | None = None
    calls: GeneratorCallLogger | None = None

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until everything traced so far is written; return False after ``timeout`` seconds."""
        return self.writer is None or self.writer.flush(timeout)

    def erase(self, turns: Sequence[str], timeout: float = 5.0) -> None:
        """Remove the recorded calls of ``turns``; blocks. Raises ``OSError``, also while calls wait to be written."""
        if self.calls is not None:
            if not self.flush(timeout):
                raise OSError("the trace writer is busy")
            self.calls.erase(_NAME, turns)

    def close(self, timeout: float = 5.0) -> bool:
        """End tracing and write the queue; return False when that takes longer than ``timeout`` seconds."""
        return self.writer is None or self.writer.close(timeout)

    async def aclose(self) -> None:
        """Like ``close``, without blocking the event loop."""
        await asyncio.to_thread(self.close)


def trace_app_generator(
    generator: Generator[Any], settings: DiagnosticsSettings, turn: Callable[[], str] = str
) -> GeneratorTrace:
    """Trace ``generator`` into ``settings.trace_dir``; do nothing when that is unset.

    ``turn`` returns the id of the turn that the present call belongs to, by which its records can be erased.

    The files are ``generator_state_trace.json``, ``logger_metadata.json`` and ``generator_call.jsonl`` in
    ``<trace_dir>/Asclepius/``. A directory that cannot be written to is logged once; nothing is raised.
    """
    if settings.trace_dir is None:
        return GeneratorTrace()
    writer = TraceWriter()
    folder = TraceFolder(settings.trace_dir, _PROJECT, keep_text=settings.trace_text, writer=writer)
    GeneratorStateLogger(folder).register_generator(_NAME, generator)
    calls = GeneratorCallLogger(folder, settings.trace_calls == "failures", turn)
    calls.register_generator(_NAME, generator)
    return GeneratorTrace(writer, calls)
