"""``asclepius serve``, ``offline-server`` and ``hash-password``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from chat_app.cli import shell


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (ASCLEPIUS_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port; 0 chooses a free one.")] = None,
) -> None:
    """Start the chat page and every service that no setting names."""
    from chat_app.settings import Settings

    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}

    async def work() -> None:
        settings = Settings(server=given)
        settings.check()
        # The page takes seconds to load; report wrong settings first.
        from chat_app.cli.web_server import run_server

        await run_server(settings)

    # Ctrl-C stops a server; it is no error.
    shell.run(work, interrupt_is_error=False, loop_factory=_server_loop())


def _server_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the factory of the fastest event loop; None for the default, where there is no faster one."""
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop


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


def hash_password() -> None:
    """Print the hash of a password for ASCLEPIUS_USERS; prompts for the password without showing it."""
    from chat_app.interface.security.passwords import hash_password as make

    typer.echo(make(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)))
