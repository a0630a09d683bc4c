"""Two ways in, one citation: the whole app with the model server's own file search, over real sockets and processes."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from chat_app.cli.running_app import ask_running_app
from tests.support.offline_server import offline_server
from tests.support.served import Served, asclepius, serve
from tests.support.services import wait_until

pytestmark = pytest.mark.served

Json = dict[str, Any]
QUESTION = "What are the contraindications for ACE inhibitors?"
KEY = "sk-test"
DEMO = [
    "asthma",
    "atrial-fibrillation-anticoagulation",
    "chronic-kidney-disease",
    "community-acquired-pneumonia",
    "hypertension",
    "type-2-diabetes",
]


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model server outside the app, with files, vector stores and hosted file search."""
    with offline_server(tmp_path_factory.mktemp("provider"), "--delta-ms", "0") as url:
        yield url


@pytest.fixture(scope="module")
def clinic(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app with nothing set but that server: ``auto``."""
    data = tmp_path_factory.mktemp("clinic") / "data"
    with serve(data, OPENAI_BASE_URL=provider, OPENAI_API_KEY=KEY) as running:
        yield running


@pytest.fixture(scope="module")
def environment(provider: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": provider, "OPENAI_API_KEY": KEY}


@pytest.fixture
def synced(clinic: Served, environment: dict[str, str]) -> Served:
    """The app with its guidelines at the server, uploaded again only where they are not searched there."""
    if tools_called(turn(clinic)) != ["file_search"]:
        asclepius("guidelines", "sync", data_dir=clinic.data_dir, **environment)
    return clinic


def turn(running: Served, question: str = QUESTION, **options: object) -> list[Json]:
    """The events of one question, asked over the running app's HTTP API."""

    async def consulted() -> list[Json]:
        events = ask_running_app(running.url, {"message": question, **options})
        return [event.model_dump(mode="json") async for _, event in events]

    return asyncio.run(consulted())


def tools_called(events: list[Json]) -> list[str]:
    """Return which searches of guidelines were called, in order; the drug database is searched beside them."""
    called = [event["item"]["function"]["name"] for event in events if event.get("name") == "agent.tool_call_start"]
    return [name for name in called if name in {"file_search", "search_clinical_guidelines"}]


def references(events: list[Json]) -> list[Json]:
    (ready,) = (event for event in events if event["type"] == "references")
    found: list[Json] = ready["references"]
    return found


def opened(running: Served, path: str) -> bytes:
    jar = urllib.request.HTTPCookieProcessor()
    browser = urllib.request.build_opener(jar)
    browser.open(urllib.request.Request(f"{running.url}/auth/header", method="POST"), timeout=60)
    with browser.open(f"{running.url}/api/v1/{path}", timeout=60) as answer:
        content: bytes = answer.read()
    return content


def files_at(provider: str) -> list[str]:
    with openai.OpenAI(api_key=KEY, base_url=provider) as client:
        return [file.filename for file in client.files.list()]


def test_auto_uploads_nothing_by_itself(clinic: Served, provider: str, environment: dict[str, str]) -> None:
    asclepius("guidelines", "sync", "--withdraw", data_dir=clinic.data_dir, **environment)
    events = turn(clinic)
    assert tools_called(events) == ["search_clinical_guidelines"]
    assert "angioedema" in events[-1]["answer"]
    assert files_at(provider) == []


def test_auto_searches_at_the_server_once_the_operator_has_uploaded(
    clinic: Served, provider: str, environment: dict[str, str]
) -> None:
    done = asclepius("guidelines", "sync", "--json", data_dir=clinic.data_dir, **environment)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert sorted([*report["uploaded"], *report["unchanged"]]) == DEMO
    assert sorted(files_at(provider)) == [f"{name}.pdf" for name in DEMO]

    events = turn(clinic)

    assert tools_called(events) == ["file_search"]
    assert "angioedema" in events[-1]["answer"]


def test_what_the_server_found_is_cited_as_the_same_passages_with_page_and_verified_quotes(
    synced: Served,
) -> None:
    events = turn(synced)
    listed = references(events)
    numbers = [event["number"] for event in events if event["type"] == "citation"]
    assert [reference["number"] for reference in listed] == list(dict.fromkeys(numbers))
    assert ("hypertension", 4) in [(r["passage"]["document_id"].split("@")[0], r["passage"]["page"]) for r in listed]
    stored = [reference for reference in listed if reference["passage"]["id"].startswith("guideline:")]
    assert stored
    for reference in stored:
        passage = reference["passage"]
        assert all(quote in passage["text"] for quote in reference["quotes"])
        same = json.loads(opened(synced, f"passages/{urllib.parse.quote(passage['id'])}"))
        assert (same["text"], same["page"], same["title"]) == (passage["text"], passage["page"], passage["title"])
        page = f"guidelines/{passage['document_id']}/pages/{passage['page']}.png"
        query = urllib.parse.urlencode({"quote": (reference["quotes"] or [""])[0], "scale": 0.5})
        assert opened(synced, f"{page}?{query}").startswith(b"\x89PNG")


def test_a_passage_found_at_the_server_is_the_one_that_the_own_tool_finds(
    synced: Served, environment: dict[str, str]
) -> None:
    hosted = references(turn(synced))
    asclepius("guidelines", "sync", "--withdraw", data_dir=synced.data_dir, **environment)
    own = references(turn(synced))
    quoted_by_own = {reference["passage"]["id"] for reference in own if reference["quotes"]}
    assert quoted_by_own & {reference["passage"]["id"] for reference in hosted if reference["quotes"]}


def test_a_guideline_that_changes_here_is_not_searched_at_the_server_until_the_next_sync(
    synced: Served, environment: dict[str, str]
) -> None:
    data = synced.data_dir
    asclepius("guidelines", "remove", "asthma", data_dir=data, **environment)
    wait_until(lambda: tools_called(turn(synced)) == ["search_clinical_guidelines"], what="the own tool")

    report = json.loads(asclepius("guidelines", "sync", "--json", data_dir=data, **environment).stdout)

    assert report["removed"] == ["asthma"]
    assert tools_called(turn(synced)) == ["file_search"]
    demo = Path(__file__).parents[2] / "tools" / "guidelines" / "demo"
    asclepius("guidelines", "add", str(demo / "asthma.pdf"), data_dir=data, **environment)


def test_a_store_that_vanished_at_the_server_costs_at_most_one_answer(
    clinic: Served, provider: str, environment: dict[str, str]
) -> None:
    report = json.loads(asclepius("guidelines", "sync", "--json", data_dir=clinic.data_dir, **environment).stdout)
    # The app lists its guidelines every few seconds, and another test has just added one.
    wait_until(lambda: tools_called(turn(clinic)) == ["file_search"], what="the server's search")
    with openai.OpenAI(api_key=KEY, base_url=provider) as client:
        client.vector_stores.delete(report["vector_store_id"])
    turn(clinic)
    assert tools_called(turn(clinic)) == ["search_clinical_guidelines"]


def test_at_the_server_too_only_the_guidelines_that_were_chosen_are_searched(
    synced: Served,
) -> None:
    for chosen in (["asthma"], ["asthma", "type-2-diabetes"]):
        events = turn(synced, "When is hospital admission or referral needed?", documents=chosen)
        assert tools_called(events) == ["file_search"]
        (found,) = [
            event["item"]["function_output"]["output"]["results"]
            for event in events
            if event.get("name") == "agent.tool_call_complete"
            and event["item"]["function_output"]["name"] == "file_search"
        ]
        assert {result["attributes"]["guideline_id"] for result in found} <= set(chosen)
        assert found


def test_guidelines_switched_off_are_searched_neither_here_nor_there(
    synced: Served,
) -> None:
    events = turn(synced, use_clinical_guidelines=False)
    assert not {"file_search", "search_clinical_guidelines"} & set(tools_called(events))


def test_hosted_uploads_and_searches_by_itself(tmp_path: Path) -> None:
    with serve(tmp_path / "data", ASCLEPIUS_GUIDELINE_SEARCH="hosted") as running:
        wait_until(lambda: tools_called(turn(running)) == ["file_search"], what="the upload", seconds=150)
        events = turn(running)
        assert any(r["passage"]["page"] == 4 and r["quotes"] for r in references(events))
        added = tmp_path / "gout.pdf"
        write_guideline(added)
        asclepius("guidelines", "add", str(added), data_dir=running.data_dir, ASCLEPIUS_GUIDELINE_SEARCH="hosted")
        question = "How is febuxostat started in gout?"

        def is_there() -> bool:
            # What is loaded is listed now and then: until then the server is searched for what was there before.
            answer = turn(running, question)
            found = any(r["passage"]["document_id"].startswith("gout@") for r in references(answer))
            return found and tools_called(answer)[-1:] == ["file_search"]

        wait_until(is_there, what="it there", seconds=150)


def test_hosted_with_a_server_that_has_no_vector_stores_answers_from_the_own_index(tmp_path: Path) -> None:
    done = asclepius(
        "guidelines",
        "sync",
        data_dir=tmp_path / "data",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        OPENAI_API_KEY=KEY,
        ASCLEPIUS_LOAD_DEMO="false",
    )
    assert done.returncode == 1
    assert "no vector stores" in done.stderr
    assert "Traceback" not in done.stderr


def write_guideline(path: Path) -> None:
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A4)
    canvas.setTitle("Gout in adults")
    text = canvas.beginText(72, 700)
    text.setFont("Helvetica", 11)
    text.textLine("In gout, febuxostat is started at 40 mg once daily and raised to 80 mg after two weeks.")
    text.textLine("Colchicine prophylaxis is given for at least three months after febuxostat is started.")
    canvas.drawText(text)
    canvas.showPage()
    canvas.save()
