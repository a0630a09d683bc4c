"""Which versions of Redis and Valkey have their security fixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_app.embedded.redis_binary import has_fixes, redis_binary


@pytest.mark.parametrize(
    ("version", "lacks"),
    [
        ("", True),
        ("Redis 6.2.14", True),
        ("Redis 6.2.20", False),
        ("7.0.15", True),
        ("7.2.10", True),
        ("7.2.11", False),
        ("7.4.5", True),
        ("8.0.6", False),
        ("Valkey 8.1.3", True),
        ("8.2.1", True),
        ("8.4.0", False),
        ("Valkey 9.1.2", False),
    ],
)
def test_a_redis_without_the_fixes_is_named(version: str, *, lacks: bool) -> None:
    assert has_fixes(version) is not lacks


def test_a_server_on_path_without_the_fixes_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "redis-server"
    monkeypatch.setenv("PATH", str(tmp_path))
    for version, chosen in (("7.0.15", False), ("8.4.0", True)):
        installed.write_text(f"#!/bin/sh\necho Redis server v={version} sha=0")
        installed.chmod(0o755)
        assert (redis_binary() == str(installed)) is chosen
    installed.unlink()
    assert redis_binary().endswith("valkey-server")
