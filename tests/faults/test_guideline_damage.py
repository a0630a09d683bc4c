"""A library's folder in which a file was damaged: that document says so and is mended, and the others are found."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from tools.errors import ToolUnavailable
from tools.guidelines import GuidelineLibrary
from tools.guidelines.storage.document_store import LibraryStore, VersionRef

FEVER = "# Fever\n\nGive paracetamol 1 g by mouth for fever in adults.\n"
GOUT = "# Gout\n\nGive colchicine 0.5 mg twice daily for an attack of gout.\n"
BROKEN = [b"{", b'{"id": "fever-md"}', b"\xff\xfe\x00"]


@pytest.fixture
async def library(milvus_uri: str, tmp_path: Path) -> AsyncIterator[GuidelineLibrary]:
    opened = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=f"test_{uuid4().hex[:12]}")
    for name, text in (("fever.md", FEVER), ("gout.md", GOUT)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        await opened.add(tmp_path / name)
    yield opened
    await opened.aclose()


def record(tmp_path: Path) -> Path:
    return tmp_path / "library" / "documents" / "fever-md.json"


def version(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "library" / "versions").glob("fever-md@*")
    return folder


async def found(library: GuidelineLibrary, question: str) -> list[str]:
    return [passage.document_id.partition("@")[0] for passage in (await library.search(question)).passages]


@pytest.mark.parametrize("content", BROKEN)
async def test_a_damaged_record_is_named_with_what_to_do_and_the_other_documents_are_found(
    library: GuidelineLibrary, tmp_path: Path, content: bytes
) -> None:
    record(tmp_path).write_bytes(content)

    assert [document.id for document in await library.documents()] == ["gout-md"]
    assert await library.damaged() == ("fever-md",)
    (problem,) = await library.check()
    assert "fever-md" in problem
    assert "Add its file again" in problem
    assert "asclepius guidelines remove fever-md" in problem
    assert await library.check_index() == [], "the others can still be searched"
    assert await found(library, "colchicine in gout") == ["gout-md"]
    assert await found(library, "paracetamol for fever") == []
    report = await library.reindex()
    assert [document.id for document in report.documents] == ["gout-md"]
    assert [refusal.file_name for refusal in report.refused] == ["fever-md"]


async def test_adding_the_file_again_mends_a_damaged_record_and_old_citations_open_as_before(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    (cited,) = (await library.search("paracetamol for fever", documents=["fever-md"])).passages
    record(tmp_path).write_bytes(b"{")
    assert await library.passage(cited.id) is None

    await library.add(tmp_path / "fever.md")

    assert await library.damaged() == ()
    assert await library.check() == []
    assert (reopened := await library.passage(cited.id)) is not None
    assert reopened.text == cited.text
    assert await found(library, "paracetamol for fever") == ["fever-md"]


async def test_a_document_whose_record_is_damaged_can_be_removed(library: GuidelineLibrary, tmp_path: Path) -> None:
    record(tmp_path).write_bytes(b"{")

    assert await library.remove("fever-md")

    assert await library.damaged() == ()
    assert await library.check() == []
    assert not await library.remove("fever-md")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("facts.json", b"{"),
        ("terms.json", b"{"),
        ("terms.txt", b"{\n"),
        ("passages.jsonl", b"{\n"),
        ("pages.jsonl", b""),
        ("terms.txt", None),
        ("passages.jsonl", None),
    ],
)
async def test_words_that_are_damaged_cost_one_document_and_are_mended_by_adding_its_file_again(
    library: GuidelineLibrary, tmp_path: Path, name: str, content: bytes | None
) -> None:
    place = version(tmp_path) / name
    place.unlink() if content is None else place.write_bytes(content)
    reopened = LibraryStore(tmp_path / "library")
    assert not reopened.is_whole(VersionRef("fever-md", version(tmp_path).name.rpartition("@")[2]))

    assert await found(library, "colchicine in gout") == ["gout-md"]

    await library.add(tmp_path / "fever.md")
    assert await found(library, "paracetamol for fever") == ["fever-md"]
    assert await library.check() == []


async def test_a_damaged_passage_is_left_out_of_a_search_and_told_where_all_are_asked_for(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    (document,) = [each for each in await library.documents() if each.id == "fever-md"]
    (version(tmp_path) / "passages.jsonl").write_bytes(b"{\n")

    assert await found(library, "paracetamol for fever") == []
    with pytest.raises(ToolUnavailable, match="asclepius guidelines reindex"):
        await library.passages_of("fever-md", sha256=document.sha256)


async def test_reindex_reads_again_what_was_damaged(library: GuidelineLibrary, tmp_path: Path) -> None:
    (version(tmp_path) / "terms.json").write_bytes(b"{")
    (problem,) = await library.check()
    assert "fever-md" in problem

    await library.reindex()

    assert await found(library, "paracetamol for fever") == ["fever-md"]
    assert await library.check() == []


def test_a_version_is_saved_while_searches_read_others(tmp_path: Path) -> None:
    store, switching = LibraryStore(tmp_path), sys.getswitchinterval()
    refs = [VersionRef(f"guideline-{number}", "0" * 12) for number in range(500)]
    for ref in refs:
        store.version_folder(ref).mkdir(parents=True)
        (store.version_folder(ref) / "terms.txt").write_text("fever\n", encoding="utf-8")

    def save() -> None:
        for number in range(500):
            made = tmp_path / f"made-{number}"
            made.mkdir()
            store.save_version(refs[0], made)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor() as threads:
            saving = threads.submit(save)
            found = [terms for ref in refs[1:] for terms in store.passage_terms(ref, 0)]
            saving.result()
    finally:
        sys.setswitchinterval(switching)
    assert set(found) == {"fever"}
