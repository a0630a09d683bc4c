"""What hosted file search needs of a model server: files, a vector store, and how far its indexing is.

The port behind which any server with ``/v1/files`` and ``/v1/vector_stores`` can stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from tools.types import Frozen

IndexStatus = Literal["in_progress", "completed", "failed", "cancelled"]
Attributes = Mapping[str, str]
"""At most 16; keys of at most 64 and values of at most 512 characters."""


class StoredFile(Frozen):
    """A file of a vector store. It can be searched once its status is ``completed``."""

    file_id: str
    status: IndexStatus
    attributes: dict[str, str] = Field(default_factory=dict)
    reason: str = ""
    """The server's code for a failure, such as ``unsupported_file``."""


class VectorStores(Protocol):
    """Files and vector stores of one server. All methods but ``available`` raise a ``ProviderError``."""

    async def available(self) -> bool:
        """Whether the server has vector stores at all; any failure to find out counts as no."""
        ...

    async def create(self, name: str) -> str:
        """Create an empty vector store and return its id."""
        ...

    async def usable(self, store_id: str) -> bool:
        """Whether the store is there and can be searched; False also for one that has expired."""
        ...

    async def delete(self, store_id: str) -> None:
        """Delete a store but not its files. A missing store counts as deleted."""
        ...

    async def upload(self, path: Path, name: str) -> str:
        """Upload a file under ``name`` and return its id."""
        ...

    async def delete_file(self, file_id: str) -> None:
        """Delete an uploaded file. A missing file counts as deleted."""
        ...

    async def attach(self, store_id: str, file_id: str, attributes: Attributes) -> bool:
        """Add an uploaded file to a store and start its indexing; return False when the file is gone."""
        ...

    async def detach(self, store_id: str, file_id: str) -> None:
        """Remove a file from a store but keep the upload. A missing file counts as detached."""
        ...

    async def describe(self, store_id: str, file_id: str, attributes: Attributes) -> None:
        """Replace the attributes of a store's file."""
        ...

    async def files(self, store_id: str) -> dict[str, StoredFile]:
        """All files of a store by id."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...
