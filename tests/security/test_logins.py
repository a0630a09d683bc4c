"""Who a request is from, and how a login ends."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from redis import Redis

from chat_app.interface.runtime import Runtime
from chat_app.interface.security.accounts import hash_password
from chat_app.interface.security.identity import LOGIN_LASTS
from chat_app.settings import Settings
from tests.support.fake_agent import fake_app
from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import socket_of
from tests.support.served import Served, asclepius, serve

HEADER = "X-Forwarded-User"
PUBLIC = "https://asclepius.hospital.example"


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    environment = {"ASCLEPIUS_AUTH": "header", "ASCLEPIUS_PUBLIC_URL": PUBLIC}
    with fake_page(tmp_path_factory.mktemp("proxy"), environment=environment) as page:
        yield page


@pytest.fixture(scope="module")
def with_passwords(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    users = ",".join(f"{name}:{hash_password(f'for {name}')}" for name in ("ana", "bert", "audra", "adam"))
    environment = {"ASCLEPIUS_AUTH": "password", "ASCLEPIUS_USERS": users, "ASCLEPIUS_LOAD_DEMO": "false"}
    environment["ASCLEPIUS_ROLES"] = "audra:auditor, adam:administrator"
    with serve(tmp_path_factory.mktemp("passwords") / "data", loaded=False, **environment) as served:
        yield served


def user_of(url: str, *headers: tuple[str, str]) -> str | None:
    """Return the user as which a request with these headers is served."""
    answer = httpx.get(f"{url}/user", headers=list(headers), timeout=60)
    return str(answer.json()["identifier"]) if answer.status_code == 200 else None


def cookie_of(page: ServedPage, user: str) -> tuple[str, str]:
    answer = httpx.post(f"{page.url}/auth/header", headers={HEADER: user}, timeout=60)
    return "Cookie", f"access_token={answer.cookies['access_token']}"


def test_the_proxys_header_wins_over_the_previous_users_cookie(behind_proxy: ServedPage) -> None:
    """On a shared workstation the next clinician must not see the previous one's conversations."""
    anas = cookie_of(behind_proxy, "ana")
    assert user_of(behind_proxy.url, anas) == "ana"
    assert user_of(behind_proxy.url, anas, (HEADER, "bert")) == "bert"
    page = httpx.get(behind_proxy.url, headers=[anas, (HEADER, "bert"), ("accept", "text/html")], timeout=60)
    renewed = page.headers["set-cookie"].split(";")[0]
    assert user_of(behind_proxy.url, ("Cookie", renewed)) == "bert"


def test_a_request_that_names_its_user_twice_is_refused(behind_proxy: ServedPage) -> None:
    answer = httpx.get(f"{behind_proxy.url}/user", headers=[(HEADER, "ana"), (HEADER, "bert")], timeout=60)
    assert answer.status_code == 400
    assert "ana" not in answer.text


def test_a_cookie_counts_from_a_trusted_address_alone(behind_proxy: ServedPage, tmp_path: Path) -> None:
    cookie = cookie_of(behind_proxy, "ana")
    secret = (behind_proxy.data_dir / "auth_secret").read_text()
    environment = {"ASCLEPIUS_AUTH": "header", "CHAINLIT_AUTH_SECRET": secret}
    with fake_page(tmp_path / "trusted", environment=environment) as trusted:
        assert user_of(trusted.url, cookie) == "ana", "the same secret accepts it"
    with fake_page(tmp_path / "far", environment={**environment, "ASCLEPIUS_TRUSTED_PROXIES": "10.0.0.1"}) as far:
        assert user_of(far.url, cookie) is None


def test_the_demo_user_is_refused_behind_a_proxy(tmp_path: Path) -> None:
    with fake_page(tmp_path) as page:
        assert httpx.get(page.url, timeout=60).status_code == 200
        for name in ("X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-IP"):
            assert httpx.get(page.url, headers={name: "127.0.0.1"}, timeout=60).status_code == 403, name


def test_behind_https_cookies_are_for_https_alone(behind_proxy: ServedPage, tmp_path: Path) -> None:
    for answer in (
        httpx.get(behind_proxy.url, headers={HEADER: "ana", "accept": "text/html"}, timeout=60),
        httpx.post(f"{behind_proxy.url}/auth/header", headers={HEADER: "ana"}, timeout=60),
    ):
        assert "; Secure" in answer.headers["set-cookie"]
        assert "max-age=" in answer.headers["strict-transport-security"]
    with fake_page(tmp_path, environment={"ASCLEPIUS_AUTH": "header"}) as page:
        plain = httpx.post(f"{page.url}/auth/header", headers={HEADER: "ana"}, timeout=60)
        assert "secure" not in plain.headers["set-cookie"].lower()
        assert "strict-transport-security" not in plain.headers
        proxied = {HEADER: "ana", "X-Forwarded-Proto": "https"}
        assert "; Secure" in httpx.post(f"{page.url}/auth/header", headers=proxied, timeout=60).headers["set-cookie"]


def test_a_cookie_of_a_replica_whose_clock_is_ahead_is_accepted(behind_proxy: ServedPage) -> None:
    """Row 40: and none that is older than a login lasts."""
    secret = (behind_proxy.data_dir / "auth_secret").read_text()

    def cookie(ahead: float) -> tuple[str, str]:
        at = int(time.time() + ahead)
        claims = {"identifier": "ana", "display_name": None, "metadata": {}, "iat": at}
        token = jwt.encode({**claims, "exp": at + LOGIN_LASTS.total_seconds()}, secret, algorithm="HS256")
        return "Cookie", f"access_token={token}"

    assert user_of(behind_proxy.url, cookie(20)) == "ana"
    assert user_of(behind_proxy.url, cookie(3600)) is None
    assert user_of(behind_proxy.url, cookie(-3600)) == "ana"
    assert user_of(behind_proxy.url, cookie(-3600 - LOGIN_LASTS.total_seconds())) is None


@contextmanager
def log_in(served: Served, user: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=60) as client:
        client.post("/login", data={"username": user, "password": f"for {user}"}).raise_for_status()
        yield client


def status_of(served: Served, cookies: dict[str, str]) -> set[int]:
    """Return how our routes and Chainlit's answer a request with these cookies, also as a bearer token."""
    token = {"Authorization": f"Bearer {cookies['access_token']}"}
    answers = [httpx.get(f"{served.url}{path}", cookies=cookies, timeout=60) for path in ("/user", "/api/v1/status")]
    bearer = httpx.get(f"{served.url}/user", headers=token, timeout=60)
    assert bearer.status_code == 401
    return {answer.status_code for answer in answers}


def test_a_log_out_ends_this_login_on_every_route(with_passwords: Served) -> None:
    with log_in(with_passwords, "ana") as client, log_in(with_passwords, "ana") as elsewhere:
        cookies = dict(client.cookies)
        assert status_of(with_passwords, cookies) == {200}
        assert client.post("/logout").status_code == 200
        assert status_of(with_passwords, cookies) == {401}
        assert status_of(with_passwords, dict(elsewhere.cookies)) == {200}


def test_a_log_out_everywhere_ends_the_users_logins_and_nobody_elses(with_passwords: Served) -> None:
    with (
        log_in(with_passwords, "ana") as first,
        log_in(with_passwords, "ana") as second,
        log_in(with_passwords, "bert") as other,
    ):
        assert first.delete("/api/v1/logins").status_code == 204
        assert status_of(with_passwords, dict(first.cookies)) == {401}
        assert status_of(with_passwords, dict(second.cookies)) == {401}
        assert status_of(with_passwords, dict(other.cookies)) == {200}
        assert httpx.delete(f"{with_passwords.url}/api/v1/logins", timeout=60).status_code == 401
    with log_in(with_passwords, "ana") as again:
        assert again.get("/user").status_code == 200, "also within the same second"


def test_a_command_ends_the_logins_of_a_user(with_passwords: Served) -> None:
    with log_in(with_passwords, "ana") as client, log_in(with_passwords, "bert") as other:
        settings = {"ASCLEPIUS_AUTH": "header", "ASCLEPIUS_LOAD_DEMO": "false"}
        done = asclepius("users", "logout", "ana", data_dir=with_passwords.data_dir, **settings)
        assert done.returncode == 0, done.stderr
        assert client.get("/user").status_code == 401
        assert other.get("/user").status_code == 200
    with log_in(with_passwords, "audra") as auditor:
        assert "logins of ana ended" in auditor.get("/api/v1/audit", params={"action": "administration"}).text


async def test_a_change_of_settings_is_recorded(with_passwords: Served) -> None:
    with log_in(with_passwords, "ana") as client, log_in(with_passwords, "audra") as auditor:
        async with socket_of(with_passwords, client) as (socket, _, _):
            await socket.call("chat_settings_change", {"drugs": False, "length": "brief"}, timeout=60)
        entries = map(json.loads, auditor.get("/api/v1/audit").text.splitlines())
        recorded = [(one["actor"], one["detail"]) for one in entries if one["action"] == "settings"]
    assert recorded == [("ana", "drugs, length")]


async def test_a_log_out_while_the_services_open_is_kept(tmp_path: Path, redis_url: str) -> None:
    may_open = asyncio.Event()

    @asynccontextmanager
    async def open_late(settings: Settings, **_: Any) -> AsyncIterator[Any]:
        await may_open.wait()
        async with fake_app()(settings) as app:
            yield app

    storage = {"data_dir": str(tmp_path), "redis_url": redis_url}
    runtime = Runtime(Settings(storage=storage, server={"auth": "header"}), open_late)
    login = runtime.identity.issue_login("ana")
    async with runtime.running():
        ending = asyncio.create_task(runtime.sign_in.end(login))
        await asyncio.sleep(0)
        may_open.set()
        await ending
        assert not await runtime.sign_in.is_valid(login.token)


def test_an_ended_login_stays_ended_after_a_restart(with_passwords: Served) -> None:
    """The record is in Redis, which other replicas read too."""
    with log_in(with_passwords, "bert") as client:
        client.post("/logout")
    urls = json.loads((with_passwords.data_dir / "run" / "services.json").read_text())
    with Redis.from_url(urls["redis"]) as redis:
        keys = list(redis.scan_iter("asclepius:login-ended:*"))
        assert keys
        assert 0 < redis.ttl(keys[0]) <= 86_400


def test_each_role_may_what_the_table_of_rights_says(with_passwords: Served) -> None:
    allowed = {"ana": (403, 403), "audra": (200, 403), "adam": (200, 204)}
    for user, (reads, ends) in allowed.items():
        with log_in(with_passwords, user) as client:
            assert client.get("/api/v1/audit").status_code == reads, user
            assert client.delete("/api/v1/users/nobody/logins").status_code == ends, user
    for method, path in (("GET", "/api/v1/audit"), ("DELETE", "/api/v1/users/ana/logins")):
        assert httpx.request(method, f"{with_passwords.url}{path}", timeout=60).status_code == 401


def test_an_auditor_reads_what_others_did_and_is_recorded(with_passwords: Served) -> None:
    for user in ("bert", "a password in the wrong field"):
        wrong = {"username": user, "password": "wrong"}
        assert httpx.post(f"{with_passwords.url}/login", data=wrong, timeout=60).status_code == 401
    with log_in(with_passwords, "bert"), log_in(with_passwords, "audra") as client:
        failed = client.get("/api/v1/audit", params={"action": "login_failed"}).text.splitlines()
        assert {json.loads(line)["actor"] for line in failed} == {"bert", "unknown"}
        found = [json.loads(line) for line in client.get("/api/v1/audit", params={"actor": "bert"}).text.splitlines()]
        assert {entry["actor"] for entry in found} == {"bert"}
        assert "login" in {entry["action"] for entry in found}
        assert all(entry["hash"] for entry in found)
        own = client.get("/api/v1/audit", params={"actor": "audra", "action": "export"}).text
        assert own.count("audit log") >= 2
        assert client.get("/api/v1/audit", params={"unknown": "x"}).status_code == 422


def test_an_administrator_ends_another_users_logins(with_passwords: Served) -> None:
    with log_in(with_passwords, "ana") as theirs, log_in(with_passwords, "adam") as client:
        cookies = dict(theirs.cookies)
        assert status_of(with_passwords, cookies) == {200}
        assert client.delete("/api/v1/users/ana/logins").status_code == 204
        assert status_of(with_passwords, cookies) == {401}
        assert client.get("/user").status_code == 200
