"""Every route of the HTTP API."""

from itertools import chain

from fastapi import Request, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from chat_app.interface.api import (
    api_docs,
    asset_routes,
    consult_routes,
    conversation_routes,
    health_routes,
    source_routes,
    thread_routes,
)
from chat_app.interface.api.dependencies import EVERY_METHOD
from chat_app.interface.api.model_api import model_routes
from chat_app.interface.api.passages import passage_page
from chat_app.interface.api.problems import NOTHING_HERE
from chat_app.interface.api.records import cds_routes, infobutton_routes
from chat_app.interface.mcp_route import McpRoute
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.oidc_routes import oidc_router
from chat_app.interface.security.request_body import problem


class _LoggedRoute(Route):
    """A route that the access log names by its pattern, as it does FastAPI's."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is not Match.NONE else child


def api_routes(runtime: Runtime) -> list[BaseRoute]:
    """Return every route of the API."""
    # These import Chainlit, which needs the page's folder.
    from chat_app.interface.api import file_routes, page_routes
    from chat_app.interface.api.operators import administration_routes

    uses_provider = runtime.settings.server.auth == "oidc"
    provider = [oidc_router(runtime.settings, runtime.identity, runtime.audit)] if uses_provider else []
    # A router tries its routes in order. They are not included, because FastAPI would build each of them again.
    routers = (
        consult_routes.router,
        health_routes.router,
        asset_routes.router,
        *provider,
        page_routes.router,
        file_routes.router,
        infobutton_routes.router,
        conversation_routes.router,
        thread_routes.router,
        source_routes.router,
        passage_page.router,
        administration_routes.router,
        model_routes.router,
    )
    cds_hooks = _LoggedRoute(cds_routes.PATH + "{path:path}", cds_routes.cds_app(runtime), include_in_schema=False)
    # Every method, or Chainlit's own route of that path would answer.
    mcp = _LoggedRoute("/mcp", McpRoute(runtime), methods=EVERY_METHOD, include_in_schema=False)
    # Last, or Chainlit would answer every other address under /api with its page.
    others = _LoggedRoute("/api/{path:path}", _no_such_route, methods=EVERY_METHOD, include_in_schema=False)
    return [*chain.from_iterable(router.routes for router in routers), cds_hooks, mcp, others]


async def _no_such_route(request: Request) -> Response:
    """Answer 404, or 405 where the path takes another method."""
    allowed = api_docs.methods_of(request.app, request.url.path)
    if not allowed:
        return problem(404, NOTHING_HERE)
    return problem(405, "This address takes another method.", headers={"Allow": ", ".join(allowed)})
