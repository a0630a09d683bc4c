"""Routes of ``/v1/vector_stores``."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from chat_app.offline.api.listing import ListQuery, StrictRoute, from_state, json_response, page_of
from chat_app.offline.state.vector_search import VectorSearch
from chat_app.offline.state.vector_store import VectorStoreState
from chat_app.offline.wire.requests import FileSearchToolIn
from chat_app.offline.wire.wire_stores import (
    AddFile,
    CreateVectorStore,
    SearchVectorStore,
    UpdateAttributes,
    UpdateVectorStore,
)

router = APIRouter(prefix="/v1/vector_stores", route_class=StrictRoute)
Stores = Annotated[VectorStoreState, from_state("vector_stores")]
Search = Annotated[VectorSearch, from_state("vector_search")]


class FilesQuery(ListQuery):
    """Query of a vector store's file list."""

    filter: Literal["in_progress", "completed", "failed", "cancelled"] | None = None


@router.post("")
async def create(stores: Stores, body: CreateVectorStore | None = None) -> Response:
    """Create a vector store and start indexing its files."""
    return json_response(await stores.create(body or CreateVectorStore()))


@router.get("")
async def list_stores(stores: Stores, page: Annotated[ListQuery, Query()]) -> Response:
    """List vector stores."""
    return json_response(page_of(await stores.all(), page))


@router.get("/{store_id}")
async def retrieve(store_id: str, stores: Stores) -> Response:
    """Return a vector store."""
    return json_response(await stores.get(store_id))


@router.post("/{store_id}")
async def update(store_id: str, body: UpdateVectorStore, stores: Stores) -> Response:
    """Change a vector store's name, metadata or expiry."""
    return json_response(await stores.update(store_id, body))


@router.delete("/{store_id}")
async def delete(store_id: str, stores: Stores) -> Response:
    """Delete a vector store; its files stay."""
    await stores.delete(store_id)
    return json_response({"id": store_id, "object": "vector_store.deleted", "deleted": True})


@router.post("/{store_id}/search")
async def search(store_id: str, body: SearchVectorStore, vectors: Search) -> Response:
    """Search the chunks of a vector store."""
    queries = [body.query] if isinstance(body.query, str) else body.query
    tool = FileSearchToolIn(
        type="file_search",
        vector_store_ids=[store_id],
        max_num_results=body.max_num_results,
        filters=body.filters,
        ranking_options=body.ranking_options,
    )
    results = await vectors.search(tool, queries)
    data = [
        {
            "file_id": item.file_id,
            "filename": item.filename,
            "score": round(item.score, 4),
            "attributes": item.attributes,
            "content": [{"type": "text", "text": item.text}],
        }
        for item in results
    ]
    return json_response(
        {
            "object": "vector_store.search_results.page",
            "search_query": queries,
            "data": data,
            "has_more": False,
            "next_page": None,
        }
    )


@router.post("/{store_id}/files")
async def add_file(store_id: str, body: AddFile, stores: Stores) -> Response:
    """Add a file and start indexing it."""
    return json_response(await stores.add_file(store_id, body))


@router.get("/{store_id}/files")
async def list_files(store_id: str, stores: Stores, page: Annotated[FilesQuery, Query()]) -> Response:
    """List the files of a vector store."""
    return json_response(page_of(await stores.files(store_id, status=page.filter), page))


@router.get("/{store_id}/files/{file_id}")
async def retrieve_file(store_id: str, file_id: str, stores: Stores) -> Response:
    """Return the indexing state of a file."""
    return json_response(await stores.file(store_id, file_id))


@router.post("/{store_id}/files/{file_id}")
async def update_file(store_id: str, file_id: str, body: UpdateAttributes, stores: Stores) -> Response:
    """Replace the attributes of a file."""
    return json_response(await stores.set_attributes(store_id, file_id, body.attributes or {}))


@router.delete("/{store_id}/files/{file_id}")
async def delete_file(store_id: str, file_id: str, stores: Stores) -> Response:
    """Remove a file from a vector store."""
    await stores.remove_file(store_id, file_id)
    return json_response({"id": file_id, "object": "vector_store.file.deleted", "deleted": True})


@router.get("/{store_id}/files/{file_id}/content")
async def file_content(store_id: str, file_id: str, stores: Stores) -> Response:
    """Return the chunks of a file."""
    data = [{"type": "text", "text": text} for text in await stores.content(store_id, file_id)]
    return json_response(
        {"object": "vector_store.file_content.page", "data": data, "has_more": False, "next_page": None}
    )
