"""The offline server as an ASGI app: routes, error format, state, and its OpenAPI document."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from chat_app.offline.api import embeddings_api, files_api, responses_api, responses_socket, vector_stores_api
from chat_app.offline.api.api_guard import ApiGuard
from chat_app.offline.api.listing import error_response, json_response
from chat_app.offline.config import OfflineConfig
from chat_app.offline.execution.response_service import ResponseService
from chat_app.offline.state.file_store import FileStore
from chat_app.offline.state.response_store import ResponseStore
from chat_app.offline.state.state_database import Database
from chat_app.offline.state.vector_search import VectorSearch
from chat_app.offline.state.vector_store import VectorStoreState
from chat_app.offline.wire.errors import ApiError, Json, from_validation

MODEL: Final = "asclepius-extractive"
_CREATED: Final = 1_764_547_200
_HOUSEKEEPING: Final = 3600.0
"""Seconds between two removals of expired objects."""
logger = logging.getLogger(__name__)


def create_app(config: OfflineConfig) -> FastAPI:
    """Create the app of one data directory. Raises ``ConfigurationError`` when the configuration is unsafe."""
    config.check()
    database = Database(config.data_dir / "offline.sqlite3")
    app = FastAPI(title="Asclepius offline model server", lifespan=_lifespan, docs_url=None, redoc_url=None)
    app.state.config = config
    app.state.database = database
    app.state.files = files = FileStore(database, config.data_dir / "files")
    app.state.vector_stores = VectorStoreState(database, files)
    app.state.vector_search = search = VectorSearch(database)
    app.state.response_store = store = ResponseStore(database)
    app.state.responses = ResponseService(config, store, search)
    app.state.embed = None if config.embeddings is None else _embed_with(config.embeddings)
    app.state.embedding = asyncio.Lock()
    for api in (responses_api, files_api, vector_stores_api, embeddings_api):
        app.include_router(api.router, responses=ERRORS)
    app.include_router(responses_socket.router)
    app.add_api_route("/healthz", _health, methods=["GET"])
    app.add_api_route("/v1/models", _models, methods=["GET"], responses=ERRORS)
    app.add_api_route("/v1/models/{model:path}", _model, methods=["GET"], responses=ERRORS)
    app.openapi = lambda: describe(app, asks_for_key=config.key is not None)  # type: ignore[method-assign]
    app.exception_handler(RequestValidationError)(_validation_error)
    app.exception_handler(HTTPException)(_http_error)
    app.exception_handler(Exception)(_server_error)
    key = None if config.key is None else config.key.get_secret_value()
    app.add_middleware(ApiGuard, key=key, max_body=config.max_body, max_upload=config.max_file)
    return app


def _embed_with(model: Path) -> Callable[[Sequence[str]], list[list[float]]]:
    # Imported here because a server without a model does not need the guideline library.
    from tools.embeddings.embedders import OnnxEmbedder

    return OnnxEmbedder(model).embed


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    await _expire(app)
    await app.state.vector_stores.take_up()
    await app.state.responses.take_up()
    housekeeping = asyncio.create_task(_keep_house(app))
    yield
    housekeeping.cancel()
    await app.state.vector_stores.aclose()
    await app.state.responses.aclose()
    await app.state.database.aclose()


async def _keep_house(app: FastAPI) -> None:
    """Remove expired objects every hour; after a failure, try again in the next hour."""
    while True:
        await asyncio.sleep(_HOUSEKEEPING)
        try:
            await _expire(app)
        except (OSError, sqlite3.Error) as error:
            logger.warning("Expired objects could not be removed: %s", type(error).__name__)


async def _expire(app: FastAPI) -> None:
    await app.state.response_store.expire()
    await app.state.files.expire()


async def _health() -> Response:
    return json_response({"status": "ok"})


async def _models() -> Response:
    return json_response({"object": "list", "data": [_model_object(MODEL)]})


async def _model(model: str) -> Response:
    """Accept any name for the one model, so that clients keep their configuration."""
    return json_response(_model_object(model))


def _model_object(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "asclepius", "shutdown_date": None}


async def _validation_error(_: Request, error: RequestValidationError) -> Response:
    return error_response(from_validation(error.errors()))


async def _http_error(request: Request, error: HTTPException) -> Response:
    if isinstance(error, ApiError):
        return error_response(error)
    message = f"{error.detail}: see the API's description for its URLs and methods."
    allow = {"Allow": ", ".join(sorted(_methods(request)))} if error.status_code == 405 else None
    return error_response(ApiError(error.status_code, message, headers=allow))


def _methods(request: Request) -> set[str]:
    routes = (route for route in request.app.routes if isinstance(route, Route))
    found = (route.methods or () for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return set().union(*found)


async def _server_error(_: Request, error: Exception) -> Response:
    logger.error("A request failed with %s", type(error).__name__)
    return error_response(ApiError(500, "The server had an error.", kind="server_error"))


class ErrorDetail(BaseModel):
    """The ``error`` object of an error response."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(BaseModel):
    """Body of every error response."""

    error: ErrorDetail


_UPLOAD: Final = "Body_upload_v1_files_post"
ERRORS: Final[dict[int | str, Json]] = {"default": {"model": ErrorBody, "description": "An error."}}
"""The errors of all routes. With them, FastAPI adds no description of a 422."""


def describe(app: FastAPI, *, asks_for_key: bool) -> Json:
    """Return the OpenAPI document of ``app``."""
    schema = FastAPI.openapi(app)
    # As OpenAI describes it: a file is bytes of any kind.
    schema["components"]["schemas"][_UPLOAD]["properties"]["file"] = {"type": "string", "format": "binary"}
    if asks_for_key:
        schema |= {"security": [{"bearer": []}]}
        schema["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    return schema
