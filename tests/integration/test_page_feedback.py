"""Each column of a comparison has a feedback of its own, which its owner alone gives and which comes back with it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import httpx

from tests.support.page_server import fake_page
from tests.support.page_sockets import asking, seen, socket_of

MODELS = ["asclepius-extractive", "ada-large"]


def _signed_in(url: str, user: str) -> httpx.Client:
    client = httpx.Client(base_url=url, headers={"X-Forwarded-User": user}, timeout=20)
    assert client.post("/auth/header").status_code == 200
    return client


async def test_a_column_is_rated_by_who_asked_alone_and_no_other_column_with_it(tmp_path: Path) -> None:
    environment = {"ASCLEPIUS_AUTH": "header", "ASCLEPIUS_MODELS": ",".join(MODELS)}
    with (
        fake_page(tmp_path, environment=environment) as page,
        closing(_signed_in(page.url, "ada")) as mine,
        closing(_signed_in(page.url, "bob")) as other,
    ):
        async with socket_of(page, mine) as (socket, events, _):
            await seen(events, "chat_settings")
            await socket.emit("chat_settings_change", {"models": MODELS})
            await socket.emit("client_message", asking("say: compared"))
            columns = await seen(events, "element", 2)
            await seen(events, "task_end", 3)
        rated, unrated = (column["props"]["message"] for column in columns)
        assert all(column["props"]["compared"] for column in columns)
        body = {"feedback": {"forId": rated, "value": 0, "comment": "dose missing"}}
        assert other.put("/feedback", json=body).status_code == 404
        assert mine.put("/feedback", json=body).status_code == 200
        steps = mine.get(f"/project/thread/{columns[0]['threadId']}").json()["steps"]
        given = {step["id"]: step["feedback"] for step in steps}
        assert (given[rated]["value"], given[rated]["comment"]) == (0, "dose missing")
        assert given[unrated] is None
