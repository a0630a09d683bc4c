"""Infobutton: the parameters of HL7's guide lead to the page with a question, or to a feed of quoted passages."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4
from xml.etree import ElementTree as ET

import httpx
import pytest

from chat_app.interface.security.accounts import api_keys_at, create_key
from tests.support.api_server import Api, api
from tools.drug_database import DrugDatabase
from tools.guidelines import GuidelineLibrary

RXNORM, ICD_10, SNOMED = "2.16.840.1.113883.6.88", "2.16.840.1.113883.6.90", "2.16.840.1.113883.6.96"
ATOM = "{http://www.w3.org/2005/Atom}"
MAIN = "mainSearchCriteria.v."
JSON = {"knowledgeResponseType": "application/json"}
GUIDELINE = """# Asthma in adults

## Diagnosis

Spirometry with reversibility confirms asthma in adults before treatment begins (J45.909).

## Treatment

Inhaled corticosteroids are the first choice in asthma with symptoms twice a month or more.
"""


@pytest.fixture(scope="module")
def content(milvus_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """Load the demonstration drugs, the RxNorm code of warfarin and one guideline; yield where they are."""
    name, folder = f"drugs_{uuid4().hex[:8]}", tmp_path_factory.mktemp("infobutton")
    (folder / "formulary.csv").write_text("generic_name,rxcui\nwarfarin,11289\n", "utf-8")
    (folder / "asthma.md").write_text(GUIDELINE, "utf-8")

    async def load() -> None:
        drugs = DrugDatabase(milvus_uri, name=name)
        library = GuidelineLibrary(milvus_uri, folder / "library", collection=f"test_{name}")
        await drugs.load_demo()
        await drugs.import_paths([folder / "formulary.csv"])
        await library.add(folder / "asthma.md")
        await drugs.aclose()
        await library.aclose()

    async def remove() -> None:
        drugs = DrugDatabase(milvus_uri, name=name)
        await drugs.clear()
        await drugs.aclose()

    asyncio.run(load())
    yield milvus_uri, name, folder / "library"
    asyncio.run(remove())


@asynccontextmanager
async def infobutton(
    content: tuple[str, str, Path], folder: Path, **server: Any
) -> AsyncIterator[tuple[Api, httpx.AsyncClient]]:
    uri, name, library_folder = content
    drugs = DrugDatabase(uri, name=name)
    library = GuidelineLibrary(uri, library_folder, collection=f"test_{name}")
    async with (
        api(None, folder / "data", drugs=drugs, guidelines=library, **server) as running,
        running.client("ana") as client,
    ):
        yield running, client
    await drugs.aclose()
    await library.aclose()


async def question(client: httpx.AsyncClient, **given: str) -> str:
    """Return the question that the page is opened with."""
    answer = await client.get("/infobutton", params=given)
    assert answer.status_code == 303, answer.text
    path, _, asked = answer.headers["location"].partition("#ask=")
    assert path == "/"
    return unquote(asked)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (
            {MAIN + "c": "11289", MAIN + "cs": RXNORM, "taskContext.c.c": "MEDOE"},
            "What are the dosage, contraindications and interactions of warfarin?",
        ),
        (
            {MAIN + "dn": "Coumadin", "taskContext.c.c": "MLREV", "patientPerson.administrativeGenderCode.c": "F"},
            "What are the interactions, warnings and contraindications of warfarin in a female patient?",
        ),
        (
            {
                MAIN + "c": "J45.909",
                MAIN + "cs": ICD_10,
                MAIN + "dn": "Asthma, unspecified",
                "patientPerson.administrativeGenderCode.c": "M",
                "age.v.v": "6",
                "age.v.u": "mo",
            },
            "How is Asthma, unspecified diagnosed and treated in a male patient aged 6 months?",
        ),
        (
            {MAIN + "c": "195967001", MAIN + "cs": SNOMED, MAIN + "ot": "asthma", "age.v.v": "1", "subTopic.v.dn": ""},
            "What do the sources say about asthma in a patient aged 1 year?",
        ),
        ({MAIN + "dn": "asthma", "subTopic.v.dn": "first choice"}, "asthma: first choice?"),
        ({MAIN + "dn": "Warfarin poisoning"}, "What do the sources say about Warfarin poisoning?"),
        ({MAIN + "c": "J45", MAIN + "cs": ICD_10}, "How is J45 diagnosed and treated?"),
        ({MAIN + "dn": "a#b&c=1 <b>\n100 %"}, "What do the sources say about a#b&c=1 <b> 100 %?"),
    ],
    ids=str,
)
async def test_the_parameters_become_a_question_of_the_page(
    content: tuple[str, str, Path], tmp_path: Path, given: dict[str, str], asked: str
) -> None:
    async with infobutton(content, tmp_path) as (_, client):
        assert await question(client, **given) == asked


async def test_a_reader_who_is_not_signed_in_keeps_the_question_and_learns_nothing_from_the_database(
    content: tuple[str, str, Path], tmp_path: Path
) -> None:
    async with infobutton(content, tmp_path) as (running, _), running.client(None) as nobody:
        given = {MAIN + "c": "11289", MAIN + "cs": RXNORM}
        assert (
            await question(nobody, **given) == "What are the dosage, contraindications and interactions of RxCUI 11289?"
        )
        assert (await nobody.get("/infobutton", params={**given, **JSON})).status_code == 401
        headers = {"authorization": "Bearer ask_wrong_key"}
        assert (await nobody.get("/infobutton", params={**given, **JSON}, headers=headers)).status_code == 401


async def test_a_feed_quotes_the_label_in_the_order_of_the_task_for_a_key_that_may_read(
    content: tuple[str, str, Path], tmp_path: Path
) -> None:
    given = {MAIN + "c": "11289", MAIN + "cs": RXNORM, "taskContext.c.c": "MLREV", **JSON}
    async with infobutton(content, tmp_path) as (running, _), running.client(None) as manager:
        key = create_key(api_keys_at(running.runtime.settings.storage.data_dir), "ana", "read", 1)
        answer = await manager.get("/infobutton", params=given, headers={"authorization": f"Bearer {key}"})
        assert answer.status_code == 200, answer.text
        uri, name, _ = content
        drugs = DrugDatabase(uri, name=name)
        record = await drugs.record("warfarin")
        await drugs.aclose()
    feed = answer.json()["feed"]
    assert feed["title"]["_value"] == "What are the interactions, warnings and contraindications of warfarin?"
    assert {"scheme": MAIN + "c", "term": "11289"} in feed["category"]
    titles = [entry["title"]["_value"].rpartition(" › ")[2] for entry in feed["entry"]]
    assert titles[:3] == ["Interactions", "Warnings", "Contraindications"]
    assert record is not None
    for sentence in record.labels[0].sections["interactions"]:
        assert f"<p>{escape(sentence)}</p>" in feed["entry"][0]["content"]["_value"]
    assert feed["entry"][0]["link"][0]["href"].startswith("https://")


@pytest.mark.parametrize("kind", ["application/atom+xml", "text/xml", "application/xml"])
async def test_an_atom_feed_has_guideline_passages_with_links_that_open(
    content: tuple[str, str, Path], tmp_path: Path, kind: str
) -> None:
    given = {MAIN + "c": "J45.909", MAIN + "cs": ICD_10, MAIN + "dn": "Asthma <i>&", "knowledgeResponseType": kind}
    async with infobutton(content, tmp_path) as (running, client):
        answer = await client.get("/infobutton", params=given)
        assert answer.headers["content-type"].startswith(kind)
        feed = ET.fromstring(answer.text)
        entries = feed.findall(f"{ATOM}entry")
        assert entries
        texts = "".join(entry.findtext(f"{ATOM}content") or "" for entry in entries)
        assert "Inhaled corticosteroids are the first choice" in texts
        for entry in entries:
            for required in ("id", "title", "updated"):
                assert entry.findtext(f"{ATOM}{required}")
            assert (entry.findtext(f"{ATOM}title") or "").count("Asthma in adults") == 1
            link = entry.find(f"{ATOM}link")
            assert link is not None
            href = link.get("href", "")
            assert href.startswith(running.url)
            assert (await client.get(href)).status_code == 200
    categories = {one.get("scheme"): one.get("term") for one in feed.findall(f"{ATOM}category")}
    assert categories[MAIN + "dn"] == "Asthma <i>&"


async def test_a_bare_code_finds_only_passages_in_which_it_is_written(
    content: tuple[str, str, Path], tmp_path: Path
) -> None:
    async with infobutton(content, tmp_path) as (_, client):
        known = (await client.get("/infobutton", params={MAIN + "c": "J45.909", MAIN + "cs": ICD_10, **JSON})).json()
        other = (await client.get("/infobutton", params={MAIN + "c": "Z99.999", MAIN + "cs": ICD_10, **JSON})).json()
    assert ["J45.909" in entry["content"]["_value"] for entry in known["feed"]["entry"]] == [True]
    assert other["feed"]["entry"] == []
    assert "No label and no guideline that is loaded here" in other["feed"]["subtitle"]["_value"]


async def test_odd_parameters_are_refused_and_never_a_server_error(
    content: tuple[str, str, Path], tmp_path: Path
) -> None:
    names = [MAIN + part for part in ("c", "cs", "dn", "ot")]
    names += ["subTopic.v.dn", "taskContext.c.c", "patientPerson.administrativeGenderCode.c", "age.v.v", "age.v.u"]
    odd = [
        "",
        " ",
        "\x00",
        "\x1b[2J",
        "\ufffe",
        "\u202e",
        "a" * 301,
        "'; --",
        "<script>",
        "1e9",
        "NaN",
        "-1",
        "𝔘",
        "72",
    ]
    chosen = random.Random(3)
    async with infobutton(content, tmp_path) as (_, client):
        for refused in ({}, {MAIN + "dn": ""}, {MAIN + "dn": "x" * 301}, {MAIN + "dn": "x", "age.v.v": "old"}):
            answer = await client.get("/infobutton", params=refused)
            assert (answer.status_code, "x" * 20 in answer.text) == (422, False)
        unknown = {MAIN + "dn": "x", "knowledgeResponseType": "application/pdf"}
        assert (await client.get("/infobutton", params=unknown)).status_code == 422
        empty = await client.get("/infobutton")
        assert (empty.status_code, "Send mainSearchCriteria.v.c" in empty.json()["detail"]) == (422, True)
        for kind in ("text/html", "application/json", "text/xml"):
            for _ in range(25):
                given = {name: chosen.choice(odd) for name in chosen.sample(names, 4)}
                answer = await client.get("/infobutton", params={**given, "knowledgeResponseType": kind})
                assert answer.status_code in {200, 303, 422}, (given, answer.text)
                if answer.status_code == 200 and kind == "text/xml":
                    ET.fromstring(answer.text)
