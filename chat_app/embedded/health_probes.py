"""Probe whether a service is ready: connect, and send a cheap request where there is one."""

import asyncio
from contextlib import suppress
from typing import Final, assert_never
from urllib.parse import urlsplit

from chat_app.embedded.specs import ServiceName, socket_path

PROBE_SECONDS: Final = 1.0
_HTTP2: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
"""The start of a gRPC connection; the server answers with its settings, a frame of type 4."""


async def is_up(name: ServiceName, url: str, *, within: float = PROBE_SECONDS) -> bool:
    """Return whether the service at ``url`` is ready; False after ``within`` seconds."""
    try:
        async with asyncio.timeout(within):
            match name:
                case "redis":
                    return await _answers(url, b"PING\r\n", b"+PONG")
                case "offline":
                    return await _answers(url, b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", b" 200 ")
                case "milvus":
                    return await _answers(url, _HTTP2, b"\x04")
                case _:
                    assert_never(name)
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False


async def _answers(url: str, question: bytes, expected: bytes) -> bool:
    address = urlsplit(url)
    if address.scheme == "unix":
        reader, writer = await asyncio.open_unix_connection(str(socket_path(url)))
    else:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write(question)
        reply = await reader.readexactly(4) if question is _HTTP2 else await reader.readline()
        return reply.endswith(expected) if question is _HTTP2 else expected in reply
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
