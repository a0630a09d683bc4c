"""Routes of auditors and administrators: read the audit log, and end another user's logins."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from chat_app.audit import AuditFilter, AuditLog, DatabaseAuditLog
from chat_app.interface.security.identity import Identity, token_of
from chat_app.interface.security.sign_in import SignIn


def administration_router(
    identity: Identity, sign_in: SignIn, audit: AuditLog, disconnect: Callable[[str], Awaitable[None]]
) -> APIRouter:
    """Return the routes; ``disconnect`` closes the sockets of a user."""
    router = APIRouter(prefix="/api/v1", include_in_schema=False)

    @router.get("/audit")
    async def entries(request: Request, wanted: Annotated[AuditFilter, Query()]) -> Response:
        """Return the matching entries as lines of JSON with their hashes, oldest first."""
        user = identity.require("audit", token_of(request.cookies))
        await audit.record("export", user, detail="audit log")
        if not isinstance(audit, DatabaseAuditLog):
            raise HTTPException(404)
        return StreamingResponse(_lines(audit, wanted), media_type="application/jsonl")

    @router.delete("/users/{name}/logins", status_code=204, response_class=Response)
    async def end_logins(request: Request, name: Annotated[str, Path(max_length=200)]) -> Response:
        """End every login of that user, in all browsers."""
        user = identity.require("administer", token_of(request.cookies))
        await audit.record("administration", user, detail=f"logins of {name} ended")
        await sign_in.end_all(name)
        await disconnect(name)
        return Response(status_code=204)

    return router


async def _lines(audit: DatabaseAuditLog, wanted: AuditFilter) -> AsyncGenerator[str, None]:
    async for entry in audit.entries(wanted):
        yield entry.model_dump_json() + "\n"
