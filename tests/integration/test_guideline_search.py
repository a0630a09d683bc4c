# pyright: reportPrivateUsage=false
"""Filters, dense search, reindexing and evaluation of the guideline library, on real servers."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import math
import re
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymilvus import DataType, MilvusClient

from chat_app.evaluation.page_evaluation import evaluate_pages
from chat_app.evaluation.retrieval_evaluation import (
    evaluate_retrieval,
    ndcg,
    read_collection,
    recall,
)
from tests.support.served import asclepius
from tests.support.waiting import loop_turns
from tools.embeddings.embedders import HttpEmbedder, OnnxEmbedder
from tools.errors import IndexMismatch, SourceRejected, ToolUnavailable
from tools.guidelines import GuidelineLibrary, SearchFilter, open_embedder

WHO = """---
title: Fever
issuer: World Health Organization
date: 2025-03-01
---

# Fever

Give paracetamol 1 g by mouth for fever in adults.
"""
OLD = WHO.replace("World Health Organization", "Old Society").replace("2025-03-01", "1998").replace("1 g", "500 mg")


@pytest.fixture
async def library(milvus_uri: str, tmp_path: Path) -> AsyncIterator[GuidelineLibrary]:
    opened = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=f"test_{uuid4().hex[:12]}")
    yield opened
    await opened.aclose()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


async def test_the_rows_of_one_table_leave_room_for_other_passages(library: GuidelineLibrary, tmp_path: Path) -> None:
    drugs = "\n".join(f"| Fever drug {name} | {dose} mg of the fever drug |" for dose, name in enumerate("ABCDEFGH", 1))
    table = f"Table 1. Fever drugs\n\n| Fever drug | Dose |\n|---|---|\n{drugs}"
    text = WHO.replace("Give paracetamol 1 g by mouth for fever in adults.", table)
    await library.add(write(tmp_path / "table.md", text))
    await library.add(write(tmp_path / "who.md", WHO))
    found = (await library.search("dose of the fever drug", limit=6)).passages
    rows = [each for each in found if each.document_id.startswith("table-md") and "Fever drug H" not in each.text]
    assert len(rows) <= 2
    assert any(each.document_id.startswith("who-md") for each in found)


async def test_a_search_can_be_limited_by_document_issuer_and_date(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write(tmp_path / "who.md", WHO))
    await library.add(write(tmp_path / "old.md", OLD))
    cases: list[tuple[SearchFilter, set[str]]] = [
        (SearchFilter(), {"who-md", "old-md"}),
        (SearchFilter(issuers=("world health",)), {"who-md"}),
        (SearchFilter(issued_from="2020"), {"who-md"}),
        (SearchFilter(issued_from="2025-03"), {"who-md"}),
        (SearchFilter(issued_to="1998"), {"old-md"}),
        (SearchFilter(issued_from="1990", issued_to="2024-12-31"), {"old-md"}),
        (SearchFilter(documents=("who-md",)), {"who-md"}),
        (SearchFilter(documents=("who-md",), issued_to="1999"), set()),
    ]
    for chosen, expected in cases:
        found = await library.search("paracetamol for fever", chosen=chosen)
        assert {passage.document_id.partition("@")[0] for passage in found.passages} == expected, chosen


async def test_a_lost_index_is_noticed_and_built_again_from_the_originals(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    await library.add(write(tmp_path / "who.md", WHO))
    before = (await library.search("paracetamol")).passages
    await asyncio.to_thread(library._retriever.drop)

    problems = await library.check()
    assert any("asclepius guidelines reindex" in problem for problem in problems)

    report = await library.reindex()

    assert [document.id for document in report.documents] == ["who-md"]
    assert await library.check() == []
    assert [found.id for found in (await library.search("paracetamol")).passages] == [found.id for found in before]


async def test_a_guideline_that_an_earlier_version_read_is_named_until_it_is_read_again(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    source = tmp_path / "anaemia.md"
    source.write_text("# Anaemia\n\nGive iron to adults with anaemia and renal impairment.\n")
    await library.add(source)
    for kept in (tmp_path / "library" / "documents").glob("*.json"):
        kept.write_text(re.sub(r'"reader": ?\d+', '"reader": 1', kept.read_text()))

    (problem,) = await library.check()
    assert "anaemia-md" in problem
    assert "asclepius guidelines reindex" in problem

    await library.reindex()
    assert await library.check() == []


async def test_an_index_of_another_version_says_what_to_run(milvus_uri: str, tmp_path: Path) -> None:
    """Row 31 of the fault list."""
    name = f"test_{uuid4().hex[:12]}"
    client = MilvusClient(uri=milvus_uri)
    schema = client.create_schema()
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=64)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=4)
    await asyncio.to_thread(client.create_collection, name, schema=schema)
    library = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=name)
    await asyncio.to_thread(write, tmp_path / "who.md", WHO)

    with pytest.raises(IndexMismatch, match="asclepius guidelines reindex"):
        await library.add(tmp_path / "who.md")
    assert any("reindex" in problem for problem in await library.check())
    await library.reindex()
    await library.add(tmp_path / "who.md")

    assert (await library.search("paracetamol")).passages != ()
    await library.aclose()


async def test_no_word_of_a_question_reaches_a_log_when_the_index_fails(
    milvus_uri: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Row 46 of the fault list: pymilvus logs each failed request with what it holds."""
    name = f"test_{uuid4().hex[:12]}"
    library = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=name)
    await library.add(await asyncio.to_thread(write, tmp_path / "who.md", WHO))
    caplog.set_level(logging.DEBUG)
    await asyncio.to_thread(library._retriever.drop)
    library._retriever.terms._checked = True

    with pytest.raises(ToolUnavailable) as failure:
        await library.search("zebrafever in Mrs Canary", documents=["who-md"])

    output = capfd.readouterr()
    for text in (str(failure.value), caplog.text, output.err, output.out):
        assert "zebrafever" not in text.lower()
        assert "canary" not in text.lower()
        assert "RPC error" not in text
    await library.aclose()


async def test_the_event_loop_stays_free_while_guidelines_are_added_and_searched(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    text = "# Fever\n\n" + "\n\n".join(f"Give paracetamol {n} mg for fever number {n}." for n in range(3_000))
    path = await asyncio.to_thread(write, tmp_path / "long.md", text)
    await library.load()

    added, turns = await loop_turns(library.add(path))
    assert not isinstance(added, BaseException)
    assert turns > 20
    searches = asyncio.gather(*(library.search(f"paracetamol for fever {n}") for n in range(20)))
    found, turns = await loop_turns(searches)
    assert not isinstance(found, BaseException)
    assert turns > 5


# -- dense search


def hashed(text: str) -> list[float]:
    """A vector of word counts folded onto eight places: like words give like vectors."""
    vector = [0.0] * 8
    for word in text.lower().split():
        vector[sum(map(ord, word)) % 8] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


class EmbeddingServer(BaseHTTPRequestHandler):
    """``POST /v1/embeddings`` as OpenAI describes it, answering out of order as the index allows."""

    failing = False

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.failing or self.path != "/v1/embeddings" or self.headers["Authorization"] != "Bearer key":
            self.send_error(503)
            return
        data = [{"index": at, "embedding": hashed(text)} for at, text in enumerate(body["input"])]
        answer = json.dumps({"object": "list", "model": body["model"], "data": data[::-1]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@contextmanager
def embedding_server() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), EmbeddingServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def test_an_embedding_server_is_asked_as_openai_describes_it() -> None:
    with embedding_server() as url:
        embedder = open_embedder(url, model="any", api_key="key")

        assert isinstance(embedder, HttpEmbedder)
        assert embedder.dimension == 8
        texts = [f"text {number}" for number in range(70)]
        assert embedder.embed(texts) == [hashed(text) for text in texts]
        with pytest.raises(ToolUnavailable, match="status 503"):
            HttpEmbedder(url, "any", "wrong").embed(["x"])
    with pytest.raises(ToolUnavailable, match="ASCLEPIUS_EMBEDDINGS"):
        embedder.embed(["nobody listens"])


async def test_with_an_embedder_passages_are_found_by_meaning_and_by_terms_without_it(
    milvus_uri: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(write, tmp_path / "who.md", WHO)
    with embedding_server() as url:
        library = GuidelineLibrary(
            milvus_uri,
            tmp_path / "library",
            embedder=open_embedder(url, model="any", api_key="key"),
            collection=f"test_{uuid4().hex[:12]}",
        )
        await library.add(tmp_path / "who.md")
        # No stem in common with the passage: only the vector finds it.
        assert (await library.search("zzz yyy")).passages != ()
        assert await library.check() == []
    # The embedding server is gone now.
    assert (await library.search("paracetamol")).passages != ()
    assert (await library.search("zzz yyy")).passages == ()
    await library.aclose()


@pytest.mark.slow
def test_the_settings_alone_make_the_app_search_by_meaning(tmp_path: Path) -> None:
    data = tmp_path / "data"
    guideline = write(tmp_path / "who.md", WHO)
    with embedding_server() as url:
        settings = {
            "ASCLEPIUS_EMBEDDINGS": url,
            "ASCLEPIUS_EMBEDDINGS_MODEL": "any",
            "ASCLEPIUS_EMBEDDINGS_KEY": "key",
            "ASCLEPIUS_LOAD_DEMO": "false",
        }
        added = asclepius("guidelines", "add", str(guideline), data_dir=data, **settings)
        assert added.returncode == 0, added.stderr
        # No stem in common with the passage: only the vector finds it.
        found = asclepius("guidelines", "search", "zzz yyy", "--json", data_dir=data, **settings)
    assert "paracetamol" in json.loads(found.stdout)["passages"][0]["text"]


def onnx_folder(shared: Path) -> Path:
    if not (find_spec("onnxruntime") and find_spec("tokenizers")):
        pytest.skip("onnxruntime and tokenizers (extra local-embeddings) are not installed")
    return shared / "data" / "models" / "all-minilm-l6-v2-onnx-int8"


def test_a_local_onnx_model_puts_like_texts_together(shared: Path) -> None:
    embedder = OnnxEmbedder(onnx_folder(shared))

    assert embedder.dimension == 384
    question, answer, other = embedder.embed(
        ["How is gout treated?", "Allopurinol lowers uric acid in gout.", "Cool a burnt hand under water."]
    )
    assert dot(question, answer) > dot(question, other) + 0.2
    assert dot(question, question) == pytest.approx(1.0, abs=1e-5)


def dot(first: list[float], second: list[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True))


def test_a_folder_that_holds_no_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolUnavailable, match=r"model\.onnx|local-embeddings"):
        OnnxEmbedder(tmp_path).embed(["x"])


# -- evaluation


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "beir"
    folder.mkdir()
    topics = ["gout", "sepsis", "asthma", "malaria", "anaemia", "epilepsy", "migraine", "glaucoma", "stroke", "croup"]
    with gzip.open(folder / "corpus.jsonl.gz", "wt", encoding="utf-8") as corpus:
        for at, topic in enumerate(topics):
            corpus.write(json.dumps({"_id": f"d{at}", "title": topic, "text": f"Care of {topic} begins early."}) + "\n")
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as queries:
        for at, topic in enumerate(topics):
            queries.write(json.dumps({"_id": f"q{at}", "text": f"How is {topic} cared for?"}) + "\n")
    rows = ["query-id\tcorpus-id\tscore", *(f"q{at}\td{at}\t1" for at in range(len(topics)))]
    (folder / "qrels_test.tsv").write_text("\n".join(rows) + "\n")
    return folder


def test_a_beir_collection_is_measured_and_leaves_nothing_behind(milvus_uri: str, collection: Path) -> None:
    client: Any = MilvusClient(uri=milvus_uri)
    before = set(client.list_collections())
    report = evaluate_retrieval(milvus_uri, read_collection(collection))

    printed = report.model_dump(by_alias=True)
    assert (printed["ndcg@10"], printed["recall@10"]) == (1.0, 1.0)
    assert (report.queries, report.passages, report.dense) == (10, 10, False)
    assert report.ms_per_query > 0
    assert set(client.list_collections()) == before


def test_the_measures_are_those_of_the_textbook() -> None:
    graded = {"a": 1, "b": 1, "c": 0}

    assert ndcg(["a", "b"], graded) == 1.0
    assert ndcg(["x", "a"], graded) == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert recall(["x", "a"], graded) == 0.5


def test_a_folder_of_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceRejected, match="BEIR"):
        read_collection(tmp_path)


def test_a_collection_may_number_its_texts_and_leave_lines_empty(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": 7, "text": "Aspirin for pain."}\n\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": 1, "text": "What helps against pain?"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t7\t1\n\n")

    read = read_collection(tmp_path)
    assert (read.passages, read.relevance) == ({"7": "Aspirin for pain."}, {"1": {"7": 1}})


async def test_page_questions_count_first_and_first_five_and_rejections(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    await library.add(Path(__file__).parents[2] / "tools" / "guidelines" / "demo" / "hypertension.pdf")
    asked = tmp_path / "questions.json"
    asked.write_text(
        json.dumps(
            [
                {
                    "question": "What daily dose of lisinopril is usual?",
                    "document": "hypertension.pdf",
                    "gold_pages": [3],
                },
                {"question": "What daily dose of lisinopril is usual?", "document": "hypertension", "gold_pages": [1]},
                {"question": "Which laser treats glaucoma?", "document": None, "gold_pages": []},
            ]
        )
    )

    report = await evaluate_pages(library, asked)

    printed = report.model_dump(by_alias=True)
    assert printed["hit@1"] == 0.5
    assert printed["unanswerable_weak"] == 1.0
    assert report.misses[0].found[0] == "hypertension:3"
    asked.write_text('[{"question": "x", "document": "not-loaded", "gold_pages": [1]}]')
    with pytest.raises(SourceRejected, match="not loaded"):
        await evaluate_pages(library, asked)
