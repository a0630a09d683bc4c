"""The scripts and styles of Chainlit's page: compressed once, and kept by browsers because their names are hashed."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse

from chat_app.interface.api.text_routes import FOREVER
from chat_app.interface.page.page_code import corrected

_COMPRESSED = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css"}
_LEVEL = 6


def asset_router(folder: Path) -> APIRouter:
    """Return the route of the files in ``folder``. It needs no login, because the login page has them, too."""
    router = APIRouter()
    known = {path.name: path for path in folder.iterdir() if path.is_file()}

    @router.get("/assets/{name}")
    async def asset(request: Request, name: str) -> Response:
        """Return a script or style."""
        if (path := known.get(name)) is None:
            raise HTTPException(404, "File not found")
        headers = {"cache-control": FOREVER, "vary": "accept-encoding"}
        kind = _COMPRESSED.get(path.suffix)
        if kind is None:
            return FileResponse(path, headers=headers)
        content = await run_in_threadpool(packed, path)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(await run_in_threadpool(gzip.decompress, content), media_type=kind, headers=headers)
        return Response(content, media_type=kind, headers=headers | {"content-encoding": "gzip"})

    return router


@cache
def packed(path: Path) -> bytes:
    """Return the content of ``path``, compressed, with our corrections of Chainlit's script."""
    code = path.read_text("utf-8")
    return gzip.compress((corrected(code) if path.suffix == ".js" else code).encode(), _LEVEL)
