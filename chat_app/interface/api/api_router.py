"""The router that holds every route of the HTTP API."""

from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.routing import Route

from chat_app.interface.api import api_docs
from chat_app.interface.api.asset_routes import asset_router
from chat_app.interface.api.consult_routes import consult_router
from chat_app.interface.api.conversation_routes import conversation_router
from chat_app.interface.api.health_routes import health_router, status_router
from chat_app.interface.api.model_api.model_routes import model_router
from chat_app.interface.api.operators.administration_page import administration_page_router
from chat_app.interface.api.passages.passage_page import passage_page_router
from chat_app.interface.api.problems import NOTHING_HERE, problem
from chat_app.interface.api.source_routes import source_router
from chat_app.interface.api.thread_routes import thread_router
from chat_app.interface.mcp_route import McpRoute
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.administration import administration_router
from chat_app.interface.security.oidc_routes import oidc_router

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def api_router(runtime: Runtime) -> APIRouter:
    """Return every route of the API."""
    from chainlit.server import build_dir

    from chat_app.interface.api.feedback_routes import feedback_router
    from chat_app.interface.api.file_routes import file_router, upload_router
    from chat_app.interface.api.records import cds_routes
    from chat_app.interface.api.records.infobutton_routes import infobutton_router
    from chat_app.interface.api.settings_routes import settings_router
    from chat_app.interface.rendering.sockets import disconnect_user

    router = APIRouter()
    # First, because a router tries its routes in order.
    router.include_router(consult_router(runtime), prefix="/api/v1")
    router.include_router(health_router(runtime), tags=["health"])
    page_root = runtime.settings.storage.data_dir / "page"
    router.include_router(asset_router(Path(build_dir, "assets"), page_root), include_in_schema=False)
    if runtime.settings.server.auth == "oidc":
        router.include_router(oidc_router(runtime.settings, runtime.identity, runtime.audit), include_in_schema=False)
    router.include_router(feedback_router(runtime), include_in_schema=False)
    router.include_router(upload_router(runtime), include_in_schema=False)
    router.include_router(settings_router(runtime), prefix="/api/v1", include_in_schema=False)
    administration = administration_router(runtime.identity, runtime.sign_in, runtime.audit, disconnect_user)
    router.include_router(administration, prefix="/api/v1", include_in_schema=False)
    router.include_router(file_router(runtime), prefix="/api/v1", include_in_schema=False)
    router.include_router(infobutton_router(runtime), include_in_schema=False)
    router.routes.append(Route(cds_routes.PATH + "{path:path}", cds_routes.cds_app(runtime), include_in_schema=False))
    router.include_router(conversation_router(runtime), prefix="/api/v1")
    router.include_router(thread_router(runtime), prefix="/api/v1", tags=["conversations"])
    router.include_router(source_router(runtime), prefix="/api/v1", tags=["sources"])
    router.include_router(status_router(runtime), prefix="/api/v1", tags=["health"])
    # Every method, or Chainlit's own route of that path would answer.
    router.routes.append(Route("/mcp", McpRoute(runtime), methods=_METHODS, include_in_schema=False))
    router.include_router(passage_page_router(runtime), include_in_schema=False)
    router.include_router(administration_page_router(runtime), include_in_schema=False)
    router.include_router(model_router(runtime), include_in_schema=False)
    # Last, or Chainlit would answer every other address under /api with its page.
    router.add_api_route("/api/{path:path}", _no_such_route, methods=_METHODS, include_in_schema=False)
    return router


async def _no_such_route(request: Request) -> Response:
    """Answer 404, or 405 where the path takes another method."""
    allowed = api_docs.methods_of(request.app, request.url.path)
    if not allowed:
        return problem(404, NOTHING_HERE)
    return problem(405, "This address takes another method.", headers={"Allow": ", ".join(allowed)})
