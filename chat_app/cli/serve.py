"""``asclepius serve`` and the two small commands that belong to running a server."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from chat_app.cli import shell


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (ASCLEPIUS_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = None,
) -> None:
    """Start the chat page, and with it every service that no setting names."""
    from chat_app.settings import Settings

    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}

    async def work() -> None:
        settings = Settings(server=given)
        settings.check()
        # The page takes seconds to load; wrong settings are told at once.
        from chat_app.cli.web_server import run_server

        await run_server(settings)

    # Ctrl-C is how a server is stopped.
    shell.run(work, interrupt_is_error=False)


def offline_server(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 8080,
    data_dir: Annotated[Path | None, typer.Option(help="Where its responses and files are kept.")] = None,
    embeddings: Annotated[
        Path | None, typer.Option(help="Directory of an embedding model, for /v1/embeddings; default: that setting's.")
    ] = None,
) -> None:
    """Run the offline model alone: a Responses API server that answers from what it is given."""
    import subprocess

    settings = shell.settings()
    folder = data_dir or settings.storage.data_dir / "offline-server"
    arguments = ["--host", host, "--port", str(port), "--data-dir", str(folder)]
    model = embeddings or settings.model.local_embeddings
    arguments += [] if model is None else ["--embeddings", str(model)]
    with suppress(KeyboardInterrupt):
        raise typer.Exit(subprocess.call([sys.executable, "-m", "chat_app.offline", *arguments]))


def hash_password() -> None:
    """Make the hash of a password for ASCLEPIUS_USERS; the password is asked for, not shown."""
    from chat_app.interface.security.passwords import hash_password as make

    typer.echo(make(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)))
