"""Each column of a comparison has a feedback of its own, which its owner alone gives and which comes back with it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import httpx

from tests.support.page_server import fake_page
from tests.support.page_sockets import asked, asking, seen, socket_of
from tests.support.served import asclepius

MODELS = ["asclepius-extractive", "ada-large"]


def _signed_in(url: str, user: str) -> httpx.Client:
    client = httpx.Client(base_url=url, headers={"X-Forwarded-User": user}, timeout=60)
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


async def test_an_operator_reads_ratings_with_their_questions_and_counts_usage(tmp_path: Path) -> None:
    with (
        fake_page(tmp_path, environment={"ASCLEPIUS_AUTH": "header"}) as page,
        closing(_signed_in(page.url, "ada")) as client,
    ):
        question = "What are the contraindications for ACE inhibitors?"
        thread, *_ = await asked(page, client, question)
        elements = client.get(f"/project/thread/{thread}").json()["elements"]
        rated = elements[0]["forId"]
        body = {"feedback": {"forId": rated, "value": 1, "comment": "clear"}}
        assert client.put("/feedback", json=body).status_code == 200
        data_dir = page.data_dir

        def read(*arguments: str) -> str:
            done = asclepius(*arguments, data_dir=data_dir, ASCLEPIUS_AUTH="header")
            assert done.returncode == 0, done.stderr
            return done.stdout

        exported = json.loads(read("feedback", "export"))
        assert (exported["user"], exported["helpful"], exported["comment"]) == ("ada", True, "clear")
        assert exported["question"] == question
        assert "contraindicated in pregnancy" in exported["answer"]
        case = json.loads(read("feedback", "export", "--eval"))
        assert case["question"] == question
        assert case["must"] == exported["quotes"] != []
        assert "helpful" in read("feedback", "list")
        (day,) = json.loads(read("usage", "--json"))
        assert day == {
            "day": exported["at"][:10],
            "questions": 1, "users": 1, "conversations": 1, "helpful": 1, "unhelpful": 0,
        }  # fmt: skip
        assert read("audit", "list", "--action", "export").count("feedback") == 3
