"""The web app: Chainlit's page at ``/``, our own routes before it, one guard around both.

``create_app`` makes it; its lifespan opens history and services, and ends the live turns before it lets go of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request, Response

from chat_app import bootstrap
from chat_app.interface import api_docs, problems
from chat_app.interface import runtime as runtimes
from chat_app.interface.assets import prepare_page_root
from chat_app.interface.consult_routes import consult_router
from chat_app.interface.conversation_routes import conversation_router
from chat_app.interface.guard import Guard
from chat_app.interface.health_routes import health_router, status_router
from chat_app.interface.problems import NOTHING_HERE, problem
from chat_app.interface.runtime import OpenApp, Runtime
from chat_app.interface.source_routes import source_router
from chat_app.interface.thread_routes import thread_router
from chat_app.settings import Settings

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def create_app(settings: Settings, *, open_app: OpenApp = bootstrap.open_app) -> FastAPI:
    """The whole web app for ``settings``. Raises ``ConfigurationError`` when they are unsafe.

    ``open_app`` builds what answers; tests put a stand-in there.
    """
    settings.check()
    prepare_page_root(settings.storage.data_dir)
    # Chainlit is imported from here on: it reads its configuration, and its secret, as it is.
    from chat_app.interface import chainlit_setup
    from chat_app.interface.history import asking_user

    runtime = Runtime(settings, open_app)
    runtimes.use(runtime)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None, None]:
        async with runtime.running():
            yield

    app = FastAPI(title="Asclepius", lifespan=lifespan, docs_url=None, redoc_url=None,
                  openapi_url="/api/v1/openapi.json")
    app.state.runtime = runtime
    problems.install(app)
    api_docs.document(app)
    app.include_router(api_router(runtime))
    chainlit_setup.mount(app)
    app.add_middleware(Guard, identity=runtime.identity, on_user=asking_user.set)
    return app


def api_router(runtime: Runtime) -> APIRouter:
    """Every route of our own."""
    from chat_app.interface.feedback_routes import feedback_router
    from chat_app.interface.file_routes import file_router
    from chat_app.interface.settings_routes import settings_router

    router = APIRouter()
    router.include_router(health_router(runtime), tags=["health"])
    router.include_router(feedback_router(runtime), include_in_schema=False)
    router.include_router(settings_router(runtime), prefix="/api/v1", include_in_schema=False)
    router.include_router(file_router(runtime), prefix="/api/v1", include_in_schema=False)
    router.include_router(consult_router(runtime), prefix="/api/v1")
    router.include_router(conversation_router(runtime), prefix="/api/v1")
    router.include_router(thread_router(runtime), prefix="/api/v1", tags=["conversations"])
    router.include_router(source_router(runtime), prefix="/api/v1", tags=["sources"])
    router.include_router(status_router(runtime), prefix="/api/v1", tags=["health"])
    # Last, or Chainlit would answer every other address under /api with its page.
    router.add_api_route("/api/{path:path}", _no_such_route, methods=_METHODS, include_in_schema=False)
    return router


async def _no_such_route(request: Request) -> Response:
    """404, or 405 where another method would do."""
    allowed = api_docs.methods_of(request.app, request.url.path)
    if not allowed:
        return problem(404, NOTHING_HERE)
    return problem(405, "This address takes another method.", headers={"Allow": ", ".join(allowed)})
