"""The web app: Chainlit's page at ``/``, our own routes before it, one guard around both.

``create_app`` makes it; its lifespan opens history and services, and ends the live turns before it lets go of them.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from chat_app import bootstrap
from chat_app.interface import runtime as runtimes
from chat_app.interface.api import api_docs, problems
from chat_app.interface.api.api_routes import api_routes
from chat_app.interface.assets import prepare_page_root
from chat_app.interface.runtime import OpenApp, Runtime
from chat_app.interface.user_data import keep_purging
from chat_app.interface.worker_relay import Siblings, WorkerRelay
from chat_app.settings import Settings


def create_app(
    settings: Settings, *, open_app: OpenApp = bootstrap.open_app, siblings: Siblings | None = None
) -> FastAPI:
    """Create the web app for ``settings``. Raises ``ConfigurationError`` when they are unsafe.

    ``open_app`` builds what answers; tests put a stand-in there. ``siblings`` are the other processes of this port.
    """
    settings.check()
    root = settings.server.root_path
    prepare_page_root(settings.storage.data_dir)
    # Other apps of the same host must not get the login.
    os.environ["CHAINLIT_AUTH_COOKIE_PATH"] = root or "/"
    # Import Chainlit only now: it reads its configuration on import.
    from chat_app.interface import chainlit_setup

    runtime = Runtime(settings, open_app)
    runtimes.use(runtime)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None, None]:
        async with runtime.running():
            purging = asyncio.create_task(keep_purging(runtime))
            yield
            purging.cancel()

    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        servers=[{"url": root}] if root else None,
    )
    app.state.runtime = runtime
    problems.install(app)
    api_docs.document(app)
    app.router.routes.extend(api_routes(runtime))
    chainlit_setup.mount(app, root)
    chainlit_setup.add_guard(app, runtime)
    if siblings is not None:
        runtime.silent_workers = siblings.silent
        app.add_middleware(WorkerRelay, siblings=siblings)
    app.add_middleware(RootPath, root_path=root)
    return app


class RootPath:
    """ASGI middleware around the whole app that removes ``root_path`` from the paths of requests."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app, self._root = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A lifespan has no path.
        path = scope.get("path", "")
        if self._root and f"{path}/".startswith(f"{self._root}/"):
            # The root has only characters that are the same in both forms.
            below, raw = len(self._root), scope.get("raw_path") or path.encode()
            scope = {**scope, "path": path[below:] or "/", "raw_path": raw[below:] or b"/"}
        await self._app(scope, receive, send)
