"""The body of a stream as it is read with nothing above it: through aiohttp, and with a protocol of the event loop.

What aiohttp costs over the protocol is what a reader of our own could save.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import aiohttp
import httptools


class _Body(asyncio.Protocol):
    """An HTTP response that is parsed as it arrives."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.arrived = asyncio.Event()
        self.pieces: list[bytes] = []
        self.ended = False

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self.arrived.set()

    def on_message_complete(self) -> None:
        self.ended = True
        self.arrived.set()


async def read_by_protocol(base_url: str, model: str) -> int:
    """Return the number of bytes of a body that a protocol with httptools reads."""
    address, body, count = urlsplit(base_url), f'{{"model": "{model}"}}', 0
    connecting = asyncio.get_running_loop().create_connection(_Body, address.hostname, address.port)
    transport, protocol = await connecting
    transport.write(f"POST /v1/responses HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    while not protocol.ended:
        await protocol.arrived.wait()
        protocol.arrived.clear()
        pieces, protocol.pieces = protocol.pieces, []
        count += sum(map(len, pieces))
    transport.close()
    return count


async def read_by_aiohttp(client: aiohttp.ClientSession, base_url: str, model: str) -> int:
    """Return the number of bytes of a body that aiohttp reads."""
    async with client.post(f"{base_url}/responses", json={"model": model}) as response:
        return sum([len(piece) async for piece in response.content.iter_chunked(65_536)])
