"""The choice between the model server's own file search and the app's guideline tool.

``tool`` always uses the app's own index. ``hosted`` uses the server's file search; the guidelines are uploaded and
synchronised. ``auto`` uses the server's file search once the operator has uploaded the guidelines, as long as the
upload matches the loaded guidelines; it uploads nothing by itself, because only the operator decides on data egress.
Whenever the server's search cannot be used (it has none, does not answer, or lacks a guideline), the app's own tool
searches.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Literal

from chat_app.errors import AsclepiusError, ProviderRejected
from chat_app.generation.hosted.hosted_search import GuidelineFile, HostedSearch, SyncProgress, SyncReport
from tools.errors import ToolError
from tools.guidelines import GuidelineLibrary

logger = logging.getLogger(__name__)

GuidelineSearch = Literal["auto", "hosted", "tool"]
Progress = Callable[[SyncProgress], None]

_LISTED_FOR = 5.0
"""Seconds for which the list of loaded guidelines is cached."""
_MEANWHILE = "guidelines are searched with the app's own index."
_FAILED_AGAIN_AFTER, _REFUSED_AGAIN_AFTER = 60.0, 900.0
"""Seconds until an automatic sync is repeated: after a failure, and after a guideline was refused."""


class GuidelineRoute:
    """Chooses between the library's own search and ``hosted``, and synchronises the latter with the library."""

    def __init__(
        self, library: GuidelineLibrary, hosted: HostedSearch, *, choice: GuidelineSearch, offline: bool
    ) -> None:
        self._library = library
        self._hosted = hosted
        # The built-in server has a file search for trials; the app's own index is better.
        self._choice: GuidelineSearch = "tool" if choice == "auto" and offline else choice
        self._listed: tuple[float, tuple[GuidelineFile, ...]] | None = None
        self._syncing: asyncio.Task[None] | None = None
        self._resting: tuple[float, tuple[GuidelineFile, ...]] | None = None
        """Until when, and for which guidelines, no automatic sync is started."""

    async def vector_store(self) -> str | None:
        """Return the vector store to search for this question; None for the app's own tool."""
        if self._choice == "tool":
            return None
        try:
            wanted = await self._wanted()
        except ToolError:
            return None
        store = self._hosted.ready(wanted)
        if store is not None and await self._hosted.usable(store):
            return store
        if self._choice == "hosted" and wanted:
            self._begin(wanted)
        return None

    def invalidate(self) -> None:
        """Check before the next question whether the vector store exists; called when a question failed."""
        self._hosted.invalidate()

    async def prepare(self, progress: Progress | None = None) -> list[str]:
        """Upload missing guidelines with ``hosted``; return the problems, one sentence each."""
        if self._choice != "hosted":
            return []
        try:
            wanted = await self._wanted()
            if self._hosted.ready(wanted) is not None or not wanted:
                return []
            report = await self._sync_unasked(wanted, progress)
        except (AsclepiusError, ToolError) as error:
            return [f"Guidelines are searched with the app's own index: {error}"]
        return [
            f"Guidelines are searched with the app's own index, since the model server does not take "
            f"{failure.document_id}: {failure.reason}"
            for failure in report.failed
        ]

    async def sync(self, progress: Progress | None = None) -> SyncReport:
        """Upload new and changed guidelines, delete removed ones, and wait until the server can search them.

        Raises ``ProviderRejected`` when the server has no vector stores, and like ``HostedSearch.sync``.
        """
        if not await self._hosted.available():
            raise ProviderRejected(
                "The model server has no vector stores, or refuses the key for them. Guidelines are searched with the "
                "app's own index; ASCLEPIUS_GUIDELINE_SEARCH=tool makes that permanent.",
                status=404,
            )
        self._listed = None
        return await self._hosted.sync(await self._wanted(), progress=progress)

    async def withdraw(self) -> tuple[str, ...]:
        """Delete everything that was uploaded; return the ids of the deleted guidelines."""
        return await self._hosted.withdraw()

    async def check(self) -> list[str]:
        """Return why questions do not use the model server's file search although they should."""
        if self._choice == "tool" or (self._choice == "auto" and not self._hosted.was_synced):
            return []
        try:
            wanted = await self._wanted()
        except ToolError as error:
            return [str(error)]
        store = self._hosted.ready(wanted)
        if not wanted or (store is not None and await self._hosted.usable(store)):
            return []
        if not await self._hosted.available():
            return [f"The model server shows no vector stores; {_MEANWHILE}"]
        return [f"The model server does not hold what is loaded here. Run `asclepius guidelines sync`; {_MEANWHILE}"]

    def describe(self) -> str:
        """Return a sentence on which search questions use."""
        if self._choice == "tool":
            return "Questions search the app's own index; ASCLEPIUS_GUIDELINE_SEARCH=hosted changes that."
        return "Questions search it as long as it holds what is loaded here."

    async def aclose(self) -> None:
        """Cancel a running sync and close the connections; the next sync finds what was uploaded."""
        if self._syncing is not None:
            self._syncing.cancel()
            await asyncio.wait({self._syncing})
        await self._hosted.aclose()

    async def _wanted(self) -> tuple[GuidelineFile, ...]:
        """Return the loaded guidelines that have text, as files to upload; raises ``ToolError``."""
        now = time.monotonic()
        if self._listed is None or now - self._listed[0] > _LISTED_FOR:
            documents = await self._library.documents()
            files = tuple(
                GuidelineFile(
                    document_id=document.id,
                    # Only of the bytes: a change in how they are parsed here needs no upload.
                    version=document.sha256[:12],
                    title=document.title,
                    path=self._library.original(document.id),
                )
                for document in documents
                if document.passages
            )
            self._listed = (now, files)
        return self._listed[1]

    def _begin(self, wanted: tuple[GuidelineFile, ...]) -> None:
        """Start a sync in the background, unless one is running or the same one has just failed."""
        if self._syncing is not None and not self._syncing.done():
            return
        if self._resting is not None and self._resting[1] == wanted and time.monotonic() < self._resting[0]:
            return
        self._syncing = asyncio.create_task(self._sync_quietly(wanted), name="guideline sync")

    async def _sync_unasked(self, wanted: tuple[GuidelineFile, ...], progress: Progress | None = None) -> SyncReport:
        self._resting = (time.monotonic() + _FAILED_AGAIN_AFTER, wanted)
        report = await self.sync(progress)
        self._resting = (time.monotonic() + _REFUSED_AGAIN_AFTER, wanted) if report.failed else None
        return report

    async def _sync_quietly(self, wanted: tuple[GuidelineFile, ...]) -> None:
        try:
            report = await self._sync_unasked(wanted)
        except (AsclepiusError, ToolError) as error:
            logger.warning("The guidelines were not uploaded: %s", error)
        else:
            for failure in report.failed:
                logger.warning("Guideline %s is not at the model server: %s", failure.document_id, failure.reason)
