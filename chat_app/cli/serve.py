"""``asclepius serve``, ``offline-server``, ``mcp`` and ``hash-password``."""

import errno
import logging
import socket
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Final

import typer

from chat_app.cli import shell
from chat_app.errors import ConfigurationError
from chat_app.settings import Settings

logger = logging.getLogger(__name__)

_BACKLOG: Final = 512
_OWN_ADDRESS: Final = "set ASCLEPIUS_HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0"
_LISTEN_REMEDIES: Final[dict[int | None, str]] = {
    errno.EADDRINUSE: "stop what uses it, or set ASCLEPIUS_PORT",
    errno.EACCES: "set ASCLEPIUS_PORT to a port from 1024 on",
}
"""What mends a failure to listen; any other is one of the address."""


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (ASCLEPIUS_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port; 0 chooses a free one.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes that serve (ASCLEPIUS_WORKERS).")] = None,
) -> None:
    """Start the chat page and every service that no setting names."""
    named = (("host", host), ("port", port), ("workers", workers))
    given = {name: value for name, value in named if value is not None}

    async def work() -> None:
        settings = Settings(server=given)
        settings.check()
        # Much takes seconds to load; report wrong settings first.
        from chat_app.cli.running_app import sole_server
        from chat_app.observability.log_format import set_up_logs

        set_up_logs(settings.diagnostics)
        _check_files(settings)
        address = (settings.server.host, settings.server.port)
        with sole_server(settings.storage.data_dir), closing(_listen(*address)) as listener:
            if settings.server.workers > 1:
                _check_metrics_ports(settings)
                await _serve_with_workers(settings, listener)
            else:
                from chat_app.cli.web_server import run_server

                await run_server(settings, listener)

    shell.run(work, serves=True)


def _check_files(settings: Settings) -> None:
    """Log doubtful settings. Raises ``ConfigurationError`` when users, keys or a required audit log cannot be used."""
    from chat_app.audit import audit_problems
    from chat_app.interface.security.accounts import account_problems, account_warnings

    problems, doubtful = account_problems(settings), [*settings.warnings(), *account_warnings(settings)]
    (problems if settings.governance.audit == "required" else doubtful).extend(audit_problems(settings))
    for said in doubtful:
        logger.warning("%s", said)
    if problems:
        raise ConfigurationError(" ".join(f"{said.rstrip('.')}." for said in problems))


async def _serve_with_workers(settings: Settings, listener: socket.socket) -> None:
    """Run the built-in services here, and the page in several processes."""
    from chat_app.cli.running_app import page_of, publish_address, retract_address
    from chat_app.embedded import embedded_services
    from chat_app.embedded.worker_pool import WorkerPool, WorkerState

    page = page_of(settings, listener)

    def tell(state: WorkerState) -> None:
        if state == "serving":
            publish_address(settings, listener)
        shell.note(f"Asclepius is at {page}" if state == "serving" else "All guidelines and drugs are loaded")

    pool = WorkerPool(settings, listener, [sys.executable, "-m", "chat_app.cli.web_server"], tell)
    try:
        async with embedded_services(settings, on_progress=shell.note):
            await pool.run()
    finally:
        retract_address(settings)


def _check_metrics_ports(settings: Settings) -> None:
    """Raise ``ConfigurationError`` unless each worker can have its port of the metrics."""
    first, host, workers = settings.diagnostics.metrics_port, settings.diagnostics.metrics_host, settings.server.workers
    for port in range(first, first + workers) if first else ():
        try:
            socket.create_server((host, port), family=_family(host)).close()
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"Port {port} on {host} cannot be used ({getattr(error, 'strerror', 'there is no such port')}): set "
                f"ASCLEPIUS_METRICS_PORT to the first of {workers} free ports, one for each worker."
            ) from None


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(_family(host))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        remedy = _LISTEN_REMEDIES.get(error.errno, _OWN_ADDRESS)
        raise ConfigurationError(f"Port {port} on {host} cannot be used ({error.strerror}): {remedy}.") from None
    listener.listen(_BACKLOG)
    return listener


def offline_server(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 chooses a free one.")] = 8080,
    data_dir: Annotated[Path | None, typer.Option(help="Directory for responses and files.")] = None,
    embeddings: Annotated[
        Path | None, typer.Option(help="Directory of an embedding model, for /v1/embeddings; default: the setting.")
    ] = None,
) -> None:
    """Run only the offline model: a Responses API server that answers from what it receives."""
    import subprocess

    settings = shell.settings()
    folder = data_dir or settings.storage.data_dir / "offline-server"
    arguments = ["--host", host, "--port", str(port), "--data-dir", str(folder)]
    model = embeddings or settings.model.local_embeddings
    arguments += [] if model is None else ["--embeddings", str(model)]
    with suppress(KeyboardInterrupt):
        raise typer.Exit(subprocess.call([sys.executable, "-m", "chat_app.offline", *arguments]))


async def mcp() -> None:
    """Serve guidelines, drugs and calculators to the MCP client that started this command."""
    from mcp.server.stdio import stdio_server

    from chat_app.audit import open_audit_log
    from chat_app.mcp.mcp_server import PublishedContent

    async with shell.opened_content() as content, open_audit_log(content.settings) as audit:
        if content.settings.offline.load_demo:
            await content.guidelines.load_demo()
            await content.drugs.load_demo()
        published = PublishedContent(content.drugs, content.guidelines, audit)
        server = published.server_for(shell.shell_user(content.settings))
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())


def hash_password() -> None:
    """Print the hash of a password for ASCLEPIUS_USERS; prompts for the password without showing it."""
    typer.echo(shell.ask_password())
