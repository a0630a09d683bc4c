"""Probe whether a service is ready: connect, and send a cheap request where there is one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, assert_never
from urllib.parse import urlsplit

from chat_app.embedded.specs import ServiceName, socket_path

PROBE_SECONDS: Final = 1.0


async def is_up(name: ServiceName, url: str) -> bool:
    """Return whether the service at ``url`` is ready; False after ``PROBE_SECONDS``."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            match name:
                case "redis":
                    return await _answers(url, b"PING\r\n", b"+PONG")
                case "offline":
                    return await _answers(url, b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", b" 200 ")
                case "milvus":
                    return await _answers(url, b"", b"")
                case _:
                    assert_never(name)
    except (OSError, TimeoutError):
        return False


async def _answers(url: str, question: bytes, expected: bytes) -> bool:
    address = urlsplit(url)
    if address.scheme == "unix":
        reader, writer = await asyncio.open_unix_connection(str(socket_path(url)))
    else:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        if not question:
            return True
        writer.write(question)
        return expected in await reader.readline()
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
