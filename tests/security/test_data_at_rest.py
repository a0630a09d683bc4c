"""Another user of the machine reads no file of the app and uses none of its services. Needs root to become one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from chat_app.data_protection import protect
from tests.support.served import Served, new_data, serve

NOBODY = 65_534
# Reads a list of attempts from standard input; prints those that succeeded.
INTRUDER = """
import json, os, socket, sys, urllib.error, urllib.request

def opened(path):
    return bool(os.listdir(path) or True) if os.path.isdir(path) else bool(open(path, "rb") or True)

def connected(kind, address):
    with socket.socket(getattr(socket, kind)) as one:
        one.settimeout(60)
        one.connect(tuple(address) if isinstance(address, list) else address)
    return True

def answered(url):
    request = urllib.request.Request(url, headers={"Authorization": "Bearer guess"})
    return urllib.request.urlopen(request, timeout=60).status == 200

for name, *given in json.load(sys.stdin):
    try:
        if {"open": opened, "connect": connected, "get": answered}[name](*given):
            print(json.dumps([name, *given]))
    except OSError:
        pass
"""


def succeeded(attempts: list[list[Any]], *, user: int) -> list[list[Any]]:
    """Return those of ``attempts`` that a process of ``user`` succeeds in."""
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-I", "-c", INTRUDER],
        input=json.dumps(attempts),
        capture_output=True,
        text=True,
        user=user,
        group=user,
        extra_groups=[],
        cwd="/",
        timeout=200,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def attempts_on(url: str) -> list[list[Any]]:
    address = urlsplit(url)
    if address.scheme == "unix":
        return [["connect", "AF_UNIX", address.path]]
    return [["connect", "AF_INET", [address.hostname, address.port]]]


@pytest.fixture(scope="module")
def exposed() -> Iterator[Path]:
    """Yield a folder that every user may enter, unlike pytest's own."""
    if os.getuid() != 0:
        pytest.skip("only root can start a process of another user")
    with tempfile.TemporaryDirectory(prefix="asclepius-exposed-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def running(exposed: Path) -> Iterator[Served]:
    """Serve in a data directory that an earlier version has left open to everybody."""
    new_data(exposed / "data")
    old = exposed / "data" / "guidelines" / "old"
    old.mkdir(parents=True)
    (old / "original.pdf").write_bytes(b"%PDF")
    for path in (exposed / "data", old.parent, old):
        path.chmod(0o755)
    (old / "original.pdf").chmod(0o644)
    with serve(exposed / "data") as served:
        yield served


def test_another_user_opens_no_file(running: Served, exposed: Path) -> None:
    readable = exposed / "readable"
    readable.write_text("control")
    readable.chmod(0o644)
    everything = [Path(folder, name) for folder, _, names in os.walk(running.data_dir) for name in (".", *names)]
    attempts = [["open", str(path)] for path in [readable, *everything] if not path.is_socket()]
    assert len(attempts) > 20
    assert succeeded(attempts, user=NOBODY) == [["open", str(readable)]], "only the control"
    assert [path for path in everything if is_loose(path)] == []
    assert "Other users of this machine had access to" in running.log.read_text()


def is_loose(path: Path) -> bool:
    """Return whether others may do something with ``path``; a file that has vanished since is safe from them."""
    with suppress(FileNotFoundError):
        return not path.is_symlink() and bool(path.lstat().st_mode & 0o077)
    return False


def test_another_user_reaches_neither_index_nor_sessions_nor_model(running: Served) -> None:
    urls = json.loads((running.data_dir / "run" / "services.json").read_text())
    stores = [attempt for name in ("redis", "milvus") for attempt in attempts_on(urls[name])]
    models = [["get", f"{urls['offline']}/models"], ["get", f"{urls['offline']}/files"]]
    assert succeeded(stores, user=0) == stores, "they listen there"
    assert succeeded(stores + models, user=NOBODY) == []
    assert succeeded(attempts_on(urls["offline"]), user=NOBODY) != [], "its port is reachable, so the key refused"


def test_the_page_of_the_demo_user_is_the_only_other_port(running: Served) -> None:
    """Milvus Lite checks no password, so it must not listen on a port."""
    page = urlsplit(running.url).port
    offline = urlsplit(json.loads((running.data_dir / "run" / "services.json").read_text())["offline"]).port
    assert listening(running.process.pid) == {page, offline}


def listening(pid: int) -> set[int]:
    import psutil

    parent = psutil.Process(pid)
    found = [one for each in (parent, *parent.children(recursive=True)) for one in each.net_connections("inet")]
    return {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}


def test_links_and_private_files_stay_as_they_are(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "link").symlink_to(outside)
    (data / "loose").write_text("x")
    (data / "loose").chmod(0o664)
    assert protect(data) == 1
    assert (data / "loose").stat().st_mode & 0o777 == 0o600
    assert outside.stat().st_mode & 0o777 == 0o644
    assert protect(data) == 0
