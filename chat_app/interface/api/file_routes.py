"""Routes to send a file, keep it in its conversation, add it to the library, or remove it."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any, Final, Literal, cast

from chainlit.server import upload_file
from chainlit.session import WebsocketSession
from fastapi import APIRouter, HTTPException, Path, Request, UploadFile
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from chat_app.interface.api.dependencies import OwnThread, ReaderLanguage, ServedRuntime, User
from chat_app.interface.api.problems import problem
from chat_app.interface.conversation.own_documents import scope_of_thread
from chat_app.interface.conversation.uploads import FileState
from chat_app.interface.i18n.translation import say, say_tool_error
from chat_app.interface.keeping.turn_keeper import STORE_SECONDS
from chat_app.interface.page.page_settings import change
from chat_app.interface.rendering.sockets import emit, owner_of, sessions_of
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import NotOwner, require_owner, token_of
from tools.guidelines import Scope, scope_of

_LOOK_AGAIN: Final = 0.1
DocumentOfThread = Annotated[str, Path(max_length=80)]
_FULL: Final = "Too many files were sent. Close conversations with files, or try again later."


class FileFor(BaseModel):
    """Where the file is to be available."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    whom: Literal["conversation", "library"] = Field(alias="for")


router = APIRouter(include_in_schema=False)


@router.post("/api/v1/threads/{thread_id}/files/{document_id}")
async def decide(
    runtime: ServedRuntime,
    request: Request,
    user: User,
    thread_id: OwnThread,
    document_id: DocumentOfThread,
    *,
    language: ReaderLanguage,
    body: FileFor,
) -> Response:
    """Keep a file in its conversation or add it to the library, and show that in every tab."""
    scope = _scope(thread_id, document_id)
    state: FileState = "own"
    if body.whom == "library":
        if not runtime.identity.may("upload", token_of(request.cookies)):
            return problem(403, say(language, "upload.not_allowed"))
        shared = await (await runtime.ready()).guidelines.share(document_id, scope)
        if shared is None:
            raise NotOwner
        state = "library"
        await _search_instead(runtime, thread_id, user, document_id, [shared.id])
    await _keep(runtime, thread_id, user, document_id, state)
    return JSONResponse({"state": state})


@router.delete("/api/v1/threads/{thread_id}/files/{document_id}")
async def remove(runtime: ServedRuntime, user: User, thread_id: OwnThread, document_id: DocumentOfThread) -> Response:
    """Stop searching a file; what earlier answers cite of it stays readable until the conversation is deleted."""
    scope = _scope(thread_id, document_id)
    await runtime.audit.record("delete", user, conversation=thread_id, detail="file")
    if not await (await runtime.ready()).guidelines.remove(document_id, scope=scope):
        raise NotOwner
    await _search_instead(runtime, thread_id, user, document_id, [])
    await _keep(runtime, thread_id, user, document_id, "removed")
    return JSONResponse({"state": "removed"})


def _scope(thread_id: str, document_id: str) -> Scope:
    """Return the scope of the conversation, whose file it must be. Raises ``NotOwner``."""
    scope = scope_of_thread(thread_id)
    if scope is None or scope_of(document_id) != scope:
        raise NotOwner
    return scope


async def _search_instead(runtime: Runtime, thread_id: str, user: str, own: str, instead: list[str]) -> None:
    """Put ``instead`` in the place of the file in the settings panel and its selection."""
    for session in sessions_of(thread_id, user)[:1]:
        chosen = session.chat_settings.get("documents") or ()
        kept = [name for each in chosen for name in (instead if each == own else [each])]
        await change(runtime, session, {"documents": kept}, shown=False)


async def _keep(runtime: Runtime, thread_id: str, user: str, document_id: str, state: FileState) -> None:
    """Update the decision under the answer, in the history and in every open tab."""
    for element in await _elements_with(runtime, thread_id, user, document_id):
        props = element["props"]
        files = [{**file, "state": state} if file["document"] == document_id else file for file in props["files"]]
        changed = {**element, "props": {**props, "files": files}}
        await runtime.history.save_turn(thread_id, [], [changed])
        for session in sessions_of(thread_id, user):
            await emit(session, "element", changed)


async def _elements_with(runtime: Runtime, thread_id: str, user: str, document_id: str) -> list[dict[str, Any]]:
    """Return the stored elements that show the file; wait while its answer, already shown, is being stored."""
    with suppress(TimeoutError):
        async with asyncio.timeout(STORE_SECONDS):
            while True:
                unsaved = runtime.turns.of_thread(thread_id, user) or await runtime.elsewhere.of_thread(thread_id, user)
                thread = await runtime.history.get_thread(thread_id)
                elements = cast("list[dict[str, Any]]", (thread["elements"] if thread else None) or [])
                shown = [e for e in elements if any(f["document"] == document_id for f in _files_of(e))]
                if shown or not unsaved:
                    return shown
                await asyncio.sleep(_LOOK_AGAIN)
    return []


def _files_of(element: dict[str, Any]) -> list[dict[str, Any]]:
    return (element.get("props") or {}).get("files") or []


@router.post("/project/file")
async def upload(
    runtime: ServedRuntime, user: User, language: ReaderLanguage, session_id: str, file: UploadFile
) -> Any:
    """Keep a file for the next question of a tab."""
    session = WebsocketSession.get_by_id(session_id)
    if session is None:
        raise NotOwner
    require_owner(user, owner_of(session))
    if not file.size:
        raise HTTPException(400, say_tool_error(language, "file_empty", {}, ""))
    async with runtime.upload_room.admitted(user, file.size) as fits:
        if not fits or not await runtime.limits.may_send(user, file.size):
            raise HTTPException(413, _FULL)
        return await upload_file(session.user, session_id, file)
