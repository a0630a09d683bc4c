"""Keep one service running while the app runs: start it, wait for it, restart it at the same address.

Each service runs under ``service_guard.py``, which ends it when this process ends. A service that exits or hangs is
restarted after a pause that doubles from ``FIRST_PAUSE`` to ``LONGEST_PAUSE`` seconds, and resets once it is up.
"""

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Final

from chat_app.embedded import service_guard
from chat_app.embedded.health_probes import is_up
from chat_app.embedded.specs import ServiceSpec, socket_path
from chat_app.errors import EmbeddedServiceError

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
HANG_SECONDS: Final = 30.0
"""Seconds without an answer after which a service is ended and started again."""
_PROBES_PER_HANG: Final = 4
STAYED_UP_SECONDS: Final = 30.0
"""Seconds after which a process counts as up, and its next pause is the first again."""
_STOP_SECONDS: Final = 4.0
"""Seconds for a service to stop before it is killed."""
_GUARD_SECONDS: Final = 1.0
"""Additional seconds for the guard."""
_LOCK_SECONDS: Final = 10.0
"""Seconds to wait for the same service of a previous run to end."""
_POLL_SECONDS: Final = 0.02

_logger = logging.getLogger(__name__)


class SupervisedService:
    """One service of this process. Call ``start`` or ``supervise`` once, and ``stop`` once."""

    def __init__(self, spec: ServiceSpec, *, data_dir: Path, hang_seconds: float = HANG_SECONDS) -> None:
        self.spec = spec
        self._hang_seconds = hang_seconds
        self.log = data_dir / "logs" / f"{spec.name}.log"
        self._lock = data_dir / "run" / f"{spec.name}.lock"
        self.problem = f"{spec.title} is being started."
        """Why the service cannot be used, and the remedy; empty while it runs."""
        self.restarts = 0
        self._guard: Process | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the service and wait until it responds. Raises ``EmbeddedServiceError`` when it does not start."""
        await self._until_up(await self._launch())
        self._task = asyncio.ensure_future(self._keep_running())

    def supervise(self) -> None:
        """Start the service in the background and restart it whenever it ends."""
        self._task = asyncio.ensure_future(self._keep_running())

    async def stop(self) -> None:
        """Stop the service and wait until it has ended, about five seconds at most."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._end()

    async def _launch(self) -> Process:
        plan = {
            "command": self.spec.command,
            "log": str(self.log),
            "lock": str(self._lock),
            "exclusive": str(self.spec.exclusive) if self.spec.exclusive else None,
            "lock_seconds": _LOCK_SECONDS,
            "stop_signal": int(self.spec.stop_signal),
            "stop_seconds": _STOP_SECONDS,
        }
        try:
            self.spec.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.spec.url.startswith("unix:"):
                _own_folder(socket_path(self.spec.url).parent)
            errors = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise EmbeddedServiceError(
                f"{self.spec.title} cannot be started in {self.spec.folder} ({error.strerror}): make it writable, or "
                f"set ASCLEPIUS_DATA_DIR to another directory, or {self.spec.alternative}."
            ) from None
        try:
            self._guard = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", service_guard.__file__, json.dumps(plan)),
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=errors,
                cwd=self.spec.folder,
                env=self.spec.environment,
                start_new_session=True,
            )
        finally:
            os.close(errors)
        return self._guard

    async def _until_up(self, guard: Process) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.spec.ready_seconds
        while not await is_up(self.spec.name, self.spec.url):
            if guard.returncode is not None:
                raise EmbeddedServiceError(self._why_ended(guard.returncode))
            if loop.time() > deadline:
                raise EmbeddedServiceError(
                    f"{self.spec.title} did not answer within {self.spec.ready_seconds:.0f} s. Its log is {self.log}."
                )
            await asyncio.sleep(_POLL_SECONDS)
        self.problem = ""

    async def _keep_running(self) -> None:
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE
        while True:
            began = loop.time()
            try:
                guard = self._guard or await self._launch()
                if self.problem:
                    await self._until_up(guard)
                hung = f"{self.spec.title} did not answer for {self._hang_seconds:.0f} s. Its log is {self.log}."
                code = await self._ends_or_hangs(guard)
                self.problem = hung if code is None else self._why_ended(code)
            except EmbeddedServiceError as error:
                self.problem = str(error)
            if loop.time() - began > STAYED_UP_SECONDS:
                pause = FIRST_PAUSE
            _logger.warning("%s Starting it again in %.1f s.", self.problem, pause)
            await self._end()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            self.restarts += 1

    async def _ends_or_hangs(self, guard: Process) -> int | None:
        """Wait until the service ends, and return its code, or until it has not answered for a while: None."""
        clock = asyncio.get_running_loop()
        answered = clock.time()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._hang_seconds / _PROBES_PER_HANG):
                    return await guard.wait()
            if await is_up(self.spec.name, self.spec.url, within=self._hang_seconds / _PROBES_PER_HANG):
                answered = clock.time()
            elif clock.time() - answered >= self._hang_seconds:
                return guard.returncode

    def _why_ended(self, code: int) -> str:
        if code == service_guard.IN_USE:
            return (
                f"{self.spec.title} in {self.spec.folder} is open in another process: end that process, or set "
                f"ASCLEPIUS_DATA_DIR to another directory, or {self.spec.alternative}."
            )
        return f"{self.spec.title} ended by itself (exit code {code}). Its log is {self.log}."

    async def _end(self) -> None:
        """End the guard, and with it the service."""
        guard = self._guard
        if guard is None:
            return
        if guard.stdin is not None:
            guard.stdin.close()
        try:
            async with asyncio.timeout(_STOP_SECONDS + _GUARD_SECONDS):
                await guard.wait()
        except TimeoutError:
            guard.kill()
            await guard.wait()
        self._guard = None


def _own_folder(folder: Path) -> None:
    """Create the folder of a socket. Raises ``PermissionError`` for a folder of that name of another user."""
    folder.mkdir(exist_ok=True, mode=0o700)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(1, "the folder of its socket belongs to another user")
