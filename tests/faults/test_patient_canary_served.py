"""Row 46, the whole app: what a patient is about stands in no log of any of its processes and in no error's body."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.browser import answered, ask, chromium, chromium_path, recorded
from tests.support.served import Served, asclepius, serve
from tests.support.written_files import files_in

NAME = "Quillfeather"
PATIENT = f"Mrs {NAME}, 71, potassium 6.1"
TALKATIVE = {"ASCLEPIUS_LOG_LEVEL": "debug", "ASCLEPIUS_TRACE_CALLS": "all"}


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """``asclepius serve`` with everything logged and traced that can be."""
    folder = tmp_path_factory.mktemp("ward")
    with serve(folder / "data", **TALKATIVE, ASCLEPIUS_TRACE_DIR=str(folder / "traces")) as running:
        yield running


@pytest.fixture(scope="module")
def client(ward: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=ward.url, timeout=60, headers={"Content-Type": "application/json"}) as client:
        client.post("/auth/header").raise_for_status()
        yield client


def shown(answer: httpx.Response) -> str:
    return f"{answer.headers}\n{answer.text}"


@dataclass
class Logs:
    """What the app and the services it started wrote to logs and traces since the test began. Their databases may
    know her."""

    ward: Served
    known: dict[Path, int]

    @classmethod
    def of(cls, ward: Served) -> Logs:
        return cls(ward, {path: path.stat().st_size for path in cls._files(ward)})

    @staticmethod
    def _files(ward: Served) -> list[Path]:
        folder = ward.data_dir.parent
        return [file for file in files_in(folder) if file.suffix == ".log" or (folder / "traces") in file.parents]

    def that_name_her(self) -> list[str]:
        files = self._files(self.ward)
        assert self.ward.log in files
        return [path.name for path in files if NAME.encode() in path.read_bytes()[self.known.get(path, 0) :]]


@pytest.fixture
def logs(ward: Served) -> Logs:
    return Logs.of(ward)


def test_questions_that_are_answered_are_in_no_log(logs: Logs, client: httpx.Client) -> None:
    """Row 46: guidelines, drugs, a follow-up, and the whole answer as JSON."""
    body = {"message": f"{PATIENT}: what are the contraindications for ACE inhibitors?", "stream": False}
    first = client.post("/api/v1/consult", json=body)
    assert first.status_code == 200, first.text
    conversation = first.json()["conversation_id"]
    for message in (f"And for {PATIENT} with metformin?", f"Which formulations of {NAME} are there?", f"{NAME} 💉"):
        answer = client.post("/api/v1/consult", json={"message": message, "conversation_id": conversation})
        assert answer.status_code == 200, answer.text
        assert "turn_ended" in answer.text
    assert logs.that_name_her() == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"message": {"text": PATIENT}}, id="no string"),
        pytest.param({"message": PATIENT, NAME: 1}, id="an unknown field"),
        pytest.param({"message": "x", "model": PATIENT}, id="no model's name"),
        pytest.param({"message": "x", "conversation_id": PATIENT * 50}, id="too long an id"),
        pytest.param({"message": "x", "length": PATIENT}, id="no such length"),
        pytest.param({"message": PATIENT * 2_000}, id="too long a question"),
        pytest.param(f'{{"message": "{PATIENT}'.encode(), id="half a body"),
        pytest.param(b'{"message": "\xff ' + PATIENT.encode() + b'"}', id="no UTF-8"),
        pytest.param(f'{{"message": "{PATIENT} \\ud83d"}}'.encode(), id="half a character"),
        pytest.param(PATIENT.encode(), id="no JSON"),
        pytest.param([PATIENT], id="a list"),
    ],
)
def test_a_request_that_cannot_be_taken_is_refused_without_repeating_it(
    logs: Logs, client: httpx.Client, body: Any
) -> None:
    """Rows 39 and 46."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post("/api/v1/consult", content=content)
    assert answer.status_code in {400, 413, 422}, answer.text
    assert NAME not in shown(answer)
    assert logs.that_name_her() == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/turns/{}/events"),
        ("DELETE", "/api/v1/turns/{}"),
        ("GET", "/api/v1/conversations/{}"),
        ("DELETE", "/api/v1/conversations/{}"),
        ("GET", "/api/v1/passages/{}"),
        ("GET", "/api/v1/{}"),
        ("POST", "/api/v1/status?question={}"),
    ],
)
def test_an_address_that_names_her_is_not_repeated(logs: Logs, client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path.format(urllib.parse.quote(PATIENT)))
    assert answer.status_code < 500, answer.text
    assert NAME not in shown(answer)
    assert logs.that_name_her() == []


def test_the_command_line_logs_no_question_either(ward: Served, logs: Logs, tmp_path: Path) -> None:
    done = asclepius(
        "ask",
        f"{PATIENT}: may she take metformin?",
        "--json",
        data_dir=ward.data_dir,
        **TALKATIVE,
        ASCLEPIUS_TRACE_DIR=str(tmp_path / "traces"),
    )
    assert done.returncode == 0, done.stderr
    assert NAME not in done.stderr
    traces = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(NAME in text for text in traces)
    refused = asclepius("ask", f"{PATIENT} " * 2_000, data_dir=ward.data_dir, **TALKATIVE)
    assert refused.returncode != 0
    assert NAME not in refused.stdout + refused.stderr
    assert logs.that_name_her() == []


@pytest.mark.e2e
@pytest.mark.skipif(chromium_path() is None, reason="no Chromium on this machine (ASCLEPIUS_CHROMIUM)")
async def test_a_question_on_the_page_is_in_no_log(ward: Served, logs: Logs) -> None:
    """Row 46: the page's socket, and its history, which keeps the question and may."""
    async with chromium() as browser, recorded(browser, "canary") as context:
        page = await context.new_page()
        await page.goto(ward.url)
        await ask(page, f"{PATIENT}: what are the contraindications for ACE inhibitors?")
        await answered(page)
    assert logs.that_name_her() == []
