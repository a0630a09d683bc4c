"""Files and vector stores of a model server. Nothing outside this file and the response adapter knows the SDK.

Failures come out as ``ProviderError``s that say what to do; no key, no server text and no file's name is in them.
"""

from collections.abc import Awaitable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import openai
from openai import AsyncOpenAI
from pydantic import Field

from chat_app.errors import ProviderError, ProviderRejected, ProviderUnavailable, RateLimited
from tools.types import Frozen

Attributes = Mapping[str, str]
"""At most 16; keys of at most 64 and values of at most 512 characters."""
_TIMEOUT = httpx2.Timeout(600.0, connect=10.0)
"""A guideline of 200 MB has to get through."""
_PROBE_TIMEOUT = 5.0
"""Seconds to find out whether there are vector stores; the look at a store before a question takes at most 2."""
_LOOK_TIMEOUT = 2.0
_RETRIES = 2
_PAGE = 100
_GONE = frozenset({404, 410})
_UNREADABLE = "The model server's answer about its files cannot be read. Check OPENAI_BASE_URL."


class StoredFile(Frozen):
    """A file of a vector store. It can be searched once its status is ``completed``."""

    file_id: str
    status: Literal["in_progress", "completed", "failed", "cancelled"]
    attributes: dict[str, str] = Field(default_factory=dict)
    reason: str = ""
    """The server's code for a failure, such as ``unsupported_file``."""


class VectorStoreAdapter:
    """The files and vector stores of any server with ``/v1/files`` and ``/v1/vector_stores``.

    All methods but ``available`` raise a ``ProviderError``.
    """

    def __init__(self, *, api_key: str, base_url: str | None = None) -> None:
        self._client = AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=_RETRIES, timeout=_TIMEOUT)
        self._probe = self._client.with_options(max_retries=0, timeout=_PROBE_TIMEOUT)

    async def available(self) -> bool:
        """Return whether the server has vector stores at all; any failure to find out counts as no."""
        try:
            answer = await self._probe.vector_stores.with_raw_response.list(limit=1)
            listed: object = answer.http_response.json()
        except (openai.OpenAIError, ValueError):
            # No such address, no right to it, no server there, or one that answers with a web page.
            return False
        return isinstance(listed, dict) and isinstance(listed.get("data"), list)

    async def create(self, name: str) -> str:
        """Create an empty vector store and return its id."""
        with _our_errors():
            return _id(await self._client.vector_stores.create(name=name))

    async def usable(self, store_id: str) -> bool:
        """Return whether the store is there and can be searched; False also for one that has expired."""
        with _our_errors():
            try:
                store = await self._probe.vector_stores.retrieve(store_id, timeout=_LOOK_TIMEOUT)
            except openai.APIStatusError as error:
                if error.status_code in {*_GONE, 400}:
                    return False
                raise
            return store.status != "expired"

    async def delete(self, store_id: str) -> None:
        """Delete a store but not its files. A missing store counts as deleted."""
        await _unless_gone(self._client.vector_stores.delete(store_id))

    async def upload(self, path: Path, name: str) -> str:
        """Upload a file under ``name`` and return its id.

        Raises ``ProviderRejected`` when the file cannot be read here, too.
        """
        try:
            with _our_errors():
                return _id(await self._client.files.create(file=(name, path), purpose="assistants"))
        except OSError as error:
            raise ProviderRejected(f"The guideline's file cannot be read ({error.strerror}).", status=0) from None

    async def delete_file(self, file_id: str) -> None:
        """Delete an uploaded file. A missing file counts as deleted."""
        await _unless_gone(self._client.files.delete(file_id))

    async def attach(self, store_id: str, file_id: str, attributes: Attributes) -> bool:
        """Add an uploaded file to a store and start its indexing; return False when the file is gone."""
        with _our_errors():
            try:
                asked = self._client.vector_stores.files.create(store_id, file_id=file_id, attributes=dict(attributes))
                _refuse_page(await asked)
            except openai.NotFoundError:
                return False
        return True

    async def detach(self, store_id: str, file_id: str) -> None:
        """Remove a file from a store but keep the upload. A missing file counts as detached."""
        await _unless_gone(self._client.vector_stores.files.delete(file_id, vector_store_id=store_id))

    async def describe(self, store_id: str, file_id: str, attributes: Attributes) -> None:
        """Replace the attributes of a store's file."""
        with _our_errors():
            files = self._client.vector_stores.files
            _refuse_page(await files.update(file_id, vector_store_id=store_id, attributes=dict(attributes)))

    async def files(self, store_id: str) -> dict[str, StoredFile]:
        """Return all files of a store by id."""
        found: dict[str, StoredFile] = {}
        with _our_errors():
            async for entry in self._client.vector_stores.files.list(store_id, limit=_PAGE):
                if entry.id in found:
                    # A server that knows no pages begins again; it has listed all.
                    break
                found[entry.id] = _stored(entry)
        return found

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()


def _stored(entry: Any) -> StoredFile:
    status = entry.status if entry.status in {"in_progress", "completed", "failed", "cancelled"} else "in_progress"
    attributes = {str(key): str(value) for key, value in (entry.attributes or {}).items()}
    code = str(entry.last_error.code) if entry.last_error is not None else ""
    return StoredFile(file_id=entry.id, status=status, attributes=attributes, reason=code[:64])


def _id(made: Any) -> str:
    """Return the id of a created object. Raises ``ValueError`` where the server gave none."""
    if not isinstance(made.id, str) or not made.id:
        raise ValueError("no id")
    return made.id


def _refuse_page(answer: object) -> None:
    """Raise ``TypeError`` for a web page, such as a proxy's sign-in, which the SDK returns as text."""
    if isinstance(answer, str):
        raise TypeError("no object")


async def _unless_gone(request: Awaitable[object]) -> None:
    with _our_errors():
        try:
            _refuse_page(await request)
        except openai.APIStatusError as error:
            if error.status_code not in _GONE:
                raise


@contextmanager
def _our_errors() -> Generator[None]:
    try:
        yield
    except openai.OpenAIError as error:
        raise _provider_error(error) from None
    except (AttributeError, TypeError, ValueError):
        # The SDK reads what it is sent without checking it: text for an object, objects without their fields.
        raise ProviderUnavailable(_UNREADABLE) from None


def _provider_error(error: openai.OpenAIError) -> ProviderError:
    """Translate the SDK's error into ours, without the server's text."""
    if isinstance(error, openai.APIConnectionError):
        return ProviderUnavailable("The model server cannot be reached. Check OPENAI_BASE_URL and the network.")
    if not isinstance(error, openai.APIStatusError):
        return ProviderUnavailable(_UNREADABLE)
    status = error.status_code
    match status:
        case 401 | 403:
            return ProviderRejected(
                "The key may not use files and vector stores there. Check the rights of OPENAI_API_KEY.", status=status
            )
        case 404 | 405 | 501:
            return ProviderRejected(
                "The model server has no such file or vector store, or has no vector stores at all. "
                "Set ASCLEPIUS_GUIDELINE_SEARCH=tool to search guidelines with the app's own index.",
                status=status,
            )
        case 413:
            return ProviderRejected("The model server takes no file of this size.", status=status)
        case 429:
            return RateLimited("The model server is busy, or the key's quota is used up. Run the sync again later.")
        case _ if status >= 500 or status in {408, 409}:
            return ProviderUnavailable(f"The model server's file storage fails at the moment (HTTP {status}).")
        case _:
            return ProviderRejected(f"The model server refused a file (HTTP {status}).", status=status)
