"""The installed ``asclepius`` command as users run it, in separate processes."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.forked import Process, start
from tests.support.services import wait_until

COMMAND = str(Path(sys.executable).with_name("asclepius"))
_OWN = ("ASCLEPIUS_", "OPENAI_", "MILVUS_", "REDIS_", "DATABASE_", "CHAINLIT_")


def clean_environment(data_dir: Path, **more: str) -> dict[str, str]:
    """Return this environment without the app's settings, except ``data_dir`` and ``more``.

    ``CI`` is removed too, because Chainlit's command then sets a key.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN) and name != "CI"}
    return {**kept, "ASCLEPIUS_DATA_DIR": str(data_dir), **more}


def asclepius(
    *arguments: str, data_dir: Path, stdin: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, in the parent of the data directory."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as noted:
        given.write(stdin or "")
        given.seek(0)
        files = {"stdin": given.fileno(), "stdout": said.fileno(), "stderr": noted.fileno()}
        running = start(
            [COMMAND, *arguments], env=clean_environment(data_dir, **environment), cwd=data_dir.parent, **files
        )
        try:
            code = running.wait(200)
        finally:
            running.kill()
        written = [os.pread(file.fileno(), 1 << 30, 0).decode() for file in (said, noted)]
    return subprocess.CompletedProcess([COMMAND, *arguments], code, *written)


@dataclass(frozen=True)
class Served:
    """A running ``asclepius serve``."""

    url: str
    data_dir: Path
    process: Process
    log: Path


def new_data(data_dir: Path) -> None:
    """Create a data directory with the demonstration content, which the first call of a test run has ingested."""
    if "TESTS_DEMO_CONTENT" not in os.environ:
        return
    folder = Path(os.environ["TESTS_DEMO_CONTENT"])
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            with _serve(folder / "data", loaded=True, environment={}):
                pass
            (folder / "whole").touch()
    data_dir.mkdir(mode=0o700)
    for part in ("guidelines", "milvus"):
        shutil.copytree(folder / "data" / part, data_dir / part)


@contextmanager
def serve(
    data_dir: Path,
    *options: str,
    loaded: bool = True,
    program: Sequence[str] = (COMMAND,),
    **environment: str,
) -> Iterator[Served]:
    """Serve on a free port until the block ends; with ``loaded``, wait for the content first."""
    if loaded and not data_dir.exists():
        new_data(data_dir)
    with _serve(data_dir, *options, loaded=loaded, environment=environment, program=program) as served:
        yield served


@contextmanager
def _serve(
    data_dir: Path, *options: str, loaded: bool, environment: dict[str, str], program: Sequence[str] = (COMMAND,)
) -> Iterator[Served]:
    log = data_dir.parent / f"{data_dir.name}-serve.log"
    with log.open("ab") as output, Path(os.devnull).open() as nothing:
        begun = log.read_text().count("Asclepius is at")
        process = start(
            [*program, "serve", "--port", "0", *options],
            env=clean_environment(data_dir, **environment),
            cwd=data_dir.parent,
            stdin=nothing.fileno(),
            stdout=output.fileno(),
            stderr=output.fileno(),
        )
    try:
        wait_until(lambda: log.read_text().count("Asclepius is at") > begun or process.poll() is not None, what="serve")
        assert process.poll() is None, log.read_text()[-2000:]
        url = re.findall(r"Asclepius is at (\S+)", log.read_text())[-1]
        if loaded:
            wait_until(lambda: is_ready(url), what="the app's content")
        yield Served(url, data_dir, process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=60) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
