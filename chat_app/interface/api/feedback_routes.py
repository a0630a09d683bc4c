"""Feedback routes that replace Chainlit's, which let any user change anyone's feedback."""

from typing import Literal

from chainlit.types import Feedback
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import require_owner

_LONGEST_COMMENT = 4_000


class FeedbackBody(BaseModel):
    """What the page sends; ``for_id`` is the run that answered."""

    for_id: str = Field(alias="forId", max_length=64)
    value: Literal[0, 1]
    comment: str | None = Field(None, max_length=_LONGEST_COMMENT)


class PutFeedback(BaseModel):
    """Body of the route that sets feedback."""

    feedback: FeedbackBody


class DeleteFeedback(BaseModel):
    """Body of the route that deletes feedback."""

    feedback_id: str = Field(alias="feedbackId", max_length=64)


def feedback_router(runtime: Runtime) -> APIRouter:
    """Return the routes that set and delete feedback."""
    router = APIRouter(include_in_schema=False)

    @router.put("/feedback")
    async def put(request: Request, body: PutFeedback) -> dict[str, object]:
        """Set the user's feedback on one of their own answers."""
        user = runtime.identity.from_cookies(request.cookies)
        given = body.feedback
        require_owner(user, await runtime.history.owner_of("step", given.for_id))
        await runtime.audit.record("feedback", user, detail=given.for_id)
        feedback = Feedback(forId=given.for_id, value=given.value, comment=given.comment)
        return {"success": True, "feedbackId": await runtime.history.upsert_feedback(feedback)}

    @router.delete("/feedback")
    async def delete(request: Request, body: DeleteFeedback) -> dict[str, object]:
        """Delete the user's own feedback."""
        user = runtime.identity.from_cookies(request.cookies)
        require_owner(user, await runtime.history.owner_of("feedback", body.feedback_id))
        await runtime.audit.record("feedback", user, detail=f"{body.feedback_id} deleted")
        await runtime.history.delete_feedback(body.feedback_id)
        return {"success": True}

    return router
