"""State of the served app: services, live turns, history and identity.

Chainlit loads its target as a separate module, so handlers find the state through ``current()``. Services open in the
background: the page is served at once and says what it is waiting for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, get_args

from chat_app.audit import audit_log
from chat_app.background import repeat
from chat_app.bootstrap import App, LoadPart
from chat_app.database.database_engine import (
    DAMAGED,
    DATABASE_ERRORS,
    configured_url,
    failure_of,
    is_damaged_file,
)
from chat_app.embedded.specs import ServiceName
from chat_app.errors import AsclepiusError, ConfigurationError
from chat_app.events import AgentEvent
from chat_app.interface.keeping.erasure import Erasure
from chat_app.interface.keeping.followed_turns import FollowedTurns
from chat_app.interface.keeping.turn_keeper import TurnKeeper
from chat_app.interface.security.accounts import api_keys_at
from chat_app.interface.security.identity import Identity
from chat_app.interface.security.password_login import PasswordLogin
from chat_app.interface.security.sign_in import SignIn
from chat_app.interface.security.user_limits import RECORD_SECONDS, UploadRoom, UserLimits
from chat_app.interface.turns.asked_questions import RecentQuestions
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.interface.turns.question_gate import QuestionGate
from chat_app.observability.metrics_port import metrics_of, metrics_served
from chat_app.observability.turn_watch import TurnWatch
from chat_app.sessions.ended_logins import EndedLogins
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.tallies import Tallies
from chat_app.settings import Settings

logger = logging.getLogger(__name__)

OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
"""``bootstrap.open_app`` or a stand-in with the same result: something that has an agent, guidelines and drugs."""

STARTING = "Starting the app's services"
_CATCH_UP_SECONDS = 5.0
_SETUP_SECONDS = 60.0


class Runtime:
    """One served app. ``app`` is None until its services have opened."""

    def __init__(self, settings: Settings, open_app: OpenApp) -> None:
        # These import Chainlit, which reads its configuration on import: the page's folder must exist first.
        from chat_app.interface.history.history_layer import History
        from chat_app.interface.rendering.sockets import held_bytes

        self.settings = settings
        self.identity = Identity(settings)
        self.sign_in = SignIn(self.identity, api_keys_at(settings.storage.data_dir), self._ended_logins)
        self.metrics = metrics_of(settings.diagnostics)
        self.turns = LiveTurns(observer_of=lambda ids: TurnWatch(ids, self._tool_names, self.metrics))
        self.asked = RecentQuestions()
        server = settings.server
        if self.metrics is not None:
            self.metrics.watch("turns_active", "Answers being written.", lambda: self.keeper.running)
            self.metrics.watch(
                "turns_waiting", "Those that wait.", lambda: self.app.agent.queue.length if self.app else 0
            )
            self.metrics.watch("audit_failures", "Audit entries not written.", lambda: self.audit.failures)
            self.metrics.watch_restarts(get_args(ServiceName), lambda: self.app.services.restarts() if self.app else {})
        self.history = History(configured_url(settings))
        self.audit = audit_log(settings, self.history.engine)
        tallies = Tallies(lambda: self.app.sessions.tallies if self.app else None)
        self.password_login = PasswordLogin(self.identity, self.audit, tallies)
        resume = self._resumed if settings.model.background else None
        stores = (self._sessions, self._open_sessions)
        self.keeper = TurnKeeper(self.history, self.turns, self.audit, *stores, resume=resume)
        self.history.before_reading = self.keeper.up_to_date
        self.elsewhere = FollowedTurns(self._open_sessions, self.turns)
        running = (self.turns, self.elsewhere)
        self.erasure = Erasure(settings, self.history, self.audit, *running, self.ready, lambda: self.app)
        self.history.before_deletion = self.erasure.before_deletion
        self.limits = UserLimits(tallies, per_minute=server.questions_per_minute, at_once=server.concurrent_turns)
        self.upload_room = UploadRoom(lambda: self.app.sessions.held_files if self.app else None, held_bytes)
        self.gate = QuestionGate(self.limits, self.turns, self.elsewhere.running_of)
        self.silent_workers: Callable[[], Coroutine[Any, Any, list[str]]] | None = None
        """Names the other processes of this port that do not answer; None when there are none."""
        self.app: App | None = None
        self.failure: AsclepiusError | None = None
        """Why the services could not be opened."""
        self._open_app = open_app
        self._progress = STARTING
        self._opened = asyncio.Event()
        self._history_is_set_up = False
        self._history_failure = ""
        """Why the database could not be set up, as it was logged."""

    async def _ended_logins(self) -> EndedLogins | None:
        """Return the ended logins once the services have opened; the demo user, who need not sign in, does not wait."""
        if self.settings.server.auth != "demo":
            await self._opened.wait()
        return self.app.sessions.ended_logins if self.app else None

    async def first_use(self, token: str, expires: int) -> bool:
        """Return whether the token of that name was never used before; it counts as used until ``expires``."""
        await self.ready()
        known = await self._ended_logins()
        return known is not None and await known.first_use(token, expires)

    @property
    def loading(self) -> str | None:
        """The part that is still loading, in English; None when everything is loaded."""
        if self.app is None:
            return None if self.failure else self._progress
        return self.app.loading.what if self.app.loading else None

    @property
    def loading_part(self) -> LoadPart:
        return self.app.loading.part if self.app and self.app.loading else "services"

    async def ready(self) -> App:
        """Return the app once its services are open; raise ``AsclepiusError`` when they failed to open."""
        await self._opened.wait()
        if self.app is None:
            raise self.failure or AsclepiusError("The app is not running.")
        return self.app

    @asynccontextmanager
    async def running(self, *, log_failure: bool = True) -> AsyncGenerator[None, None]:
        """Open history and services; on exit end the live turns, then the services.

        A command, which reports what ``ready`` raises, does not also log the failure.
        """
        async with metrics_served(self.metrics, self.settings.diagnostics):
            await self._set_up_history()
            stop = asyncio.Event()
            services = asyncio.create_task(self._services(stop, log_failure))
            try:
                yield
            finally:
                await asyncio.gather(self.turns.end_all(), self.keeper.taken_over.end_all())
                stop.set()
                await asyncio.wait({services}, timeout=15)
                await self.history.close()

    async def _services(self, stop: asyncio.Event, log_failure: bool) -> None:
        """Keep the services open until ``stop``, in one task because of their cancel scopes."""
        try:
            async with self._open_app(self.settings, on_progress=self._show) as app:
                self.app = app
                self._opened.set()
                catching_up = repeat(self._catch_up, _CATCH_UP_SECONDS, quiet=(OSError, ConfigurationError))
                recording = repeat(self.upload_room.record_held, RECORD_SECONDS)
                works = (app.warm_up(), self.keeper.run(), recording, catching_up)
                beside = {asyncio.create_task(work) for work in works}
                await stop.wait()
                for task in beside:
                    task.cancel()
                await asyncio.wait(beside)
        except AsclepiusError as error:
            if log_failure:
                # The message is complete; a traceback would bury it.
                logger.error("%s", error)  # noqa: TRY400
            self.failure = error
        except Exception:
            logger.exception("The app's services could not be opened")
            self.failure = AsclepiusError("The app's services could not be opened. The server's log says why.")
        finally:
            self.app = None
            self._opened.set()

    async def _set_up_history(self) -> None:
        """Migrate the database; a PostgreSQL that is down is tried again later, while questions are answered.

        Raises ``ConfigurationError`` for a newer version's database, and for a data directory that cannot be written.
        """
        try:
            async with asyncio.timeout(_SETUP_SECONDS):
                await self.history.setup()
        except DATABASE_ERRORS as error:
            if self.settings.storage.database_url is None:
                if is_damaged_file(error):
                    file = configured_url(self.settings).database
                    raise ConfigurationError(DAMAGED.format(file=file)) from None
                raise ConfigurationError(
                    f"The history in {self.settings.storage.data_dir} cannot be written ({failure_of(error)}): free "
                    "space, make it writable, or set ASCLEPIUS_DATA_DIR to another directory."
                ) from None
            if (failure := failure_of(error)) != self._history_failure:
                logger.warning(
                    "The history's database does not answer (%s); trying again. Check DATABASE_URL and the server.",
                    failure,
                )
            self._history_failure = failure
        else:
            self._history_is_set_up = True
            if self._history_failure:
                logger.warning("The history's database answers again")

    async def _catch_up(self) -> None:
        if not self._history_is_set_up:
            await self._set_up_history()
        await self.audit.catch_up()

    async def _sessions(self) -> RedisSessionStore:
        return (await self.ready()).sessions

    async def _resumed(self, conversation_id: str, turn_id: str) -> AsyncGenerator[AgentEvent, None] | None:
        """Run a turn again whose process died; return None when that could do something twice."""
        app = await self.ready()
        return await app.agent.resumed(conversation_id, turn_id) if app.tools_only_read else None

    def _open_sessions(self) -> RedisSessionStore | None:
        return None if self.app is None else self.app.sessions

    def _tool_names(self) -> Collection[str]:
        return self.app.tools.names() if self.app else ()

    def _show(self, progress: str) -> None:
        self._progress = progress


_current: Runtime | None = None


def use(runtime: Runtime) -> None:
    """Set the runtime that ``current()`` returns."""
    global _current  # noqa: PLW0603 - Chainlit's handlers are module functions; this is where they find the app
    _current = runtime


def current() -> Runtime | None:
    """Return the served app, if there is one."""
    return _current
