"""Files, vector stores and hosted file search of the offline server, through the official client."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import psutil
import pytest
from openai import AsyncOpenAI, OpenAI

from chat_app.offline.state.file_text import chunks
from tests.support.offline_server import offline_server, port_of, start_offline_server
from tests.support.services import wait_until

PROJECT = Path(__file__).resolve().parents[2]
LEAFLET = (
    "Metformin is contraindicated in patients with an eGFR below 30 mL/min. "
    "Metformin should be taken with meals. Lisinopril can cause a dry cough."
)


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with offline_server(tmp_path_factory.mktemp("offline"), "--delta-ms", "0") as url:
        yield url


@pytest.fixture
async def client(base_url: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=base_url, api_key="any", max_retries=0) as found:
        yield found


async def store_with(client: AsyncOpenAI, name: str, content: bytes, **attributes: Any) -> tuple[str, str]:
    """A vector store that holds one indexed file; the ids of both."""
    file = await client.files.create(file=(name, content), purpose="assistants")
    store = await client.vector_stores.create(name="test")
    added = await client.vector_stores.files.create_and_poll(
        vector_store_id=store.id, file_id=file.id, attributes=attributes or None, poll_interval_ms=20
    )
    assert added.status == "completed", added.last_error
    return store.id, file.id


NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def docx(*paragraphs: str) -> bytes:
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("word/document.xml", f"<w:document {NAMESPACE}><w:body>{body}</w:body></w:document>")
    return archive.getvalue()


async def test_a_file_comes_back_as_it_was_sent(client: AsyncOpenAI) -> None:
    sent = bytes(range(256)) * 100
    file = await client.files.create(file=("../../etc/passwd", sent), purpose="user_data")
    assert (file.filename, file.bytes) == ("passwd", len(sent))
    assert (await client.files.content(file.id)).content == sent
    await client.files.delete(file.id)
    with pytest.raises(openai.NotFoundError):
        await client.files.retrieve(file.id)


async def test_files_are_listed_by_purpose_and_page(client: AsyncOpenAI) -> None:
    made = [(await client.files.create(file=(f"{n}.txt", b"x"), purpose="vision")).id for n in range(3)]
    listed = [file.id async for file in client.files.list(purpose="vision", limit=2)]
    assert sorted(listed) == sorted(made)


async def test_an_answer_cites_the_file_after_each_sentence(client: AsyncOpenAI) -> None:
    store, file = await store_with(client, "leaflet.txt", LEAFLET.encode())
    answered = await client.responses.create(
        model="m",
        input="When is metformin contraindicated?",
        include=["file_search_call.results"],
        tools=[{"type": "file_search", "vector_store_ids": [store]}],
    )
    part: Any = answered.output[-1].content[0]  # type: ignore[union-attr]
    sentence = "Metformin is contraindicated in patients with an eGFR below 30 mL/min."
    assert part.text == f"From the files:\n\n- {sentence}"
    (citation,) = part.annotations
    assert (citation.file_id, citation.filename, citation.index) == (file, "leaflet.txt", len(part.text))


async def test_results_are_left_out_unless_asked_for(client: AsyncOpenAI) -> None:
    store, _ = await store_with(client, "leaflet.txt", LEAFLET.encode())
    answered = await client.responses.create(
        model="m",
        input="When is metformin contraindicated?",
        tools=[{"type": "file_search", "vector_store_ids": [store]}],
    )
    assert [item.results for item in answered.output if item.type == "file_search_call"] == [None]


async def test_what_the_files_do_not_hold_is_not_answered(client: AsyncOpenAI) -> None:
    store, _ = await store_with(client, "leaflet.txt", LEAFLET.encode())
    answered = await client.responses.create(
        model="m",
        input="How is acute appendicitis operated?",
        tools=[{"type": "file_search", "vector_store_ids": [store]}],
    )
    assert answered.output_text.startswith("Nothing found")


async def test_an_unknown_store_is_refused(client: AsyncOpenAI) -> None:
    tools: Any = [{"type": "file_search", "vector_store_ids": ["vs_none"]}]
    with pytest.raises(openai.NotFoundError, match="vs_none"):
        await client.responses.create(model="m", input="When?", tools=tools, stream=True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("leaflet.md", f"# Leaflet\n\n- {LEAFLET}".encode()),
        ("leaflet.html", f"<html><style>p {{}}</style><body><p>{LEAFLET}</p></body></html>".encode()),
        ("leaflet.docx", docx("A title", LEAFLET)),
        ("leaflet.csv", f"topic;text\nmetformin;{LEAFLET}".encode()),
    ],
)
async def test_text_of_many_formats_is_found(name: str, content: bytes, client: AsyncOpenAI) -> None:
    store, _ = await store_with(client, name, content)
    page = await client.vector_stores.search(store, query="metformin eGFR contraindicated")
    assert "eGFR below 30 mL/min" in page.data[0].content[0].text


async def test_a_guideline_pdf_is_found(client: AsyncOpenAI) -> None:
    pdf = (PROJECT / "tools/guidelines/demo/hypertension.pdf").read_bytes()
    store, _ = await store_with(client, "hypertension.pdf", pdf)
    page = await client.vector_stores.search(store, query="ACE inhibitor angioedema contraindicated")
    assert "angioedema" in page.data[0].content[0].text


async def test_running_heads_of_a_pdf_are_left_out(client: AsyncOpenAI) -> None:
    pdf = (PROJECT / "tools/guidelines/demo/hypertension.pdf").read_bytes()
    store, file = await store_with(client, "hypertension.pdf", pdf)
    text = "\n".join(
        part.text or "" for part in (await client.vector_stores.files.content(file, vector_store_id=store)).data
    )
    assert text.count("demonstration library") <= 2


def test_a_file_that_ends_its_reader_fails_and_the_server_goes_on(shared: Path, tmp_path: Path) -> None:
    pdf = (shared / "data/guidelines/nhlbi_jnc7_2004.pdf").read_bytes()
    server = start_offline_server(tmp_path)
    try:
        base_url = f"http://127.0.0.1:{port_of(server, tmp_path)}/v1"
        with OpenAI(base_url=base_url, api_key="any", max_retries=0) as client:
            file = client.files.create(file=("jnc7.pdf", pdf), purpose="assistants")
            store = client.vector_stores.create(file_ids=[file.id])
            wait_until(lambda: psutil.Process(server.pid).children() != [], what="the child that reads the file")
            for child in psutil.Process(server.pid).children():
                child.kill()
            added = client.vector_stores.files.poll(file.id, vector_store_id=store.id, poll_interval_ms=20)
            found = (added.status, added.last_error and added.last_error.code)
            assert found == ("failed", "unsupported_file"), (tmp_path / "offline.log").read_text()
            assert client.responses.create(model="m", input="Hello").status == "completed"
    finally:
        server.terminate()
        server.wait(60)


def test_a_cut_table_has_its_header_again() -> None:
    rows = [f"Drug {number}\t{number} mg\toral" for number in range(60)]
    cut = list(chunks("\n".join(["Doses follow.", "Table 1. Doses", "Drug\tDose\tRoute", *rows]), size=60, overlap=20))
    assert len(cut) > 3
    assert all("Table 1. Doses\nDrug\tDose\tRoute\nDrug " in chunk for chunk in cut[1:])
    assert [line for chunk in cut for line in chunk.split("\n") if line in rows] == rows


@pytest.mark.parametrize("content", [b"\x00\x01\x02\xff", b"%PDF-1.7 broken", b"PK\x03\x04 broken", b""])
async def test_a_file_without_text_fails_with_its_reason(content: bytes, client: AsyncOpenAI) -> None:
    file = await client.files.create(file=("file.bin", content), purpose="assistants")
    store = await client.vector_stores.create()
    added = await client.vector_stores.files.create_and_poll(
        vector_store_id=store.id, file_id=file.id, poll_interval_ms=20
    )
    assert added.status == "failed"
    assert added.last_error is not None
    assert added.last_error.message


async def test_filters_choose_files_by_their_attributes(client: AsyncOpenAI) -> None:
    store, _ = await store_with(client, "leaflet.txt", LEAFLET.encode(), year=2024, issuer="WHO")
    newer: Any = {
        "type": "and",
        "filters": [
            {"type": "gte", "key": "year", "value": 2024},
            {"type": "in", "key": "issuer", "value": ["WHO", "NICE"]},
        ],
    }
    older: Any = {"type": "lt", "key": "year", "value": 2024}
    assert (await client.vector_stores.search(store, query="metformin", filters=newer)).data
    assert not (await client.vector_stores.search(store, query="metformin", filters=older)).data


async def test_a_removed_file_is_not_found_any_more(client: AsyncOpenAI) -> None:
    store, file = await store_with(client, "leaflet.txt", LEAFLET.encode())
    await client.vector_stores.files.delete(file, vector_store_id=store)
    assert not (await client.vector_stores.search(store, query="metformin")).data


@pytest.mark.parametrize("how", ["the file", "its place in the store", "the store"])
async def test_the_words_of_a_deleted_file_are_in_no_part_of_the_database(how: str, tmp_path: Path) -> None:
    with offline_server(tmp_path) as url:
        async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            store, file = await store_with(client, "note.txt", b"The quartermaine patient takes metformin.")
            await store_with(client, "leaflet.txt", LEAFLET.encode())
            assert holding(tmp_path, b"quartermain")
            if how == "the file":
                await client.files.delete(file)
            elif how == "the store":
                await client.vector_stores.delete(store)
            else:
                await client.vector_stores.files.delete(file, vector_store_id=store)
            assert holding(tmp_path, b"quartermain") == []


def holding(folder: Path, word: bytes) -> list[str]:
    """The files of the database that contain ``word``, which the index holds as a stem."""
    return [path.name for path in folder.glob("offline.sqlite3*") if word in path.read_bytes()]


async def test_a_file_that_is_added_again_is_found_once(client: AsyncOpenAI) -> None:
    store, file = await store_with(client, "leaflet.txt", LEAFLET.encode())
    await client.vector_stores.files.create_and_poll(vector_store_id=store, file_id=file, poll_interval_ms=20)
    assert len((await client.vector_stores.search(store, query="metformin")).data) == 1


async def test_searches_at_once_do_not_wait_for_an_upload(client: AsyncOpenAI, base_url: str) -> None:
    store, _ = await store_with(client, "leaflet.txt", LEAFLET.encode())
    async with httpx.AsyncClient(base_url=base_url, headers={"Authorization": "Bearer any"}, timeout=60) as http:
        upload = asyncio.create_task(
            http.post("/files", files={"file": ("big.txt", LEAFLET.encode() * 50_000)}, data={"purpose": "assistants"})
        )
        found = await client.vector_stores.search(store, query="metformin")
        assert found.data
        assert (await upload).status_code == 200


async def test_a_file_past_the_limit_is_refused(base_url: str) -> None:
    async with httpx.AsyncClient(base_url=base_url, headers={"Authorization": "Bearer any"}, timeout=60) as http:
        answer = await http.post(
            "/files", files={"file": ("big.txt", b"x" * (129 * 1024 * 1024))}, data={"purpose": "assistants"}
        )
    assert answer.status_code == 413


def test_chunks_hold_every_sentence_and_stay_within_their_size() -> None:
    sentences = [f"Sentence number {number} speaks of drug {number}." for number in range(200)]
    cut = list(chunks(" ".join(sentences), size=100, overlap=30))
    assert all(any(sentence in chunk for chunk in cut) for sentence in sentences)
    assert all(len(chunk.split()) <= 100 for chunk in cut)
