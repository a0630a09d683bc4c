"""What was uploaded to a model server's vector store: kept in the data directory, one file for each server.

Written whole and renamed, so that a sync that is killed goes on where it stopped; one sync at a time holds the lock.
"""

import asyncio
import fcntl
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from chat_app.data_protection import replace_private
from chat_app.errors import ConfigurationError
from tools.types import Frozen

_LOCK_POLL = 0.2


class UploadedFile(Frozen):
    """One version of a guideline at the server. ``completed`` once the server reported it as searchable."""

    file_id: str
    document_id: str
    version: str
    completed: bool = False


class HostedState(Frozen):
    """A vector store and the files that were uploaded for it."""

    vector_store_id: str
    files: tuple[UploadedFile, ...] = ()

    def find(self, document_id: str, version: str) -> UploadedFile | None:
        """Return the upload of a guideline's version."""
        return next((f for f in self.files if (f.document_id, f.version) == (document_id, version)), None)

    def with_file(self, file: UploadedFile) -> Self:
        """Return a copy with ``file`` added, or replaced where its file id is known."""
        return self.without(file.file_id).model_copy(update={"files": (*self.without(file.file_id).files, file)})

    def without(self, file_id: str) -> Self:
        """Return a copy without the file."""
        return self.model_copy(update={"files": tuple(f for f in self.files if f.file_id != file_id)})


class HostedStateFile:
    """The state of the server that ``server_key`` names, in ``folder``."""

    def __init__(self, folder: Path, server_key: str) -> None:
        # The address may hold a password, and need not be a file's name.
        self._path = folder / f"{hashlib.sha256(server_key.encode()).hexdigest()[:16]}.json"

    def read(self) -> HostedState | None:
        """Return the state; None when nothing was uploaded or the file cannot be read."""
        try:
            return HostedState.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return None

    def write(self, state: HostedState | None) -> None:
        """Store ``state``, or delete it where None. Raises ``ConfigurationError`` when it cannot be written."""
        try:
            if state is None:
                self._path.unlink(missing_ok=True)
                return
            replace_private(self._path, state.model_dump_json(indent=1))
        except OSError as error:
            raise _unwritable(error) from None

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Hold the lock against syncs of other processes; a dead process releases it."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = self._path.with_suffix(".lock").open("a")
        except OSError as error:
            raise _unwritable(error) from None
        with handle:
            # Another process holds it: no event of this loop tells when it is free.
            while not _taken(handle.fileno()):  # noqa: ASYNC110
                await asyncio.sleep(_LOCK_POLL)
            yield


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unwritable(error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The data directory cannot be written ({error.strerror}). Check ASCLEPIUS_DATA_DIR and its rights."
    )
