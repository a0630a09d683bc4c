"""JSON requests and responses, and pages of a list in the API's format."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

import orjson
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from chat_app.offline.wire.errors import ApiError, Json, not_found


def json_response(body: Any) -> Response:
    """Return ``body`` as a JSON response."""
    return Response(orjson.dumps(body), media_type="application/json")


def error_response(error: ApiError) -> Response:
    """Return ``error`` as a JSON response with its headers."""
    return Response(orjson.dumps(error.body), error.status_code, error.headers, "application/json")


def from_state(name: str) -> Any:
    """Return the dependency of a route on the app's object ``name``."""

    async def found(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(found)


class ListQuery(BaseModel):
    """Query of a list endpoint: newest first unless ``order`` is ``asc``."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    limit: int = Field(20, ge=1, le=100)
    order: Literal["asc", "desc"] = "desc"
    after: str | None = None
    before: str | None = None


def page_of(items: Sequence[Json], page: ListQuery) -> Json:
    """Return one page of ``items``, which are oldest first. Raises ``ApiError`` 404 for an unknown cursor."""
    ordered = list(items) if page.order == "asc" else list(reversed(items))
    if page.after is not None:
        ordered = ordered[_place(ordered, page.after) + 1 :]
    if page.before is not None:
        ordered = ordered[: _place(ordered, page.before)]
    shown = ordered[: page.limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else "",
        "last_id": shown[-1]["id"] if shown else "",
        "has_more": len(ordered) > len(shown),
    }


def _place(items: Sequence[Json], item_id: str) -> int:
    for index, item in enumerate(items):
        if item["id"] == item_id:
            return index
    raise not_found("Item", item_id)


class StrictRequest(Request):
    """A request whose ``json()`` uses ``orjson``, which accepts exactly what this server can store and send."""

    async def json(self) -> Any:
        """Return the body as JSON."""
        return orjson.loads(await self.body())


class StrictRoute(APIRoute):
    """A route that reads its body as strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that receives a ``StrictRequest``."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly
