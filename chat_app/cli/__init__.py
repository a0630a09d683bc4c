"""The ``asclepius`` command.

Every command has ``--help``. Exit codes: 0 for success, 1 for failure (one sentence on standard error states the cause
and the remedy), 2 for wrong usage. Modules load when a command needs them, so that the command starts fast.
"""

import gc
import os
import sys
from typing import Annotated

import typer

from chat_app import __version__
from chat_app.cli import ask, doctor, drugs, evaluate, feedback, guidelines, serve, shell
from chat_app.cli.command_errors import USAGE_ERROR, described, file_problem, ignore_late_replies
from chat_app.cli.governance import audit, backup, users
from chat_app.data_protection import PRIVATE_UMASK

_ALLOCATIONS = 50_000
"""Allocations between garbage collections, instead of 700: imports create little garbage."""

app = typer.Typer(
    help="A self-hosted assistant for clinicians: streamed answers with checkable citations.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command(name="serve")(serve.serve)
app.command(name="ask")(ask.ask)
app.command(name="doctor")(doctor.doctor)
shell.command(app)(serve.mcp)
app.command(name="offline-server")(serve.offline_server)
app.command(name="hash-password")(serve.hash_password)
app.add_typer(guidelines.app, name="guidelines")
app.add_typer(drugs.app, name="drugs")
shell.command(app)(backup.backup)
shell.command(app)(backup.restore)
app.add_typer(audit.app, name="audit")
app.add_typer(feedback.app, name="feedback")
shell.command(app)(feedback.usage)
app.add_typer(users.users_app, name="users")
app.add_typer(users.exports_app, name="export")
app.add_typer(users.keys_app, name="keys")
app.add_typer(evaluate.app, name="eval")


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"asclepius {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Define options that precede a command."""


def main() -> None:
    """Run the installed command."""
    gc.set_threshold(_ALLOCATIONS)
    os.umask(PRIVATE_UMASK)
    ignore_late_replies()
    try:
        sys.exit(app(prog_name="asclepius", standalone_mode=False))
    except USAGE_ERROR as error:
        if line := described(error):
            shell.note(line)
        sys.exit(2)
    except OSError as error:
        if not (line := file_problem(error)):
            raise
        shell.note(line)
        sys.exit(1)
    except typer.Abort:
        shell.note("asclepius: stopped.")
        sys.exit(1)
