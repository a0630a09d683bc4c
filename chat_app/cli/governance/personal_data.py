"""``asclepius users erase|logout`` and ``asclepius export user``."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from chat_app.cli import shell
from chat_app.errors import InputRejected

users = typer.Typer(help="Manage users and their data.", no_args_is_help=True)
exports = typer.Typer(help="Export stored data.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The user's name, as at sign-in.")]


@shell.command(users)
async def erase(
    name: Name, yes: Annotated[bool, typer.Option("--yes", help="Erase without asking again.")] = False
) -> None:
    """Erase all conversations, files, feedback and sessions of a user. The audit log keeps its entries."""
    if not yes and not typer.confirm(f"Erase everything that is held about {name}?", err=True):
        raise InputRejected("Nothing was erased.")
    from chat_app.interface.user_data import erase_user

    async with shell.opened_runtime() as runtime:
        typer.echo(f"Erased {await erase_user(runtime, name)} conversations of {name}.")


@shell.command(users)
async def logout(name: Name) -> None:
    """End all logins of a user, in every browser. API keys stay: `asclepius keys revoke`."""
    async with shell.opened_runtime() as runtime:
        await runtime.audit.record("administration", f"shell:{getpass.getuser()}", detail=f"logins of {name} ended")
        await runtime.sign_in.end_all(name)
    typer.echo(f"All logins of {name} have ended.")


@shell.command(exports)
async def user(name: Name) -> None:
    """Print everything that is held about a user as JSON: conversations, feedback, sessions and audit entries."""
    from chat_app.interface.user_data import user_data

    async with shell.opened_runtime() as runtime:
        shell.print_json(await user_data(runtime, name))
