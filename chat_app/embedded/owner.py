"""Ownership of a data directory's services: one process runs them and publishes their addresses.

The owner holds a lock on ``run/lock``, which the system releases when the owner dies. ``run/services.json`` contains
the addresses. It is written atomically once the services are up, and is valid only while the lock is held.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from chat_app.data_protection import file_lock, protect, replace_private
from chat_app.embedded.specs import EmbeddedUrls, remove_sockets
from chat_app.errors import EmbeddedServiceError


def is_owned(data_dir: Path) -> bool:
    """Return whether an asclepius process runs the services of ``data_dir``; creates nothing."""
    try:
        descriptor = os.open(data_dir / "run" / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


class Ownership:
    """The lock and the published addresses of one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._run = data_dir / "run"
        self._addresses = self._run / "services.json"
        self._lock: ExitStack | None = None

    def prepare(self) -> Self:
        """Create the folders for this user only. Raises ``ConfigurationError`` or ``EmbeddedServiceError``."""
        with self._usable():
            protect(self._data_dir)
            for name in ("run", "logs"):
                (self._data_dir / name).mkdir(exist_ok=True, mode=0o700)
        return self

    def take(self) -> bool:
        """Try to become the owner; return whether that succeeded. Discards what a dead owner published."""
        if self._lock is not None:
            return True
        with self._usable(), ExitStack() as opened:
            if not opened.enter_context(file_lock(self._run / "lock", wait=False)):
                return False
            self._lock = opened.pop_all()
        left = self.published()
        if left is not None:
            remove_sockets(left, self._data_dir)
        self.retract()
        return True

    def publish(self, urls: EmbeddedUrls) -> None:
        """Publish ``urls`` to other processes of this user."""
        with self._usable():
            replace_private(self._addresses, urls.model_dump_json())

    def published(self) -> EmbeddedUrls | None:
        """Return what the owner has published; None while it is starting."""
        try:
            return EmbeddedUrls.model_validate_json(self._addresses.read_bytes())
        except (OSError, ValidationError):
            return None

    def retract(self) -> None:
        """Withdraw the addresses before the services end."""
        if self._lock is not None:
            self._addresses.unlink(missing_ok=True)

    def release(self) -> None:
        """Release the ownership after the services have ended."""
        if self._lock is not None:
            self.retract()
            self._lock.close()
            self._lock = None

    @contextmanager
    def _usable(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise EmbeddedServiceError(
                f"The data directory {self._data_dir} cannot be used ({error.strerror}): "
                "make it writable, or set ASCLEPIUS_DATA_DIR to another directory."
            ) from None
