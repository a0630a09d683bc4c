"""Texts of the page's scripts, one cacheable script per language."""

from __future__ import annotations

import hashlib
import json
from functools import cache

from fastapi import APIRouter, Response

from chat_app.interface.i18n.translation import Language, language_of, script_texts

FOREVER = "public, max-age=31536000, immutable"


def text_router() -> APIRouter:
    """Return the route of the texts. It needs no login, because the login page has texts, too."""
    router = APIRouter()

    @router.get("/texts/{language}.js")
    async def texts(language: str) -> Response:
        """Return the texts as a script, so that they are loaded before any other script runs."""
        body = _script(language_of(language))
        return Response(body, media_type="text/javascript", headers={"cache-control": FOREVER})

    return router


def texts_address(accept_language: str | None) -> str:
    """Return where the texts for a browser with this ``Accept-Language`` are; it changes with their content."""
    language = language_of(accept_language)
    return f"/texts/{language}.js?v={hashlib.sha256(_script(language)).hexdigest()[:12]}"


@cache
def _script(language: Language) -> bytes:
    data = json.dumps({"language": language, "texts": script_texts(language)}, ensure_ascii=False)
    return f"window.asclepiusTexts = {data};\n".encode()
