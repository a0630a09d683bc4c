"""The route ``/v1/embeddings``: vectors from a local model, if one is configured."""

import asyncio
import base64
import struct
from collections.abc import Callable
from typing import Annotated, Literal

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


@router.post("")
async def create(body: CreateEmbeddings, request: Request) -> Response:
    """Return one vector of length 1 per text, in order."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    vectors = await _embedded(texts, request)
    if body.dimensions not in {None, len(vectors[0])}:
        raise invalid(f"The model only creates vectors of {len(vectors[0])} dimensions.", "dimensions")
    read = sum(map(count_tokens, texts))
    data = [
        {"object": "embedding", "index": index, "embedding": _encoded(vector, body.encoding_format)}
        for index, vector in enumerate(vectors)
    ]
    return json_response(
        {"object": "list", "model": body.model, "data": data, "usage": {"prompt_tokens": read, "total_tokens": read}}
    )


async def _embedded(texts: list[str], request: Request) -> list[list[float]]:
    """Return the vectors of ``texts``, one request at a time."""
    embed: Callable[[list[str]], list[list[float]]] | None = request.app.state.embed
    if embed is None:
        raise ApiError(
            404,
            "This server has no embedding model. Start it with --embeddings and a model directory.",
            param="model",
            code="model_not_found",
        )
    try:
        async with request.app.state.embedding:
            return await asyncio.to_thread(embed, texts)
    except ToolUnavailable as error:
        raise ApiError(500, str(error), kind="server_error") from None


def _encoded(vector: list[float], encoding: Literal["float", "base64"]) -> list[float] | str:
    """Encode a vector; base64 holds little-endian 32-bit floats."""
    return vector if encoding == "float" else base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
