"""The one thread that writes traces, so that no answer waits for a disk.

``submit`` never blocks and never raises: a job goes into a bounded queue, or, when that is full, is dropped and
counted. A disk that is full or may not be written to is warned about once for each directory; everything else goes on.
``close`` writes what still waits, within a bound.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Full, Queue

from chat_app.tracing.redaction import describe_error

logger = logging.getLogger(__name__)

Job = Callable[[], None]
_QUEUE = 256
_EXIT_SECONDS = 2.0


class TraceWriter:
    """Runs jobs that write into a directory, in order, in a thread of its own that starts with the first of them."""

    def __init__(self, *, max_waiting: int = _QUEUE) -> None:
        self._waiting: Queue[tuple[Path, Job] | None] = Queue(max_waiting)
        self._state = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._warned: set[Path] = set()
        self.lost = 0
        """Jobs that were dropped or failed."""

    @property
    def is_closed(self) -> bool:
        return self._closed

    def submit(self, directory: Path, job: Job) -> None:
        """Has ``job`` run soon; ``directory`` is what a warning names when it cannot write."""
        with self._state:
            if self._closed:
                self.lost += 1
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="trace-writer", daemon=True)
                self._thread.start()
                atexit.register(self.close, _EXIT_SECONDS)
        try:
            self._waiting.put_nowait((directory, job))
        except Full:
            self.lost += 1
            self._warn(directory, "they come faster than they can be written")

    def flush(self, timeout: float = 5.0) -> bool:
        """Waits until what was submitted so far is written; False after ``timeout`` seconds."""
        written = threading.Event()
        with self._state:
            if self._thread is None or self._closed:
                return True
        try:
            self._waiting.put((Path(), written.set), timeout=timeout)
        except Full:
            return False
        return written.wait(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Writes what still waits and ends the thread; False when that took longer than ``timeout`` seconds."""
        with self._state:
            already, self._closed = self._closed, True
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
                self.lost += 1
                self._warn(directory, error.strerror or type(error).__name__)
            except Exception as error:  # noqa: BLE001 - a trace that cannot be made must not end the thread
                self.lost += 1
                self._warn(directory, f"a record cannot be made: {describe_error(error)}")
        # Whatever was put in behind the end can no longer be written.
        while True:
            try:
                self._waiting.get_nowait()
            except Empty:
                return
            self.lost += 1

    def _warn(self, directory: Path, reason: str) -> None:
        with self._state:
            if directory in self._warned:
                return
            self._warned.add(directory)
        logger.warning(
            "Traces are missing in %s: %s. Answers go on without them; this is said once. "
            "Free space, or set ASCLEPIUS_TRACE_DIR to a directory that can be written to.",
            directory,
            reason,
        )


_shared_lock = threading.Lock()
_shared: list[TraceWriter] = []


def shared_writer() -> TraceWriter:
    """The writer of those who bring none of their own; made anew when it was closed."""
    with _shared_lock:
        if not _shared or _shared[-1].is_closed:
            _shared[:] = [TraceWriter()]
        return _shared[-1]
