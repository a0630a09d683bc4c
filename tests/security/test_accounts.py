"""Users and API keys that commands change while the app runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from chat_app.interface.security.accounts import (
    Account,
    Accounts,
    ApiKey,
    ApiKeys,
    accounts_at,
    api_keys_at,
    create_key,
    find_key,
    hash_password,
    verify_password,
)
from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import asking, seen, socket_of
from tests.support.served import asclepius

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """Serve a page whose user ana was added by a command."""
    folder = tmp_path_factory.mktemp("accounts")
    hashed = hash_password(PASSWORD)
    users = {name: Account(password=hashed, changed=0) for name in ("ana", "bert")}
    accounts_at(folder / "data").change(lambda _: Accounts(users=users))
    with fake_page(folder, environment={"ASCLEPIUS_AUTH": "password"}) as served:
        yield served


def command(page: ServedPage, *arguments: str, stdin: str = "") -> str:
    done = asclepius(*arguments, data_dir=page.data_dir, stdin=stdin, ASCLEPIUS_AUTH="password")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def audited(page: ServedPage, action: str) -> list[dict[str, str]]:
    """Return who did ``action`` and its detail, in order."""
    entries = map(json.loads, command(page, "audit", "export").splitlines())
    return [{key: one[key] for key in ("actor", "detail")} for one in entries if one["action"] == action]


@contextmanager
def log_in(page: ServedPage, user: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=page.url, timeout=60) as client:
        client.post("/login", data={"username": user, "password": PASSWORD}).raise_for_status()
        yield client


def test_a_role_and_a_removal_count_from_the_next_request_on(page: ServedPage) -> None:
    with log_in(page, "bert") as client:
        assert client.get("/api/v1/status").json()["may_upload"] is False
        file = accounts_at(page.data_dir)
        changed = {"bert": file.read().users["bert"].model_copy(update={"role": "uploader"})}
        file.change(lambda held: Accounts(users={**held.users, **changed}))
        assert client.get("/api/v1/status").json()["may_upload"] is True
        assert json.loads(command(page, "users", "list", "--json"))[1]["role"] == "uploader"
        command(page, "users", "remove", "bert")
        for path in ("/api/v1/status", "/user"):
            assert client.get(path).status_code == 401
        again = client.post("/login", data={"username": "bert", "password": PASSWORD})
        assert again.status_code == 401


async def test_the_open_page_of_a_removed_user_gets_no_answer(page: ServedPage) -> None:
    """Row 34: every message is checked again."""
    file = accounts_at(page.data_dir)
    emil = {"emil": Account(password=file.read().users["ana"].password, changed=0)}
    file.change(lambda held: Accounts(users={**held.users, **emil}))
    with log_in(page, "emil") as client:
        async with socket_of(page, client) as (socket, events, _):
            file.change(lambda held: Accounts(users={name: one for name, one in held.users.items() if name != "emil"}))
            await socket.emit("client_message", asking("say: hello"))
            await seen(events, "toast")
            await seen(events, "task_end")
    assert not [name for name, _ in events if name in {"stream_start", "first_interaction", "element"}]


def test_commands_add_a_user_and_are_audited(page: ServedPage) -> None:
    typed = f"{PASSWORD}\n{PASSWORD}\n"
    command(page, "users", "add", "carl", stdin=typed)
    with log_in(page, "carl") as client:
        assert client.get("/user").json()["identifier"] == "carl"
    refused = asclepius("users", "add", "carl", data_dir=page.data_dir, stdin=typed)
    assert refused.returncode == 1
    assert "users passwd" in refused.stderr
    assert "users add carl, reader" in [entry["detail"] for entry in audited(page, "administration")]
    assert PASSWORD not in command(page, "audit", "export") + (page.data_dir / "users.json").read_text()


def test_a_password_can_be_piped(tmp_path: Path) -> None:
    done = asclepius("hash-password", data_dir=tmp_path / "data", stdin=f"{PASSWORD}\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert verify_password(PASSWORD, done.stdout.strip())
    empty = asclepius("hash-password", data_dir=tmp_path / "data")
    assert (empty.returncode, empty.stdout) == (1, "")
    assert "The input contains no password" in empty.stderr


def test_a_changed_password_ends_earlier_logins(page: ServedPage) -> None:
    with log_in(page, "ana") as client:
        assert client.get("/user").status_code == 200
        command(page, "users", "passwd", "ana", stdin=f"{PASSWORD}\n{PASSWORD}\n")
        assert client.get("/user").status_code == 401
    with log_in(page, "ana") as client:
        assert client.get("/user").status_code == 200, "also within the same second"


def test_a_key_is_for_the_api_within_its_scope_until_it_is_revoked(page: ServedPage) -> None:
    key = command(page, "keys", "create", "ana", "--scope", "read")
    with httpx.Client(base_url=page.url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        assert client.get("/api/v1/status").status_code == 200
        assert client.post("/api/v1/consult", json={"message": "say: x"}).status_code == 403
        assert client.get("/user").status_code == 401, "a key is not for the page"
        for wrong in (key[:-1] + "~", "ask_", "ask_unknown_x"):
            answer = client.get("/api/v1/status", headers={"Authorization": f"Bearer {wrong}"})
            assert answer.status_code == 401, wrong
        listed = command(page, "keys", "list", "--json")
        secret = key.split("_", 2)[2]
        assert len(secret) > 30
        assert secret not in listed + (page.data_dir / "api_keys.json").read_text()
        name = json.loads(listed)[0]["key"]
        assert {"actor": "ana", "detail": f"{name} used"} in audited(page, "key")
        command(page, "keys", "revoke", name)
        assert client.get("/api/v1/status").status_code == 401


@pytest.mark.parametrize("content", ["", '{"users": {"ana"'], ids=["emptied", "damaged"])
def test_a_damaged_file_of_users_lets_nobody_in_and_is_logged_once(page: ServedPage, content: str) -> None:
    file, logged = page.data_dir / "users.json", page.log.stat().st_size
    whole = file.read_text()
    with log_in(page, "ana") as known, httpx.Client(base_url=page.url, timeout=60) as fresh:
        file.write_text(content)
        try:
            credentials = {"username": "ana", "password": PASSWORD}
            answers = [known.get("/user"), known.get("/"), fresh.post("/login", data=credentials)]
        finally:
            file.write_text(whole)
        assert [answer.status_code for answer in answers] == [503] * 3
        assert not fresh.cookies
        assert all("Nobody can sign in" in answer.json()["detail"] for answer in answers)
        assert str(page.data_dir) not in "".join(answer.text for answer in answers)
        assert known.get("/user").status_code == 200
    written = page.log.read_bytes()[logged:].decode()
    assert written.count("users.json is damaged: restore it from a backup") == 1
    assert "Traceback" not in written
    assert "in admit" not in written


def test_a_logout_is_audited(page: ServedPage) -> None:
    hashed = accounts_at(page.data_dir).read().users["ana"].password
    dora = {"dora": Account(password=hashed, changed=0)}
    accounts_at(page.data_dir).change(lambda held: Accounts(users={**held.users, **dora}))
    with log_in(page, "dora") as client:
        assert client.post("/logout").status_code == 200
    assert [entry["actor"] for entry in audited(page, "logout")] == ["dora"]


def test_a_key_of_a_user_who_was_removed_or_never_was_is_refused(page: ServedPage) -> None:
    key = create_key(api_keys_at(page.data_dir), "nobody", "ask", 1)
    answer = httpx.get(f"{page.url}/api/v1/status", headers={"Authorization": f"Bearer {key}"}, timeout=60)
    assert answer.status_code == 401


def test_an_expired_key_is_unknown(tmp_path: Path) -> None:
    file = api_keys_at(tmp_path)
    key = create_key(file, "ana", "ask", 1)
    assert find_key(file, key) is not None

    def expired(held: ApiKeys) -> ApiKeys:
        return ApiKeys(keys={name: ApiKey(**{**one.model_dump(), "expires": 1}) for name, one in held.keys.items()})

    file.change(expired)
    assert find_key(file, key) is None
    assert file.path.stat().st_mode & 0o077 == 0
