"""Strict JSON bodies: no NaN, no lone surrogates, no numbers that cannot be written back."""

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute


class StrictRequest(Request):
    """A request whose ``json()`` uses ``orjson``, which accepts exactly what this server can store and send."""

    async def json(self) -> Any:
        """Return the body as JSON."""
        if not hasattr(self, "_strict_json"):
            self._strict_json = orjson.loads(await self.body())
        return self._strict_json


class StrictRoute(APIRoute):
    """A route that reads its body as strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that receives a ``StrictRequest``."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly
