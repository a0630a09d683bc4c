"""Texts of the page's scripts, one cacheable script per language, and what a browser keeps for when it is offline."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse

from chat_app.interface.i18n.translation import Language, language_of, say, script_texts

FOREVER = "public, max-age=31536000, immutable"


def text_router(page_root: Path) -> APIRouter:
    """Return routes that need no login, because the login page has texts, too. ``page_root`` holds the page's files."""
    router = APIRouter()

    @router.get("/texts/{language}.js")
    async def texts(language: str) -> Response:
        """Return the texts as a script, so that they are loaded before any other script runs."""
        body = _script(language_of(language))
        return Response(body, media_type="text/javascript", headers={"cache-control": FOREVER})

    @router.get("/service-worker.js")
    async def service_worker() -> Response:
        """Return the script that shows ``/offline``; a browser asks for a newer one with each visit."""
        script = page_root / "public" / "service-worker.js"
        return FileResponse(script, media_type="text/javascript", headers={"cache-control": "no-cache"})

    @router.get("/offline")
    async def offline(request: Request) -> Response:
        """Return the page that says that the app can't be reached."""
        language = language_of(request.headers.get("accept-language"))
        title = say(language, "offline.title")
        return HTMLResponse(
            f'<!doctype html><html lang="{language}"><meta charset="utf-8"><title>{title}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            "<style>:root{color-scheme:light dark}body{max-width:32rem;margin:20vh auto;padding:0 1rem;"
            f"font:1rem/1.5 system-ui,sans-serif}}</style><main><h1>{title}</h1><p>{say(language, 'offline.text')}</p>"
            f'<p><a href="">{say(language, "offline.again")}</a></p></main></html>'
        )

    return router


def texts_address(accept_language: str | None) -> str:
    """Return where the texts for a browser with this ``Accept-Language`` are; it changes with their content."""
    language = language_of(accept_language)
    return f"/texts/{language}.js?v={hashlib.sha256(_script(language)).hexdigest()[:12]}"


@cache
def _script(language: Language) -> bytes:
    data = json.dumps({"language": language, "texts": script_texts(language)}, ensure_ascii=False)
    return f"window.asclepiusTexts = {data};\n".encode()
