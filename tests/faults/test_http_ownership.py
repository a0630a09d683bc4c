"""Rows 33 and 35 over the API: one identity per request, and no questions in another user's conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from chat_app.interface.security.accounts import hash_password
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import Api, Frame, api, ask
from tests.support.engine import clinic, guideline_tool
from tests.support.scripted_server import ScriptedServer, text_reply
from tests.support.served import serve

SECRET_WORDS = "Bring Jane Roe her warfarin"


@pytest.fixture(scope="module")
def users() -> str:
    return f"ana:{hash_password('for ana')},bert:{hash_password('for bert')}"


@dataclass(frozen=True)
class Things:
    """What ana has: values for the parameters of paths."""

    of_ana: dict[str, str]

    def address(self, template: str) -> str:
        return template.format(**self.of_ana, document_id="hypertension", page="3", passage_id="htn:1:7")


@asynccontextmanager
async def two_users(users: str, redis_url: str, folder: Path) -> AsyncIterator[tuple[Api, Things]]:
    """ana has asked; bert is signed in, too."""
    store = RedisSessionStore(redis_url)
    async with (
        ScriptedServer([text_reply(SECRET_WORDS)], repeat=True) as server,
        clinic(server, redis_url, [guideline_tool()], store=store) as agent,
        api(agent, folder / "data", sessions=store, auth="password", users=users) as running,
    ):
        async with running.client("ana") as ana:
            read: list[Frame] = await ask(ana, SECRET_WORDS)
        history = running.runtime.history
        conversation = read[0].data["conversation_id"]
        await history.save_turn("thread-of-ana", owner="ana", name=SECRET_WORDS)
        yield (
            running,
            Things({"conversation_id": conversation, "turn_id": read[0].data["turn_id"], "thread_id": "thread-of-ana"}),
        )


async def operations(client: httpx.AsyncClient) -> list[tuple[str, str, dict[str, Any]]]:
    """Every documented operation under /api/v1, those that change something last."""
    document = (await client.get("/api/v1/openapi.json")).json()
    found = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/api/v1")
    ]
    return sorted(found, key=lambda one: one[0] != "GET")


async def test_a_question_in_somebody_elses_conversation_is_one_in_a_new_conversation(
    users: str, redis_url: str, tmp_path: Path
) -> None:
    async with (
        two_users(users, redis_url, tmp_path) as (running, things),
        running.client("bert") as bert,
        running.client("ana") as ana,
    ):
        name = things.of_ana["conversation_id"]
        read = await ask(bert, conversation_id=name)
        assert read[0].data["conversation_id"] != name
        assert "new_conversation" in [frame.data.get("code") for frame in read]
        whole = (await ana.get(f"/api/v1/conversations/{name}")).json()
    assert len(whole["messages"]) == 2, "nothing was added to it"


async def test_no_route_answers_who_is_not_signed_in(users: str, redis_url: str, tmp_path: Path) -> None:
    async with two_users(users, redis_url, tmp_path) as (running, things), running.client(None) as nobody:
        for method, path, operation in await operations(nobody):
            body = {"json": {"message": SECRET_WORDS}} if "requestBody" in operation else {}
            response = await nobody.request(method, things.address(path), **body)
            assert response.status_code == 401, f"{method} {path}"
            assert response.headers["content-type"] == "application/problem+json"
            broken = await nobody.request(method, things.address(path), json={"nonsense": 1}, params={"limit": "x"})
            assert broken.status_code == 401, f"{method} {path} says what is valid before it knows who asks"


async def test_no_other_header_signs_anybody_in(users: str, redis_url: str, tmp_path: Path) -> None:
    """Row 35: the cookie is the one way, on every route."""
    async with two_users(users, redis_url, tmp_path) as (running, things), running.client(None) as nobody:
        token = running.runtime.identity.issue_login("ana").token
        forged = jwt.encode({"identifier": "ana"}, "", algorithm="none")
        guessed = jwt.encode({"identifier": "ana"}, "a secret of somebody else, long enough")
        attempts: list[dict[str, str]] = [
            {"authorization": f"Bearer {token}"},
            {"authorization": "Basic YW5hOmZvciBhbmE="},
            {"x-api-key": token},
            {"x-forwarded-user": "ana"},
            {"x-forwarded-email": "ana"},
            {"remote-user": "ana"},
            {"x-access-token": token},
            {"cookie": f"access_token={forged}"},
            {"cookie": f"token={token}"},
            {"cookie": f"access_token={guessed}"},
            {"cookie": "access_token="},
            {"cookie": f"access_token={running.runtime.identity.issue_login('carla').token}"},
        ]
        for method, path, _ in await operations(nobody):
            for headers in attempts:
                response = await nobody.request(method, things.address(path), headers=headers)
                assert response.status_code == 401, f"{method} {path} with {headers}"
            response = await nobody.request(method, things.address(path), params={"access_token": token})
            assert response.status_code == 401


async def test_a_user_who_was_taken_off_the_list_is_signed_out_at_once(
    users: str, redis_url: str, tmp_path: Path
) -> None:
    """Row 34: who may ask is looked up on each request."""
    async with two_users(users, redis_url, tmp_path) as (running, _), running.client("bert") as bert:
        assert (await bert.get("/api/v1/conversations")).status_code == 200
        del running.runtime.identity._users["bert"]
        assert (await bert.get("/api/v1/conversations")).status_code == 401
        assert (await bert.post("/api/v1/consult", json={"message": "How?"})).status_code == 401


def test_users_sign_in_by_password_at_the_served_app_and_ask(users: str, tmp_path: Path) -> None:
    settings = {"ASCLEPIUS_AUTH": "password", "ASCLEPIUS_USERS": users, "ASCLEPIUS_LOAD_DEMO": "false"}
    with serve(tmp_path / "data", loaded=False, **settings) as served:
        with httpx.Client(base_url=served.url, timeout=60) as client:
            assert client.post("/login", data={"username": "ana", "password": "for bert"}).status_code == 401
            assert client.post("/auth/header", headers={"x-forwarded-user": "ana"}).status_code >= 400
            assert client.get("/api/v1/conversations").status_code == 401
            assert client.post("/login", data={"username": "ana", "password": "for ana"}).status_code == 200
            answer = client.post("/api/v1/consult", json={"message": "What is asthma?", "stream": False}).json()
            listed = client.get("/api/v1/conversations").json()["conversations"]
        with httpx.Client(base_url=served.url, timeout=60) as other:
            other.post("/login", data={"username": "bert", "password": "for bert"}).raise_for_status()
            assert other.get("/api/v1/conversations").json() == {"conversations": []}
            assert other.get(f"/api/v1/conversations/{answer['conversation_id']}").status_code == 404
            assert other.get(f"/api/v1/turns/{answer['turn_id']}/events").status_code == 404
            assert other.get("/api/v1/nothing").status_code == 404
            assert other.put("/api/v1/consult").status_code == 405
    assert [summary["id"] for summary in listed] == [answer["conversation_id"]]
