"""Routes for liveness, readiness and the loaded content."""

import asyncio
import time
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse

from chat_app.database.migrations import schema_problems
from chat_app.errors import AsclepiusError
from chat_app.generation.model_client import ModelClient
from chat_app.interface.api.dependencies import ReaderLanguage, ServedRuntime, signed_in
from chat_app.interface.i18n.translation import say
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import token_of
from tools.errors import ToolError
from tools.types import DEMO_ISSUER

T = TypeVar("T")

_PATIENCE = 3.0
_MODEL_SECONDS = 30.0
_DISPENSABLE = frozenset({"history", "sessions", "drugs", "workers"})
"""Parts without which questions are still answered, with a notice. An index that is down takes the guidelines along."""

_good_until: Final = WeakKeyDictionary[ModelClient, float]()

router = APIRouter(tags=["health"])


@router.get("/livez")
@router.get("/healthz")
async def livez() -> dict[str, str]:
    """Answer while the process is alive."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(runtime: ServedRuntime) -> JSONResponse:
    """Check each part. 503 while questions cannot be answered; `degraded` names parts that answers do without."""
    parts = await _parts(runtime)
    down = [name for name, part in parts.items() if not part["ready"]]
    degraded = [name for name in down if name in _DISPENSABLE]
    ready = down == degraded
    status = ("degraded" if degraded else "ready") if ready else "not ready"
    return JSONResponse({"status": status, "degraded": degraded, "parts": parts}, 200 if ready else 503)


@router.get("/api/v1/status", dependencies=[Depends(signed_in)])
async def status(runtime: ServedRuntime, request: Request, language: ReaderLanguage) -> dict[str, Any]:
    """Return what the start page shows: loaded sources, their dates and the models."""
    guidelines = damaged = drugs = None
    if (app := runtime.app) is not None:
        guidelines, damaged, drugs = await asyncio.gather(
            _soon(app.guidelines.documents()), _soon(app.guidelines.damaged()), _soon(app.drugs.stats())
        )
    issuers = {one.issuer for one in guidelines or ()}
    issuers.update(one.source.publisher for one in (drugs.sources if drugs else ()))
    return {
        "loading": say(language, f"loading.{runtime.loading_part}") if runtime.loading else None,
        "problem": say(language, f"outcome.{runtime.failure.code}") if runtime.failure else None,
        "offline": runtime.settings.uses_offline_model,
        "model": None if runtime.settings.uses_offline_model else runtime.settings.model.model,
        "models": list(runtime.settings.models),
        "may_upload": runtime.identity.may("upload", token_of(request.cookies)),
        "may_administer": runtime.identity.may("administer", token_of(request.cookies)),
        "guidelines": [{"id": d.id, "title": d.title, "version": d.version} for d in guidelines or ()],
        "damaged": damaged or [],
        "demonstration": issuers == {DEMO_ISSUER},
        "drugs": drugs.model_dump(mode="json") if drugs else None,
    }


async def _soon(asked: Coroutine[Any, Any, T]) -> T | None:
    """Return the result, or None when that part does not answer in time."""
    try:
        return await asyncio.wait_for(asked, _PATIENCE)
    except (ToolError, TimeoutError):
        return None


async def _model_answers(model: ModelClient) -> None:
    """Ask the model server for an answer, unless it has answered lately: probes must not flood it."""
    if time.monotonic() >= _good_until.get(model, 0.0):
        await model.ping()
        _good_until[model] = time.monotonic() + _MODEL_SECONDS


async def _parts(runtime: Runtime) -> dict[str, dict[str, Any]]:
    if (app := runtime.app) is None:
        return {"services": {"ready": False, "reason": str(runtime.failure or runtime.loading)}}
    checks: dict[str, Awaitable[Sequence[str] | None]] = {
        "model": _model_answers(app.model),
        "guidelines": app.guidelines.check_index(),
        "drugs": app.drugs.check(),
        "sessions": app.sessions.ping(),
        "history": schema_problems(runtime.history.engine),
        "accounts": runtime.identity.check(),
        "audit": runtime.audit.check(),
    }
    if runtime.silent_workers is not None:
        checks["workers"] = runtime.silent_workers()
    reasons = dict(zip(checks, await asyncio.gather(*map(_reason, checks.values())), strict=True))
    if runtime.turns.draining:
        reasons["server"] = "is being stopped"
    reasons["content"] = runtime.loading
    return {name: {"ready": not reason, "reason": reason} for name, reason in reasons.items()}


async def _reason(check: Awaitable[Sequence[str] | None]) -> str | None:
    """Return why a part is not ready: the problems that ``check`` returns or raises; None when there is none."""
    try:
        problems = await asyncio.wait_for(check, _PATIENCE)
        return "; ".join(problems or ()) or None
    except TimeoutError:
        return "does not answer"
    except (ToolError, AsclepiusError) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the part cannot be used
        return type(error).__name__
