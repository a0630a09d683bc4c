"""/v1/embeddings of the offline server, with the official client: a local model's vectors, or a plain refusal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from tests.support.offline_server import ApiDescription, offline_server, start_offline_server

TEXTS = ["Metformin lowers blood glucose.", "Diabetes drugs reduce sugar in the blood.", "The ward has twelve beds."]


@pytest.fixture(scope="module")
def client(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    pytest.importorskip("onnxruntime")
    model = shared / "data/models/all-minilm-l6-v2-onnx-int8"
    with (
        offline_server(tmp_path_factory.mktemp("offline"), "--embeddings", str(model)) as base_url,
        OpenAI(base_url=base_url, api_key="any", max_retries=0) as found,
    ):
        yield found


def likeness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_texts_of_one_meaning_lie_closer_than_others(client: OpenAI) -> None:
    made = client.embeddings.create(model="any", input=TEXTS, encoding_format="float")
    drug, sugar, ward = (item.embedding for item in made.data)
    assert [item.index for item in made.data] == [0, 1, 2]
    assert likeness(drug, drug) == pytest.approx(1.0)
    assert likeness(drug, sugar) > likeness(drug, ward) + 0.2
    assert made.usage.prompt_tokens == made.usage.total_tokens > 0


def test_both_encodings_hold_the_same_numbers(client: OpenAI) -> None:
    # The client asks for base64 by itself when no format is given, and reads it.
    asked: dict[str, Any] = {"model": "any", "input": TEXTS[0]}
    assert client.embeddings.create(**asked).data[0].embedding == pytest.approx(
        client.embeddings.create(**asked, encoding_format="float").data[0].embedding, abs=1e-6
    )


def test_the_answer_fits_the_description(client: OpenAI, shared: Path) -> None:
    body = {"model": "any", "input": TEXTS}
    answer = httpx.post(
        f"{client.base_url}embeddings", json=body, headers={"Authorization": "Bearer any"}, timeout=60
    ).json()
    description = ApiDescription(shared / "data/openapi/openai-openapi.json")
    assert description.problems("CreateEmbeddingResponse", answer) == []


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"input": [101, 2023, 102]}, "input[0]"),
        ({"input": [[101, 2023]]}, "input[0]"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"dimensions": 7}, "dimensions"),
        ({"encoding_format": "int8"}, "encoding_format"),
    ],
)
def test_what_cannot_be_embedded_is_refused_by_name(change: Any, param: str, client: OpenAI) -> None:
    asked: dict[str, Any] = {"model": "any", "input": TEXTS, "encoding_format": "float", **change}
    with pytest.raises(openai.BadRequestError) as refused:
        client.embeddings.create(**asked)
    assert refused.value.param == param


def test_without_a_model_there_are_no_embeddings(tmp_path: Path) -> None:
    with (
        offline_server(tmp_path) as base_url,
        OpenAI(base_url=base_url, api_key="any", max_retries=0) as client,
        pytest.raises(openai.NotFoundError) as refused,
    ):
        client.embeddings.create(model="any", input="Hello", encoding_format="float")
    assert "no embedding model" in refused.value.message


def test_a_directory_without_a_model_is_refused_at_the_start(tmp_path: Path) -> None:
    assert start_offline_server(tmp_path, "--embeddings", str(tmp_path)).wait(60) == 2
    assert "holds no embedding model" in (tmp_path / "offline.log").read_text()
