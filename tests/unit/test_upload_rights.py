"""Who may add a guideline for everybody: the demo user alone, until somebody is named."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from chat_app.settings import ServerSettings


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ASCLEPIUS_UPLOADERS", "ASCLEPIUS_AUTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("auth", "uploaders", "may"),
    [
        ("demo", None, {"demo"}),
        ("header", None, set()),
        ("password", None, set()),
        ("header", "ana, bob", {"ana", "bob"}),
        ("header", "*", {"ana", "bob", "carl"}),
        ("demo", "-", set()),
    ],
)
def test_who_may_add_to_the_library(
    auth: Literal["demo", "password", "header"], uploaders: str | None, may: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if uploaders is not None:
        monkeypatch.setenv("ASCLEPIUS_UPLOADERS", uploaders)
    server = ServerSettings(auth=auth)
    users = ("demo",) if auth == "demo" else ("ana", "bob", "carl")
    assert {user for user in users if server.may_upload(user)} == may
