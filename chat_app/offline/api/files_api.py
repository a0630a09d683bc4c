"""Routes of ``/v1/files``."""

from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Query, Request, Response, UploadFile
from fastapi.responses import FileResponse
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from chat_app.offline.api.listing import ListQuery, from_state, json_response, page_of
from chat_app.offline.state.file_store import FileStore
from chat_app.offline.wire.errors import invalid

Purpose = Literal["assistants", "batch", "fine-tune", "vision", "user_data", "evals"]
router = APIRouter(prefix="/v1/files")
Store = Annotated[FileStore, from_state("files")]
_PIECE = 1024 * 1024


class FileListQuery(ListQuery):
    """Query of ``GET /v1/files``."""

    limit: int = Field(10_000, ge=1, le=10_000)
    purpose: str | None = None


@router.post("")
async def upload(
    request: Request,
    store: Store,
    *,
    file: Annotated[UploadFile, File()],
    purpose: Annotated[Purpose, Form()],
    anchor: Annotated[Literal["created_at"] | SkipJsonSchema[None], Form(alias="expires_after[anchor]")] = None,
    seconds: Annotated[
        Annotated[int, Field(ge=3600, le=2_592_000)] | SkipJsonSchema[None], Form(alias="expires_after[seconds]")
    ] = None,
) -> Response:
    """Store a file. Its name is only displayed, never used as a path."""
    del anchor
    for field, value in (await request.form()).items():
        # FastAPI treats an empty text as absent.
        if value == "" and field in {"expires_after[anchor]", "expires_after[seconds]"}:
            raise invalid(f"Invalid value for '{field}': it is empty.", field)
    name = (file.filename or "file").replace("\\", "/").rsplit("/", 1)[-1][:255]
    return json_response(await store.add(name, purpose, _pieces(file), expires_in=seconds))


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(_PIECE):
        yield piece


@router.get("")
async def list_files(store: Store, page: Annotated[FileListQuery, Query()]) -> Response:
    """List files, newest first unless asked otherwise."""
    return json_response(page_of(await store.all(page.purpose), page))


@router.get("/{file_id}")
async def retrieve(file_id: str, store: Store) -> Response:
    """Return a file's metadata."""
    return json_response(await store.get(file_id))


@router.get("/{file_id}/content")
async def content(file_id: str, store: Store) -> Response:
    """Return a file's bytes."""
    await store.get(file_id)
    return FileResponse(store.path(file_id), media_type="application/octet-stream")


@router.delete("/{file_id}")
async def delete(file_id: str, store: Store) -> Response:
    """Delete a file, also from every vector store."""
    await store.delete(file_id)
    return json_response({"id": file_id, "object": "file", "deleted": True})
