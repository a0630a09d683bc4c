"""The web server of ``asclepius serve``: announce the page's address, and shut down in order."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from chat_app.bootstrap import App, open_app
from chat_app.cli import shell
from chat_app.cli.progress import LoadingBars
from chat_app.cli.running_app import publish_address, retract_address
from chat_app.data_protection import require_writable
from chat_app.errors import ConfigurationError
from chat_app.interface.http_api import create_app
from chat_app.interface.serving import page_server
from chat_app.observability.log_format import set_up_logs
from chat_app.settings import Settings


async def run_server(settings: Settings) -> None:
    """Serve until the process is stopped.

    Raises:
        ConfigurationError: The port is taken, or the data directory cannot be written.
    """
    require_writable(settings.storage.data_dir)
    listener = _listen(settings.server.host, settings.server.port)
    port = int(listener.getsockname()[1])
    host = settings.server.host
    page = f"http://{f'[{host}]' if ':' in host else host}:{port}{settings.server.root_path}"
    set_up_logs(settings.diagnostics)

    @asynccontextmanager
    async def open_and_tell(settings: Settings, *, on_progress: Callable[[str], None]) -> AsyncGenerator[App, None]:
        def tell(message: str) -> None:
            shell.note(message)
            on_progress(message)

        async with open_app(settings, on_progress=tell) as app:
            with LoadingBars(app, loaded=f"All guidelines and drugs are loaded; the page is {page}") as bars:
                app.load_listeners.append(bars.show)
                yield app

    def tell_where(_address: str) -> None:
        publish_address(settings, port)
        shell.note(f"Asclepius is at {page}")

    app = create_app(settings, open_app=open_and_tell)
    server = page_server(app, settings, on_ready=tell_where)
    try:
        await server.serve(sockets=[listener])
    finally:
        retract_address(settings)
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"Port {port} on {host} cannot be used ({error.strerror}): stop what uses it, or set ASCLEPIUS_PORT."
        ) from None
    listener.listen(512)
    return listener
