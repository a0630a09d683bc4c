"""A backup of a running app, restored into an empty directory, answers and has everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

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


def test_what_is_no_backup_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    file.write_bytes(b"no archive")
    done = asclepius("restore", str(file), data_dir=tmp_path / "data")
    assert done.returncode == 1
    assert "not a backup" in done.stderr
    assert not (tmp_path / "data").exists()
