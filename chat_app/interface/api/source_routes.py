"""Routes of an answer's sources: passages, guideline pages and original files."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import FileResponse
from pydantic import StringConstraints

from chat_app.interface.api.dependencies import ServedRuntime, User, signed_in
from chat_app.interface.conversation.own_documents import require_readable
from chat_app.interface.security.request_body import problem
from tools.guidelines import Scope

_HOUR = "private, max-age=3600"
_MOST_QUOTES = 20
Quote = Annotated[str, StringConstraints(max_length=4_000)]
_MOST_PAGES = 100_000


router = APIRouter(prefix="/api/v1", tags=["sources"])


@router.get("/guidelines", dependencies=[Depends(signed_in)])
async def guidelines(runtime: ServedRuntime) -> list[dict[str, Any]]:
    """List the loaded guidelines."""
    documents = await (await runtime.ready()).guidelines.documents()
    return [document.model_dump(mode="json") for document in documents]


@router.get("/guidelines/{document_id}/pages/{page}.png")
async def page_image(
    runtime: ServedRuntime,
    user: User,
    document_id: str,
    *,
    page: Annotated[int, Path(ge=1, le=_MOST_PAGES)],
    quote: Annotated[list[Quote], Query(max_length=_MOST_QUOTES)] = [],  # noqa: B006 - FastAPI copies it
    scale: Annotated[float, Query(ge=0.5, le=3)] = 2.0,
) -> Response:
    """Render a page as PNG with each ``quote`` highlighted.

    Headers give the number of pages and where the first highlight is, as fractions of width and height.
    """
    scope = await require_readable(runtime.history, user, document_id)
    app = await runtime.ready()
    image = await app.guidelines.page_image(document_id, page, highlight=quote, scale=scale, scope=scope)
    marked = {"x-marked-at": "{:.4f} {:.4f}".format(*image.marked_at)} if image.marked_at else {}
    headers = {**_kept(scope), "x-page-count": str(image.pages), **marked}
    return Response(image.png, media_type="image/png", headers=headers)


@router.get("/guidelines/{document_id}/original.pdf")
async def original(runtime: ServedRuntime, user: User, document_id: str) -> FileResponse:
    """Return the original document. A PDF opens in the browser; any other format is downloaded."""
    scope = await require_readable(runtime.history, user, document_id)
    path = (await runtime.ready()).guidelines.original(document_id, scope=scope)
    pdf = path.suffix.lower() == ".pdf"
    return FileResponse(
        path,
        media_type="application/pdf" if pdf else "application/octet-stream",
        filename=f"{document_id}{path.suffix}",
        content_disposition_type="inline" if pdf else "attachment",
        headers=_kept(scope),
    )


@router.get("/passages/{passage_id:path}")
async def passage(runtime: ServedRuntime, user: User, passage_id: str) -> Response:
    """Return a passage, also of a superseded version."""
    scope = await require_readable(runtime.history, user, passage_id)
    app = await runtime.ready()
    found = await app.guidelines.passage(passage_id, scope=scope)
    if found is None:
        return problem(404, "There is no such passage.")
    return Response(found.model_dump_json(), media_type="application/json")


def _kept(scope: Scope | None) -> dict[str, str]:
    """Return the cache headers: a browser must not keep a conversation's own files."""
    return {"cache-control": _HOUR if scope is None else "no-store"}
