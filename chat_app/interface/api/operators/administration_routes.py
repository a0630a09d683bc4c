"""Routes of auditors and administrators: their page, the audit log, and the end of another user's logins.

The page, without scripts, shows guidelines and imports, feedback, usage per day and an audit search.
"""

import asyncio
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal, get_args

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from chat_app.audit import AuditAction, AuditFilter, DatabaseAuditLog
from chat_app.database.usage_reports import rated_answers, usage
from chat_app.interface.api.dependencies import ReaderLanguage, ServedRuntime, html_page
from chat_app.interface.i18n.translation import Language
from chat_app.interface.rendering.sockets import disconnect_user
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import NotAllowed, Unauthenticated, token_of

View = Literal["content", "feedback", "usage", "audit"]
_RATINGS: Final = 100
_DAYS: Final = 30
_ENTRIES: Final = 200
_AUDIT_DAYS: Final = 7


router = APIRouter(include_in_schema=False)


@router.get("/administration")
@router.get("/administration/{view}")
async def administration(
    runtime: ServedRuntime,
    request: Request,
    language: ReaderLanguage,
    *,
    wanted: Annotated[AuditFilter, Query()],
    view: View = "content",
) -> Response:
    """Show one view; the audit log records who read feedback and who read the audit log."""
    try:
        user = runtime.identity.require("administer", token_of(request.cookies))
    except Unauthenticated:
        return _page(runtime, language, 401, notice="passage.sign_in")
    except NotAllowed:
        return _page(runtime, language, 403, notice="administration.not_allowed")
    if view in {"feedback", "audit"}:
        detail = "feedback" if view == "feedback" else "audit log"
        await runtime.audit.record("export", user, detail=detail)
    return _page(runtime, language, view=view, **await _values(runtime, view, wanted))


@router.get("/api/v1/audit")
async def audit(runtime: ServedRuntime, request: Request, wanted: Annotated[AuditFilter, Query()]) -> Response:
    """Return the matching entries as lines of JSON with their hashes, oldest first."""
    user = runtime.identity.require("audit", token_of(request.cookies))
    await runtime.audit.record("export", user, detail="audit log")
    if not isinstance(runtime.audit, DatabaseAuditLog):
        raise HTTPException(404)
    lines = (f"{entry.model_dump_json()}\n" async for entry in runtime.audit.entries(wanted))
    return StreamingResponse(lines, media_type="application/jsonl")


@router.delete("/api/v1/users/{name}/logins", status_code=204, response_class=Response)
async def end_logins(runtime: ServedRuntime, request: Request, name: Annotated[str, Path(max_length=200)]) -> None:
    """End every login of that user, in all browsers."""
    user = runtime.identity.require("administer", token_of(request.cookies))
    await runtime.audit.record("administration", user, detail=f"logins of {name} ended")
    await runtime.sign_in.end_all(name)
    await disconnect_user(name)


def _page(runtime: Runtime, language: Language, status: int = 200, **values: Any) -> Response:
    base, views = f"{runtime.settings.server.root_path}/administration", get_args(View)
    return html_page("operators/administration_page.jinja", language, status, base=base, views=views, **values)


async def _values(runtime: Runtime, view: View, wanted: AuditFilter) -> dict[str, Any]:
    match view:
        case "content":
            return await _content(runtime)
        case "feedback":
            return {"ratings": list(reversed(await rated_answers(runtime.history.engine, latest=_RATINGS)))}
        case "usage":
            return {"days": list(reversed(await usage(runtime.history.engine, since=_days_ago(_DAYS))))}
        case "audit":
            return await _audit(runtime, wanted)


async def _content(runtime: Runtime) -> dict[str, Any]:
    """Return the guidelines with their gaps, the running imports and the contents of the drug database."""
    app = await runtime.ready()
    documents, damaged, drugs = await asyncio.gather(
        app.guidelines.documents(), app.guidelines.damaged(), app.drugs.stats()
    )
    imports = [(progress.file_name, progress.done, progress.total) for progress in app.guidelines.ingesting()]
    if app.loading is not None:
        imports.insert(0, (app.loading.what, app.loading.done, app.loading.total or 0))
    return {
        "documents": documents,
        "damaged": damaged,
        "drugs": drugs,
        "imports": imports,
        "problems": app.load_problems,
    }


async def _audit(runtime: Runtime, wanted: AuditFilter) -> dict[str, Any]:
    """Return the last matching entries, newest first; without a beginning those of the last days."""
    wanted = wanted if wanted.since else wanted.model_copy(update={"since": _days_ago(_AUDIT_DAYS)})
    last: deque[Any] = deque(maxlen=_ENTRIES)
    if isinstance(runtime.audit, DatabaseAuditLog):
        async for entry in runtime.audit.entries(wanted):
            last.appendleft(entry)
    return {"entries": last, "most": _ENTRIES, "wanted": wanted, "actions": get_args(AuditAction)}


def _days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
