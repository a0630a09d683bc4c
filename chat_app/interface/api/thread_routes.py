"""Export of a conversation as a file."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Request, Response

from chat_app.interface.api.export import conversation_markdown
from chat_app.interface.i18n.translation import language_of
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import require_owner

_LONGEST_NAME = 80


def thread_router(runtime: Runtime) -> APIRouter:
    """Return the route that exports a conversation."""
    router = APIRouter()

    @router.get("/threads/{thread_id}/export.md")
    async def export(request: Request, thread_id: Annotated[str, Path(max_length=64)]) -> Response:
        """Export the conversation as Markdown: questions, answers as they were sent, references."""
        user = runtime.identity.from_cookies(request.cookies)
        require_owner(user, await runtime.history.owner_of("thread", thread_id))
        await runtime.audit.record("export", user, conversation=thread_id)
        thread = await runtime.history.get_thread(thread_id)
        return Response(
            conversation_markdown(thread or {}, language_of(request.headers.get("accept-language"))),
            media_type="text/markdown; charset=utf-8",
            headers={"content-disposition": _attachment(str(thread["name"] or "") if thread else "")},
        )

    return router


def _attachment(title: str) -> str:
    """Return a ``Content-Disposition`` with the conversation's title as file name."""
    name = re.sub(r"[^\w .()-]+", " ", title)[:_LONGEST_NAME].strip() or "conversation"
    return f"attachment; filename=\"conversation.md\"; filename*=UTF-8''{quote(name)}.md"
