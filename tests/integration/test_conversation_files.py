"""Files that belong to one conversation, against a real Milvus Lite server: found there and nowhere else, and gone
with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.pdfs import write_pdf
from tests.support.services import milvus_lite_server
from tests.support.waiting import until
from tools.errors import SourceRejected
from tools.guidelines import GuidelineLibrary, IngestProgress, Scope, erase_files, guideline_tools, scope_of
from tools.guidelines.ingestion.ingester import MOST_OWN, OWN_FILE
from tools.guidelines.storage.document_store import LibraryStore
from tools.guidelines.storage.scopes import own_id

pytestmark = pytest.mark.slow

ASPIRIN = "Give aspirin 300 mg at once to adults with a suspected acute coronary syndrome."
OWN = "Mrs Maier tolerated zolpidazine 12 mg daily from the first week on, without any rash."
CHANGED = "Mrs Maier stopped zolpidazine in the third week because of a severe rash."
QUESTION = "Which dose of zolpidazine was tolerated?"
HERE, ELSEWHERE = Scope("a" * 32), Scope("b" * 32)
NAME = "Maier discharge letter.pdf"


@asynccontextmanager
async def library_at(uri: str, folder: Path, collection: str = "") -> AsyncIterator[GuidelineLibrary]:
    library = GuidelineLibrary(uri, folder, collection=collection or f"test_{uuid4().hex[:12]}")
    try:
        yield library
    finally:
        await library.aclose()


@pytest.fixture
async def library(milvus_uri: str, tmp_path: Path) -> AsyncIterator[GuidelineLibrary]:
    async with library_at(milvus_uri, tmp_path / "library") as opened:
        await opened.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN, title="Coronary syndromes"))
        yield opened


def letter(folder: Path, *pages: str, name: str = NAME) -> Path:
    folder.mkdir(exist_ok=True)
    return write_pdf(folder / name, *(pages or (OWN,)), title="Discharge letter")


async def found(library: GuidelineLibrary, scope: Scope | None, question: str = QUESTION) -> list[str]:
    """The words that a question finds in a conversation."""
    result = await library.search(question, scope=scope)
    return [passage.text for passage in result.passages]


def files_with(folder: Path, words: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


async def test_a_file_is_found_in_its_conversation_and_in_no_other(library: GuidelineLibrary, tmp_path: Path) -> None:
    document = await library.add(letter(tmp_path / "in"), scope=HERE)

    assert any(OWN in text for text in await found(library, HERE))
    for scope in (None, ELSEWHERE):
        assert not any("zolpidazine" in text for text in await found(library, scope))
    assert any(ASPIRIN in text for text in await found(library, HERE, "Aspirin in acute coronary syndrome?"))
    assert document.title == "Discharge letter"


async def test_it_is_listed_for_its_conversation_alone_and_counted_without_its_name(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    await library.add(letter(tmp_path / "in"), scope=HERE)

    assert [document.id for document in await library.documents()] == ["acs"]
    assert [document.title for document in await library.own_documents(HERE)] == ["Discharge letter"]
    assert await library.own_documents(ELSEWHERE) == []
    assert await library.own_count() == 1


async def test_its_id_and_its_rows_do_not_hold_the_name_of_the_file(library: GuidelineLibrary, tmp_path: Path) -> None:
    document = await library.add(letter(tmp_path / "in"), scope=HERE)

    passage = (await library.search(QUESTION, scope=HERE)).passages[0]
    assert scope_of(document.id) == scope_of(passage.id) == scope_of(passage.document_id) == HERE
    assert "maier" not in f"{document.id} {passage.id}".lower()


async def test_its_passage_page_and_file_are_read_with_its_conversations_key_alone(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    path = letter(tmp_path / "in")
    await library.add(path, scope=HERE)
    passage = (await library.search(QUESTION, scope=HERE)).passages[0]

    again = await library.passage(passage.id, scope=HERE)
    assert again is not None
    assert again.text == passage.text
    image = await library.page_image(passage.document_id, 1, highlight=[OWN], scope=HERE)
    assert image.png.startswith(b"\x89PNG")
    again_drawn = await library.page_image(passage.document_id, 1, highlight=[OWN], scope=HERE)
    assert again_drawn is not image, "no copy outlives the conversation"
    assert library.original(passage.document_id, scope=HERE).read_bytes() == path.read_bytes()
    for scope in (None, ELSEWHERE):
        assert await library.passage(passage.id, scope=scope) is None
        with pytest.raises(SourceRejected):
            await library.page_image(passage.document_id, 1, scope=scope)
        with pytest.raises(SourceRejected):
            library.original(passage.document_id, scope=scope)


async def test_the_tool_searches_it_only_when_the_app_says_so_never_on_the_models_word(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    await library.add(letter(tmp_path / "in"), scope=HERE)
    tool = guideline_tools(library)[0]

    assert "scope" not in tool.definition.parameters["properties"]
    refused = await tool.acall(question=QUESTION, scope=HERE)
    assert refused.error is not None
    async for item in tool.astream(tool._function({"question": QUESTION}), {"scope": HERE}):
        assert any(OWN in passage.text for passage in getattr(item, "passages", ()))


async def test_of_the_chosen_documents_only_those_are_searched_a_conversations_own_among_them(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    document = await library.add(letter(tmp_path / "in"), scope=HERE)
    question = "aspirin or zolpidazine dose"

    only_own = (await library.search(question, documents=[document.id], scope=HERE)).passages
    only_acs = (await library.search(question, documents=["acs"], scope=HERE)).passages
    assert {passage.title for passage in only_own} == {"Discharge letter"}
    assert {passage.title for passage in only_acs} == {"Coronary syndromes"}


async def test_a_changed_file_is_a_new_version_and_the_old_passage_can_still_be_read(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    first = await library.add(letter(tmp_path / "first"), scope=HERE)
    cited = (await library.search(QUESTION, scope=HERE)).passages[0]
    second = await library.add(letter(tmp_path / "second", CHANGED), scope=HERE)

    texts = await found(library, HERE, "Why was zolpidazine stopped?")
    assert second.id == first.id
    assert any(CHANGED in text for text in texts)
    assert not any(OWN in text for text in texts)
    old = await library.passage(cited.id, scope=HERE)
    assert old is not None
    assert OWN in old.text


async def test_the_same_file_in_two_conversations_is_two_documents(library: GuidelineLibrary, tmp_path: Path) -> None:
    path = letter(tmp_path / "in")
    here, elsewhere = await library.add(path, scope=HERE), await library.add(path, scope=ELSEWHERE)

    assert here.id != elsewhere.id
    assert await library.erase(ELSEWHERE)
    assert any(OWN in text for text in await found(library, HERE))


async def test_a_file_that_the_library_has_is_searched_there_and_not_kept_again(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    known = await library.add(tmp_path / "acs.pdf", scope=HERE)

    assert known.id == "acs"
    assert await library.own_documents(HERE) == []


async def test_a_file_that_the_library_gets_later_is_found_once(library: GuidelineLibrary, tmp_path: Path) -> None:
    path = letter(tmp_path / "in")
    own = await library.add(path, scope=HERE)
    await library.add(path)

    passages = (await library.search(QUESTION, scope=HERE)).passages
    assert [scope_of(passage.id) for passage in passages if OWN in passage.text] == [None]
    chosen = (await library.search(QUESTION, documents=[own.id], scope=HERE)).passages
    assert {scope_of(passage.id) for passage in chosen} == {HERE}


async def test_a_shared_file_is_everybodys_and_what_was_cited_of_it_stays_readable(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    own = await library.add(letter(tmp_path / "in", name="dosing.pdf"), scope=HERE)
    cited = (await library.search(QUESTION, scope=HERE)).passages[0]

    shared = await library.share(own.id, HERE)

    assert shared is not None
    assert {document.id for document in await library.documents()} == {"acs", "dosing"}
    assert await library.own_documents(HERE) == []
    assert any(OWN in text for text in await found(library, ELSEWHERE))
    assert await library.passage(cited.id, scope=HERE) is not None
    assert await library.share(own.id, HERE) is None
    assert await library.share(own.id, ELSEWHERE) is None


async def test_erasing_a_conversations_files_leaves_nothing_of_them(library: GuidelineLibrary, tmp_path: Path) -> None:
    document = await library.add(letter(tmp_path / "in"), scope=HERE)
    passage = (await library.search(QUESTION, scope=HERE)).passages[0]
    assert files_with(tmp_path / "library", "Maier")

    assert await library.erase(HERE)

    assert not files_with(tmp_path / "library", "Maier")
    assert not files_with(tmp_path / "library", "zolpidazine")
    assert not await library.erase(HERE)
    assert await library.passage(passage.id, scope=HERE) is None
    assert await library.own_documents(HERE) == []
    assert not any(OWN in text for text in await found(library, HERE))
    assert await asyncio.to_thread(library._retriever.terms.count, passage.document_id) == 0
    assert document.id not in str(await library.check())


async def test_files_erased_while_the_library_was_closed_leave_the_index_when_it_is_opened(
    milvus_uri: str, tmp_path: Path
) -> None:
    async with library_at(milvus_uri, tmp_path / "library") as first:
        await first.add(letter(tmp_path / "in"), scope=HERE)
        version = (await first.search(QUESTION, scope=HERE)).passages[0].document_id
    assert erase_files(tmp_path / "library", HERE)

    async with library_at(milvus_uri, tmp_path / "library", first._retriever.terms.name) as second:
        assert await asyncio.to_thread(second._retriever.terms.count, version) > 0
        await second.load()
        assert await asyncio.to_thread(second._retriever.terms.count, version) == 0


async def test_a_file_that_is_read_while_its_conversation_is_deleted_leaves_nothing_behind(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    erasing: list[asyncio.Task[bool]] = []

    def at_the_last_page(progress: IngestProgress) -> None:
        if progress.stage == "reading" and progress.done == progress.total and not erasing:
            erasing.append(asyncio.create_task(library.erase(HERE)))

    with pytest.raises(SourceRejected, match="conversation was deleted"):
        await library.add(letter(tmp_path / "in", OWN, OWN), scope=HERE, progress=at_the_last_page)

    assert await erasing[0]
    assert not files_with(tmp_path / "library", "zolpidazine")
    assert await library.own_count() == 0


async def test_files_that_wait_for_another_process_do_not_stop_searches(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    files = [letter(tmp_path / f"files{at}", f"{OWN} Day {at}.") for at in range(4)]
    with LibraryStore(tmp_path / "library").locked():
        adding = [asyncio.create_task(library.add(file, scope=Scope(f"{at}" * 32))) for at, file in enumerate(files)]
        extracted = "scratch-*/version/facts.json"
        await until(lambda: len([*(tmp_path / "library").glob(extracted)]) == len(files), what="the files are read")
        await asyncio.sleep(0.5)
        searched = await asyncio.gather(library.search("aspirin in coronary syndrome"), return_exceptions=True)
    assert len(await asyncio.gather(*adding)) == len(files)
    assert [passage.text for result in searched for passage in result.passages] == [ASPIRIN]  # type: ignore[union-attr]


async def test_files_that_two_replicas_erase_at_once_are_erased_by_one(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    await library.add(letter(tmp_path / "files"), scope=HERE)
    folder = tmp_path / "library"
    with LibraryStore(folder).locked():
        erasing = [asyncio.create_task(asyncio.to_thread(erase_files, folder, HERE)) for _ in range(2)]
        await asyncio.sleep(0.5)
    assert sorted(await asyncio.gather(*erasing)) == [False, True]


async def test_it_survives_a_restart_and_a_new_index(milvus_uri: str, tmp_path: Path) -> None:
    async with library_at(milvus_uri, tmp_path / "library") as first:
        await first.add(letter(tmp_path / "in"), scope=HERE)
    async with library_at(milvus_uri, tmp_path / "library", first._retriever.terms.name) as second:
        assert any(OWN in text for text in await found(second, HERE))
        seen: list[IngestProgress] = []

        report = await second.reindex(progress=seen.append)

        assert (report.own_documents, report.documents, report.refused) == (1, (), ())
        assert {progress.file_name for progress in seen} == {OWN_FILE}
        assert any(OWN in text for text in await found(second, HERE))
        assert not any(OWN in text for text in await found(second, ELSEWHERE))


async def test_a_file_of_one_replica_is_found_opened_and_erased_at_another(milvus_uri: str, tmp_path: Path) -> None:
    """Replicas share the folder `guidelines` and the collection."""
    folder, path = tmp_path / "library", letter(tmp_path / "in")
    async with library_at(milvus_uri, folder) as here:
        assert not await found(here, HERE)
        async with library_at(milvus_uri, folder, here._retriever.terms.name) as there:
            assert not await found(there, HERE)
            document = await here.add(path, scope=HERE)

            assert any(OWN in text for text in await found(there, HERE))
            assert [own.id for own in await there.own_documents(HERE)] == [document.id]
            assert there.original(document.id, scope=HERE).read_bytes() == path.read_bytes()
            assert (await there.page_image(document.id, 1, scope=HERE)).pages == 1
            assert await there.erase(HERE)
            assert not await found(here, HERE)
            assert await here.own_documents(HERE) == []


async def test_what_is_wrong_with_it_is_said_without_its_name(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(letter(tmp_path / "in"), scope=HERE)
    assert await library.check_own() == []
    await asyncio.to_thread(library._retriever.drop)

    assert "not searched as they should be: 1" in " ".join(await library.check_own())
    assert "own-" not in " ".join(await library.check())


async def test_a_conversation_can_have_so_many_files_and_a_new_version_of_one_of_them(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    first = await library.add(letter(tmp_path / "in"), scope=HERE)
    (record,) = (tmp_path / "library" / "conversations" / HERE / "documents").iterdir()
    for number in range(MOST_OWN - 1):
        other = own_id(HERE, f"{number}.pdf")
        record.with_name(f"{other}.json").write_text(record.read_text().replace(first.id, other))

    with pytest.raises(SourceRejected, match="Start a new conversation"):
        await library.add(letter(tmp_path / "in", CHANGED, name="more.pdf"), scope=HERE)
    assert (await library.add(letter(tmp_path / "new", CHANGED), scope=HERE)).id == first.id


async def test_nothing_that_is_logged_holds_the_name_or_the_words_of_a_file(
    library: GuidelineLibrary, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await library.add(letter(tmp_path / "in"), scope=HERE)
    await found(library, HERE)
    await library.reindex()
    await library.erase(HERE)

    said = " ".join(record.getMessage() for record in caplog.records).lower()
    assert "maier" not in said
    assert "zolpidazine" not in said


async def test_rows_that_cannot_be_removed_now_do_not_keep_the_files(tmp_path: Path) -> None:
    with milvus_lite_server(tmp_path / "milvus") as uri:
        library = GuidelineLibrary(uri, tmp_path / "library", collection="test_gone")
        await library.add(letter(tmp_path / "in"), scope=HERE)
    try:
        assert await library.erase(HERE)
        assert not files_with(tmp_path / "library", "zolpidazine")
    finally:
        await library.aclose()
