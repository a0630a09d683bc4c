"""Request bodies of ``/v1/vector_stores``."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.requests import Filter, RankingOptions
from chat_app.offline.wire.wire_base import WHOLE, Closed, Metadata

Attributes = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)] | bool | float],
    Field(max_length=16),
]


class AutoChunking(Closed):
    """Chunks of the default size."""

    type: Literal["auto"]


class StaticSizes(Closed):
    """Chunk size and overlap in tokens."""

    max_chunk_size_tokens: Annotated[int, Field(ge=100, le=4096), WHOLE]
    chunk_overlap_tokens: Annotated[int, Field(ge=0, le=2048), WHOLE]


_DEFAULT_SIZES: Final = StaticSizes(max_chunk_size_tokens=800, chunk_overlap_tokens=400)


class StaticChunking(Closed):
    """Chunks of a given size."""

    type: Literal["static"]
    static: StaticSizes

    @model_validator(mode="after")
    def _at_most_half(self) -> Self:
        if self.static.chunk_overlap_tokens * 2 > self.static.max_chunk_size_tokens:
            raise ValueError("chunk_overlap_tokens must be at most half of max_chunk_size_tokens")
        return self


Chunking = Annotated[AutoChunking | StaticChunking, Field(discriminator="type")]


class AddFile(Closed):
    """Body of ``POST /v1/vector_stores/{id}/files``."""

    file_id: str
    attributes: Attributes | None = None
    chunking_strategy: Chunking | None = None

    def chunking(self) -> Json:
        """Return the chunking strategy as it is stored and returned."""
        given = self.chunking_strategy
        sizes = given.static if isinstance(given, StaticChunking) else _DEFAULT_SIZES
        return {"type": "static", "static": sizes.model_dump()}


class ExpiresAfter(Closed):
    """Days after the last use until a store expires."""

    anchor: Literal["last_active_at"]
    days: Annotated[int, Field(ge=1, le=365), WHOLE]


class CreateVectorStore(Closed):
    """Body of ``POST /v1/vector_stores``."""

    name: str | None = None
    description: str | None = None
    file_ids: list[str] | None = Field(default=None, max_length=500)
    expires_after: ExpiresAfter | None = None
    chunking_strategy: Chunking | None = None
    metadata: Metadata | None = None


class UpdateVectorStore(Closed):
    """Body of ``POST /v1/vector_stores/{id}``."""

    name: str | None = None
    expires_after: ExpiresAfter | None = None
    metadata: Metadata | None = None


class UpdateAttributes(Closed):
    """Body of ``POST /v1/vector_stores/{id}/files/{file_id}``."""

    attributes: Attributes | None


class SearchVectorStore(Closed):
    """Body of ``POST /v1/vector_stores/{id}/search``."""

    query: str | Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=20)]
    rewrite_query: bool = False
    max_num_results: Annotated[int, Field(ge=1, le=50), WHOLE] = 10
    filters: Filter | None = None
    ranking_options: RankingOptions | None = None
