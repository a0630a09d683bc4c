"""What was uploaded to a model server's vector store: kept in the data directory, one file for each server.

Written whole and renamed, so that a sync that is killed goes on where it stopped; one sync at a time holds the lock.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from chat_app.data_protection import file_lock, replace_private
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
        with ExitStack() as held:
            try:
                while not held.enter_context(file_lock(self._path.with_suffix(".lock"), wait=False)):
                    held.close()
                    await asyncio.sleep(_LOCK_POLL)
            except OSError as error:
                raise _unwritable(error) from None
            yield


def _unwritable(error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The data directory cannot be written ({error.strerror}). Check ASCLEPIUS_DATA_DIR and its rights."
    )
