"""Real services for tests, as child processes: Milvus Lite and Redis."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from chat_app.embedded.redis_binary import redis_binary


def free_port() -> int:
    """Return a port for a server that binds it some seconds later.

    It is below the range that systems assign, so another test's server rarely takes it; ``owns_port`` tells.
    """
    for port in random.SystemRandom().sample(range(5_000, 15_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port between 5000 and 14999 is free")


def owns_port(pid: int, port: int) -> bool:
    """Return whether the process itself listens on ``port``, and not another server."""
    with suppress(psutil.Error):
        bound = psutil.Process(pid).net_connections()
        return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in bound)
    return False


def wait_until(ready: Callable[[], bool], *, what: str, seconds: float = 150.0) -> None:
    """Poll ``ready`` until it is true; fail with a sentence after ``seconds``.

    The pause lasts as long as a poll, so that polling does not slow down what it waits for.
    """
    deadline = time.monotonic() + seconds
    while (asked := time.monotonic()) < deadline:
        if ready():
            return
        time.sleep(max(0.05, time.monotonic() - asked))
    raise AssertionError(f"{what} was not ready within {seconds:.0f} s")


def accepts(address: tuple[str, int] | str) -> bool:
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as probe, suppress(OSError):
        probe.settimeout(1)
        probe.connect(address)
        return True
    return False


@contextmanager
def running(
    command: list[str], ready: Callable[[], bool], *, what: str, end: int = signal.SIGINT
) -> Generator[subprocess.Popen[bytes]]:
    """Run ``command`` until the block ends, then send it ``end``."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: ready() or process.poll() is not None, what=what)
        assert process.poll() is None, f"{what} ended at once with code {process.returncode}"
        yield process
    finally:
        # Redis takes any; Milvus Lite closes its database on Ctrl-C and only then.
        process.send_signal(end)
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()
        process.wait()


@contextmanager
def socket_in(folder: Path | None = None) -> Generator[str]:
    """Yield the path of a Unix socket, in ``folder`` or a new one.

    It is limited to about 100 bytes, and pytest's folders can be longer.
    """
    with tempfile.TemporaryDirectory(prefix="asc-") as short:
        yield str((folder or Path(short)) / "socket")


@contextmanager
def milvus_lite_server(folder: Path, sockets: Path | None = None, *, end: int = signal.SIGINT) -> Generator[str]:
    with socket_in(sockets) as path:
        command = [sys.executable, "-m", "tools.milvus.lite_server", "--data-dir", str(folder), "--socket", path]
        with running(command, lambda: accepts(path), what="the Milvus Lite server", end=end):
            yield f"unix://{path}"


@contextmanager
def redis_server(folder: Path) -> Generator[str]:
    with socket_in() as path:
        command = [redis_binary(), "--port", "0", "--unixsocket", path, "--dir", str(folder), "--appendonly", "yes"]
        with running(command, lambda: accepts(path), what="Redis"):
            yield f"unix://{path}"
