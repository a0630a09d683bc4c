"""Every route of the HTTP API."""

from itertools import chain
from pathlib import Path

from fastapi import Request, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from chat_app.interface.api import api_docs
from chat_app.interface.api.asset_routes import asset_router
from chat_app.interface.api.consult_routes import consult_router
from chat_app.interface.api.conversation_routes import conversation_router
from chat_app.interface.api.health_routes import health_router, status_router
from chat_app.interface.api.model_api.model_routes import model_router
from chat_app.interface.api.operators.administration_routes import administration_router
from chat_app.interface.api.passages.passage_page import passage_page_router
from chat_app.interface.api.problems import NOTHING_HERE, problem
from chat_app.interface.api.source_routes import source_router
from chat_app.interface.api.thread_routes import thread_router
from chat_app.interface.mcp_route import McpRoute
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.oidc_routes import oidc_router

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class _LoggedRoute(Route):
    """A route that the access log names by its pattern, as it does FastAPI's."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return how the route matches, and itself as the route of the request."""
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is not Match.NONE else child


def api_routes(runtime: Runtime) -> list[BaseRoute]:
    """Return every route of the API."""
    from chainlit.server import build_dir

    from chat_app.interface.api.file_routes import file_router, upload_router
    from chat_app.interface.api.page_routes import page_router
    from chat_app.interface.api.records import cds_routes
    from chat_app.interface.api.records.infobutton_routes import infobutton_router
    from chat_app.interface.rendering.sockets import disconnect_user

    page_root = runtime.settings.storage.data_dir / "page"
    oidc = runtime.settings.server.auth == "oidc"
    # A router tries its routes in order. They are not included, because FastAPI would build each of them again.
    routers = (
        consult_router(runtime),
        health_router(runtime),
        asset_router(Path(build_dir, "assets"), page_root),
        *([oidc_router(runtime.settings, runtime.identity, runtime.audit)] if oidc else []),
        page_router(runtime),
        upload_router(runtime),
        file_router(runtime),
        infobutton_router(runtime),
        conversation_router(runtime),
        thread_router(runtime),
        source_router(runtime),
        status_router(runtime),
        passage_page_router(runtime),
        administration_router(runtime, disconnect_user),
        model_router(runtime),
    )
    cds_hooks = _LoggedRoute(cds_routes.PATH + "{path:path}", cds_routes.cds_app(runtime), include_in_schema=False)
    # Every method, or Chainlit's own route of that path would answer.
    mcp = _LoggedRoute("/mcp", McpRoute(runtime), methods=_METHODS, include_in_schema=False)
    # Last, or Chainlit would answer every other address under /api with its page.
    others = _LoggedRoute("/api/{path:path}", _no_such_route, methods=_METHODS, include_in_schema=False)
    return [*chain.from_iterable(router.routes for router in routers), cds_hooks, mcp, others]


async def _no_such_route(request: Request) -> Response:
    """Answer 404, or 405 where the path takes another method."""
    allowed = api_docs.methods_of(request.app, request.url.path)
    if not allowed:
        return problem(404, NOTHING_HERE)
    return problem(405, "This address takes another method.", headers={"Allow": ", ".join(allowed)})
