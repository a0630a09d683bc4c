"""Connects Chainlit to the app: data layer, socket handlers and, standalone, guard, routes and services."""

import os
from pathlib import Path

import chainlit.data as chainlit_data
from chainlit import oauth_providers
from chainlit.auth import ensure_jwt_secret
from chainlit.config import config, load_module
from chainlit.server import app as chainlit_app
from chainlit.server import sio
from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from chat_app.data_protection import protect
from chat_app.interface import runtime as runtimes
from chat_app.interface.api import problems
from chat_app.interface.api.api_routes import api_routes
from chat_app.interface.history.history_layer import asking_user
from chat_app.interface.page import socket_handlers
from chat_app.interface.page.page import ChatPage
from chat_app.interface.page.page_document import own_page
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import SECRET_VARIABLE
from chat_app.interface.security.oidc_routes import PROVIDER, begin_leaving
from chat_app.interface.security.request_guard import RequestGuard
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.observability.access_log import AccessLog
from chat_app.settings import Settings

TARGET = Path(__file__).resolve().parent.parent / "app.py"


def attach() -> tuple[Runtime, ChatPage]:
    """Connect Chainlit to the served runtime and its page, as Chainlit loads its target."""
    served = runtimes.current()
    runtime = served or _standalone_runtime()
    os.environ[SECRET_VARIABLE] = runtime.identity.secret
    config.project.allow_origins = list(runtime.settings.server.allowed_origins)
    if runtime.settings.server.workers > 1:
        # Polls of one socket would reach different processes.
        config.project.transports = ["websocket"]
    # Chainlit's decorator would keep the first history even if another app is served later.
    setattr(chainlit_data, "_data_layer", runtime.history)  # noqa: B010
    setattr(chainlit_data, "_data_layer_initialized", True)  # noqa: B010
    page = ChatPage(runtime)
    socket_handlers.install(page)
    problems.install(chainlit_app)
    if served is None:
        chainlit_app.state.runtime = runtime
        # Before Chainlit's own routes, whose last one is a catch-all.
        chainlit_app.router.routes[:0] = api_routes(runtime)
        add_guard(chainlit_app, runtime)
    if runtime.metrics is not None:
        runtime.metrics.watch("sockets", "Connected browsers.", lambda: len(sio.eio.sockets))
    return runtime, page


def add_guard(app: FastAPI, runtime: Runtime) -> None:
    """Add the middleware that checks and logs every request of ``app``."""
    app.add_middleware(
        RequestGuard,
        identity=runtime.identity,
        sign_in=runtime.sign_in,
        audit=runtime.audit,
        own_page=own_page,
        on_user=asking_user.set,
    )
    app.add_middleware(SocketDrain, turns=runtime.turns)
    app.add_middleware(AccessLog, enabled=runtime.settings.diagnostics.access_log, metrics=runtime.metrics)


def _standalone_runtime() -> Runtime:
    from chat_app.bootstrap import open_app

    settings = Settings()
    settings.check()
    protect(settings.storage.data_dir)
    runtime = Runtime(settings, open_app)
    runtimes.use(runtime)
    return runtime


def offer_single_sign_on(settings: Settings) -> None:
    """Show the button on the sign-in page that leads to our routes; Chainlit's own OAuth routes stay closed."""

    async def leave(_request: Request, response: Response) -> dict[str, bool]:
        begin_leaving(response, settings)
        return {"success": True}

    async def refuse(*_given: object) -> None:
        return None

    provider = oauth_providers.OAuthProvider()
    provider.id, provider.env = PROVIDER, []
    setattr(oauth_providers, "providers", [provider])  # noqa: B010
    config.code.oauth_callback = refuse
    config.code.on_logout = leave


def mount(host: FastAPI, root_path: str = "") -> None:
    """Mount Chainlit with our target at ``/`` of ``host``, which a proxy publishes at ``root_path``.

    Does what ``mount_chainlit`` does, without its middleware, which turns every aborted request into an error.
    """
    os.environ["CHAINLIT_ROOT_PATH"] = root_path or "/"
    config.run.module_name = str(TARGET)
    load_module(str(TARGET))
    ensure_jwt_secret()  # type: ignore[no-untyped-call]
    host.mount("/", chainlit_app)


class SocketDrain:
    """ASGI middleware that refuses new WebSockets with 503 while the server drains.

    A balancer then connects the browser to another replica.
    """

    def __init__(self, app: ASGIApp, *, turns: LiveTurns) -> None:
        self._app, self._turns = app, turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "websocket" and self._turns.draining:
            app = Response(status_code=503, headers={"retry-after": "1"})
        await app(scope, receive, send)
