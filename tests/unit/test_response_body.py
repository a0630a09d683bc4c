"""The body of an answer to a streaming request, whatever its content type says."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import orjson
import pytest

from chat_app.errors import ProviderUnavailable
from chat_app.generation.response_body import beginning
from chat_app.generation.sse import MAX_EVENT_BYTES

RESPONSE = orjson.dumps({"object": "response", "id": "resp_1", "status": "completed", "output": []})


async def in_parts(body: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(body), size):
        yield body[at : at + size]


def answer(kind: str) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": kind})


@pytest.mark.parametrize("size", [7, 30, 1_000])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_response_sent_whole_is_one_event_however_it_is_cut(kind: str, size: int) -> None:
    assert await beginning(in_parts(RESPONSE, size), answer(kind)) == b"data: " + RESPONSE + b"\n\n"


async def test_a_whole_body_is_not_read_beyond_the_largest_event() -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"{" if read == 1 else b" " * 1_000_000

    with pytest.raises(ProviderUnavailable, match="not a Responses server"):
        await beginning(endless(), answer("application/json"))
    assert read <= MAX_EVENT_BYTES // 1_000_000 + 3
