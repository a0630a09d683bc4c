"""The scripts and styles of the page, Chainlit's and our own, and what a browser keeps for when it is offline.

They need no login, because the login page has them, too. They are compressed once, and kept by browsers because their
addresses change with them.
"""

import gzip
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse

from chat_app.interface.api.dependencies import ReaderLanguage, ServedRuntime, html_page
from chat_app.interface.i18n.translation import Language, language_of
from chat_app.interface.page.page_code import GAPS, VERSION, corrected
from chat_app.interface.page.page_document import own_scripts, scripts_address

_FOREVER = "public, max-age=31536000, immutable"
_COMPRESSED = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css"}
_LEVEL = 9
_ICONS = "icons.js"
"""The icons that are left out of Chainlit's script."""


router = APIRouter(include_in_schema=False)


@router.get("/assets/{name}")
@router.get("/assets/{version}/{name}")
async def file(request: Request, name: str, version: str = VERSION) -> Response:
    """Return a script or style."""
    if (path := _files().get(name)) is None:
        raise HTTPException(404, "File not found")
    kind = _COMPRESSED.get(path.suffix)
    if kind is None:
        return FileResponse(path, headers={"cache-control": _FOREVER})
    return await run_in_threadpool(lambda: _asset(request, _packed(path), kind, keep=version == VERSION))


@router.get("/scripts/{language}.js")
async def scripts(request: Request, language: str, v: str = "") -> Response:
    """Return the page's scripts, which run before Chainlit's."""
    known = language_of(language)
    keep = scripts_address(known).endswith(f"?v={v}")
    return _asset(request, _packed_scripts(known), "text/javascript", keep=keep)


@router.get("/service-worker.js")
async def service_worker(runtime: ServedRuntime) -> Response:
    """Return the script that shows ``/offline``; a browser asks for a newer one with each visit."""
    script = runtime.settings.storage.data_dir / "page" / "public" / "service-worker.js"
    return FileResponse(script, media_type="text/javascript", headers={"cache-control": "no-cache"})


@router.get("/offline")
async def offline(language: ReaderLanguage) -> Response:
    """Return the page that says that the app can't be reached."""
    return html_page("offline_page.jinja", language)


def _asset(request: Request, packed: bytes, kind: str, *, keep: bool) -> Response:
    """Return ``packed``, a ``_compressed`` text. A browser may ``keep`` it when its address changes with it.

    During an update, another replica may have sent the page with the address of another version.
    """
    headers = {"cache-control": _FOREVER if keep else "no-store", "vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(packed), media_type=kind, headers=headers)
    return Response(packed, media_type=kind, headers=headers | {"content-encoding": "gzip"})


def _compressed(text: str) -> bytes:
    """Compress ``text`` in the way that every browser accepts."""
    return gzip.compress(text.encode(), _LEVEL, mtime=0)


@cache
def _files() -> dict[str, Path]:
    """Return Chainlit's scripts and styles by name, and the icons."""
    from chainlit.server import build_dir

    folder = Path(build_dir, "assets")
    return {path.name: path for path in folder.iterdir() if path.is_file()} | {_ICONS: folder / _ICONS}


@cache
def _packed(path: Path) -> bytes:
    """Return the content of ``path``, compressed, with our corrections of Chainlit's script and style."""
    if path.name == _ICONS:
        return _compressed(corrected(next(path.parent.glob("index-*.js")).read_text("utf-8"))[1])
    code = path.read_text("utf-8")
    return _compressed(corrected(code)[0] if path.suffix == ".js" else code.replace(*GAPS))


@cache
def _packed_scripts(language: Language) -> bytes:
    return _compressed(own_scripts(language))
