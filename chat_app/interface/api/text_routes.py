"""The page's own scripts, one file per language with its texts, and what a browser keeps for when it is offline."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse

from chat_app.interface.api.asset_routes import asset, compressed
from chat_app.interface.i18n.translation import Language, language_of, say
from chat_app.interface.page.page_document import own_scripts, scripts_address


def text_router(page_root: Path) -> APIRouter:
    """Return routes that need no login, because the login page has texts, too. ``page_root`` holds the page's files."""
    router = APIRouter()

    @router.get("/scripts/{language}.js")
    async def scripts(request: Request, language: str, v: str = "") -> Response:
        """Return the page's scripts, which run before Chainlit's."""
        known = language_of(language)
        return asset(request, _packed(known), "text/javascript", keep=scripts_address(known).endswith(f"?v={v}"))

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


@cache
def _packed(language: Language) -> bytes:
    return compressed(own_scripts(language))
