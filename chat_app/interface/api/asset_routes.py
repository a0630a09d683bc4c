"""The scripts and styles of Chainlit's page: compressed once, and kept by browsers because their names are hashed."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse

from chat_app.interface.page.page_code import GAPS, VERSION, corrected

_FOREVER = "public, max-age=31536000, immutable"
_COMPRESSED = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css"}
_LEVEL = 9


def asset_router(folder: Path) -> APIRouter:
    """Return the route of the files in ``folder``. It needs no login, because the login page has them, too."""
    router = APIRouter()
    known = {path.name: path for path in folder.iterdir() if path.is_file()}

    @router.get("/assets/{name}")
    @router.get("/assets/{version}/{name}")
    async def file(request: Request, name: str, version: str = VERSION) -> Response:
        """Return a script or style."""
        if (path := known.get(name)) is None:
            raise HTTPException(404, "File not found")
        kind = _COMPRESSED.get(path.suffix)
        if kind is None:
            return FileResponse(path, headers={"cache-control": _FOREVER})
        return await run_in_threadpool(lambda: asset(request, _packed(path), kind, keep=version == VERSION))

    return router


def asset(request: Request, packed: bytes, kind: str, *, keep: bool) -> Response:
    """Return ``packed``, a ``compressed`` text. A browser may ``keep`` it when its address changes with it.

    During an update, another replica may have sent the page with the address of another version.
    """
    headers = {"cache-control": _FOREVER if keep else "no-store", "vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(packed), media_type=kind, headers=headers)
    return Response(packed, media_type=kind, headers=headers | {"content-encoding": "gzip"})


def compressed(text: str) -> bytes:
    """Compress ``text`` in the way that every browser accepts."""
    return gzip.compress(text.encode(), _LEVEL, mtime=0)


@cache
def _packed(path: Path) -> bytes:
    """Return the content of ``path``, compressed, with our corrections of Chainlit's script and style."""
    code = path.read_text("utf-8")
    return compressed(corrected(code) if path.suffix == ".js" else code.replace(*GAPS))
