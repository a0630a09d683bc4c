"""Guidelines at a model server's vector store, the offline server's real one: uploaded, kept in step, removed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI

from chat_app.errors import (
    ConfigurationError,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
)
from chat_app.generation.hosted.hosted_search import GuidelineFile, HostedSearch, SyncProgress
from chat_app.generation.hosted.hosted_state import HostedState, HostedStateFile, UploadedFile
from chat_app.generation.hosted.vector_store_adapter import VectorStoreAdapter, _provider_error
from tests.support.offline_server import offline_server
from tests.support.scripted_server import Disconnect, Raw, Request, ScriptedServer, Status, Turn, Wait

KEY = "sk-test-canary-key"
ASPIRIN = "Give aspirin 300 mg at once to adults with a suspected acute coronary syndrome.\n"
HEPARIN = "Heparin must not be given to patients with a history of heparin-induced thrombocytopenia.\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of an offline server of this module's own; each test uses a store of its own."""
    with offline_server(tmp_path_factory.mktemp("offline")) as url:
        yield url


@asynccontextmanager
async def hosted_at(url: str, folder: Path, **options: float) -> AsyncIterator[HostedSearch]:
    hosted = HostedSearch(VectorStoreAdapter(api_key=KEY, base_url=url), folder, server_key=url, **options)
    try:
        yield hosted
    finally:
        await hosted.aclose()


@pytest.fixture
async def hosted(server: str, tmp_path: Path) -> AsyncIterator[HostedSearch]:
    async with hosted_at(server, tmp_path / "state") as opened:
        yield opened
        await opened.withdraw()


@pytest.fixture
async def client(server: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key=KEY, base_url=server) as opened:
        yield opened


def guideline(
    folder: Path, name: str = "acs", text: str = ASPIRIN, *, version: str = "", title: str = ""
) -> GuidelineFile:
    """A guideline file; its version changes with its text, as the library's does."""
    version = version or hashlib.sha256(text.encode()).hexdigest()[:12]
    path = folder / f"{name}-{version}.txt"
    path.write_text(text, encoding="utf-8")
    return GuidelineFile(document_id=name, version=version, title=title or name.upper(), path=path)


async def found(client: AsyncOpenAI, store: str, query: str) -> list[str]:
    page = await client.vector_stores.search(store, query=query)
    return [result.content[0].text for result in page.data]


async def test_a_sync_uploads_waits_and_makes_the_guidelines_searchable(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    wanted = [guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)]
    assert hosted.ready(wanted) is None
    progress: list[SyncProgress] = []

    report = await hosted.sync(wanted, progress=progress.append)

    assert report.uploaded == ("acs", "hit")
    assert not report.failed
    assert hosted.ready(wanted) == report.vector_store_id
    assert any("aspirin 300 mg" in text for text in await found(client, report.vector_store_id, "aspirin"))
    assert [event.stage for event in progress][-1] == "done"
    assert {"uploading", "indexing"} <= {event.stage for event in progress}


async def test_each_file_tells_its_guideline_version_and_title(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    wanted = guideline(tmp_path, title="T" * 600)
    report = await hosted.sync([wanted])
    (file,) = [entry async for entry in client.vector_stores.files.list(report.vector_store_id)]
    assert file.attributes == {"guideline_id": "acs", "guideline_version": wanted.version, "title": "T" * 512}
    assert (await client.files.retrieve(file.id)).filename == "acs.txt"
    assert hosted.version_of(file.id) == ("acs", wanted.version)
    assert hosted.version_of("file-of-somebody-else") is None


async def test_a_second_sync_uploads_nothing(hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path) -> None:
    wanted = [guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)]
    first = await hosted.sync(wanted)
    before = [file.id async for file in client.files.list()]

    second = await hosted.sync(wanted)

    assert (second.uploaded, second.unchanged) == ((), ("acs", "hit"))
    assert second.vector_store_id == first.vector_store_id
    assert [file.id async for file in client.files.list()] == before


async def test_a_changed_guideline_takes_the_place_of_its_old_version(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    old, other = guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)
    store = (await hosted.sync([old, other])).vector_store_id
    changed = guideline(tmp_path, text=ASPIRIN.replace("300", "162"))
    assert hosted.ready([changed, other]) is None

    report = await hosted.sync([changed, other])

    assert (report.uploaded, report.unchanged, report.removed) == (("acs",), ("hit",), ("acs",))
    texts = await found(client, store, "aspirin")
    assert any("162 mg" in text for text in texts)
    assert not any("300 mg" in text for text in texts)
    assert hosted.ready([changed, other]) == store


async def test_the_old_version_is_there_until_the_new_one_can_be_searched(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    store = (await hosted.sync([guideline(tmp_path)])).vector_store_id
    unreadable = guideline(tmp_path, text="\x00\x01", version="bbbbbbbbbbbb")

    report = await hosted.sync([unreadable])

    assert [failure.document_id for failure in report.failed] == ["acs"]
    assert any("300 mg" in text for text in await found(client, store, "aspirin"))
    assert hosted.ready([unreadable]) is None


async def test_a_guideline_that_is_gone_here_is_deleted_there(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    kept, gone = guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)
    store = (await hosted.sync([kept, gone])).vector_store_id
    (uploaded,) = [
        entry.id
        async for entry in client.vector_stores.files.list(store)
        if (entry.attributes or {})["guideline_id"] == "hit"
    ]

    report = await hosted.sync([kept])

    assert report.removed == ("hit",)
    assert uploaded not in [file.id async for file in client.files.list()]
    assert await found(client, store, "heparin thrombocytopenia") == []


async def test_a_file_that_the_server_cannot_read_is_named_and_the_others_go_on(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    good, bad = guideline(tmp_path), guideline(tmp_path, "scan", "\x00\x01\x02")

    report = await hosted.sync([bad, good])

    assert report.uploaded == ("acs",)
    (failure,) = report.failed
    assert failure.document_id == "scan"
    assert "unsupported_file" in failure.reason
    assert hosted.ready([bad, good]) is None, "what lacks a guideline must not be searched in its stead"
    assert hosted.ready([good]) == report.vector_store_id
    assert len([entry async for entry in client.vector_stores.files.list(report.vector_store_id)]) == 1


async def test_a_new_title_is_told_without_another_upload(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    wanted = guideline(tmp_path, title="Old title")
    store = (await hosted.sync([wanted])).vector_store_id

    report = await hosted.sync([wanted.model_copy(update={"title": "New title"})])

    assert report.unchanged == ("acs",)
    (file,) = [entry async for entry in client.vector_stores.files.list(store)]
    assert (file.attributes or {})["title"] == "New title"


async def test_a_sync_that_was_killed_after_an_upload_goes_on_with_it(
    hosted: HostedSearch, client: AsyncOpenAI, server: str, tmp_path: Path
) -> None:
    wanted = [guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)]
    state = HostedStateFile(tmp_path / "state", server)

    def killed(progress: SyncProgress) -> None:
        # As far as the state on disk goes, nothing tells this from a kill: the first file is up, the second is not.
        if progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await hosted.sync(wanted, progress=killed)
    left = state.read()
    assert left is not None
    (first,) = left.files
    await client.vector_stores.files.delete(first.file_id, vector_store_id=left.vector_store_id)

    report = await hosted.sync(wanted)

    assert report.uploaded == ("acs", "hit")
    after = state.read()
    assert after is not None
    assert after.vector_store_id == left.vector_store_id
    assert first.file_id in [file.file_id for file in after.files], "the upload was made once"


async def test_a_store_that_was_deleted_at_the_server_is_made_anew_from_the_uploads(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    wanted = [guideline(tmp_path)]
    first = await hosted.sync(wanted)
    assert await hosted.usable(first.vector_store_id)
    uploads = [file.id async for file in client.files.list()]
    await client.vector_stores.delete(first.vector_store_id)

    second = await hosted.sync(wanted)

    assert second.vector_store_id != first.vector_store_id
    assert any("aspirin" in text for text in await found(client, second.vector_store_id, "aspirin"))
    assert [file.id async for file in client.files.list()] == uploads


async def test_a_file_that_was_deleted_at_the_server_is_uploaded_again(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    wanted = [guideline(tmp_path)]
    store = (await hosted.sync(wanted)).vector_store_id
    (file,) = [entry.id async for entry in client.vector_stores.files.list(store)]
    await client.vector_stores.files.delete(file, vector_store_id=store)
    await client.files.delete(file)

    report = await hosted.sync(wanted)

    assert (report.vector_store_id, report.uploaded, report.failed) == (store, ("acs",), ())
    assert any("aspirin 300 mg" in text for text in await found(client, store, "aspirin"))
    assert hosted.version_of(file) is None


async def test_files_of_ours_that_no_state_tells_of_are_cleared_and_those_of_others_stay(
    hosted: HostedSearch, client: AsyncOpenAI, tmp_path: Path
) -> None:
    wanted = guideline(tmp_path)
    store = (await hosted.sync([wanted])).vector_store_id
    for attributes in ({"guideline_id": "lost"}, {"owner": "somebody else"}):
        uploaded = await client.files.create(file=("x.txt", HEPARIN.encode()), purpose="assistants")
        await client.vector_stores.files.create(store, file_id=uploaded.id, attributes=dict(attributes))

    report = await hosted.sync([wanted])

    assert report.removed == ("lost",)
    left = [entry.attributes or {} async for entry in client.vector_stores.files.list(store)]
    assert {"owner": "somebody else"} in left
    assert len(left) == 2


async def test_withdrawing_leaves_nothing_at_the_server(server: str, client: AsyncOpenAI, tmp_path: Path) -> None:
    before = [file.id async for file in client.files.list()]
    async with hosted_at(server, tmp_path / "state") as hosted:
        store = (await hosted.sync([guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)])).vector_store_id

        assert await hosted.withdraw() == ("acs", "hit")
        assert await hosted.withdraw() == ()

        assert [file.id async for file in client.files.list()] == before
        assert store not in [entry.id async for entry in client.vector_stores.list()]
        assert hosted.ready([guideline(tmp_path)]) is None
        assert not await hosted.usable(store)


async def test_two_syncs_at_once_upload_each_guideline_once(
    hosted: HostedSearch, client: AsyncOpenAI, server: str, tmp_path: Path
) -> None:
    wanted = [guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)]
    async with hosted_at(server, tmp_path / "state") as other:
        reports = await asyncio.gather(hosted.sync(wanted), other.sync(wanted))
    assert sorted(len(report.uploaded) for report in reports) == [0, 2]
    assert len({report.vector_store_id for report in reports}) == 1
    files = [entry async for entry in client.vector_stores.files.list(reports[0].vector_store_id)]
    assert len(files) == 2


# -- servers that are different


@pytest.mark.parametrize(
    "steps",
    [
        [Status(404, body={"error": {"message": "no such route"}})],
        [Status(405)],
        [Status(501)],
        [Status(401, body={"error": {"message": "bad key"}})],
        [Status(500)],
        [Status(200, {"Content-Type": "text/html"}, b"<html>Welcome</html>")],
        [Status(200, {"Content-Type": "application/json"}, {"object": "list"})],
        [Status(200, {"Content-Type": "application/json"}, b"[]")],
        [Raw(b'{"data": [')],
        [Disconnect()],
        [Wait(30)],
    ],
    ids=["404", "405", "501", "bad key", "500", "a web page", "no data", "a list", "cut", "closed", "hangs"],
)
async def test_a_server_that_does_not_show_vector_stores_has_none(steps: list[object], tmp_path: Path) -> None:
    async with ScriptedServer([Turn(steps)]) as server, hosted_at(server.base_url, tmp_path) as hosted:  # type: ignore[arg-type]
        async with asyncio.timeout(60):
            assert not await hosted.available()


async def test_no_server_at_all_has_no_vector_stores(tmp_path: Path) -> None:
    async with hosted_at("http://127.0.0.1:9/v1", tmp_path) as hosted:
        assert not await hosted.available()


async def test_a_server_with_vector_stores_has_them(server: str, tmp_path: Path) -> None:
    async with hosted_at(server, tmp_path) as hosted:
        assert await hosted.available()


def json_status(body: dict[str, object], code: int = 200) -> Status:
    return Status(code, {"Content-Type": "application/json"}, body)


def listed(*files: str, has_more: bool | None) -> Status:
    data = [{"id": file, "object": "vector_store.file", "status": "completed", "attributes": None} for file in files]
    return json_status({"object": "list", "data": data, **({} if has_more is None else {"has_more": has_more})})


@pytest.mark.parametrize("has_more", [None, True])
async def test_a_server_that_knows_no_pages_does_not_hold_the_listing_up(has_more: bool | None) -> None:
    async with ScriptedServer([[listed("file-1", "file-2", has_more=has_more)]], repeat=True) as server:
        adapter = VectorStoreAdapter(api_key=KEY, base_url=server.base_url)
        async with asyncio.timeout(60):
            found = await adapter.files("vs_1")
        await adapter.aclose()
    assert set(found) == {"file-1", "file-2"}


@pytest.mark.parametrize(
    ("status", "error", "word"),
    [
        (401, ProviderRejected, "OPENAI_API_KEY"),
        (403, ProviderRejected, "OPENAI_API_KEY"),
        (404, ProviderRejected, "ASCLEPIUS_GUIDELINE_SEARCH"),
        (500, ProviderUnavailable, "HTTP 500"),
    ],
)
async def test_a_failure_that_concerns_every_file_ends_the_sync_with_what_to_do(
    status: int, error: type[Exception], word: str, tmp_path: Path
) -> None:
    now = {"Content-Type": "application/json", "Retry-After-Ms": "1"}
    refusal = Status(status, now, {"error": {"message": "patient canary"}})
    async with ScriptedServer([[refusal]], repeat=True) as server, hosted_at(server.base_url, tmp_path) as hosted:
        with pytest.raises(error, match=word) as raised:
            await hosted.sync([guideline(tmp_path)])
    assert "canary" not in str(raised.value)


async def test_a_server_that_never_ends_indexing_is_given_up_on_and_told(tmp_path: Path) -> None:
    def play(request: Request) -> list[Status]:
        if request.path.endswith("/files") and request.method == "GET":
            data = [{"id": "file-1", "object": "vector_store.file", "status": "in_progress", "attributes": {}}]
            return [json_status({"object": "list", "data": data, "has_more": False})]
        return [json_status({"id": "file-1" if request.path == "/v1/files" else "vs_1", "status": "in_progress"})]

    async with ScriptedServer([play], repeat=True) as server, hosted_at(server.base_url, tmp_path, stall=0.5) as hosted:
        with pytest.raises(ProviderUnavailable, match="0 of 1 guidelines"):
            await hosted.sync([guideline(tmp_path)])
        assert hosted.ready([guideline(tmp_path)]) is None


class ScriptedStore:
    """A vector store whose listings of files are scripted, the last one repeated.

    ``loses``: it forgets uploads; ``refuses``: the status with which it takes none.
    """

    def __init__(self, *listings: dict[str, str], loses: bool = False, refuses: int | None = None) -> None:
        self._listings = list(listings)
        self._loses = loses
        self._refuses = refuses
        self._uploads = 0
        self.deleted: list[str] = []

    def play(self, request: Request) -> list[Status]:
        match request.method, request.path.partition("?")[0].removeprefix("/v1/"):
            case "GET", "vector_stores/vs_1/files":
                listing = self._listings.pop(0) if len(self._listings) > 1 else self._listings[0]
                data = [{"id": name, "status": status, "attributes": {}} for name, status in listing.items()]
                return [json_status({"object": "list", "data": data, "has_more": False})]
            case "POST", "files" if self._refuses is not None:
                return [json_status({"error": {"message": "refused"}}, self._refuses)]
            case "POST", "files":
                self._uploads += 1
                return [json_status({"id": f"file-{self._uploads}", "object": "file"})]
            case "POST", "vector_stores/vs_1/files" if self._loses:
                return [json_status({"error": {"message": "no such file"}}, 404)]
            case "DELETE", path:
                self.deleted.append(path)
        return [json_status({"id": "vs_1", "status": "completed"})]


async def test_a_file_that_cannot_be_indexed_is_named_while_the_others_are_waited_for(tmp_path: Path) -> None:
    wanted = [guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)]
    store = ScriptedStore(
        {}, {"file-1": "failed", "file-2": "in_progress"}, {"file-2": "in_progress"}, {"file-2": "completed"}
    )
    async with ScriptedServer([store.play], repeat=True) as server, hosted_at(server.base_url, tmp_path) as hosted:
        report = await hosted.sync(wanted)
    assert report.uploaded == ("hit",)
    assert [(failure.document_id, failure.reason) for failure in report.failed] == [
        ("acs", "The model server could not index it.")
    ]
    assert store.deleted == ["vector_stores/vs_1/files/file-1", "files/file-1"]


@pytest.mark.parametrize(
    ("status", "file_id", "deleted"),
    [
        ("cancelled", "file-1", ["vector_stores/vs_1/files/file-9", "files/file-9"]),
        ("in_progress", "file-9", []),
    ],
)
async def test_after_a_sync_that_was_killed_only_what_could_not_be_indexed_is_uploaded_again(
    status: str, file_id: str, deleted: list[str], tmp_path: Path
) -> None:
    store = ScriptedStore({"file-9": status}, {file_id: "completed"})
    async with ScriptedServer([store.play], repeat=True) as server, hosted_at(server.base_url, tmp_path) as hosted:
        wanted = guideline(tmp_path)
        left = UploadedFile(file_id="file-9", document_id=wanted.document_id, version=wanted.version)
        HostedStateFile(tmp_path, server.base_url).write(HostedState(vector_store_id="vs_1", files=(left,)))
        report = await hosted.sync([wanted])
        assert hosted.ready([wanted]) == "vs_1"
        assert hosted.version_of(file_id) == ("acs", wanted.version)
    assert (report.uploaded, report.failed) == (("acs",), ())
    assert store.deleted == deleted


async def test_a_key_that_may_not_upload_ends_the_sync_at_once(tmp_path: Path) -> None:
    store = ScriptedStore({}, refuses=403)
    async with ScriptedServer([store.play], repeat=True) as server, hosted_at(server.base_url, tmp_path) as hosted:
        with pytest.raises(ProviderRejected, match="OPENAI_API_KEY"):
            await hosted.sync([guideline(tmp_path), guideline(tmp_path, "hit", HEPARIN)])
        assert [request.path for request in server.requests].count("/v1/files") == 1


async def test_a_server_that_loses_what_was_just_uploaded_ends_the_sync(tmp_path: Path) -> None:
    store = ScriptedStore({}, loses=True)
    async with ScriptedServer([store.play], repeat=True) as server, hosted_at(server.base_url, tmp_path) as hosted:
        with pytest.raises(ProviderUnavailable, match="lost a file"):
            await hosted.sync([guideline(tmp_path)])


async def test_a_store_that_cannot_be_looked_at_is_not_searched_and_not_asked_for_at_every_question(
    tmp_path: Path,
) -> None:
    async with ScriptedServer([[Status(500)]], repeat=True) as server, hosted_at(server.base_url, tmp_path) as hosted:
        assert not await hosted.usable("vs_1")
        assert not await hosted.usable("vs_1")
        assert len(server.requests) == 1
        hosted.invalidate()
        assert not await hosted.usable("vs_1")
        assert len(server.requests) == 2


async def test_a_data_directory_that_cannot_be_written_is_named_as_the_setting_it_is(tmp_path: Path) -> None:
    blocked = tmp_path / "data"
    blocked.write_text("a file where the folder should be", encoding="utf-8")
    state = HostedStateFile(blocked, "https://model.example")
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_DATA_DIR"):
        state.write(HostedState(vector_store_id="vs_1"))
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_DATA_DIR"):
        async with state.locked():
            pytest.fail("nothing may be synced that cannot be remembered")


async def test_a_guideline_whose_file_is_gone_here_is_named_and_the_others_go_on(
    hosted: HostedSearch, tmp_path: Path
) -> None:
    gone = guideline(tmp_path)
    gone.path.unlink()
    report = await hosted.sync([gone, guideline(tmp_path, "hit", HEPARIN)])
    assert report.uploaded == ("hit",)
    assert [(failure.document_id, "cannot be read" in failure.reason) for failure in report.failed] == [("acs", True)]


ASKING: dict[str, Callable[[VectorStoreAdapter], Awaitable[object]]] = {
    "create": lambda stores: stores.create("Guidelines"),
    "usable": lambda stores: stores.usable("vs_1"),
    "delete": lambda stores: stores.delete("vs_1"),
    "delete_file": lambda stores: stores.delete_file("file-1"),
    "attach": lambda stores: stores.attach("vs_1", "file-1", {}),
    "detach": lambda stores: stores.detach("vs_1", "file-1"),
    "describe": lambda stores: stores.describe("vs_1", "file-1", {}),
    "files": lambda stores: stores.files("vs_1"),
}


@asynccontextmanager
async def stores_at(url: str) -> AsyncIterator[VectorStoreAdapter]:
    adapter = VectorStoreAdapter(api_key=KEY, base_url=url)
    try:
        yield adapter
    finally:
        await adapter.aclose()


async def test_whatever_is_asked_of_a_server_that_is_not_there_says_which_setting_to_check() -> None:
    async with stores_at("http://127.0.0.1:9/v1") as stores:
        # At once, because the client waits before it tries again.
        raised = await asyncio.gather(*(ask(stores) for ask in ASKING.values()), return_exceptions=True)
    for asked, error in zip(ASKING, raised, strict=True):
        assert isinstance(error, ProviderUnavailable), asked
        assert "OPENAI_BASE_URL" in str(error), asked


@pytest.mark.parametrize("asked", ASKING)
@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        (403, ProviderRejected, "OPENAI_API_KEY"),
        (405, ProviderRejected, "ASCLEPIUS_GUIDELINE_SEARCH=tool"),
        (413, ProviderRejected, "no file of this size"),
        (422, ProviderRejected, "HTTP 422"),
        (429, RateLimited, "Run the sync again later"),
        (503, ProviderUnavailable, "HTTP 503"),
    ],
)
async def test_a_refusal_is_an_error_of_ours_that_repeats_nothing_of_the_servers(
    asked: str, status: int, error: type[ProviderError], says: str
) -> None:
    # The client takes a pause of nothing for no pause at all, and chooses its own.
    now = {"Content-Type": "application/json", "Retry-After-Ms": "1"}
    refusal = Status(status, now, {"error": {"message": "patient canary"}})
    async with ScriptedServer([[refusal]], repeat=True) as server, stores_at(server.base_url) as stores:
        with pytest.raises(error, match=says) as raised:
            await ASKING[asked](stores)
    assert type(raised.value) is error
    assert "canary" not in str(raised.value)


def test_an_error_that_only_the_sdk_knows_is_no_answer_that_can_be_read() -> None:
    error = _provider_error(openai.OpenAIError("canary"))
    assert isinstance(error, ProviderUnavailable)
    assert "canary" not in str(error)


@pytest.mark.parametrize("status", [404, 410])
async def test_what_is_gone_already_is_as_good_as_deleted(status: int) -> None:
    gone = json_status({"error": {"message": "not found"}}, status)
    async with ScriptedServer([[gone]], repeat=True) as server, stores_at(server.base_url) as stores:
        for asked in ("delete", "delete_file", "detach"):
            await ASKING[asked](stores)
        assert not await stores.usable("vs_1")


@pytest.mark.parametrize("asked", ASKING)
async def test_a_sign_in_page_instead_of_an_answer_is_never_taken_for_done(asked: str) -> None:
    page = Status(200, {"Content-Type": "text/html"}, b"<html>Sign in</html>")
    async with ScriptedServer([[page]], repeat=True) as server, stores_at(server.base_url) as stores:
        with pytest.raises(ProviderUnavailable, match="cannot be read"):
            await ASKING[asked](stores)


@pytest.mark.parametrize("asked", ["create", "usable", "files"])
@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'"text"', b"null"])
async def test_an_answer_of_another_shape_is_said_to_be_unreadable(asked: str, body: bytes) -> None:
    answer = Status(200, {"Content-Type": "application/json"}, body)
    async with ScriptedServer([[answer]], repeat=True) as server, stores_at(server.base_url) as stores:
        with pytest.raises(ProviderUnavailable, match="cannot be read"):
            await ASKING[asked](stores)


@pytest.mark.parametrize("unnamed", [{}, {"id": None}, {"id": ""}, {"id": 7}])
async def test_a_store_without_a_name_cannot_be_used(unnamed: dict[str, object]) -> None:
    async with ScriptedServer([[json_status(unnamed)]]) as server, stores_at(server.base_url) as stores:
        with pytest.raises(ProviderUnavailable, match="cannot be read"):
            await stores.create("Guidelines")


async def test_a_file_of_state_that_is_damaged_counts_as_nothing_uploaded(server: str, tmp_path: Path) -> None:
    wanted = [guideline(tmp_path)]
    async with hosted_at(server, tmp_path / "state") as hosted:
        await hosted.sync(wanted)
        (state,) = (tmp_path / "state").glob("*.json")
        state.write_text("{", encoding="utf-8")
        assert hosted.ready(wanted) is None
        assert (await hosted.sync(wanted)).uploaded == ("acs",)
        await hosted.withdraw()
