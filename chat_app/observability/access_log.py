"""The access log, and an id for every request.

A line names the route's pattern in place of the address, because anyone may type anything into an address. It contains
no query string. The response carries the request's id as ``x-request-id``.
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chat_app.observability.log_ids import LogIds, log_ids

if TYPE_CHECKING:
    from chat_app.observability.app_metrics import AppMetrics

logger = logging.getLogger(__name__)

_REQUEST_ID = re.compile(rb"[0-9A-Fa-f-]{8,64}")
"""A proxy's id that is taken over: a hexadecimal number or a UUID, so that it cannot contain text."""


@dataclass(slots=True)
class AccessLog:
    """ASGI middleware around the whole app."""

    app: ASGIApp
    enabled: bool
    """Whether requests are logged; they get an id in any case."""
    metrics: AppMetrics | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request and log it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        ids = _ids(scope)
        log_ids.set(ids)
        began = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                message["headers"] = [*message["headers"], (b"x-request-id", ids.request_id.encode())]
                ids.turn_id = next((v.decode() for k, v in message["headers"] if k.lower() == b"x-turn-id"), "")
            elif message["type"] == "websocket.accept":
                status = 101
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            if self.metrics is not None:
                self.metrics.count_response(status)
            if self.enabled:
                self._log(scope, status, time.perf_counter() - began)

    @staticmethod
    def _log(scope: Scope, status: int, seconds: float) -> None:
        method = str(scope.get("method", "WEBSOCKET"))
        # FastAPI's own key has the whole pattern; that of a route alone lacks the prefixes of its routers.
        matched = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
        route = str(getattr(matched, "path", "")) or "other"
        fields = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
        logger.info("%s %s %s", method, route, status, extra={"fields": fields})


def _ids(scope: Scope) -> LogIds:
    given: bytes = next((value for name, value in scope["headers"] if name.lower() == b"x-request-id"), b"")
    return LogIds(given.decode()) if _REQUEST_ID.fullmatch(given) else LogIds()
