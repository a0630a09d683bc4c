"""The folder of a project's traces, and files that several processes write to and that are bounded in size.

A file always holds whole lines, or a whole JSON document: every change is made under the lock of its directory, an
append that does not fit on the disk is undone, and a document is replaced in one step. Files are readable by their
owner alone. The functions block and belong in the writer's thread.
"""

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue

from chat_app.data_protection import file_lock, replace_private
from chat_app.tracing.redaction import Redactor
from chat_app.tracing.writer import Job, TraceWriter, shared_writer

MAX_BYTES = 16 * 1024 * 1024
BACKUPS = 3
_LOCK_SECONDS = 1.0
_PRIVATE = 0o600
DEFAULT_SAVE_DIR = "traces"
_KEY_FILE = ".hash_key"


def append_line(path: Path, line: str, *, max_bytes: int = MAX_BYTES) -> None:
    """Append ``line``, given without its line end. Raises ``OSError`` when nothing was appended.

    A file that would exceed ``max_bytes`` is renamed to ``path.1`` first, ``path.1`` to ``path.2`` and so on; at most
    ``BACKUPS`` of these are kept.
    """
    data = line.encode() + b"\n"
    with _locked(path.parent):
        with suppress(FileNotFoundError):
            if path.stat().st_size + len(data) > max_bytes:
                _rotate(path)
        _append(path, data)


def update_document(path: Path, change: Callable[[dict[str, JsonValue]], bool]) -> None:
    """Apply ``change`` to the JSON object in ``path`` and replace the file. Raises ``OSError`` when it is unchanged.

    An absent file counts as an empty object. ``change`` alters the object in place and returns whether to write it. A
    file that holds no JSON object is renamed, not overwritten.
    """
    with _locked(path.parent):
        document = _read(path)
        if change(document):
            replace_private(path, f"{json.dumps(document, indent=4)}\n")


def keep_lines(path: Path, keeps: Callable[[bytes], bool]) -> None:
    """Remove the other lines from the file and from those that it was renamed to.

    Raises ``OSError`` when a file could not be read or replaced; none has lost another line.
    """
    with _locked(path.parent):
        for file in (path, *(path.with_name(f"{path.name}.{number}") for number in range(1, BACKUPS + 1))):
            with suppress(FileNotFoundError):
                lines = file.read_bytes().splitlines(keepends=True)
                kept = [line for line in lines if keeps(line)]
                if len(kept) < len(lines):
                    replace_private(file, b"".join(kept))


def shared_key(path: Path) -> bytes:
    """Return the secret in ``path``, which is created on first use; raises ``OSError``."""
    with _locked(path.parent):
        with suppress(FileNotFoundError, ValueError):
            key = bytes.fromhex(path.read_text("ascii"))
            if len(key) == 16:
                return key
        key = secrets.token_bytes(16)
        replace_private(path, key.hex())
        return key


@contextmanager
def _locked(directory: Path) -> Generator[None]:
    """Hold the lock of the directory, which is created if needed; raises ``OSError``, also on a time-out."""
    deadline = time.monotonic() + _LOCK_SECONDS
    # A process that was frozen while it held the lock must not hold up this one's end.
    while time.monotonic() < deadline:
        with file_lock(directory / ".lock", wait=False) as held:
            if held:
                yield
                return
        time.sleep(0.002)
    raise TimeoutError


def _append(path: Path, data: bytes) -> None:
    """Append all of ``data`` or nothing. Raises ``OSError``."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_APPEND, _PRIVATE)
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
    finally:
        os.close(descriptor)


def _rotate(path: Path) -> None:
    for number in range(BACKUPS, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        source = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        with suppress(FileNotFoundError):
            source.replace(older)


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


@dataclass
class TraceFolder:
    """The folder ``<save_dir>/<project>/``, in whose name characters that a file name cannot have are replaced."""

    save_dir: Path | str
    project_name: str
    _: KW_ONLY
    keep_text: bool = False
    """Whether patients' text is written as it is; else only its shape is."""
    writer: TraceWriter | None = None
    """Writes the files; None for the shared one."""
    max_bytes: int = MAX_BYTES
    """Size at which a file of calls is rotated."""

    @cached_property
    def path(self) -> Path:
        """The folder itself."""
        return Path(self.save_dir, _file_name(self.project_name))

    def submit(self, job: Job) -> None:
        """Run ``job`` in the writer's thread."""
        (self.writer or shared_writer()).submit(self.path, job)

    def file(self, name: str, suffix: str) -> Path:
        """Return the file of ``name``, such as ``generator`` and ``_call.jsonl``."""
        return self.path / f"{_file_name(name)}{suffix}"

    @cached_property
    def redactor(self) -> Redactor:
        """The redactor, whose hashes are the same in all runs and processes; reads a file on first use."""
        return Redactor(key=shared_key(Path(self.save_dir, _KEY_FILE)), keep_text=self.keep_text)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name).strip(".") or "_"
