"""Routes of the page: feedback, settings of an open conversation, and the end of a user's logins.

Those of feedback replace Chainlit's, which let any user change anyone's feedback.
"""

from typing import Annotated, Literal

from chainlit.types import Feedback
from fastapi import APIRouter, Body, Response
from pydantic import BaseModel, ConfigDict, Field

from chat_app.interface.api.dependencies import OwnThread, ServedRuntime, User
from chat_app.interface.conversation.page_options import MOST_DOCUMENTS
from chat_app.interface.page.page_settings import change
from chat_app.interface.rendering.sockets import disconnect_user, sessions_of
from chat_app.interface.security.identity import require_owner
from chat_app.interface.security.oidc_routes import begin_leaving

_LONGEST_COMMENT = 4_000


class FeedbackBody(BaseModel):
    """What the page sends; ``for_id`` is the run that answered."""

    for_id: str = Field(alias="forId", max_length=64)
    value: Literal[0, 1]
    comment: str | None = Field(None, max_length=_LONGEST_COMMENT)


FeedbackId = Annotated[str, Body(embed=True, alias="feedbackId", max_length=64)]


class SourceSettings(BaseModel):
    """The sources to search from now on; omitted fields stay unchanged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    guidelines: bool | None = None
    documents: tuple[str, ...] | None = Field(None, max_length=MOST_DOCUMENTS)
    drugs: bool | None = None


router = APIRouter(include_in_schema=False)


@router.put("/feedback")
async def put(
    runtime: ServedRuntime, user: User, given: Annotated[FeedbackBody, Body(embed=True, alias="feedback")]
) -> dict[str, object]:
    """Set the user's feedback on one of their own answers."""
    require_owner(user, await runtime.history.owner_of("step", given.for_id))
    await runtime.audit.record("feedback", user, detail=given.for_id)
    feedback = Feedback(forId=given.for_id, value=given.value, comment=given.comment)
    return {"success": True, "feedbackId": await runtime.history.upsert_feedback(feedback)}


@router.delete("/feedback")
async def delete(runtime: ServedRuntime, user: User, feedback_id: FeedbackId) -> dict[str, object]:
    """Delete the user's own feedback."""
    require_owner(user, await runtime.history.owner_of("feedback", feedback_id))
    await runtime.audit.record("feedback", user, detail=f"{feedback_id} deleted")
    await runtime.history.delete_feedback(feedback_id)
    return {"success": True}


@router.post("/api/v1/threads/{thread_id}/settings", status_code=204, response_class=Response)
async def settings(runtime: ServedRuntime, user: User, thread_id: OwnThread, body: SourceSettings) -> None:
    """Change the settings in every tab that has the conversation open."""
    values = body.model_dump(exclude_none=True, mode="json")
    await runtime.audit.record("settings", user, conversation=thread_id, detail=", ".join(values))
    for session in sessions_of(thread_id, user)[:1]:
        await change(runtime, session, values, shown=False)


@router.delete("/api/v1/logins", status_code=204, response_class=Response)
async def end_logins(runtime: ServedRuntime, user: User) -> Response:
    """End every login of the user, in all browsers."""
    await runtime.audit.record("logout", user, detail="everywhere")
    await runtime.ready()
    await runtime.sign_in.end_all(user)
    await disconnect_user(user)
    response = Response(status_code=204)
    begin_leaving(response, runtime.settings)
    return response
