"""Processes that serve one port: started, restarted when they end, and ended with the process that started them.

Each worker is an ordinary server. It accepts connections at the shared listening socket and, from the other workers, at
a Unix socket in a folder that only this user can enter.
"""

import asyncio
import logging
import os
import secrets
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from chat_app.embedded.specs import socket_folder
from chat_app.embedded.supervisor import FIRST_PAUSE, LONGEST_PAUSE, STAYED_UP_SECONDS
from chat_app.errors import AsclepiusError
from chat_app.settings import Settings
from tools.types import Frozen

_END_SECONDS: Final = 12.0
"""Seconds that a worker may take to end, after its answers have ended."""
_BACKLOG: Final = 512
MISCONFIGURED: Final = os.EX_CONFIG
"""Exit code of a worker whose settings cannot work: starting it again would not help."""

_logger = logging.getLogger(__name__)
WorkerState = Literal["serving", "loaded"]


class WorkerPlan(Frozen):
    """What a worker reads from its standard input, which stays open while the pool lives."""

    listener: int
    """Descriptor of the shared socket."""
    own: int
    """Descriptor of the worker's Unix socket."""
    siblings: tuple[Path, ...]
    """Unix sockets of the other workers."""
    token: str = Field(repr=False)
    """Proves that a request comes from another worker."""


class WorkerPool:
    """The workers of one ``asclepius serve``, each started by ``command``.

    All of them accept connections at ``listener``, which is closed when the pool stops. ``tell`` is called when the
    first worker serves, and when it has loaded the guidelines and drugs.
    """

    def __init__(
        self, settings: Settings, listener: socket.socket, command: Sequence[str], tell: Callable[[WorkerState], None]
    ) -> None:
        self._settings, self._listener, self._command, self._tell = settings, listener, command, tell
        self._own: dict[int, socket.socket] = {}
        self._token = secrets.token_urlsafe(32)
        self._processes: set[Process] = set()
        self._reached: set[WorkerState] = set()
        self._loaded, self._stopping, self._failed = asyncio.Event(), asyncio.Event(), False
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)

    async def run(self) -> None:
        """Run the workers until SIGINT or SIGTERM. Raises ``AsclepiusError`` when the first one does not start."""
        folder = socket_folder(self._settings.storage.data_dir)
        try:
            for number in range(1, self._settings.server.workers + 1):
                self._own[number] = _listen_at(folder / f"worker-{number}.sock")
            first = asyncio.create_task(self._keep(1))
            first.add_done_callback(lambda _: self._loaded.set())
            # The first one creates tables, collections and the page's files.
            await self._loaded.wait()
            await asyncio.gather(first, *(self._keep(number) for number in list(self._own)[1:]))
        finally:
            self._remove_sockets(folder)
        if self._failed:
            raise AsclepiusError("The first worker could not start; the lines above say why.")

    def _remove_sockets(self, folder: Path) -> None:
        for own in self._own.values():
            Path(own.getsockname()).unlink(missing_ok=True)
            own.close()
        if not folder.is_relative_to(self._settings.storage.data_dir):
            with suppress(OSError):
                folder.rmdir()

    def _stop(self, number: int) -> None:
        """Pass the signal on; workers that have not ended in time are killed."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._loaded.set()
            self._listener.close()
            seconds = self._settings.server.drain_seconds + _END_SECONDS
            asyncio.get_running_loop().call_later(seconds, self._signal, signal.SIGKILL)
        self._signal(number)

    def _signal(self, number: int) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.send_signal(number)

    async def _keep(self, number: int) -> None:
        """Run the worker, and start it again whenever it ends, until the pool stops."""
        loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
        while not self._stopping.is_set():
            began = loop.time()
            code = await self._run_worker(number)
            if self._stopping.is_set():
                return
            if "serving" not in self._reached or (code == MISCONFIGURED and "loaded" not in self._reached):
                self._failed = True
                self._stop(signal.SIGTERM)
                return
            if loop.time() - began > STAYED_UP_SECONDS:
                pause = FIRST_PAUSE
            _logger.warning("Worker %d ended (exit code %d). Starting it again in %.1f s.", number, code, pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _run_worker(self, number: int) -> int:
        """Run one process to its end and return its exit code."""
        own = self._own[number]
        plan = WorkerPlan(
            listener=self._listener.fileno(),
            own=own.fileno(),
            siblings=tuple(Path(other.getsockname()) for other in self._own.values() if other is not own),
            token=self._token,
        )
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=PIPE,
            stdout=PIPE,
            pass_fds=(plan.listener, plan.own),
            env=os.environ | self._variables(number),
            # Ctrl-C reaches this process alone, which passes it on.
            start_new_session=True,
        )
        self._processes.add(process)
        if self._stopping.is_set():
            process.terminate()
        if process.stdin is None or process.stdout is None:
            raise TypeError("a worker's input and output are pipes")
        process.stdin.write(plan.model_dump_json().encode() + b"\n")
        try:
            async for line in process.stdout:
                self._reach("loaded" if line == b"loaded\n" else "serving")
            return await process.wait()
        finally:
            self._processes.discard(process)

    def _reach(self, state: WorkerState) -> None:
        if state not in self._reached:
            self._reached.add(state)
            self._tell(state)
        if state == "loaded":
            self._loaded.set()

    def _variables(self, number: int) -> dict[str, str]:
        """Return what the command line of this process may have set, and the port of the worker's metrics."""
        server, port = self._settings.server, self._settings.diagnostics.metrics_port
        metrics = {"ASCLEPIUS_METRICS_PORT": str(port + number - 1)} if port else {}
        address = {"ASCLEPIUS_HOST": server.host, "ASCLEPIUS_PORT": str(self._listener.getsockname()[1])}
        return address | {"ASCLEPIUS_WORKERS": str(server.workers)} | metrics


def _listen_at(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    own = socket.socket(socket.AF_UNIX)
    own.bind(str(path))
    own.listen(_BACKLOG)
    return own
