"""Routes that change the settings of an open conversation, and that end a user's logins."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from chat_app.interface.conversation.page_options import MOST_DOCUMENTS
from chat_app.interface.page.page_settings import change
from chat_app.interface.rendering.sockets import disconnect_user, sessions_of
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import require_owner
from chat_app.interface.security.oidc_routes import begin_leaving


class SourceSettings(BaseModel):
    """The sources to search from now on; omitted fields stay unchanged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    guidelines: bool | None = None
    documents: tuple[str, ...] | None = Field(None, max_length=MOST_DOCUMENTS)
    drugs: bool | None = None


def settings_router(runtime: Runtime) -> APIRouter:
    """Return the routes that change an open conversation's settings and end logins."""
    router = APIRouter(prefix="/api/v1", include_in_schema=False)

    @router.post("/threads/{thread_id}/settings", status_code=204, response_class=Response)
    async def settings(
        request: Request, thread_id: Annotated[str, Path(max_length=64)], body: SourceSettings
    ) -> Response:
        """Change the settings in every tab that has the conversation open."""
        user = runtime.identity.from_cookies(request.cookies)
        require_owner(user, await runtime.history.owner_of("thread", thread_id))
        values = body.model_dump(exclude_none=True, mode="json")
        await runtime.audit.record("settings", user, conversation=thread_id, detail=", ".join(values))
        for session in sessions_of(thread_id, user)[:1]:
            await change(runtime, session, values, shown=False)
        return Response(status_code=204)

    @router.delete("/logins", status_code=204, response_class=Response)
    async def end_logins(request: Request) -> Response:
        """End every login of the user, in all browsers."""
        user = runtime.identity.from_cookies(request.cookies)
        await runtime.audit.record("logout", user, detail="everywhere")
        await runtime.ready()
        await runtime.sign_in.end_all(user)
        await disconnect_user(user)
        response = Response(status_code=204)
        begin_leaving(response, runtime.settings)
        return response

    return router
