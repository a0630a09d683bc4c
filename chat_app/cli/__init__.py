"""The ``asclepius`` command.

Every command answers ``--help``, ends with code 0 when it did what was asked, 1 when it could not (one sentence on
standard error says why and what to do) and 2 when it was called wrongly. Parts are imported when a command needs them,
so that the command itself starts at once.
"""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from chat_app import __version__
from chat_app.cli import ask, doctor, drugs, evaluate, guidelines, serve

_ALLOCATIONS = 50_000
"""New objects after which Python looks for garbage, instead of 700: imports leave hardly any, and a fifth of the start
went into looking for it.
"""

app = typer.Typer(
    help="A self-hosted assistant for clinicians: streamed answers with checkable citations.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command(name="serve")(serve.serve)
app.command(name="ask")(ask.ask)
app.command(name="doctor")(doctor.doctor)
app.command(name="offline-server")(serve.offline_server)
app.command(name="hash-password")(serve.hash_password)
app.add_typer(guidelines.app, name="guidelines")
app.add_typer(drugs.app, name="drugs")
app.add_typer(evaluate.app, name="eval")


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"asclepius {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before a command."""


def main() -> None:
    """Entry point of the installed command."""
    gc.set_threshold(_ALLOCATIONS)
    app()


__all__ = ["app", "main"]
