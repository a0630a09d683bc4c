"""Probe whether a service is ready: connect, and send a cheap request where there is one."""

import asyncio
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from chat_app.embedded.specs import ServiceName

PROBE_SECONDS: Final = 1.0
_PROBES: Final[dict[ServiceName, tuple[bytes, int, bytes]]] = {
    "redis": (b"PING\r\n", 5, b"+PONG"),
    "offline": (b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", 12, b" 200"),
    # The start of a gRPC connection; the server answers with its settings, a frame of type 4.
    "milvus": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 4, b"\x04"),
}
"""The request to each service, how many bytes of its answer to read, and how they end."""


async def is_up(name: ServiceName, url: str, *, within: float = PROBE_SECONDS) -> bool:
    """Return whether the service at ``url`` is ready; False after ``within`` seconds."""
    request, length, ending = _PROBES[name]
    address = urlsplit(url)
    try:
        async with asyncio.timeout(within):
            if address.scheme == "unix":
                reader, writer = await asyncio.open_unix_connection(address.path)
            else:
                reader, writer = await asyncio.open_connection(address.hostname, address.port)
            try:
                writer.write(request)
                return (await reader.readexactly(length)).endswith(ending)
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False
