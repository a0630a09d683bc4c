"""Files that are dropped into a conversation on the page, on the whole app with several users: whose they are, where
they are found, and that they go with their conversation."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
import pytest
from PIL import Image
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from tests.support.page_sockets import asking, seen, socket_of
from tests.support.pdfs import write_pdf
from tests.support.postgres import fresh_database
from tests.support.served import Served, asclepius, serve
from tests.support.written_files import files_in, holding

pytestmark = pytest.mark.served

SETTINGS = {"ASCLEPIUS_AUTH": "header", "ASCLEPIUS_UPLOADERS": "ana", "ASCLEPIUS_LOAD_DEMO": "false"}
NAME = "Maier letter.pdf"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app with an empty library, for users that a proxy names; ``ana`` may add to the library."""
    folder = tmp_path_factory.mktemp("files")
    traces = {"ASCLEPIUS_TRACE_DIR": str(folder / "traces"), "ASCLEPIUS_TRACE_CALLS": "all"}
    with serve(folder / "data", loaded=False, **SETTINGS, **traces) as running:
        yield running


class Letter(NamedTuple):
    """A file on a drug that nothing else knows: what one test shares, no other finds."""

    drug: str
    pdf: bytes

    @property
    def question(self) -> str:
        return f"What is the dose of {self.drug} in kidney disease?"


@pytest.fixture
def letter(tmp_path: Path) -> Letter:
    drug = "zolpi" + "".join(chr(ord("a") + int(digit, 16)) for digit in uuid4().hex[:8])
    words = f"The dose of {drug} is 12 mg once daily in adults with kidney disease."
    return Letter(drug, write_pdf(tmp_path / NAME, words, title=f"Letter on {drug}").read_bytes())


@asynccontextmanager
async def user_of(app: Served, name: str) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=app.url, headers={"X-Forwarded-User": name}, timeout=60) as client:
        assert (await client.post("/auth/header")).status_code == 200
        yield client


class Answer(NamedTuple):
    """What an answer was written into: its conversation and the element under it."""

    thread: str
    props: dict[str, Any]
    panel: list[dict[str, Any]]

    @property
    def own(self) -> list[dict[str, Any]]:
        """Its references to a file of the conversation."""
        return [card for card in self.props["references"] if card["document_id"].startswith("own-")]


async def asked(
    app: Served, client: httpx.AsyncClient, question: str, *, thread: str = "", file: bytes = b"", name: str = NAME
) -> Answer:
    """Asks on the page, in a new conversation or in ``thread``, with a file or without."""
    async with socket_of(app, client, thread) as (socket, events, session):
        references = []
        if file:
            sent = {"file": (name, file, "application/pdf")}
            uploaded = await client.post(f"/project/file?session_id={session}", files=sent)
            references = [{"id": uploaded.json()["id"]}]
        message = {
            "id": str(uuid4()),
            "type": "user_message",
            "output": question,
            "name": "x",
            "metadata": {},
            "createdAt": "2026-01-01T00:00:00Z",
            "threadId": thread,
        }
        await seen(events, "chat_settings")
        await socket.emit("client_message", {"message": message, "fileReferences": references})
        async with asyncio.timeout(60):
            while not (ends := _ends(events)):
                await asyncio.sleep(0.02)
        panel = [data for event, data in events if event == "chat_settings"][-1]
        return Answer(ends[-1]["threadId"], ends[-1]["props"], panel)


def _ends(events: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """What stands under the answers that have ended: they are shown, and then kept, and of both the page is told."""
    *_, kept, _ = (0, 0, *(at for at, (event, _) in enumerate(events) if event == "task_end"))
    return [data for event, data in events[:kept] if event == "element" and data["name"] == "References"]


def folder_of(app: Served, thread: str) -> Path:
    return app.data_dir / "guidelines" / "conversations" / thread.replace("-", "")


async def test_a_file_answers_in_its_conversation_and_in_no_other(app: Served, letter: Letter) -> None:
    async with user_of(app, "bob") as bob, user_of(app, "cleo") as cleo:
        answer = await asked(app, bob, letter.question, file=letter.pdf)
        assert answer.own
        assert "12 mg" in answer.props["plain"]
        assert "only in this conversation" in answer.props["plain"]
        assert [file["state"] for file in answer.props["files"]] == ["own"]

        later = await asked(app, bob, letter.question, thread=answer.thread)
        assert later.own
        for client in (bob, cleo):
            elsewhere = await asked(app, client, letter.question)
            assert elsewhere.props["references"] == []
        shouted = await asked(app, cleo, letter.question, thread=answer.thread.upper())
        assert shouted.props["references"] == []


async def test_a_conversation_that_begins_with_a_file_alone_is_named_after_it(app: Served, letter: Letter) -> None:
    async with user_of(app, "bob") as bob:
        answer = await asked(app, bob, "", file=letter.pdf)
        listed = await bob.post("/project/threads", json={"pagination": {"first": 50}, "filter": {}})
        assert {one["id"]: one["name"] for one in listed.json()["data"]}[answer.thread] == NAME


async def test_a_scan_beside_the_question_is_said_to_be_unreadable_above_what_other_documents_answer(
    app: Served, letter: Letter, tmp_path: Path
) -> None:
    scan = tmp_path / "scan.pdf"
    Image.new("L", (200, 200), 255).save(scan)
    async with user_of(app, "ana") as ana:
        first = await asked(app, ana, letter.question, file=letter.pdf)
        answer = await asked(app, ana, letter.question, thread=first.thread, file=scan.read_bytes(), name="scan.pdf")
    plain, begins = answer.props["plain"], answer.props["answer_at"]
    assert plain[:begins].startswith("No text could be read in")
    assert "12 mg" in plain[begins:]
    assert {card["document_id"] for card in answer.own} == {first.own[0]["document_id"]}
    assert [file["state"] for file in answer.props["files"]] == ["own"]


async def test_its_passage_page_and_file_are_open_to_its_owner_alone(app: Served, letter: Letter) -> None:
    async with user_of(app, "bob") as bob, user_of(app, "ana") as ana:
        reference = (await asked(app, bob, letter.question, file=letter.pdf)).own[0]
        document = reference["document_id"]
        for path in (
            f"passages/{reference['passage_id']}",
            f"guidelines/{document}/pages/1.png",
            f"guidelines/{document}/original.pdf",
        ):
            assert (await bob.get(f"/api/v1/{path}")).status_code == 200
            assert (await ana.get(f"/api/v1/{path}")).status_code == 404
        page = await bob.get(f"/api/v1/guidelines/{document}/pages/1.png")
        assert page.headers["cache-control"] == "no-store"


async def test_it_is_listed_in_its_conversations_panel_and_nowhere_else(app: Served, letter: Letter) -> None:
    async with user_of(app, "ana") as ana, user_of(app, "bob") as bob:
        before = (await ana.get("/api/v1/guidelines")).json()
        first = await asked(app, bob, letter.question, file=letter.pdf)
        again = letter.pdf + b"\n%changed"
        answer = await asked(app, bob, "", thread=first.thread, file=again, name="Another.pdf")
        labels = [item["label"] for field in answer.panel if field["id"] == "documents" for item in field["items"]]
        title = f"Letter on {letter.drug}"
        for name in (NAME, "Another.pdf"):
            assert f"{title}, {name} (this conversation only)" in labels
        assert (await ana.get("/api/v1/guidelines")).json() == before
        assert len((await bob.get("/api/v1/status")).json()["guidelines"]) == len(before)
        listed = asclepius("guidelines", "list", data_dir=app.data_dir, **SETTINGS)
        assert "documents that belong to conversations" in listed.stdout.lower()
        assert "Letter" not in listed.stdout


async def test_who_may_add_to_the_library_is_asked_and_nobody_else_can(app: Served, letter: Letter) -> None:
    async with user_of(app, "ana") as ana, user_of(app, "bob") as bob:
        answer = await asked(app, ana, letter.question, file=letter.pdf)
        file = answer.props["files"][0]
        address = f"/api/v1/threads/{answer.thread}/files/{file['document']}"
        assert file["state"] == "asked"
        assert (await bob.post(address, json={"for": "library"})).status_code == 404
        another = f"/api/v1/threads/{answer.thread}/files/own-{'0' * 32}-{'1' * 16}"
        assert (await ana.post(another, json={"for": "library"})).status_code == 404
        assert (await ana.post(address, json={"for": "conversation"})).json() == {"state": "own"}
        assert (await asked(app, bob, letter.question)).props["references"] == []

        assert (await ana.post(address, json={"for": "library"})).json() == {"state": "library"}

        assert (await asked(app, bob, letter.question)).props["references"]
        assert (await ana.get(f"/api/v1/passages/{answer.own[0]['passage_id']}")).status_code == 200
        thread = (await ana.get(f"/project/thread/{answer.thread}")).json()
        assert thread["elements"][0]["props"]["files"][0]["state"] == "library"


async def test_who_may_not_add_to_the_library_is_told_so(app: Served, letter: Letter) -> None:
    async with user_of(app, "bob") as bob:
        answer = await asked(app, bob, letter.question, file=letter.pdf)
        document = answer.own[0]["document_id"].partition("@")[0]
        refused = await bob.post(f"/api/v1/threads/{answer.thread}/files/{document}", json={"for": "library"})
        assert refused.status_code == 403
        assert "ask your administrator" in refused.json()["detail"]


async def test_one_file_can_be_removed_by_its_owner_and_what_cites_it_can_still_be_read(
    app: Served, letter: Letter
) -> None:
    async with user_of(app, "bob") as bob, user_of(app, "ana") as ana:
        answer = await asked(app, bob, letter.question, file=letter.pdf)
        address = f"/api/v1/threads/{answer.thread}/files/{answer.props['files'][0]['document']}"
        assert (await ana.delete(address)).status_code == 404
        assert (await bob.delete(address)).json() == {"state": "removed"}
        assert (await bob.delete(address)).status_code == 404
        later = await asked(app, bob, letter.question, thread=answer.thread)
        assert not later.own
        assert (await bob.get(f"/api/v1/passages/{answer.own[0]['passage_id']}")).status_code == 200
        thread = (await bob.get(f"/project/thread/{answer.thread}")).json()
        assert "removed" in [f["state"] for e in thread["elements"] for f in e["props"]["files"]]


async def test_a_file_can_be_removed_while_its_answer_is_being_stored(
    postgres: str, letter: Letter, tmp_path: Path
) -> None:
    database = await fresh_database(postgres)
    engine = create_async_engine(database)
    with serve(tmp_path / "data", loaded=False, **SETTINGS, DATABASE_URL=database) as app:
        async with user_of(app, "bob") as bob, socket_of(app, bob) as (socket, events, session):
            sent = {"file": (NAME, letter.pdf, "application/pdf")}
            file = (await bob.post(f"/project/file?session_id={session}", files=sent)).json()["id"]
            await seen(events, "chat_settings")
            async with engine.connect() as another:
                # What is below an answer cannot be stored meanwhile.
                await another.execute(text("LOCK TABLE elements IN EXCLUSIVE MODE"))
                await socket.emit("client_message", {**asking(letter.question), "fileReferences": [{"id": file}]})
                references = (await seen(events, "element", 2))[-1]
                document = references["props"]["files"][0]["document"]
                address = f"/api/v1/threads/{references['threadId']}/files/{document}"
                shown = len(await seen(events, "window_message"))
                removal = asyncio.create_task(bob.delete(address))
                await seen(events, "window_message", shown + 1)
            assert (await removal).json() == {"state": "removed"}
            assert (await seen(events, "element", 3))[-1]["props"]["files"][0]["state"] == "removed"
            thread = (await bob.get(f"/project/thread/{references['threadId']}")).json()
            assert "removed" in [f["state"] for e in thread["elements"] for f in e["props"].get("files") or ()]
    await engine.dispose()


@pytest.mark.parametrize("over", ["page", "api"])
async def test_it_is_erased_with_its_conversation(over: str, app: Served, letter: Letter) -> None:
    async with user_of(app, "bob") as bob:
        answer = await asked(app, bob, letter.question, file=letter.pdf)
        reference = answer.own[0]
        assert folder_of(app, answer.thread).is_dir()
        if over == "page":
            await bob.request("DELETE", "/project/thread", json={"threadId": answer.thread})
        else:
            listed = (await bob.get("/api/v1/conversations")).json()["conversations"]
            assert (await bob.delete(f"/api/v1/conversations/{listed[0]['id']}")).status_code == 204
        assert not folder_of(app, answer.thread).exists()
        assert holding(app.data_dir, letter.pdf) == []
        assert (await bob.get(f"/api/v1/passages/{reference['passage_id']}")).status_code == 404


async def test_the_api_searches_it_when_it_goes_on_with_that_conversation(app: Served, letter: Letter) -> None:
    async with user_of(app, "bob") as bob, user_of(app, "cleo") as cleo:
        await asked(app, bob, letter.question, file=letter.pdf)
        conversation = (await bob.get("/api/v1/conversations")).json()["conversations"][0]["id"]
        found = {}
        for client, name in ((bob, "bob"), (cleo, "cleo")):
            body = {"message": letter.question, "conversation_id": conversation, "stream": False}
            answer = (await client.post("/api/v1/consult", json=body)).json()
            # A question that no source answers is given the closest passages of the library, which others may read.
            found[name] = [one for one in answer["references"] if letter.drug in one["passage"]["text"]]
        assert found["bob"]
        assert found["cleo"] == []


async def test_it_is_there_after_a_restart_and_no_log_or_trace_names_it(app: Served, letter: Letter) -> None:
    async with user_of(app, "bob") as bob:
        answer = await asked(app, bob, letter.question, file=letter.pdf)
    # The last test of this file: what it starts has the data of the app that it ends.
    app.process.send_signal(signal.SIGTERM)
    await asyncio.to_thread(app.process.wait, 60)
    with serve(app.data_dir, loaded=False, **SETTINGS) as again:
        async with user_of(again, "bob") as bob:
            assert (await asked(again, bob, letter.question, thread=answer.thread)).own
            assert (await bob.get(f"/api/v1/passages/{answer.own[0]['passage_id']}")).status_code == 200
        said = again.log.read_text().lower()
    traces = files_in(app.data_dir.parent / "traces")
    assert any(path.read_bytes() for path in traces)
    for words in (said, *(path.read_text().lower() for path in traces)):
        assert "maier" not in words
        assert letter.drug not in words
