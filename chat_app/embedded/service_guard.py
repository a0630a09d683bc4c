"""Run one service and end it with the app. Uses the standard library only and runs as a script.

    python -I -S service_guard.py '{"command": [...], "log": ..., "lock": ..., "exclusive": ..., "stop_signal": ...}'

The app holds the other end of standard input. When it closes, even after ``kill -9``, the guard stops the service. If
the guard itself is killed, Linux kills the service. The service inherits a lock on ``lock``, so a new service waits for
one that is still ending. Output goes to ``log``, which with its predecessor ``.1`` stays below twice ``LOG_BYTES``.

Exit code: the service's (128 + n for signal n); ``IN_USE`` when its data is open elsewhere; ``NOT_RUNNABLE`` when the
command cannot be run.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

LOG_BYTES: Final = 1_000_000
IN_USE: Final = 75
NOT_RUNNABLE: Final = 127
_PR_SET_PDEATHSIG: Final = 1
_PARENT_CHECK_SECONDS: Final = 1.0
_LAST_OUTPUT_SECONDS: Final = 1.0
"""Seconds to wait for the end of the output, which a process that left the service's group may keep open."""


class BoundedLog:
    """A log file that is renamed to ``.1`` when it is full. A full disk only loses lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append ``data``; start a new file when this one is full."""
        with contextlib.suppress(OSError):
            if self._file is not None and self._size + len(data) > LOG_BYTES:
                os.close(self._file)
                self._file = None
                self._path.replace(self._path.with_name(self._path.name + ".1"))
            if self._file is None:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                self._size = os.fstat(self._file).st_size
            self._size += os.write(self._file, data)


def take_lock(path: Path, *, seconds: float, gave_up: Callable[[], bool]) -> int | None:
    """Return a file descriptor that holds the lock on ``path``, or None after ``seconds``."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline or gave_up():
                os.close(descriptor)
                return None
            time.sleep(0.02)
        else:
            return descriptor


def die_with(parent: int) -> Callable[[], None]:
    """Return a function for the child to call first: Linux then kills it when ``parent`` dies."""
    prctl: Any = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def prepare() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(NOT_RUNNABLE)

    return prepare


class ServiceGuard:
    """One service from its start to its end."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._log = BoundedLog(Path(plan["log"]))
        self._parent = os.getppid()
        self._stopping = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ, "app")

    def run(self) -> int:
        """Run the service to its end; return the exit code."""
        os.umask(0o077)
        self._listen_to_signals()
        lock = take_lock(Path(self._plan["lock"]), seconds=self._plan["lock_seconds"], gave_up=self._told_to_stop)
        if lock is None or not self._data_is_free():
            return IN_USE
        try:
            child = subprocess.Popen(
                self._plan["command"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[lock],
                start_new_session=True,
                preexec_fn=die_with(os.getpid()),  # noqa: PLW1509
            )
        except OSError as error:
            self._log.write(f"{self._plan['command'][0]} cannot be run: {error.strerror}\n".encode())
            return NOT_RUNNABLE
        copying = threading.Thread(target=self._copy, args=(child,), daemon=True)
        copying.start()
        try:
            self._attend(child)
        finally:
            # This also ends processes that the service started.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        code = child.wait()
        copying.join(_LAST_OUTPUT_SECONDS)
        return code if code >= 0 else 128 - code

    def _listen_to_signals(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        self._wakeup = (ours, theirs)
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        self._selector.register(ours, selectors.EVENT_READ, "signal")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_stop)
        # Without a handler, the end of a child would not wake the selector.
        signal.signal(signal.SIGCHLD, self._on_child)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _on_child(self, number: int, frame: FrameType | None) -> None:
        """Do nothing: the wakeup is enough."""

    def _told_to_stop(self) -> bool:
        self._look(0)
        return self._stopping

    def _data_is_free(self) -> bool:
        """Return whether no foreign process has the service's data open."""
        path = self._plan["exclusive"]
        if path is None or not Path(path).exists():
            return True
        lock = take_lock(Path(path), seconds=0, gave_up=lambda: True)
        if lock is not None:
            os.close(lock)
        return lock is not None

    def _attend(self, child: subprocess.Popen[bytes]) -> None:
        kill_at: float | None = None
        while child.poll() is None:
            self._look(_PARENT_CHECK_SECONDS)
            if self._stopping and kill_at is None:
                kill_at = time.monotonic() + self._plan["stop_seconds"]
                child.send_signal(self._plan["stop_signal"])
            elif kill_at is not None and time.monotonic() > kill_at:
                child.kill()

    def _look(self, seconds: float) -> None:
        """Wait for an event; note whether the service must stop."""
        for key, _ in self._selector.select(seconds):
            if key.data == "app" and not os.read(sys.stdin.fileno(), 1024):
                self._selector.unregister(sys.stdin.fileno())
                self._stopping = True
            elif key.data == "signal":
                with contextlib.suppress(BlockingIOError):
                    self._wakeup[0].recv(1024)
        if os.getppid() != self._parent:
            self._stopping = True

    def _copy(self, child: subprocess.Popen[bytes]) -> None:
        if child.stdout is None:
            raise TypeError("the service's output is a pipe")
        while data := os.read(child.stdout.fileno(), 65_536):
            self._log.write(data)


def main() -> int:
    """Run the service that the first argument describes."""
    return ServiceGuard(json.loads(sys.argv[1])).run()


if __name__ == "__main__":
    sys.exit(main())
