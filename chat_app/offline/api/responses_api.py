"""Routes of ``/v1/responses``."""

from collections.abc import AsyncIterator
from itertools import islice
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from chat_app.offline.api.listing import ListQuery, StrictRoute, from_state, json_response, page_of
from chat_app.offline.config import OfflineConfig
from chat_app.offline.execution.response_service import ResponseService
from chat_app.offline.state.response_store import ResponseStore
from chat_app.offline.wire import event_encoding
from chat_app.offline.wire.errors import ApiError, Json
from chat_app.offline.wire.requests import Compact, CreateResponse, Retrieve

router = APIRouter(prefix="/v1/responses", route_class=StrictRoute)
Service = Annotated[ResponseService, from_state("responses")]
Store = Annotated[ResponseStore, from_state("response_store")]
Config = Annotated[OfflineConfig, from_state("config")]
_STREAMED: Final[dict[int | str, Json]] = {200: {"content": {"text/event-stream": {"schema": {}}}}}
"""The streamed form of a successful response."""


@router.post("", responses=_STREAMED)
async def create(body: CreateResponse, service: Service, config: Config) -> Response:
    """Create a response: return it as JSON when it is complete, or stream its events."""
    turn = await service.start(body)
    if body.stream:
        return _stream(turn.frames_of_client(config.keep_alive))
    if not body.background:
        await turn.wait()
        if turn.response["status"] == "failed":
            failure = turn.response["error"]
            raise ApiError(500, failure["message"], kind="server_error", code=failure["code"])
    return json_response(turn.response)


def _stream(frames: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(
        frames, media_type="text/event-stream", headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    )


@router.post("/compact")
async def compact(body: Compact, service: Service) -> Response:
    """Return the conversation as its user messages and one item for everything else."""
    return json_response(await service.compact(body))


@router.get("/{response_id}", responses=_STREAMED)
async def retrieve(
    response_id: str, service: Service, store: Store, config: Config, query: Annotated[Retrieve, Query()]
) -> Response:
    """Return a response; with ``stream`` its events after number ``starting_after``."""
    turn = service.live(response_id)
    first = 0 if query.starting_after is None else query.starting_after + 1
    if query.stream:
        return _stream(turn.frames(first, config.keep_alive) if turn else _replay(await store.get(response_id), first))
    return json_response(turn.response if turn else await store.get(response_id))


async def _replay(response: Json, first: int) -> AsyncIterator[bytes]:
    for event in islice(event_encoding.replay(response), first, None):
        yield event_encoding.encode(event)


@router.get("/{response_id}/input_items")
async def input_items(response_id: str, store: Store, page: Annotated[ListQuery, Query()]) -> Response:
    """List the items of the response's request, newest first unless asked otherwise."""
    return json_response(page_of(await store.input_items(response_id), page))


@router.post("/{response_id}/cancel")
async def cancel(response_id: str, service: Service) -> Response:
    """Cancel a background response."""
    return json_response(await service.cancel(response_id))


@router.delete("/{response_id}")
async def delete(response_id: str, service: Service) -> Response:
    """Delete a response."""
    await service.delete(response_id)
    return json_response({"id": response_id, "object": "response", "deleted": True})
