"""Nobody sees, changes or stops what is another's; nothing of the page's server can be reached around its guard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest
import socketio
from socketio.exceptions import ConnectionError as ConnectionRefused

from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import asked, seen, socket_of

HEADER = "X-Forwarded-User"


@pytest.fixture(scope="module")
def shared_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """The page behind a proxy that names its users; ``ana`` may add guidelines."""
    environment = {"ASCLEPIUS_AUTH": "header", "ASCLEPIUS_UPLOADERS": "ana, carl"}
    with fake_page(tmp_path_factory.mktemp("header"), environment=environment) as page:
        yield page


@pytest.fixture(scope="module")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    with fake_page(tmp_path_factory.mktemp("demo")) as page:
        yield page


_clients: list[httpx.Client] = []


@pytest.fixture(autouse=True)
def closed_clients() -> Iterator[None]:
    yield
    while _clients:
        _clients.pop().close()


def client_of(page: ServedPage, headers: dict[str, str]) -> httpx.Client:
    _clients.append(httpx.Client(base_url=page.url, headers=headers, timeout=60))
    return _clients[-1]


def signed_in(page: ServedPage, user: str | None) -> httpx.Client:
    # The demo user is for this machine alone: a header of a proxy would be refused.
    client = client_of(page, {HEADER: user} if user not in (None, "demo") else {})
    if user:
        assert client.post("/auth/header").status_code == 200
    return client


async def test_feedback_can_be_changed_by_its_owner_alone(shared_page: ServedPage) -> None:
    mine, other = signed_in(shared_page, "ada"), signed_in(shared_page, "bob")
    _, run, _ = await asked(shared_page, mine, "say: judged")
    given = mine.put("/feedback", json={"feedback": {"forId": run, "value": 1, "comment": "good"}, "sessionId": "x"})
    feedback = given.json()["feedbackId"]
    assert other.request("DELETE", "/feedback", json={"feedbackId": feedback}).status_code == 404
    again = mine.put("/feedback", json={"feedback": {"forId": run, "value": 0}, "sessionId": "x"})
    assert again.json()["feedbackId"] == feedback, "an answer has one feedback"
    assert mine.request("DELETE", "/feedback", json={"feedbackId": feedback}).status_code == 200


async def test_another_users_socket_sees_and_stops_nothing(shared_page: ServedPage) -> None:
    mine, other = signed_in(shared_page, "ada"), signed_in(shared_page, "bob")
    async with socket_of(shared_page, mine) as (socket, events, session):
        message = {
            "id": str(uuid4()),
            "type": "user_message",
            "output": "slow",
            "name": "x",
            "metadata": {},
            "createdAt": "2026-01-01T00:00:00Z",
            "threadId": "",
        }
        await socket.emit("client_message", {"message": message, "fileReferences": []})
        started = (await seen(events, "stream_start"))[0]
        with pytest.raises(ConnectionRefused):
            async with socket_of(shared_page, other, started["threadId"]):
                pass
        assert other.get(f"/project/file/{uuid4()}?session_id={session}").status_code in (401, 404)
        async with socket_of(shared_page, other) as (theirs, their_events, _):
            # An acknowledgement comes once the server has handled the event.
            await theirs.call("stop", timeout=60)
            await theirs.call("edit_message", {"message": {"id": message["id"], "output": "x"}}, timeout=60)
            assert not [name for name, _ in their_events if name in ("stream_start", "new_message", "element")]
        assert not [name for name, _ in events if name == "element"], "the answer still runs"
        await socket.emit("stop")
        assert (await seen(events, "element"))[0]["props"]["outcome"]["reason"] == "stopped"


def test_the_users_header_counts_from_a_trusted_proxy_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    environment = {"ASCLEPIUS_AUTH": "header", "ASCLEPIUS_TRUSTED_PROXIES": "10.0.0.1"}
    with fake_page(tmp_path_factory.mktemp("untrusted"), environment=environment) as page:
        client = client_of(page, {HEADER: "ada"})
        assert client.post("/auth/header").status_code == 401
        assert client.get("/user").status_code == 401
        assert client.get("/", headers={"accept": "text/html"}).headers.get("set-cookie") is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer x"},
        {"Authorization": "Basic YTpi"},
        {"X-Remote-User": "ada"},
        {"Remote-User": "ada"},
        {"Cookie": "access_token=x"},
        {"X-Forwarded-User": "ada"},
    ],
)
def test_no_other_header_signs_anyone_in(demo_page: ServedPage, headers: dict[str, str]) -> None:
    client = client_of(demo_page, headers)
    for path in ("/user", "/api/v1/status", "/api/v1/guidelines", "/api/v1/passages/htn:1:7", "/project/settings"):
        assert client.get(path).status_code in (401, 403), path


def test_other_origins_and_other_names_are_refused(demo_page: ServedPage) -> None:
    client = signed_in(demo_page, None)
    assert client.post("/auth/header", headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.post("/auth/header", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
    assert client.post("/auth/header", headers={"Origin": demo_page.url}).status_code == 200


async def test_a_socket_from_another_origin_is_refused(demo_page: ServedPage) -> None:
    socket = socketio.AsyncClient()
    with pytest.raises(ConnectionRefused):
        await socket.connect(
            demo_page.url,
            socketio_path="/ws/socket.io",
            transports=["websocket"],
            headers={"Origin": "https://evil.example"},
            wait_timeout=60,
        )


def test_the_page_comes_with_a_policy_that_lets_nothing_else_in(demo_page: ServedPage) -> None:
    """Row 42."""
    answer = signed_in(demo_page, None).get("/", headers={"accept": "text/html"})
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy
    assert "https://" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "HttpOnly" in answer.headers["set-cookie"]


def test_too_large_bodies_are_refused_and_errors_do_not_repeat_what_was_sent(demo_page: ServedPage) -> None:
    client = signed_in(demo_page, "demo")
    assert client.post("/api/v1/consult", content=b"x" * 1_100_000).status_code == 413
    for path, body in (
        ("/feedback", {"feedback": {"forId": "SECRET" * 20, "value": 7}}),
        ("/project/thread", {"threadId": ["SECRET"], "name": "x"}),
    ):
        answer = client.put(path, json=body)
        assert answer.status_code == 422
        assert "SECRET" not in answer.text
        assert answer.headers["content-type"].startswith("application/problem+json")


def test_files_outside_the_public_folder_are_not_served(demo_page: ServedPage) -> None:
    """Row 37."""
    client = signed_in(demo_page, "demo")
    for path in (
        "/public/../.chainlit/config.toml",
        "/public/%2e%2e/.chainlit/config.toml",
        "/public/..%2f..%2fauth_secret",
        "/assets/../../../../etc/passwd",
    ):
        answer = client.get(path)
        assert answer.status_code in (400, 404) or answer.headers["content-type"].startswith("text/html")
        assert "user_env" not in answer.text
        assert "root:" not in answer.text


def test_the_pages_scripts_come_compressed_and_are_kept_by_the_browser(demo_page: ServedPage) -> None:
    client = signed_in(demo_page, "demo")
    own, chainlits = re.findall(r'<script[^>]* src="([^"]+)"', client.get("/").text)
    for address, most in ((own, 40_000), (chainlits, 900_000)):
        answer = client.get(address, headers={"accept-encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip"
        assert "immutable" in answer.headers["cache-control"]
        assert int(answer.headers["content-length"]) < most
        plain = client.get(address, headers={"accept-encoding": "identity"})
        same = plain.content == answer.content
        assert same, "not in one line: the difference of two large files takes minutes to print"
    assert client.get("/assets/nothing.js").status_code == 404


def test_a_browser_does_not_keep_a_script_of_another_version(demo_page: ServedPage) -> None:
    """During an update, one replica sends the page and another its scripts."""
    client = signed_in(demo_page, "demo")
    own, chainlits = re.findall(r'<script[^>]* src="([^"]+)"', client.get("/").text)
    for other in (f"{own}0", re.sub("/assets/[^/]+/", "/assets/0/", chainlits)):
        answer = client.get(other)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")


async def test_settings_of_a_conversation_are_changed_by_its_owner_alone(shared_page: ServedPage) -> None:
    ana, bob = signed_in(shared_page, "ana"), signed_in(shared_page, "bob")
    thread, _, _ = await asked(shared_page, ana, "say: mine")
    address = f"/api/v1/threads/{thread}/settings"
    assert ana.post(address, json={"drugs": False}).status_code == 204
    assert bob.post(address, json={"drugs": False}).status_code == 404
    assert ana.post("/api/v1/threads/unknown/settings", json={"drugs": False}).status_code == 404
    assert ana.post(address, json={"models": ["x"]}).status_code == 422


async def test_everybody_can_send_a_file_up_and_the_page_says_who_may_share_one(shared_page: ServedPage) -> None:
    for user in ("ana", "bob"):
        client = signed_in(shared_page, user)
        async with socket_of(shared_page, client) as (_, _events, session):
            file = {"file": ("x.pdf", b"%PDF-1.4", "application/pdf")}
            assert client.post(f"/project/file?session_id={session}", files=file).status_code == 200
            assert client.get("/api/v1/status").json()["may_upload"] is (user == "ana")


async def test_an_upload_is_refused_for_a_wrong_type_and_for_another_users_socket(demo_page: ServedPage) -> None:
    client = signed_in(demo_page, "demo")
    async with socket_of(demo_page, client) as (_, _events, session):
        url = f"/project/file?session_id={session}"
        wrong = client.post(url, files={"file": ("x.exe", b"MZ", "application/octet-stream")})
        assert wrong.status_code == 400
        empty = client.post(url, files={"file": ("x.pdf", b"", "application/pdf")})
        assert (empty.status_code, "the file is empty" in empty.json()["detail"]) == (400, True)
        assert client.post(url, files={"file": ("../../x.pdf", b"%PDF-1.4", "application/pdf")}).status_code == 200
    stray = client.post("/project/file?session_id=unknown", files={"file": ("x.pdf", b"%PDF", "application/pdf")})
    assert stray.status_code == 404
