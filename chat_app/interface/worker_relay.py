"""Requests about a browser's socket, relayed to the process that holds it.

The workers of one ``asclepius serve`` share a port, so that a request can arrive at another worker than the socket of
its browser. Any worker can answer most requests. Uploads and changes of an open conversation need the socket.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from hmac import compare_digest
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import httpx
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_MARK: Final = b"x-asclepius-worker"
"""Header of requests between workers: their token, and the client's host and port."""
_ASK: Final = "?"
"""In place of the client: the request only asks whether the worker holds the socket."""
_ABOUT_SESSION: Final = re.compile(r"^/project/file(?:/|$)")
_ABOUT_THREAD: Final = re.compile(r"^/api/v1/threads/([^/]+)/(?:settings|files/[^/]+)$")
_HOP_BY_HOP: Final = frozenset({b"connection", b"date", b"keep-alive", b"transfer-encoding"})
_ANSWER_SECONDS: Final = 2.0


class Siblings:
    """The other workers of this port, by their Unix sockets; ``token`` proves that a request comes from one.

    With https the sockets speak TLS, too, and their folder, which only this user can enter, stands for the certificate.
    """

    def __init__(self, sockets: Sequence[Path], token: str, scheme: str) -> None:
        self.token = token
        self._clients = {
            path.stem: httpx.AsyncClient(
                transport=httpx.AsyncHTTPTransport(uds=str(path), verify=False),
                base_url=f"{scheme}://localhost",
                timeout=httpx.Timeout(None, connect=_ANSWER_SECONDS),
                trust_env=False,
            )
            for path in sockets
        }

    async def silent(self) -> list[str]:
        """Return the names of the workers that do not answer."""
        answers = await asyncio.gather(*(self._status(client, "/livez") for client in self._clients.values()))
        return [f"{name} does not answer" for name, status in zip(self._clients, answers, strict=True) if status != 200]

    async def holder_of(self, target: str) -> httpx.AsyncClient | None:
        """Return the worker with the socket that a request for ``target`` is about."""
        headers = {_MARK.decode(): f"{self.token} {_ASK}"}
        clients = list(self._clients.values())
        answers = await asyncio.gather(*(self._status(client, target, headers) for client in clients))
        return next((client for client, status in zip(clients, answers, strict=True) if status == 204), None)

    async def _status(self, client: httpx.AsyncClient, target: str, headers: dict[str, str] | None = None) -> int:
        try:
            return (await client.get(target, headers=headers, timeout=_ANSWER_SECONDS)).status_code
        except httpx.HTTPError:
            return 0


class WorkerRelay:
    """ASGI middleware that relays a request to the worker that holds the socket which the request is about."""

    def __init__(self, app: ASGIApp, *, siblings: Siblings) -> None:
        self._app, self._siblings = app, siblings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer here, also for another worker, or relay the request."""
        about = _about(scope) if scope["type"] == "http" else None
        if about is None:
            await self._app(scope, receive, send)
        elif (client := self._relayed(scope)) == [_ASK]:
            await Response(status_code=204 if _is_here(about) else 404)(scope, receive, send)
        elif client:
            host, port = client
            await self._app({**scope, "client": (host, int(port))}, receive, send)
        elif not _is_here(about) and (holder := await self._siblings.holder_of(_target(scope))) is not None:
            await self._relay(holder, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _relayed(self, scope: Scope) -> list[str]:
        """Return what another worker says of the client; nothing for a request that comes from the client."""
        mark = next((value.decode("latin-1") for name, value in scope["headers"] if name == _MARK), "")
        token, *client = mark.split(" ")
        return client if compare_digest(token.encode(), self._siblings.token.encode()) else []

    async def _relay(self, holder: httpx.AsyncClient, scope: Scope, receive: Receive, send: Send) -> None:
        host, port = scope["client"] or ("", 0)
        headers = [(name, value) for name, value in scope["headers"] if name not in {*_HOP_BY_HOP, _MARK}]
        headers.append((_MARK, f"{self._siblings.token} {host} {port}".encode()))
        body = None if scope["method"] in {"GET", "HEAD"} else Request(scope, receive).stream()
        begun = False
        try:
            async with holder.stream(scope["method"], _target(scope), headers=headers, content=body) as response:
                kept = [(name.lower(), value) for name, value in response.headers.raw]
                kept = [(name, value) for name, value in kept if name not in _HOP_BY_HOP]
                await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
                begun = True
                async for data in response.aiter_raw():
                    await send({"type": "http.response.body", "body": data, "more_body": True})
        except (httpx.HTTPError, ClientDisconnect):
            if begun:
                raise
            await send({"type": "http.response.start", "status": 503, "headers": [(b"retry-after", b"1")]})
        await send({"type": "http.response.body", "body": b""})


def _target(scope: Scope) -> str:
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    return f"{path}?{scope['query_string'].decode('latin-1')}"


def _about(scope: Scope) -> Callable[[Any], bool] | None:
    """Return which sessions of Chainlit a request is about; None when any worker can answer it."""
    if thread := _ABOUT_THREAD.match(scope["path"]):
        return lambda session: session.thread_id == thread[1]
    if _ABOUT_SESSION.match(scope["path"]):
        tab = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])[-1]
        return (lambda session: session.id == tab) if tab else None
    return None


def _is_here(about: Callable[[Any], bool]) -> bool:
    # Chainlit reads its configuration on import, which the server prepares after it has imported this module.
    from chainlit.session import ws_sessions_id

    return any(map(about, list(ws_sessions_id.values())))
