"""The body of an answer to a streaming request, as server-sent events whatever its content type says.

Some servers and gateways name the wrong type, or none; some send a whole response or an error as JSON instead. So the
first bytes decide, and the content type only where they leave it open.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import aiohttp
import httpx2
import orjson

from chat_app.errors import ProviderUnavailable
from chat_app.generation.sse import MAX_EVENT_BYTES
from chat_app.response_events import UnknownEvent, parse_event

_MOST_BYTES: Final = 16_384
"""Most bytes of one read."""
_FIELD: Final = re.compile(rb"(?:data|event|id|retry)?:")
"""The beginning of a line of an event stream."""
_FIELD_BYTES: Final = len(b"event:")
_BOM: Final = b"\xef\xbb\xbf"


def arriving(response: httpx2.Response) -> tuple[AsyncIterator[bytes], asyncio.ReadTransport | None]:
    """Return the response's body and the connection that it comes from.

    The SDK's own iterator passes each read through six generators, so aiohttp is asked, unless the body is compressed.
    """
    inner = getattr(getattr(response.stream, "_stream", None), "_aiohttp_response", None)
    if not isinstance(inner, aiohttp.ClientResponse):
        return response.aiter_bytes(), None
    compressed = "content-encoding" in response.headers
    chunks = response.aiter_bytes() if compressed else inner.content.iter_chunked(_MOST_BYTES)
    return chunks, inner.connection.transport if inner.connection else None


async def beginning(chunks: AsyncIterator[bytes], response: httpx2.Response) -> bytes | None:
    """Return the first bytes of an event stream, or a whole response as one event; None for an empty stream.

    Raises ``ProviderUnavailable`` for any other body, such as a web page.
    """
    is_stream = _media_type(response) in {"text/event-stream", ""}
    read = said = b""
    async for chunk in chunks:
        read += chunk
        said = read.removeprefix(_BOM).lstrip()
        if said and (is_stream or len(said) >= _FIELD_BYTES or b"\n" in said):
            break
    if said.startswith(b"{"):
        return await _whole(read, chunks, response)
    if not is_stream and not _FIELD.match(said):
        raise no_server(response)
    return read or None


async def _whole(begun: bytes, chunks: AsyncIterator[bytes], response: httpx2.Response) -> bytes:
    """Return the response or the error that a server sent as JSON, as the event of its end."""
    parts, size = [begun], len(begun)
    async for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_EVENT_BYTES:
            break
    with suppress(orjson.JSONDecodeError):
        body = orjson.loads(b"".join(parts))
        if not isinstance(parse_event(body), UnknownEvent):
            return b"data: " + orjson.dumps(body) + b"\n\n"
    raise no_server(response)


def no_server(response: httpx2.Response) -> ProviderUnavailable:
    """Return the error for an answer that no Responses server gives."""
    kind = _media_type(response)[:40]
    return ProviderUnavailable(
        f"What answers at OPENAI_BASE_URL is not a Responses server (it sent {kind!r}). Check the address."
    )


def _media_type(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()
