"""The composition root: with ``content.py`` the only place that builds clients and connects them.

``open_app`` starts the required services, builds the rest, and ends all of it when its block is left. ``warm_up`` loads
the indexes and the demonstration content in the background, so that the page is served at once.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from chat_app.agent.asclepius_agent import INSTRUCTIONS, AsclepiusHealthcareAgent
from chat_app.agent.chat_manager import ChatManager
from chat_app.agent.citations.hosted_passages import HostedPassages
from chat_app.agent.guideline_route import GuidelineRoute
from chat_app.agent.response_manager import OpenAIResponseManager
from chat_app.agent.statements.statement_check import StatementCheck, StatementVerifier
from chat_app.agent.turn_queue import TurnQueue
from chat_app.content import close_all, content_at
from chat_app.embedded import EmbeddedServices, ServiceUrls, embedded_services
from chat_app.errors import SessionError
from chat_app.generation.generator import Generator
from chat_app.generation.hosted.hosted_search import HostedSearch
from chat_app.generation.hosted.vector_store_adapter import VectorStoreAdapter
from chat_app.generation.model_client import ModelClient
from chat_app.generation.response_api_adapter import ResponseAPIAdapter
from chat_app.mcp.server_list import function_names, listed_servers
from chat_app.observability.log_ids import current_turn
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.settings import Settings
from chat_app.tool_registry import built_in_tools, registered_tools
from chat_app.tracing import GeneratorTrace, TurnRecorder, trace_app_generator, turn_recorder
from tools.drug_database import DrugDatabase
from tools.errors import ToolError
from tools.guidelines import GuidelineLibrary, IngestProgress
from tools.tool_manager import ToolManager

logger = logging.getLogger(__name__)

_NO_KEY = "none"
"""Sent to servers that need no key, because the client library requires one."""

_REGISTERING_SECONDS = 10.0

_LOADING = "loading"
_LOADING_SECONDS = 600.0
"""Longest wait for another process that loads the content."""

LoadPart = Literal["services", "guidelines", "drugs"]


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far the loading of the index and of demonstration content is: one line to show, and a share if known."""

    part: LoadPart
    what: str
    done: int = 0
    total: int | None = None


@dataclass(slots=True)
class App:
    """The running app: its settings and the parts that others use."""

    settings: Settings
    services: EmbeddedServices
    agent: AsclepiusHealthcareAgent
    model: ModelClient
    tools: ToolManager
    drugs: DrugDatabase
    guidelines: GuidelineLibrary
    sessions: RedisSessionStore
    route: GuidelineRoute
    """Decides whether guidelines are searched here or by the model server."""
    trace: GeneratorTrace
    recorder: TurnRecorder
    loading: LoadProgress | None = field(default_factory=lambda: LoadProgress("services", "Starting"))
    """The part that is being loaded; None once everything is loaded."""
    load_problems: list[str] = field(default_factory=list)
    load_listeners: list[Callable[[LoadProgress | None], None]] = field(default_factory=list)
    """Called with each progress of ``warm_up``, and with None at its end."""
    remote_tools: Sequence[str] = ()
    """Names of the tools that MCP servers are to bring."""
    registering: asyncio.Task[None] | None = None
    """Registers them as their servers answer."""

    @property
    def tools_only_read(self) -> bool:
        """Whether all tools are the app's own, which may run again for the same call."""
        own = {tool.name for tool in built_in_tools(self.drugs, self.guidelines)}
        return own.issuperset((*self.tools.names(), *self.remote_tools))

    async def warm_up(self) -> None:
        """Load the indexes and, on first start, the demonstration content; problems are logged and kept.

        Processes with the same Redis load one after the other, because the first one creates what the others find.
        """
        try:
            async with AsyncExitStack() as turn:
                # Without Redis, or after a long wait, this process loads beside the others.
                with suppress(SessionError):
                    await turn.enter_async_context(self.sessions.lock(_LOADING, wait=_LOADING_SECONDS))
                await asyncio.gather(self._warm_guidelines(), self._warm_drugs())
        finally:
            self._show(None)

    async def missing_tools(self) -> list[str]:
        """Wait a while for the tools of MCP servers; return the names of those that are still missing."""
        if self.registering is not None:
            await asyncio.wait({self.registering}, timeout=_REGISTERING_SECONDS)
        return [name for name in self.remote_tools if name not in self.tools.names()]

    def _show(self, progress: LoadProgress | None) -> None:
        self.loading = progress
        for listener in self.load_listeners:
            listener(progress)

    def _import(self, progress: LoadProgress) -> None:
        """Show what of the content is being imported; questions are told that it is incomplete."""
        self.agent.loading.add(progress.part)
        self._show(progress)

    def _import_guideline(self, p: IngestProgress) -> None:
        # After the first start all of them are unchanged, which is not worth showing.
        if p.stage != "unchanged":
            self._import(LoadProgress("guidelines", f"Guidelines: {p.stage} {p.file_name}", p.done, p.total))

    async def _warm_guidelines(self) -> None:
        try:
            if self.settings.offline.load_demo:
                await self.guidelines.load_demo(self._import_guideline)
            self._show(LoadProgress("guidelines", "Guidelines: loading the index"))
            await self.guidelines.load()
            self.load_problems += await self.route.prepare(
                lambda p: self._show(
                    LoadProgress("guidelines", f"Guidelines: {p.stage} at the model server", p.done, p.total)
                )
            )
        except ToolError as error:
            self._problem(error)
        finally:
            self.agent.loading.discard("guidelines")

    async def _warm_drugs(self) -> None:
        try:
            if self.settings.offline.load_demo:
                await self.drugs.load_demo(
                    lambda p: self._import(LoadProgress("drugs", f"Drugs: {p.stage} {p.label}", p.done, p.total))
                )
            self._show(LoadProgress("drugs", "Drugs: loading the index"))
            await self.drugs.load()
        except ToolError as error:
            self._problem(error)
        finally:
            self.agent.loading.discard("drugs")

    def _problem(self, error: ToolError) -> None:
        logger.warning("%s", error)
        self.load_problems.append(str(error))


@asynccontextmanager
async def open_app(
    settings: Settings, *, on_progress: Callable[[str], None] | None = None
) -> AsyncGenerator[App, None]:
    """Start the services that no URL replaces, and connect the app to them.

    Servers that are set by URL are not contacted; the part that needs one reports its absence when it is used.

    Raises ``ConfigurationError`` for unsafe settings, and ``EmbeddedServiceError`` when a service does not start.
    """
    settings.check()
    servers = listed_servers(settings.model.mcp_servers)
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(embedded_services(settings, on_progress=on_progress))
        app = _wire(settings, running, function_names(servers))
        app.remote_tools = function_names(servers)
        stack.push_async_callback(_close, app)
        if servers:
            # The SDK takes long to import.
            from chat_app.mcp.remote_tools import register_remote_tools

            app.registering = asyncio.create_task(register_remote_tools(servers, app.tools))
            stack.callback(app.registering.cancel)
        yield app


def _wire(settings: Settings, services: EmbeddedServices, remote_tools: Sequence[str]) -> App:
    urls, model, offline = services.urls, settings.model, settings.uses_offline_model
    content = content_at(services, settings)
    drugs, guidelines = content.drugs, content.guidelines
    sessions = RedisSessionStore(urls.redis_url, ttl=settings.storage.session_ttl)
    tools = ToolManager(registered_tools(drugs, guidelines, model.tools))
    base_url = urls.model_base_url if offline else model.base_url
    # The offline server's port changes from start to start; what it stores does not.
    server_name = "offline" if offline else base_url or "openai"
    chats = ChatManager(sessions)
    key = _key(settings, urls)
    timeouts = {"idle_timeout": model.idle_timeout, "total_timeout": model.total_timeout}
    adapter = ResponseAPIAdapter(api_key=key, base_url=base_url, **timeouts)
    stores = VectorStoreAdapter(api_key=key, base_url=base_url)
    hosted = HostedSearch(stores, settings.storage.data_dir / "hosted-search", server_key=server_name)
    route = GuidelineRoute(guidelines, hosted, choice=model.guideline_search, offline=offline)
    generator = _generator(settings, adapter)
    trace = trace_app_generator(generator, settings.diagnostics, current_turn)
    recorder = turn_recorder(settings.diagnostics, tool_names=[*tools.names(), *remote_tools])
    responses = OpenAIResponseManager(
        generator=generator,
        tool_manager=tools,
        chat_manager=chats,
        server_key=server_name,
        max_steps=model.max_steps,
        route=route,
        chaining=model.chaining == "auto",
        hosted=HostedPassages(guidelines.passages_of, hosted.version_of),
        observe=recorder.observe,
        statements=StatementCheck(drugs.ingredients_of, _verifier(settings, adapter)),
        queue=TurnQueue(settings.server.turns_at_once),
    )
    agent = AsclepiusHealthcareAgent(
        responses=responses,
        chats=chats,
        tool_manager=tools,
        default_model=settings.default_model,
        max_message_length=settings.server.max_message_length,
        only_extracts=offline,
        emergency_text=settings.server.emergency_notice,
    )
    return App(settings, services, agent, adapter, tools, drugs, guidelines, sessions, route, trace, recorder)


def _verifier(settings: Settings, adapter: ModelClient) -> StatementVerifier | None:
    model = settings.model.verifier_model
    # The offline model answers in extracts: it cannot judge.
    return StatementVerifier(adapter, model) if model and not settings.uses_offline_model else None


def _generator(settings: Settings, adapter: ModelClient) -> Generator[Any]:
    model = settings.model
    kwargs: dict[str, Any] = {"max_output_tokens": model.max_output_tokens} if model.max_output_tokens else {}
    if model.background:
        kwargs["background"] = True
    return Generator(adapter, prompt=INSTRUCTIONS, model_kwargs=kwargs, max_retries=model.max_retries)


def _key(settings: Settings, urls: ServiceUrls) -> str:
    if settings.uses_offline_model:
        return urls.offline_key or _NO_KEY
    return settings.model.api_key.get_secret_value() if settings.model.api_key else _NO_KEY


async def _close(app: App) -> None:
    app.tools.close()
    await close_all(
        app.model.aclose(),
        app.route.aclose(),
        app.sessions.aclose(),
        app.drugs.aclose(),
        app.guidelines.aclose(),
        app.trace.aclose(),
        app.recorder.aclose(),
    )
