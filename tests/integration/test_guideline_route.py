"""Which way in guidelines are searched, decided question by question: a real library and a real vector store."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from chat_app.agent.citations.hosted_passages import HostedPassages
from chat_app.agent.guideline_route import GuidelineRoute, GuidelineSearch
from chat_app.errors import ProviderRejected
from chat_app.events import AgentEvent, ReferencesReady, RunItemStreamEvent, ToolCallRunItem
from chat_app.generation.hosted.hosted_search import HostedSearch
from chat_app.generation.hosted.vector_store_adapter import VectorStoreAdapter
from tests.support.engine import clinic, consult, ended, guideline_tool
from tests.support.offline_server import offline_server
from tests.support.pdfs import write_pdf
from tests.support.scripted_server import ScriptedServer, Status, text_reply
from tools.guidelines import Document, GuidelineLibrary, Scope, guideline_tools, scope_of
from tools.guidelines.library import DEMO_FOLDER

pytestmark = pytest.mark.slow

KEY = "sk-test"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with offline_server(tmp_path_factory.mktemp("offline")) as url:
        yield url


@pytest.fixture
async def library(milvus_uri: str, tmp_path: Path) -> AsyncIterator[GuidelineLibrary]:
    library = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=f"test_{uuid4().hex[:12]}")
    await library.add(DEMO_FOLDER / "asthma.pdf")
    yield library
    await library.aclose()


@asynccontextmanager
async def routed(
    library: GuidelineLibrary, url: str, folder: Path, choice: GuidelineSearch, *, offline: bool = False
) -> AsyncIterator[GuidelineRoute]:
    adapter = VectorStoreAdapter(api_key=KEY, base_url=url)
    route = GuidelineRoute(
        library, HostedSearch(adapter, folder / "state", server_key=url), choice=choice, offline=offline
    )
    try:
        yield route
    finally:
        await route.aclose()


async def store_of(route: GuidelineRoute) -> str:
    """The vector store, as soon as it is searched."""
    async with asyncio.timeout(60):
        while (store := await route.vector_store()) is None:
            await asyncio.sleep(0.05)
    return store


async def test_auto_goes_to_the_server_after_a_sync_and_not_before(
    library: GuidelineLibrary, server: str, tmp_path: Path
) -> None:
    async with routed(library, server, tmp_path, "auto") as route:
        assert await route.prepare() == []
        assert await route.vector_store() is None
        report = await route.sync()
        assert report.uploaded == ("asthma",)
        assert await route.vector_store() == report.vector_store_id
        assert await route.withdraw() == ("asthma",)
        assert await route.vector_store() is None


@pytest.mark.parametrize(("choice", "offline"), [("tool", False), ("auto", True)])
async def test_tool_and_the_offline_default_stay_with_the_own_index_even_after_a_sync(
    choice: GuidelineSearch, offline: bool, library: GuidelineLibrary, server: str, tmp_path: Path
) -> None:
    async with routed(library, server, tmp_path, choice, offline=offline) as route:
        await route.sync()
        assert await route.vector_store() is None
        assert "ASCLEPIUS_GUIDELINE_SEARCH=hosted" in route.describe()
        await route.withdraw()


async def test_hosted_uploads_at_start_and_when_something_changes(
    library: GuidelineLibrary, server: str, tmp_path: Path
) -> None:
    async with routed(library, server, tmp_path, "hosted", offline=True) as route:
        assert await route.prepare() == []
        first = await route.vector_store()
        assert first is not None
    await library.add(DEMO_FOLDER / "hypertension.pdf")
    async with routed(library, server, tmp_path, "hosted") as route:
        assert await route.vector_store() is None, "what is there lacks a guideline"
        assert await store_of(route) == first
        assert (await route.sync()).unchanged == ("asthma", "hypertension")
        await route.withdraw()


async def test_without_vector_stores_the_own_index_is_searched_and_the_operator_is_told(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    async with (
        ScriptedServer([[Status(404)]], repeat=True) as server,
        routed(library, server.base_url, tmp_path, "hosted") as route,
    ):
        (problem,) = await route.prepare()
        assert "app's own index" in problem
        assert "no vector stores" in problem
        asked = len(server.requests)
        for _ in range(5):
            assert await route.vector_store() is None
        assert len(server.requests) == asked, "the server is left alone for a while"
        with pytest.raises(ProviderRejected, match="no vector stores"):
            await route.sync()


async def test_a_guideline_that_the_server_refuses_keeps_questions_at_the_own_index_and_is_named(
    milvus_uri: str, server: str, tmp_path: Path
) -> None:
    library = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=f"test_{uuid4().hex[:12]}")
    document = await library.add(DEMO_FOLDER / "asthma.pdf")
    original = library.original(document.id)
    whole = original.read_bytes()
    original.write_bytes(b"%PDF-1.7\nbroken since it was added")
    async with routed(library, server, tmp_path, "hosted") as route:
        (problem,) = await route.prepare()
        assert "asthma" in problem
        assert await route.vector_store() is None
        original.write_bytes(whole)
        assert (await route.sync()).uploaded == ("asthma",)
        assert await route.vector_store() is not None
        await route.withdraw()
    await library.aclose()


async def test_a_store_that_does_not_answer_is_not_searched_and_asked_again_after_a_failure(
    library: GuidelineLibrary, server: str, tmp_path: Path
) -> None:
    async with routed(library, server, tmp_path, "auto") as route:
        store = (await route.sync()).vector_store_id
        assert await route.vector_store() == store
        adapter = VectorStoreAdapter(api_key=KEY, base_url=server)
        await adapter.delete(store)
        await adapter.aclose()
        assert await route.vector_store() == store, "what was seen is believed for a while"
        route.invalidate()
        assert await route.vector_store() is None


async def test_the_doctor_is_told_when_the_server_lacks_what_is_loaded_here(
    library: GuidelineLibrary, server: str, tmp_path: Path
) -> None:
    async with routed(library, server, tmp_path, "auto") as route:
        assert await route.check() == [], "nothing was ever uploaded, and nothing is amiss"
        await route.sync()
        assert await route.check() == []
    await library.add(DEMO_FOLDER / "hypertension.pdf")
    async with routed(library, server, tmp_path, "auto") as route:
        (problem,) = await route.check()
        assert "asclepius guidelines sync" in problem
        await route.withdraw()


async def test_a_library_that_cannot_be_read_keeps_questions_at_the_own_index_and_the_operator_is_told(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    (tmp_path / "library" / "documents" / "unreadable.json").mkdir()
    async with ScriptedServer([]) as server, routed(library, server.base_url, tmp_path, "hosted") as route:
        assert await route.vector_store() is None
        for told in (await route.prepare(), await route.check()):
            assert "The guideline folder cannot be read" in told[0]
        assert server.requests == []


async def test_the_doctor_is_told_when_the_server_shows_no_vector_stores(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    async with (
        ScriptedServer([[Status(404)]], repeat=True) as server,
        routed(library, server.base_url, tmp_path, "hosted") as route,
    ):
        (problem,) = await route.check()
    assert "shows no vector stores" in problem


async def test_a_sync_that_a_question_began_says_in_the_log_what_is_wrong_and_rests_then(
    library: GuidelineLibrary, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        ScriptedServer([[Status(404)]], repeat=True) as server,
        routed(library, server.base_url, tmp_path, "hosted") as route,
    ):
        async with asyncio.timeout(60):
            while "were not uploaded" not in caplog.text:
                assert await route.vector_store() is None
                await asyncio.sleep(0.01)
        asked = len(server.requests)
        for _ in range(5):
            assert await route.vector_store() is None
        assert len(server.requests) == asked
    assert "ASCLEPIUS_GUIDELINE_SEARCH=tool" in caplog.text


async def test_a_guideline_that_is_refused_in_a_sync_that_a_question_began_is_named_in_the_log(
    library: GuidelineLibrary, server: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    library.original("asthma").write_bytes(b"%PDF-1.7\nbroken since it was added")
    async with routed(library, server, tmp_path, "hosted") as route:
        async with asyncio.timeout(60):
            while "asthma is not at the model server" not in caplog.text:
                assert await route.vector_store() is None
                await asyncio.sleep(0.05)
        await route.withdraw()


@pytest.mark.parametrize("choice", ["auto", "hosted"])
async def test_where_the_server_may_search_the_status_says_until_when(
    choice: GuidelineSearch, library: GuidelineLibrary, tmp_path: Path
) -> None:
    async with routed(library, "http://127.0.0.1:9/v1", tmp_path, choice) as route:
        assert "as long as it holds what is loaded here" in route.describe()


def searches(events: list[AgentEvent]) -> list[str]:
    """The tools that were called."""
    items = [event.item for event in events if isinstance(event, RunItemStreamEvent)]
    return [item.function.name for item in items if isinstance(item, ToolCallRunItem)]


async def test_a_question_goes_to_the_servers_search_instead_of_the_own_tool_and_cites_stored_pages(
    library: GuidelineLibrary, server: str, tmp_path: Path, redis_url: str
) -> None:
    adapter = VectorStoreAdapter(api_key=KEY, base_url=server)
    hosted = HostedSearch(adapter, tmp_path / "state", server_key=server)
    route = GuidelineRoute(library, hosted, choice="auto", offline=False)
    joined = HostedPassages(library.passages_of, hosted.version_of)
    async with clinic(server, redis_url, [guideline_tool()], route=route, hosted=joined) as agent:
        assert "file_search" not in searches(await consult(agent, "How is asthma diagnosed?"))
        await route.sync()
        events = await consult(agent, "How is asthma diagnosed?")
        others = await consult(agent, "How is asthma diagnosed?", use_clinical_guidelines=False)
        await route.withdraw()
    assert set(searches(events)) == {"file_search"}
    (ready,) = (event for event in events if isinstance(event, ReferencesReady))
    for reference in ready.references:
        assert reference.passage.id.startswith("guideline:asthma@")
        assert reference.passage.page
    assert searches(others) == []
    await route.aclose()


async def test_after_a_failed_question_the_server_is_asked_again_whether_it_has_the_store(
    library: GuidelineLibrary, server: str, tmp_path: Path, redis_url: str
) -> None:
    async with routed(library, server, tmp_path, "auto") as route, ScriptedServer([[Status(403)]]) as model:
        store = (await route.sync()).vector_store_id
        assert await route.vector_store() == store
        adapter = VectorStoreAdapter(api_key=KEY, base_url=server)
        await adapter.delete(store)
        await adapter.aclose()
        async with clinic(model, redis_url, [guideline_tool()], route=route) as agent:
            assert ended(await consult(agent)).outcome.kind == "failed"
        assert {"type": "file_search", "vector_store_ids": [store]} in model.requests[0].json["tools"]
        assert await route.vector_store() is None


async def test_a_damaged_record_of_a_guideline_costs_no_answer(
    library: GuidelineLibrary, tmp_path: Path, redis_url: str
) -> None:
    (tmp_path / "library" / "documents" / "asthma.json").write_text("{", encoding="utf-8")
    async with (
        ScriptedServer([text_reply("Yes.")]) as model,
        routed(library, model.base_url, tmp_path, "hosted") as route,
        clinic(model, redis_url, [guideline_tool()], route=route) as agent,
    ):
        assert ended(await consult(agent)).answer == "Yes."
    assert [tool["name"] for tool in model.requests[0].json["tools"]] == ["search_clinical_guidelines"]


class OnBrokenDisk(GuidelineLibrary):
    """A library whose folder cannot be read any more."""

    async def documents(self) -> list[Document]:
        raise OSError(errno.EIO, "Input/output error")


async def test_a_library_that_cannot_be_listed_costs_no_answer(
    milvus_uri: str, tmp_path: Path, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken = OnBrokenDisk(milvus_uri, tmp_path / "library", collection=f"test_{uuid4().hex[:12]}")
    async with (
        ScriptedServer([text_reply("Yes.")]) as model,
        routed(broken, model.base_url, tmp_path, "hosted") as route,
        clinic(model, redis_url, [guideline_tool()], route=route) as agent,
    ):
        assert ended(await consult(agent)).answer == "Yes."
    assert "The guideline route could not be chosen" in caplog.text
    assert [tool["name"] for tool in model.requests[0].json["tools"]] == ["search_clinical_guidelines"]


async def test_an_empty_library_is_never_searched_at_a_server(milvus_uri: str, server: str, tmp_path: Path) -> None:
    library = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=f"test_{uuid4().hex[:12]}")
    async with routed(library, server, tmp_path, "hosted") as route:
        assert await route.prepare() == []
        assert await route.vector_store() is None
    await library.aclose()


async def test_a_question_of_a_conversation_with_files_is_searched_here_and_they_are_never_uploaded(
    library: GuidelineLibrary, server: str, tmp_path: Path, redis_url: str
) -> None:
    here = Scope("c" * 32)
    words = "The dose of zolpidazine is 12 mg once daily in adults with asthma."
    await library.add(write_pdf(tmp_path / "letter.pdf", words), scope=here)
    adapter = VectorStoreAdapter(api_key=KEY, base_url=server)
    hosted = HostedSearch(adapter, tmp_path / "state", server_key=server)
    route = GuidelineRoute(library, hosted, choice="hosted", offline=False)
    joined = HostedPassages(library.passages_of, hosted.version_of)
    async with clinic(server, redis_url, guideline_tools(library), route=route, hosted=joined) as agent:
        uploaded = (await route.sync()).uploaded
        events = await consult(agent, "What is the dose of zolpidazine in asthma?", scope=here)
        elsewhere = await consult(agent, "What is the dose of zolpidazine in asthma?")
        await route.withdraw()
    assert uploaded == ("asthma",)
    assert set(searches(events)) == {"search_clinical_guidelines"}
    (ready,) = (event for event in events if isinstance(event, ReferencesReady))
    assert [scope_of(reference.passage.id) for reference in ready.references] == [here]
    assert set(searches(elsewhere)) == {"file_search"}
    assert not any(words in str(event) for event in elsewhere)
