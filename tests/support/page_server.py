"""The page with the stand-in agent, as a process of its own.

``python -m tests.support.page_server DATA_DIR GATES_DIR [PDF]`` serves it and prints its address; ``fake_page`` starts
and ends such a process. ``TESTS_MODEL_SERVER`` in its environment is the base URL of a model server that the real agent
asks instead.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.forked import Process, start

if TYPE_CHECKING:
    from uvicorn import Server

PROJECT = Path(__file__).resolve().parents[2]
_FOREIGN = ("OPENAI_", "MILVUS_", "REDIS_", "DATABASE_", "ASCLEPIUS_", "CHAINLIT_")


@dataclass
class ServedPage:
    url: str
    process: Process
    gates: Path
    log: Path
    data_dir: Path

    def open_gate(self, name: str) -> None:
        """Lets a question ``gated … <name>`` go on."""
        (self.gates / name).touch()


@contextmanager
def fake_page(
    folder: Path, *, environment: Mapping[str, str] | None = None, pdf: Path | None = None
) -> Iterator[ServedPage]:
    """The page with the stand-in agent of ``tests.support.fake_agent``."""
    gates = folder / "gates"
    gates.mkdir(parents=True, exist_ok=True)
    command = ["-m", "tests.support.page_server", str(folder / "data"), str(gates)]
    with _served(command + ([str(pdf)] if pdf else []), folder, gates, environment, seconds=120) as page:
        yield page


@contextmanager
def _served(
    command: list[str], folder: Path, gates: Path, environment: Mapping[str, str] | None, seconds: float
) -> Iterator[ServedPage]:
    folder.mkdir(parents=True, exist_ok=True)
    own = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
    own |= {"PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1", "ASCLEPIUS_DATA_DIR": str(folder / "data")}
    log = folder / "server.log"
    reading, writing = os.pipe()
    with log.open("w") as errors, Path(os.devnull).open() as nothing:
        process = start(
            command,
            cwd=folder,
            env=own | dict(environment or {}),
            stdin=nothing.fileno(),
            stdout=writing,
            stderr=errors.fileno(),
        )
        os.close(writing)
        try:
            yield ServedPage(_address(process, reading, seconds, log), process, gates, log, folder / "data")
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(60)
            # Each program leads its own group.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _address(process: Process, output: int, seconds: float, log: Path) -> str:
    """The first address that the process prints; what else it prints is read and left."""
    found: queue.Queue[str] = queue.Queue()

    def read() -> None:
        with open(output) as lines:
            for line in lines:
                start = line.find("http://")
                if start >= 0:
                    found.put(line[start:].split()[0].rstrip(".,"))

    threading.Thread(target=read, daemon=True).start()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return found.get(timeout=0.1)
        except queue.Empty:
            continue
    raise AssertionError(f"the page did not start: {log.read_text()[-2000:]}")


def address_of(server: Server) -> str:
    """Return the address of a server that has started."""
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    return f"http://{host}:{port}"


def main() -> None:
    from chat_app.interface.http_api import create_app
    from chat_app.interface.serving import page_server
    from chat_app.settings import Settings
    from tests.support.fake_agent import FakeAgent, engine_app, fake_app

    data_dir, gates, *pdf = sys.argv[1:]
    settings = Settings(storage={"data_dir": data_dir}, server={"port": int(os.environ.get("ASCLEPIUS_PORT", "0"))})
    opened = fake_app(FakeAgent(gates=Path(gates)), Path(pdf[0]) if pdf else None)
    if model_server := os.environ.get("TESTS_MODEL_SERVER"):
        opened = engine_app(model_server)
    app = create_app(settings, open_app=opened)
    server = page_server(app, settings, on_ready=lambda: print(address_of(server), flush=True))
    server.run()


if __name__ == "__main__":
    main()
