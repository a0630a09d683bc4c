"""Keep the data directory readable by its owner only."""

import fcntl
import logging
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from chat_app.errors import ConfigurationError

logger = logging.getLogger(__name__)

PRIVATE_UMASK: Final = 0o077
_TRIAL_BYTES: Final = 1_000_000
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def protect(data_dir: Path) -> int:
    """Create ``data_dir`` for this user only, try to write, and withdraw all rights of other users on its contents.

    Also sets the process's umask, so that new files are private. Returns how many files and folders others had rights
    on; a log entry reports them, and those whose rights this user cannot change. Raises ``ConfigurationError`` when the
    directory cannot be written, or its disk is full.
    """
    os.umask(PRIVATE_UMASK)
    _require_writable(data_dir)
    closed = refused = 0
    for path in _entries(data_dir):
        try:
            closed += _close(path)
        except FileNotFoundError:
            continue  # A running app removes files meanwhile.
        except PermissionError:
            refused += 1
    if closed:
        logger.warning(
            "Other users of this machine had access to %d files or folders in %s. They no longer have.",
            closed,
            data_dir,
        )
    if refused:
        logger.warning(
            "%d files or folders in %s belong to another user, and others have access to them. "
            "Change their owner to the user who runs Asclepius.",
            refused,
            data_dir,
        )
    return closed


def _require_writable(data_dir: Path) -> None:
    trial = data_dir / f".trial-{os.getpid()}"
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with trial.open("wb") as file:
            file.write(bytes(_TRIAL_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ConfigurationError(
            f"The data directory {data_dir} cannot be written ({error.strerror}): free space, make it writable, or set "
            "ASCLEPIUS_DATA_DIR to another directory."
        ) from None
    finally:
        with suppress(OSError):
            trial.unlink()


def _entries(data_dir: Path) -> list[Path]:
    found = [data_dir]
    for folder, folders, files in os.walk(data_dir):
        found += [Path(folder, name) for name in (*folders, *files)]
    return found


def _close(path: Path) -> bool:
    """Withdraw the rights of others on ``path``; return whether they had any. A link is skipped."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode) or not mode & _OTHERS:
        return False
    path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
    return True


def append_private(path: Path, text: str, *, durable: bool = False) -> None:
    """Append to a file that only its owner can read; ``durable``: wait for the disk. Raises ``OSError``."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(descriptor)


def replace_private(path: Path, data: str | bytes) -> None:
    """Replace a file, in one step, by one that only its owner can read. Raises ``OSError`` and leaves the old one."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Generator[bool]:
    """Hold the lock on ``path``, which the system releases with its process; yield whether it is held."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        held = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            held = False
        yield held
    finally:
        os.close(descriptor)


def kept_secret(path: Path, make: Callable[[], str]) -> str:
    """Return the secret in ``path``; the first of all processes to ask for it makes it."""
    with file_lock(path.with_suffix(".lock")):
        if not path.exists() or not path.read_text().strip():
            replace_private(path, make())
        return path.read_text().strip()
