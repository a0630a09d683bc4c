"""Routes to send a file, keep it in its conversation, add it to the library, or remove it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, cast

from chainlit.server import upload_file
from chainlit.session import WebsocketSession
from fastapi import APIRouter, Depends, HTTPException, Path, Request, UploadFile
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from chat_app.interface.api.dependencies import OwnThread, ReaderLanguage, ServedRuntime, User
from chat_app.interface.conversation.own_documents import scope_of_thread
from chat_app.interface.conversation.uploads import FileState
from chat_app.interface.i18n.translation import say, say_tool_error
from chat_app.interface.keeping.turn_keeper import STORE_SECONDS
from chat_app.interface.page.page_settings import change
from chat_app.interface.rendering.sockets import emit, owner_of, sessions_of
from chat_app.interface.security.identity import NotOwner, require_owner, token_of
from chat_app.interface.security.request_body import problem
from tools.guidelines import scope_of

_LOOK_AGAIN: Final = 0.1
_FULL: Final = "Too many files were sent. Close conversations with files, or try again later."


class FileFor(BaseModel):
    """Where the file is to be available."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    whom: Literal["conversation", "library"] = Field(alias="for")


router = APIRouter(include_in_schema=False)


@dataclass
class ThreadFile:
    """The file that the path names, of the conversation there. Raises ``NotOwner`` for any other file."""

    runtime: ServedRuntime
    user: User
    thread_id: OwnThread
    document_id: Annotated[str, Path(max_length=80)]

    def __post_init__(self) -> None:
        scope = scope_of_thread(self.thread_id)
        if scope is None or scope_of(self.document_id) != scope:
            raise NotOwner
        self.scope = scope

    async def search_instead(self, *instead: str) -> None:
        """Put ``instead`` in the place of the file in the settings panel and its selection."""
        for session in sessions_of(self.thread_id, self.user)[:1]:
            chosen = session.chat_settings.get("documents") or ()
            kept = [name for each in chosen for name in (instead if each == self.document_id else [each])]
            await change(self.runtime, session, {"documents": kept}, shown=False)

    async def keep(self, state: FileState) -> Response:
        """Update the decision under the answer, in the history and in every open tab."""
        for element in await self._elements():
            props = element["props"]
            files = [{**file, "state": state} if self._is(file) else file for file in props["files"]]
            changed = {**element, "props": {**props, "files": files}}
            await self.runtime.history.save_turn(self.thread_id, [], [changed])
            for session in sessions_of(self.thread_id, self.user):
                await emit(session, "element", changed)
        return JSONResponse({"state": state})

    async def _elements(self) -> list[dict[str, Any]]:
        """Return the stored elements that show the file; wait while its answer, already shown, is being stored."""
        asked = self.thread_id, self.user
        with suppress(TimeoutError):
            async with asyncio.timeout(STORE_SECONDS):
                while True:
                    unsaved = self.runtime.turns.of_thread(*asked) or await self.runtime.elsewhere.of_thread(*asked)
                    thread = await self.runtime.history.get_thread(self.thread_id)
                    elements = cast("list[dict[str, Any]]", (thread["elements"] if thread else None) or [])
                    shown = [e for e in elements if any(map(self._is, (e.get("props") or {}).get("files") or []))]
                    if shown or not unsaved:
                        return shown
                    await asyncio.sleep(_LOOK_AGAIN)
        return []

    def _is(self, file: dict[str, Any]) -> bool:
        return bool(file["document"] == self.document_id)


NamedFile = Annotated[ThreadFile, Depends()]


@router.post("/api/v1/threads/{thread_id}/files/{document_id}")
async def decide(file: NamedFile, request: Request, language: ReaderLanguage, body: FileFor) -> Response:
    """Keep a file in its conversation or add it to the library, and show that in every tab."""
    if body.whom == "conversation":
        return await file.keep("own")
    if not file.runtime.identity.may("upload", token_of(request.cookies)):
        return problem(403, say(language, "upload.not_allowed"))
    shared = await (await file.runtime.ready()).guidelines.share(file.document_id, file.scope)
    if shared is None:
        raise NotOwner
    await file.search_instead(shared.id)
    return await file.keep("library")


@router.delete("/api/v1/threads/{thread_id}/files/{document_id}")
async def remove(file: NamedFile) -> Response:
    """Stop searching a file; what earlier answers cite of it stays readable until the conversation is deleted."""
    await file.runtime.audit.record("delete", file.user, conversation=file.thread_id, detail="file")
    if not await (await file.runtime.ready()).guidelines.remove(file.document_id, scope=file.scope):
        raise NotOwner
    await file.search_instead()
    return await file.keep("removed")


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
