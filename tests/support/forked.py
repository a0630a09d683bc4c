"""Python programs as forks of one process that has imported their modules.

The tests start hundreds of processes, and importing takes each of them seconds. The server below imports once per test
run what does not depend on Chainlit; a program is a fork of it that imports the rest, configures and runs the app.
``python -m tests.support.forked FOLDER PID`` runs the server until the process ``PID`` has ended, and ``python
forked.py PROGRAM ...`` in the place of ``python PROGRAM ...`` has the server fork it.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = "TESTS_FORK_SERVER"
"""Names the folder of the run's server; without it, programs are started as usual."""
APP = (
    "chat_app.cli.web_server",
    "chat_app.cli.ask_output",
    "chat_app.interface.http_api",
    "chat_app.database.migrations",
    "chat_app.offline.__main__",
    "chat_app.interface.chainlit_setup",
    "chat_app.interface.history.history_layer",
)
LEFT = "chainlit"
"""It reads the environment while it is imported, so that each program imports it, and what needs it, itself."""


class Process(Protocol):
    """What the tests use of ``subprocess.Popen``."""

    pid: int
    returncode: Any

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class Forked:
    """A program that the server has forked."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self._connection = connection
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                said = self._connection.recv(64)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
            self._connection.close()
            self.returncode = int(said) if said else -signal.SIGKILL
        return self.returncode

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, stdin: int, stdout: int, stderr: int
) -> Process:
    """Start ``python`` with ``arguments``: a file, or ``-m`` and a module, then the program's own."""
    if FOLDER not in os.environ:
        return subprocess.Popen(
            [sys.executable, *arguments],
            env=dict(env),
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(_address(Path(os.environ[FOLDER])))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    request = {"arguments": list(arguments), "env": dict(env), "cwd": str(cwd), "files": files}
    socket.send_fds(connection, [json.dumps(request).encode()], [stdin, stdout, stderr])
    return Forked(connection, int(connection.recv(64)))


def _address(folder: Path) -> str:
    """Return the address of the run's server, which the first call starts."""
    address = folder / "socket"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            command = [sys.executable, "-m", "tests.support.forked", str(folder), str(os.environ["TESTS_RUN"])]
            with (folder / "log").open("w") as log:
                server = subprocess.Popen(command, cwd=PROJECT, stdout=log, stderr=log, start_new_session=True)
            deadline = time.monotonic() + 220
            while not address.exists():
                assert server.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.05)
    return str(address)


def modules() -> list[str]:
    """Return the modules that the app imports, found by a fork of this process, which has to import only the rest."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        for name in APP:
            importlib.import_module(name)
        with os.fdopen(writing, "w") as names:
            json.dump([*sys.modules], names)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as names:
        found: list[str] = json.load(names)
    os.wait()
    return [name for name in found if name.partition(".")[0] not in {LEFT, "__main__", "__mp_main__"}]


def import_without_chainlit(names: Sequence[str]) -> None:
    """Import what does not need Chainlit."""
    # ``None`` makes its import fail, and with it that of each module that needs it.
    sys.modules[LEFT] = None  # type: ignore[assignment]
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)
    del sys.modules[LEFT]


def serve(folder: Path, run: int) -> tuple[dict[str, Any], list[int]]:
    """Fork at each request; return it in the forked process. The server itself ends in here."""
    import_without_chainlit(APP)
    import_without_chainlit(modules())
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(folder / "starting"))
    listener.listen(64)
    listener.settimeout(1)
    (folder / "starting").rename(folder / "socket")
    # The kernel then removes the forked keepers.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while runs(run):
        try:
            connection, _ = listener.accept()
            data, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        except OSError:
            # Nobody asked within a second, or whoever asked has gone.
            continue
        if data and os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            keep(connection)
            return json.loads(data), files
        connection.close()
        for file in files:
            os.close(file)
    os._exit(0)


def runs(pid: int) -> bool:
    with suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


def keep(connection: socket.socket) -> None:
    """Fork the program, and return in it alone; tell the test its end."""
    pid = os.fork()
    if pid == 0:
        connection.close()
        return
    with suppress(OSError):
        connection.send(str(pid).encode())
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(request: dict[str, Any], files: Sequence[int]) -> None:
    """Turn this process into the program of ``request``."""
    os.setsid()
    os.chdir(request["cwd"])
    resource.setrlimit(resource.RLIMIT_NOFILE, request["files"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, 64)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.stdout.reconfigure(encoding="utf-8", line_buffering="PYTHONUNBUFFERED" in os.environ)
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    first, *rest = request["arguments"]
    search = [str(Path.cwd()) if first == "-m" else str(Path(first).parent)]
    sys.path[0:1] = [*search, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


def forked_command(name: str, folder: Path) -> None:
    """Write ``name`` into ``folder``: the environment's command of that name, forked, for shell scripts."""
    program = Path(sys.executable).with_name(name)
    command = folder / name
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {__file__} {program} "$@"\n')
    command.chmod(0o755)


def run(arguments: Sequence[str]) -> int:
    """Run a program with this process's files to its end, and pass on what ends it."""
    process = start(arguments, env=os.environ, cwd=Path.cwd(), stdin=0, stdout=1, stderr=2)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda sig, _: process.send_signal(sig))
    return process.wait()


if __name__ == "__main__":
    if Path(sys.argv[1]).is_dir():
        become(*serve(Path(sys.argv[1]), int(sys.argv[2])))
    else:
        code = run(sys.argv[1:])
        sys.exit(code if code >= 0 else 128 - code)
