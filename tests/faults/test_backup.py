"""A backup of a running app, restored into an empty directory, answers and has everything."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from chat_app.audit import open_audit_log
from chat_app.cli.governance.backup import _copy_files
from chat_app.errors import SessionStoreUnavailable
from chat_app.sessions.redis_copy import load
from chat_app.settings import Settings
from tests.support.served import Served, asclepius, serve

QUESTION = "What are the contraindications for ACE inhibitors?"


def asked(running: Served, **body: Any) -> dict[str, Any]:
    with httpx.Client(base_url=running.url, timeout=60) as client:
        client.post("/auth/header").raise_for_status()
        answer: dict[str, Any] = (
            client.post("/api/v1/consult", json={"stream": False, **body}).raise_for_status().json()
        )
        return answer


def conversations(running: Served) -> list[dict[str, Any]]:
    with httpx.Client(base_url=running.url, timeout=60) as client:
        client.post("/auth/header").raise_for_status()
        listed: list[dict[str, Any]] = client.get("/api/v1/conversations").raise_for_status().json()["conversations"]
        return listed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_backup_of_a_running_app_is_restored_and_answers(tmp_path: Path) -> None:
    first, second, file = tmp_path / "first", tmp_path / "second", tmp_path / "backup.zip"
    with serve(first) as running:
        before = asked(running, message=QUESTION)
        done = asclepius("backup", str(file), data_dir=first)
        assert done.returncode == 0, done.stderr
        asked(running, message="What is asthma?")
        used = asclepius("restore", str(file), data_dir=first)
        assert (used.returncode, "is not empty" in used.stderr) == (1, True)
    assert file.stat().st_mode & 0o077 == 0
    assert asclepius("restore", str(file), data_dir=second).returncode == 0
    with serve(second, ASCLEPIUS_LOAD_DEMO="false") as running:
        assert [found["id"] for found in conversations(running)] == [before["conversation_id"]]
        after = asked(running, message=QUESTION)
        assert after["answer"] == before["answer"]
        again = asked(running, message="What about in pregnancy?", conversation_id=before["conversation_id"])
        assert again["conversation_id"] == before["conversation_id"]
        assert len(asclepius("audit", "export", "--action", "question", data_dir=second).stdout.splitlines()) == 3
    assert asclepius("audit", "verify", data_dir=second).returncode == 0


def test_a_history_in_a_folder_with_any_name_is_copied(tmp_path: Path) -> None:
    (source := tmp_path / "a#b?c%20").mkdir()
    settings = Settings(storage={"data_dir": source})

    async def write() -> None:
        async with open_audit_log(settings) as audit:
            await audit.record("login", "ada")

    asyncio.run(write())
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
    _copy_files(source, tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy" / "history.sqlite3")) as copy:
        assert copy.execute("SELECT actor FROM audit").fetchall() == [("ada",)]


@pytest.mark.parametrize("damage", ["no archive", "cut", "damaged content"])
def test_what_is_no_backup_is_refused_in_a_sentence(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "backup.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("asclepius-backup.json", json.dumps({"version": "1", "not_included": ["x" * 500]}))
    content = bytearray(file.read_bytes())
    content[60] ^= 0xFF
    file.write_bytes({"no archive": b"no archive", "cut": content[:-30], "damaged content": content}[damage])
    done = asclepius("restore", str(file), data_dir=tmp_path / "data")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "not a backup" in done.stderr
    assert not (tmp_path / "data").exists()


async def test_a_copy_of_the_conversations_that_cannot_be_restored_says_why(redis_url: str, tmp_path: Path) -> None:
    async def said(url: str, line: str) -> str:
        (tmp_path / "redis.jsonl").write_text(line)
        with pytest.raises(SessionStoreUnavailable) as caught:
            await load(url, tmp_path / "redis.jsonl")
        return str(caught.value)

    newer = json.dumps(["a2V5", base64.b64encode(b"\x00\xc0\x01\xff\xff12345678").decode(), 0])
    assert "older" in await said(redis_url, newer)
    assert "check that Redis answers" in await said(f"unix://{tmp_path / 'none'}", newer)
    assert "damaged" in await said(redis_url, newer[:20])
