"""Serve everything below a path, such as ``/asclepius``, whether a proxy strips that path or passes it on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]


class RootPath:
    """ASGI middleware around the whole app that removes ``root_path`` from the paths of requests."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], root_path: str) -> None:
        self._app = app
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        if scope["type"] in ("http", "websocket") and self._is_below(scope["path"]):
            path, raw = scope["path"], scope.get("raw_path") or scope["path"].encode()
            # The root has only characters that are the same in both forms.
            below = len(self._root)
            scope = {**scope, "path": path[below:] or "/", "raw_path": raw[below:] or b"/"}
        await self._app(scope, receive, send)

    def _is_below(self, path: str) -> bool:
        return bool(self._root) and (path == self._root or path.startswith(f"{self._root}/"))
