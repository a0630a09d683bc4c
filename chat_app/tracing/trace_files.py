"""Trace files that several processes write to at once, and that do not grow without bound.

Whatever happens, a file holds whole lines, or a whole JSON document: every change is made under the lock of its
directory, an append that does not fit on the disk is taken back, and a document is replaced in one step. Files are
readable by their owner alone. Everything here blocks; it is meant for the writer's thread.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import JsonValue

MAX_BYTES = 16 * 1024 * 1024
BACKUPS = 3
_LOCK_SECONDS = 1.0
_PRIVATE = 0o600


def append_line(path: Path, line: str, *, max_bytes: int = MAX_BYTES, backups: int = BACKUPS) -> None:
    """Appends ``line`` (without its end) as one line.

    Before the file would pass ``max_bytes`` it becomes ``path.1``, that one ``path.2``, and so on; the one after
    ``backups`` is removed. Raises ``OSError``; then nothing was added.
    """
    data = line.encode() + b"\n"
    with _locked(path.parent):
        with suppress(FileNotFoundError):
            if path.stat().st_size + len(data) > max_bytes:
                _rotate(path, backups)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
        try:
            _write_whole(descriptor, data)
        finally:
            os.close(descriptor)


def update_document(path: Path, change: Callable[[dict[str, JsonValue]], bool]) -> None:
    """Reads the JSON object in ``path`` (empty when absent), lets ``change`` alter it, and replaces it if it did.

    ``change`` returns whether anything is to be written. A file that holds no JSON object is put aside, not
    overwritten. Raises ``OSError``; then the file is as it was.
    """
    with _locked(path.parent):
        document = _read(path)
        if not change(document):
            return
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
        try:
            try:
                _write_whole(descriptor, json.dumps(document, indent=4).encode() + b"\n")
            finally:
                os.close(descriptor)
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise


def shared_key(path: Path) -> bytes:
    """The secret in ``path``; made on first use, the same for all who ask. Raises ``OSError``."""
    with _locked(path.parent):
        with suppress(FileNotFoundError, ValueError):
            key = bytes.fromhex(path.read_text("ascii"))
            if len(key) == 16:
                return key
        key = secrets.token_bytes(16)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _PRIVATE)
        try:
            _write_whole(descriptor, key.hex().encode())
        finally:
            os.close(descriptor)
        return key


@contextmanager
def _locked(directory: Path) -> Generator[None, None, None]:
    """Holds the directory's lock; it is made if need be. Raises ``OSError``, also when the lock is not free in time."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                # A process that was frozen while it held the lock must not hold up this one's end.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.002)
        yield
    finally:
        os.close(descriptor)


def _write_whole(descriptor: int, data: bytes) -> None:
    before = os.fstat(descriptor).st_size
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        # The disk filled up in the middle: half a line would spoil the next one.
        with suppress(OSError):
            os.ftruncate(descriptor, before)
        raise


def _rotate(path: Path, backups: int) -> None:
    for number in range(backups, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        source = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        with suppress(FileNotFoundError):
            source.replace(older)
    if backups < 1:
        path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, JsonValue]:
    try:
        document = json.loads(path.read_bytes())
        if isinstance(document, dict):
            return document
    except FileNotFoundError:
        return {}
    except ValueError:
        pass
    path.replace(path.with_name(f"{path.name}.unreadable-{secrets.token_hex(4)}"))
    return {}
