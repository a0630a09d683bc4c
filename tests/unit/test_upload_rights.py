"""Who may add a guideline in the chat: the demo user alone, until somebody is named."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from chat_app.interface.uploads import Closed, Upload, upload_events
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
def test_who_may_upload(
    auth: Literal["demo", "password", "header"], uploaders: str | None, may: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if uploaders is not None:
        monkeypatch.setenv("ASCLEPIUS_UPLOADERS", uploaders)
    server = ServerSettings(auth=auth)
    users = ("demo",) if auth == "demo" else ("ana", "bob", "carl")
    assert {user for user in users if server.may_upload(user)} == may
    assert not server.may_upload(None)
    assert server.takes_uploads is bool(may)


@pytest.mark.parametrize(("language", "reason"), [("en", "You may not add"), ("de", "Sie dürfen hier keine")])
async def test_a_file_of_somebody_who_may_not_is_refused_with_the_reason(
    language: Literal["en", "de"], reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.pdf"
    file.write_bytes(b"%PDF-1.4")
    events = [event async for event in upload_events(Closed(), Upload("x.pdf", file), language)]
    assert reason in getattr(events[-1], "text", "")
