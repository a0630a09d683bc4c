"""Keeps a model server's vector store equal to the guidelines that are loaded here, for its hosted file search.

Nothing is uploaded but by ``sync``. Each file carries the guideline's id, its version (by hash) and its title as
attributes, so that a change is seen and a result can be traced to its document. A changed guideline is uploaded and
searchable before its old version is taken away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from chat_app.errors import ProviderError, ProviderRejected, ProviderUnavailable
from chat_app.generation.hosted.hosted_state import HostedState, HostedStateFile, UploadedFile
from tools.types import Frozen

if TYPE_CHECKING:
    from chat_app.generation.hosted.vector_store_adapter import StoredFile, VectorStoreAdapter

GUIDELINE_ID = "guideline_id"
GUIDELINE_VERSION = "guideline_version"
TITLE = "title"
_LONGEST_ATTRIBUTE = 512
_STORE_NAME = "Asclepius guidelines"
_ABOUT_THE_FILE = frozenset({0, 400, 413, 415, 422})
"""Statuses by which a server refuses one file, and would take another."""
_POLL_SECONDS = (0.2, 3.0)
_STALL_SECONDS = 900.0
_LOOK_AGAIN_AFTER = 60.0

SyncStage = Literal["uploading", "indexing", "removing", "done"]


class GuidelineFile(Frozen):
    """A guideline as it is to be uploaded; ``version`` changes with its bytes."""

    document_id: str
    version: str
    title: str
    path: Path

    @property
    def name(self) -> str:
        """Return the file's name at the server."""
        return f"{self.document_id}{self.path.suffix}"

    @property
    def attributes(self) -> dict[str, str]:
        """Return the metadata to store with the file."""
        return {GUIDELINE_ID: self.document_id, GUIDELINE_VERSION: self.version, TITLE: self.title[:_LONGEST_ATTRIBUTE]}


class SyncProgress(Frozen):
    """How far a sync is: ``done`` of ``total`` guidelines in this stage."""

    stage: SyncStage
    done: int
    total: int


class SyncFailure(Frozen):
    """A guideline that the server does not search, and why."""

    document_id: str
    reason: str


class SyncReport(Frozen):
    """What a sync did, by guideline id."""

    vector_store_id: str
    uploaded: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[SyncFailure, ...] = ()


Progress = Callable[[SyncProgress], None]


class HostedSearch:
    """One server's vector store of guidelines; its state is kept in ``folder``."""

    def __init__(
        self, stores: VectorStoreAdapter, folder: Path, *, server_key: str, stall: float = _STALL_SECONDS
    ) -> None:
        self._stores = stores
        self._state = HostedStateFile(folder, server_key)
        self._stall = stall
        self._looked: tuple[float, str, bool] | None = None

    async def available(self) -> bool:
        """Return whether the server has vector stores."""
        return await self._stores.available()

    @property
    def was_synced(self) -> bool:
        """Return whether uploads of this app exist at the server."""
        return self._state.read() is not None

    def ready(self, wanted: Sequence[GuidelineFile]) -> str | None:
        """Return the store that holds exactly ``wanted``, all of it searchable; None when there is none."""
        state = self._state.read()
        if state is None or not wanted:
            return None
        held = {(file.document_id, file.version) for file in state.files if file.completed}
        return state.vector_store_id if held == {(file.document_id, file.version) for file in wanted} else None

    async def usable(self, store_id: str) -> bool:
        """Return whether the server still has the store; cached for a minute. A failure counts as no."""
        now = time.monotonic()
        if self._looked is None or self._looked[1] != store_id or now - self._looked[0] > _LOOK_AGAIN_AFTER:
            try:
                found = await self._stores.usable(store_id)
            except ProviderError:
                found = False
            self._looked = (now, store_id, found)
        return self._looked[2]

    def invalidate(self) -> None:
        """Discard the cached state of the store."""
        self._looked = None

    def version_of(self, file_id: str) -> tuple[str, str] | None:
        """Return the id and version of the guideline uploaded as ``file_id``."""
        state = self._state.read()
        file = next((file for file in state.files if file.file_id == file_id), None) if state else None
        return (file.document_id, file.version) if file is not None else None

    async def sync(self, wanted: Sequence[GuidelineFile], *, progress: Progress | None = None) -> SyncReport:
        """Make the store hold exactly ``wanted``, and wait until all of it is searchable.

        Waits for another sync that runs. What a run that was killed has uploaded is not uploaded again. A file that
        the server refuses is in the report's ``failed``; raises ``ProviderError`` for all that concerns every file.
        """
        async with self._state.locked():
            return await _Sync(self._stores, self._state, progress, self._stall).run(wanted)

    async def withdraw(self) -> tuple[str, ...]:
        """Delete all uploads and the store, and return the ids of the guidelines removed."""
        async with self._state.locked():
            state = self._state.read()
            if state is None:
                return ()
            for file in state.files:
                await self._stores.detach(state.vector_store_id, file.file_id)
                await self._stores.delete_file(file.file_id)
            await self._stores.delete(state.vector_store_id)
            self._state.write(None)
            return tuple(dict.fromkeys(file.document_id for file in state.files))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._stores.aclose()


class _Sync:
    """One run of ``HostedSearch.sync``; the lock is held."""

    def __init__(
        self, stores: VectorStoreAdapter, file: HostedStateFile, progress: Progress | None, stall: float
    ) -> None:
        self._stores = stores
        self._file = file
        self._progress = progress
        self._stall = stall
        self._state = HostedState(vector_store_id="")
        self._failed: dict[str, str] = {}
        self._unchanged: list[str] = []

    async def run(self, wanted: Sequence[GuidelineFile]) -> SyncReport:
        await self._open_store()
        there = await self._stores.files(self._state.vector_store_id)
        for done, file in enumerate(wanted):
            self._tell("uploading", done, len(wanted))
            await self._bring(file, there)
        await self._wait([file for file in wanted if file.document_id not in self._failed])
        removed = await self._remove(wanted, there)
        self._tell("done", len(wanted), len(wanted))
        kept = {*self._failed, *self._unchanged}
        return SyncReport(
            vector_store_id=self._state.vector_store_id,
            uploaded=tuple(file.document_id for file in wanted if file.document_id not in kept),
            unchanged=tuple(self._unchanged),
            removed=removed,
            failed=tuple(SyncFailure(document_id=key, reason=reason) for key, reason in self._failed.items()),
        )

    async def _open_store(self) -> None:
        known = self._file.read()
        if known is not None and await self._stores.usable(known.vector_store_id):
            self._state = known
            return
        # The uploads may have outlived their store.
        files = known.files if known is not None else ()
        unseen = tuple(file.model_copy(update={"completed": False}) for file in files)
        self._save(HostedState(vector_store_id=await self._stores.create(_STORE_NAME), files=unseen))

    async def _bring(self, file: GuidelineFile, there: dict[str, StoredFile]) -> None:
        """Sees to it that the server has ``file`` and indexes it; a refusal of this one file is noted."""
        store = self._state.vector_store_id
        known = self._state.find(file.document_id, file.version)
        entry = there.get(known.file_id) if known is not None else None
        try:
            if known is not None and entry is not None and entry.status in {"completed", "in_progress"}:
                if entry.attributes != file.attributes:
                    await self._stores.describe(store, known.file_id, file.attributes)
                if entry.status == "completed":
                    self._unchanged.append(file.document_id)
                return
            if known is not None:
                if entry is None and await self._stores.attach(store, known.file_id, file.attributes):
                    return
                await self._discard(known.file_id)
            await self._upload(file)
        except ProviderRejected as error:
            if error.status not in _ABOUT_THE_FILE:
                raise
            self._failed[file.document_id] = str(error)

    async def _upload(self, file: GuidelineFile) -> None:
        file_id = await self._stores.upload(file.path, file.name)
        # Kept before it is attached: a run that is killed here finds it again.
        self._save(
            self._state.with_file(UploadedFile(file_id=file_id, document_id=file.document_id, version=file.version))
        )
        if not await self._stores.attach(self._state.vector_store_id, file_id, file.attributes):
            raise ProviderUnavailable("The model server lost a file that was just uploaded. Run the sync again.")

    async def _wait(self, wanted: Sequence[GuidelineFile]) -> None:
        """Wait until each of ``wanted`` is searchable or has failed."""
        pause, changed_at, seen = _POLL_SECONDS[0], time.monotonic(), -1
        while True:
            there = await self._stores.files(self._state.vector_store_id)
            settled = [file for file in wanted if await self._settled(file, there)]
            self._tell("indexing", len(settled), len(wanted))
            if len(settled) == len(wanted):
                return
            if len(settled) != seen:
                seen, changed_at = len(settled), time.monotonic()
            if time.monotonic() - changed_at > self._stall:
                raise ProviderUnavailable(
                    f"The model server has indexed {seen} of {len(wanted)} guidelines and does not go on. "
                    "Run `asclepius guidelines sync` again later: it goes on where it stopped."
                )
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _POLL_SECONDS[1])

    async def _settled(self, file: GuidelineFile, there: dict[str, StoredFile]) -> bool:
        known = self._state.find(file.document_id, file.version)
        if known is None:
            return True
        entry = there.get(known.file_id)
        match entry.status if entry is not None else "in_progress":
            case "completed":
                if not known.completed:
                    self._save(self._state.with_file(known.model_copy(update={"completed": True})))
                return True
            case "failed" | "cancelled":
                code = entry.reason if entry is not None else ""
                self._failed[file.document_id] = f"The model server could not index it{f' ({code})' if code else ''}."
                await self._discard(known.file_id)
                return True
            case _:
                return False

    async def _remove(self, wanted: Sequence[GuidelineFile], there: dict[str, StoredFile]) -> tuple[str, ...]:
        """Remove guidelines that are not wanted, and versions whose successor is searchable."""
        current = {(file.document_id, file.version) for file in wanted}
        held = [file for file in self._state.files if (file.document_id, file.version) not in current]
        old = {file.file_id: file.document_id for file in held if file.document_id not in self._failed}
        known = {file.file_id for file in self._state.files}
        # Files of ours that no state tells of: left by a data directory that was lost or put back.
        old |= {
            key: entry.attributes[GUIDELINE_ID]
            for key, entry in there.items()
            if key not in known and GUIDELINE_ID in entry.attributes
        }
        for done, file_id in enumerate(old):
            self._tell("removing", done, len(old))
            await self._discard(file_id)
        return tuple(dict.fromkeys(old.values()))

    async def _discard(self, file_id: str) -> None:
        await self._stores.detach(self._state.vector_store_id, file_id)
        await self._stores.delete_file(file_id)
        self._save(self._state.without(file_id))

    def _save(self, state: HostedState) -> None:
        self._file.write(state)
        self._state = state

    def _tell(self, stage: SyncStage, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(SyncProgress(stage=stage, done=done, total=total))
