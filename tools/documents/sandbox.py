"""Run the worker as a child process under limits, with progress, and one error when it dies."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tools.documents.models import Progress
from tools.documents.worker import Job, Limits
from tools.errors import SourceRejected

_QUIET_SECONDS = 60.0
"""Longest silence of the worker; a page of text takes 4 ms."""
_ALLOCATOR = {
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "MALLOC_TOP_PAD_": str(16 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
}
"""Settings of glibc's malloc, in bytes. For each page PDFium allocates and frees blocks of some hundred kilobytes;
fetching them from the system each time takes a tenth of the whole reading."""
_PACKAGE_ROOT = Path(__file__).resolve().parents[2]


async def run_job(
    job: Job, *, progress: Progress | None = None, limits: Limits | None = None, quiet_seconds: float = _QUIET_SECONDS
) -> dict[str, Any]:
    """Run ``job`` to its end and return the worker's facts on the result.

    Raises ``SourceRejected`` when the file is refused, or when the worker dies or goes quiet over it. The child is
    ended whenever this coroutine ends, also when it is cancelled.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tools.documents.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,
    )
    try:
        request = {"job": job.model_dump(mode="json"), "limits": (limits or Limits()).model_dump()}
        return await _follow(process, orjson.dumps(request), progress, quiet_seconds)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _follow(
    process: asyncio.subprocess.Process, request: bytes, progress: Progress | None, quiet_seconds: float
) -> dict[str, Any]:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the worker was started with pipes")
    # Of a worker that has ended already, uvloop's pipe raises RuntimeError.
    with suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
        process.stdin.write(request)
        await process.stdin.drain()
    process.stdin.close()
    while True:
        try:
            async with asyncio.timeout(quiet_seconds):
                line = await process.stdout.readline()
        except TimeoutError:
            raise SourceRejected(
                "Reading the file took too long and was stopped; it may be built to do that.", code="file_too_slow"
            ) from None
        if not line:
            raise SourceRejected(
                "Reading the file needed more memory or time than a guideline may take, or the file is damaged.",
                code="file_damaged",
            )
        message: dict[str, Any] = orjson.loads(line)
        if "refused" in message:
            raise SourceRejected(message["refused"], code=message["code"], params=message.get("params"))
        if message.pop("ok", False):
            return message
        if progress is not None:
            progress(message["done"], message["total"])


def _environment() -> dict[str, str]:
    """Return the variables that Python needs to start, so that the worker sees no key or token of the app."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "TESSDATA_PREFIX", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    return {**kept, **_ALLOCATOR, "PYTHONPATH": str(_PACKAGE_ROOT), "PYTHONUTF8": "1"}
