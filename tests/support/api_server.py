"""The HTTP API on a real socket in the test's process: the real routes and guard around any agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from fastapi import FastAPI, Request, Response

from chat_app.interface.api import api_docs, problems
from chat_app.interface.assets import prepare_page_root
from chat_app.interface.page.page_document import own_page
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.request_guard import RequestGuard
from chat_app.interface.serving import page_server
from chat_app.observability.access_log import AccessLog
from chat_app.settings import Settings
from chat_app.tracing import GeneratorTrace
from tests.support.fake_agent import FakeDrugs, FakeGuidelines, FakeModel, FakeServices, FakeSessions, FakeTools
from tests.support.page_server import address_of

Json = dict[str, Any]


@dataclass(frozen=True)
class Frame:
    """One server-sent event."""

    id: str
    event: str
    data: Json

    @property
    def tagged(self) -> Json:
        """Return the event inside a comparison's event."""
        assert self.event == "model_event"
        return dict(self.data["event"])


@dataclass
class Api:
    """A running API. ``client(user)`` is signed in; ``client(None)`` is not."""

    url: str
    runtime: Runtime

    def client(self, user: str | None = "ana") -> httpx.AsyncClient:
        cookies = {"access_token": self.runtime.identity.issue_login(user).token} if user else {}
        return httpx.AsyncClient(base_url=self.url, cookies=cookies, timeout=60)


@asynccontextmanager
async def api(
    agent: Any,
    data_dir: Path,
    *,
    sessions: Any = None,
    client: Any = None,
    drugs: Any = None,
    guidelines: Any = None,
    governance: Json | None = None,
    model: Json | None = None,
    diagnostics: Json | None = None,
    **server: Any,
) -> AsyncGenerator[Api, None]:
    """Serve the API around ``agent``, with ``server`` and ``model`` settings. By default any name may sign in."""
    settings = Settings(
        model=model or {},
        storage={"data_dir": str(data_dir)},
        server={"auth": "header", "port": 0, **server},
        diagnostics=diagnostics,
        governance=governance,
    )
    prepare_page_root(data_dir)
    from chat_app.interface.api.api_routes import api_routes

    @asynccontextmanager
    async def open_app(*_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        async def warm_up() -> None:
            return None

        yield SimpleNamespace(
            agent=agent,
            sessions=sessions or FakeSessions(),
            guidelines=guidelines or FakeGuidelines(),
            drugs=drugs or FakeDrugs(),
            tools=FakeTools(),
            services=FakeServices(),
            trace=GeneratorTrace(),
            model=client or FakeModel(),
            loading=None,
            load_problems=[],
            warm_up=warm_up,
            settings=settings,
        )

    runtime = Runtime(settings, open_app)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        async with runtime.running():
            yield

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    app.state.runtime = runtime
    problems.install(app)
    api_docs.document(app)
    app.router.routes.extend(api_routes(runtime))

    @app.post("/auth/header")
    async def sign_in(request: Request) -> Response:
        name = runtime.identity.from_headers(request.headers) or ""
        response = Response()
        response.set_cookie("access_token", runtime.identity.issue_login(name).token)
        return response

    app.add_middleware(
        RequestGuard,
        identity=runtime.identity,
        sign_in=runtime.sign_in,
        audit=runtime.audit,
        own_page=own_page,
        on_user=lambda _: None,
    )
    app.add_middleware(AccessLog, enabled=settings.diagnostics.access_log, metrics=runtime.metrics)
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = page_server(app, settings, on_ready=lambda: address.set_result(address_of(running)))
    serving = asyncio.create_task(running.serve())
    try:
        await asyncio.wait({serving, address}, return_when=asyncio.FIRST_COMPLETED)
        yield Api(address.result(), runtime)
    finally:
        running.should_exit = True
        await serving


async def frames(response: httpx.Response) -> AsyncIterator[Frame]:
    """Yield the events of a stream without comments; an incomplete event is skipped."""
    rest = b""
    async for data in response.aiter_bytes():
        *whole, rest = (rest + data).split(b"\n\n")
        for frame in whole:
            if not frame.startswith(b":"):
                yield _frame(frame.decode())


def _frame(text: str) -> Frame:
    fields = dict(line.split(": ", 1) for line in text.split("\n"))
    return Frame(fields.get("id", ""), fields["event"], json.loads(fields["data"]))


async def ask(client: httpx.AsyncClient, message: str = "How much metformin?", **body: Any) -> list[Frame]:
    """Ask a question and return its whole stream."""
    async with client.stream("POST", "/api/v1/consult", json={"message": message, **body}) as response:
        assert response.status_code == 200, (await response.aread()).decode()
        return [frame async for frame in frames(response)]


async def resume(client: httpx.AsyncClient, turn_id: str, after: str | None = None) -> list[Frame]:
    """Return the rest of a stream."""
    headers = {"last-event-id": after} if after else {}
    async with client.stream("GET", f"/api/v1/turns/{turn_id}/events", headers=headers) as response:
        assert response.status_code in {200, 204}, (await response.aread()).decode()
        return [frame async for frame in frames(response)]


def text_of(read: list[Frame]) -> str:
    return "".join(frame.data["text"] for frame in read if frame.event == "text_delta")


def others(read: list[Frame]) -> list[Json]:
    """Return everything but the text, in order."""
    return [frame.data for frame in read if frame.event != "text_delta"]
