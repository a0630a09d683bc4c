"""Embedding models for dense search: any OpenAI-compatible server, or a local ONNX model directory.

Dense search is an addition: without an embedder the library searches by terms alone. An embedder's ``name`` tells
apart models whose vectors do not fit together; each has a separate collection.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from tools.errors import ToolUnavailable

MAX_TOKENS = 256
"""Tokens of a passage that a local model reads; small sentence models were trained on no more."""
LOCAL_BATCH = 16
HTTP_BATCH = 64
HTTP_SECONDS = 30.0


class Embedder(Protocol):
    """Turns texts into vectors of length ``dimension``. Calls block; they raise ``ToolUnavailable``."""

    @property
    def name(self) -> str:
        """Return a name that changes with the model."""
        ...

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        ...


def open_embedder(where: str, *, model: str = "", api_key: str | None = None) -> Embedder:
    """Open the embedder at ``where``: a base URL such as ``http://host/v1`` (with ``model``), or an ONNX folder."""
    if where.startswith(("http://", "https://")):
        return HttpEmbedder(where, model, api_key)
    return OnnxEmbedder(Path(where))


class _Item(BaseModel):
    index: int
    embedding: list[float]


class _EmbeddingsAnswer(BaseModel):
    data: list[_Item]


class HttpEmbedder:
    """A server that speaks OpenAI's ``POST /v1/embeddings``. The dimension is learnt from its first answer."""

    def __init__(self, base_url: str, model: str, api_key: str | None = None) -> None:
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(timeout=HTTP_SECONDS, headers=headers, follow_redirects=False)
        self._dimension = 0

    @property
    def name(self) -> str:
        return f"http_{_fingerprint(self._url, self._model)}"

    @property
    def dimension(self) -> int:
        if not self._dimension:
            self._dimension = len(self.embed(["dimension"])[0])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for at in range(0, len(texts), HTTP_BATCH):
            vectors += self._batch(texts[at : at + HTTP_BATCH])
        return vectors

    def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        try:
            response = self._client.post(self._url, json=body)
            response.raise_for_status()
            answer = _EmbeddingsAnswer.model_validate_json(response.content)
        except httpx.HTTPStatusError as error:
            raise ToolUnavailable(
                f"The embedding server answered with status {error.response.status_code}. "
                "Check ASCLEPIUS_EMBEDDINGS, its model and its key."
            ) from None
        except (httpx.HTTPError, ValidationError):
            raise ToolUnavailable(
                "The embedding server cannot be reached or does not speak /v1/embeddings. Check ASCLEPIUS_EMBEDDINGS."
            ) from None
        if sorted(item.index for item in answer.data) != list(range(len(texts))):
            raise ToolUnavailable("The embedding server did not answer with one vector for each text.")
        return [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]


class OnnxEmbedder:
    """A directory with ``model.onnx`` and ``tokenizer.json``; mean pooling over the tokens, vectors of length 1.

    Needs onnxruntime and tokenizers, which the extra ``local-embeddings`` brings. The model is opened at first use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._model: _OnnxModel | None = None

    @property
    def name(self) -> str:
        config = self._folder / "config.json"
        size = (self._folder / "model.onnx").stat().st_size if (self._folder / "model.onnx").is_file() else 0
        told = config.read_text(encoding="utf-8") if config.is_file() else ""
        return f"onnx_{_fingerprint(told, str(size))}"

    @property
    def dimension(self) -> int:
        config = self._folder / "config.json"
        try:
            return int(json.loads(config.read_text(encoding="utf-8"))["hidden_size"])
        except (OSError, ValueError, KeyError):
            return len(self.embed(["dimension"])[0])

    def _opened(self) -> _OnnxModel:
        with self._lock:
            if self._model is None:
                self._model = _OnnxModel(self._folder)
            return self._model

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        model = self._opened()
        vectors: list[list[float]] = [[]] * len(texts)
        # Texts of like length together, for each batch is filled up to its longest.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for at in range(0, len(order), LOCAL_BATCH):
            batch = order[at : at + LOCAL_BATCH]
            for index, vector in zip(batch, model.run([texts[index] for index in batch]), strict=True):
                vectors[index] = vector
        return vectors


class _OnnxModel:
    def __init__(self, folder: Path) -> None:
        try:
            onnxruntime: Any = import_module("onnxruntime")
            tokenizers: Any = import_module("tokenizers")
        except ImportError:
            raise ToolUnavailable(
                "A local embedding model needs onnxruntime and tokenizers. Install asclepius[local-embeddings]."
            ) from None
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            # A question is read by one thread: several look out for more work afterwards, and hold up the index.
            self._for_one: Any = _session(onnxruntime, folder, threads=1)
            self._for_many: Any = _session(onnxruntime, folder, threads=0)
        except Exception as error:  # noqa: BLE001 - both libraries raise bare exceptions for a bad file
            raise ToolUnavailable(
                f"The embedding model in {folder.name} cannot be opened ({type(error).__name__}). "
                "The directory must hold model.onnx and tokenizer.json."
            ) from None
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        self._inputs = {given.name for given in self._for_one.get_inputs()}

    def run(self, texts: Sequence[str]) -> list[list[float]]:
        encoded, hidden = self._read(texts)
        if hidden.ndim == 3:
            weights = np.array([each.attention_mask for each in encoded], dtype=hidden.dtype)[:, :, None]
            hidden = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        lengths = np.linalg.norm(hidden, axis=1, keepdims=True)
        found: list[list[float]] = (hidden / np.maximum(lengths, 1e-12)).astype(float).tolist()
        return found

    def _read(self, texts: Sequence[str]) -> tuple[Sequence[Any], NDArray[np.float32]]:
        """Return the texts in tokens, and what the model makes of them."""
        encoded: Sequence[Any] = self._tokenizer.encode_batch(list(texts))
        ids = np.array([each.ids for each in encoded], dtype=np.int64)
        mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        session = self._for_one if len(texts) == 1 else self._for_many
        hidden: NDArray[np.float32] = session.run(None, {name: given[name] for name in self._inputs})[0]
        return encoded, hidden


def _session(onnxruntime: Any, folder: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
