"""The web server of ``asclepius serve``: announce the page's address, and shut down in order.

``python -m chat_app.cli.web_server`` is one of several workers, started by ``WorkerPool``.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from chat_app.bootstrap import App, LoadProgress, open_app
from chat_app.cli import shell
from chat_app.cli.progress import loading_bars
from chat_app.cli.running_app import page_of, publish_address, retract_address
from chat_app.data_protection import PRIVATE_UMASK
from chat_app.embedded.worker_pool import MISCONFIGURED, WorkerPlan, WorkerState
from chat_app.errors import ConfigurationError
from chat_app.interface.http_api import create_app
from chat_app.interface.serving import page_server
from chat_app.interface.worker_relay import Siblings
from chat_app.observability.log_format import set_up_logs
from chat_app.settings import Settings


async def run_server(settings: Settings, listener: socket.socket) -> None:
    """Serve at ``listener`` until the process is stopped. Raises ``ConfigurationError``."""
    page = page_of(settings, listener)

    def tell_where() -> None:
        publish_address(settings, listener)
        shell.note(f"Asclepius is at {page}")

    try:
        with loading_bars(loaded=f"All guidelines and drugs are loaded; the page is {page}") as show:
            await _serve(settings, [listener], tell_where, show, note=shell.note)
    finally:
        retract_address(settings)


async def run_worker(plan: WorkerPlan, tell: Callable[[WorkerState], None]) -> None:
    """Serve as one of several processes, until this one is stopped or the pool has ended."""
    settings = Settings()
    settings.check()
    set_up_logs(settings.diagnostics)
    # The pool writes nothing more: the input ends with it.
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), _stop)

    def tell_loaded(_: App, progress: LoadProgress | None) -> None:
        if progress is None:
            tell("loaded")

    siblings = Siblings(plan.siblings, plan.token, settings.server.scheme)
    listeners = [socket.socket(fileno=plan.listener), socket.socket(fileno=plan.own)]
    try:
        await _serve(settings, listeners, lambda: tell("serving"), tell_loaded, siblings=siblings)
    except ConfigurationError as error:
        shell.note(f"asclepius: {error}")
        sys.exit(MISCONFIGURED)


async def _serve(
    settings: Settings,
    listeners: list[socket.socket],
    on_ready: Callable[[], None],
    on_load: Callable[[App, LoadProgress | None], None],
    *,
    note: Callable[[str], None] | None = None,
    siblings: Siblings | None = None,
) -> None:
    """Serve until the process is stopped. Raises ``ConfigurationError`` when history or services cannot be opened."""
    wrong: list[ConfigurationError] = []

    def end_with(error: ConfigurationError) -> None:
        wrong.append(error)
        server.should_exit = True

    @asynccontextmanager
    async def opened(settings: Settings, *, on_progress: Callable[[str], None]) -> AsyncGenerator[App, None]:
        def tell(message: str) -> None:
            if note is not None:
                note(message)
            on_progress(message)

        try:
            async with open_app(settings, on_progress=tell) as app:
                app.load_listeners.append(partial(on_load, app))
                yield app
        except ConfigurationError as error:
            end_with(error)
            raise

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[Any, None]:
        async with AsyncExitStack() as running:
            try:
                state = await running.enter_async_context(inner(app))
            except ConfigurationError as error:
                # The server would log it with a traceback.
                end_with(error)
                state = None
            yield state

    app = create_app(settings, open_app=opened, siblings=siblings)
    inner, app.router.lifespan_context = app.router.lifespan_context, lifespan
    server = page_server(app, settings, on_ready=on_ready)
    await server.serve(sockets=listeners)
    if wrong:
        raise wrong[0]


def _stop() -> None:
    asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Run a worker; its states are lines of its output."""
    os.umask(PRIVATE_UMASK)
    plan = WorkerPlan.model_validate_json(sys.stdin.buffer.readline())
    # Processes that the worker starts do not hold the pipe open, nor write to it.
    pipe = os.dup(sys.stdout.fileno())
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())

    def tell(state: WorkerState) -> None:
        # A pool that was killed reads no more.
        with suppress(BrokenPipeError):
            os.write(pipe, f"{state}\n".encode())

    shell.run(lambda: run_worker(plan, tell), serves=True)


if __name__ == "__main__":
    main()
