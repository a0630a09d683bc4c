"""Connections that never finish a request: others are served, and the connections are closed."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.support.page_server import fake_page

HALF_OPEN = 1_100


def test_others_are_served_beside_half_open_requests_which_are_closed(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard > 2 * HALF_OPEN, "the system must allow this test its own sockets"
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        page = stack.enter_context(fake_page(tmp_path))
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * HALF_OPEN), hard))
        address = urlsplit(page.url)
        half: list[socket.socket] = []
        for number in range(HALF_OPEN):
            half.append(stack.enter_context(socket.create_connection((address.hostname or "", address.port or 0), 60)))
            half[-1].sendall(b"GET / HTTP/1.1\r\nHost: 127" if number % 2 else b"")
        assert httpx.get(f"{page.url}/livez", timeout=60).status_code == 200
        for connection in (half[0], half[1], half[-1]):
            assert connection.recv(1) == b"", "the server closes it"
        with httpx.Client(base_url=page.url, timeout=60) as client:
            assert {client.get("/livez").status_code for _ in range(3)} == {200}, "one connection for several requests"
        assert page.log.stat().st_size < 1_000_000, "the log does not grow with them"
