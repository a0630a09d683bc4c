"""The one thread that writes traces, so that no answer waits for a disk.

``submit`` never blocks and never raises: a job goes into a bounded queue, or is dropped when the queue is full. A
directory that cannot be written to is logged once. ``close`` writes the queue, within a time limit.
"""

import atexit
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Full, Queue

from chat_app.tracing.redaction import describe_error

logger = logging.getLogger(__name__)

Job = Callable[[], None]
_QUEUE = 256
_EXIT_SECONDS = 2.0


class TraceWriter:
    """Runs jobs in order, in a thread that starts with the first job."""

    def __init__(self, *, max_waiting: int = _QUEUE) -> None:
        self._waiting: Queue[tuple[Path, Job] | None] = Queue(max_waiting)
        self._state = threading.Lock()
        self._thread: threading.Thread | None = None
        self.closed = False
        self._warned: set[Path] = set()

    def submit(self, directory: Path, job: Job) -> None:
        """Queue ``job``; a warning about it names ``directory``."""
        with self._state:
            if self.closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="trace-writer", daemon=True)
                self._thread.start()
                atexit.register(self.close, _EXIT_SECONDS)
        try:
            self._waiting.put_nowait((directory, job))
        except Full:
            self._warn(directory, "they arrive faster than they can be written")

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until everything submitted so far is written; return False after ``timeout`` seconds."""
        written = threading.Event()
        with self._state:
            if self._thread is None or self.closed:
                return True
        try:
            self._waiting.put((Path(), written.set), timeout=timeout)
        except Full:
            return False
        return written.wait(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Write the queue and end the thread; return False when that takes longer than ``timeout`` seconds."""
        with self._state:
            already, self.closed = self.closed, True
            thread = self._thread
        if thread is None:
            return True
        if not already:
            atexit.unregister(self.close)
            try:
                self._waiting.put(None, timeout=timeout)
            except Full:
                return False
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            directory, job = entry
            try:
                job()
            except OSError as error:
                self._warn(directory, error.strerror or type(error).__name__)
            except Exception as error:  # noqa: BLE001 - a trace that cannot be made must not end the thread
                self._warn(directory, f"a record cannot be made: {describe_error(error)}")

    def _warn(self, directory: Path, reason: str) -> None:
        with self._state:
            if directory in self._warned:
                return
            self._warned.add(directory)
        logger.warning(
            "Traces are missing in %s: %s. Answers continue without them; this is logged once. "
            "Free space, or set ASCLEPIUS_TRACE_DIR to a writable directory.",
            directory,
            reason,
        )


_shared_lock = threading.Lock()
_shared: list[TraceWriter] = []


def shared_writer() -> TraceWriter:
    """Return the writer that is shared by default; a new one when the last was closed."""
    with _shared_lock:
        if not _shared or _shared[-1].closed:
            _shared[:] = [TraceWriter()]
        return _shared[-1]
