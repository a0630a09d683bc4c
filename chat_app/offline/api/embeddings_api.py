"""The route ``/v1/embeddings``: vectors from a local model, if one is configured."""

import asyncio
import base64
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Discriminator, Field, Tag

from chat_app.offline.api.listing import StrictRoute, json_response
from chat_app.offline.wire.errors import ApiError, invalid
from chat_app.offline.wire.objects import count_tokens
from chat_app.offline.wire.wire_base import WHOLE, Closed, text_or_list
from tools.errors import ToolUnavailable

router = APIRouter(prefix="/v1/embeddings", route_class=StrictRoute)
Text = Annotated[str, Field(min_length=1)]


class CreateEmbeddings(Closed):
    """Body of ``POST /v1/embeddings``. Token ids are refused because they belong to another model."""

    model: str
    input: Annotated[
        Annotated[Text, Tag("~str")] | Annotated[list[Text], Field(min_length=1, max_length=2048), Tag("~items")],
        Discriminator(text_or_list),
    ]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(ge=1), WHOLE] | None = None
    user: str | None = None

    @property
    def texts(self) -> list[str]:
        """Return the input as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


class LocalEmbedder:
    """A local embedding model that loads at first use and runs in its own thread."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="offline-embedder")
        self._embed: Any = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of ``texts``. Raises ``ApiError``: 404 without a model, 500 when it cannot be opened."""
        if self._folder is None:
            raise ApiError(
                404,
                "This server has no embedding model. Start it with --embeddings and a model directory.",
                param="model",
                code="model_not_found",
            )
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, self._folder, list(texts))
        except ToolUnavailable as error:
            raise ApiError(500, str(error), kind="server_error") from None

    def _run(self, folder: Path, texts: list[str]) -> list[list[float]]:
        if self._embed is None:
            # Imported here because a server without a model does not need the guideline library.
            from tools.embeddings.embedders import OnnxEmbedder

            self._embed = OnnxEmbedder(folder).embed
        vectors: list[list[float]] = self._embed(texts)
        return vectors

    def close(self) -> None:
        """Stop the model's thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


@router.post("")
async def create(body: CreateEmbeddings, request: Request) -> Response:
    """Return one vector of length 1 per text, in order."""
    embedder: LocalEmbedder = request.app.state.embedder
    vectors = await embedder.embed(body.texts)
    if body.dimensions not in {None, len(vectors[0])}:
        raise invalid(f"The model only creates vectors of {len(vectors[0])} dimensions.", "dimensions")
    read = sum(map(count_tokens, body.texts))
    data = [
        {"object": "embedding", "index": index, "embedding": _encoded(vector, body.encoding_format)}
        for index, vector in enumerate(vectors)
    ]
    return json_response(
        {"object": "list", "model": body.model, "data": data, "usage": {"prompt_tokens": read, "total_tokens": read}}
    )


def _encoded(vector: list[float], encoding: Literal["float", "base64"]) -> list[float] | str:
    """Encode a vector; base64 holds little-endian 32-bit floats."""
    return vector if encoding == "float" else base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
