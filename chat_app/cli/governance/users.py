"""``asclepius users``, ``keys`` and ``export user``: who may log in, keys for the HTTP API, and users' data."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from chat_app.cli import shell
from chat_app.errors import InputRejected
from chat_app.interface.security.accounts import Account, Accounts, ApiKeys, Scope, accounts_at, api_keys_at, create_key
from chat_app.roles import Role
from chat_app.settings import Settings

users_app = typer.Typer(help="Manage users and their data.", no_args_is_help=True)
exports_app = typer.Typer(help="Export stored data.", no_args_is_help=True)
keys_app = typer.Typer(help="Keys for the HTTP API, each of one user.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The user's name, as at sign-in.")]


@shell.command(users_app, "add")
async def add_user(name: Name, role: Annotated[Role, typer.Option(help="What the user may do.")] = "reader") -> None:
    """Add a user; prompts for the password without showing it."""
    # Not checked: without users, ASCLEPIUS_AUTH=password is not complete yet.
    settings = Settings()
    file = accounts_at(settings.storage.data_dir)
    if name in file.read().users:
        shell.fail(f"There already is a user {name}. Change the password with `asclepius users passwd`.")
    if not name.isprintable() or not 0 < len(name.strip()) == len(name) <= 200:
        shell.fail("A user's name has 1 to 200 printable characters, without spaces around it.")
    account = Account(password=shell.ask_password(), role=role, changed=time.time())
    await shell.recorded(settings, "administration", f"users add {name}, {role}")
    file.change(lambda held: Accounts(users={**held.users, name: account}))
    typer.echo(f"{name} can log in.")


@shell.command(users_app, "passwd")
async def change_password(name: Name) -> None:
    """Change a user's password, which ends all of the user's logins."""
    settings = Settings()
    file = accounts_at(settings.storage.data_dir)
    _require(name, file.read().users)
    fresh = {"password": shell.ask_password(), "changed": time.time()}
    await shell.recorded(settings, "administration", f"users passwd {name}")
    file.change(lambda held: Accounts(users={**held.users, name: held.users[name].model_copy(update=fresh)}))
    typer.echo(f"The password of {name} is changed, and all earlier logins have ended.")


@shell.command(users_app, "remove")
async def remove_user(name: Name) -> None:
    """Remove a user, whose logins and keys end at once. The conversations stay."""
    settings = Settings()
    file, keys = accounts_at(settings.storage.data_dir), api_keys_at(settings.storage.data_dir)
    _require(name, file.read().users)
    await shell.recorded(settings, "administration", f"users remove {name}")
    file.change(lambda held: Accounts(users={other: one for other, one in held.users.items() if other != name}))
    keys.change(lambda held: ApiKeys(keys={key: one for key, one in held.keys.items() if one.user != name}))
    typer.echo(f"{name} can no longer log in.")


@shell.command(users_app, "list")
async def list_users(json: shell.Json = False) -> None:
    """List the users."""
    users = accounts_at(Settings().storage.data_dir).read().users
    rows = [(name, account.role, _day(account.changed)) for name, account in sorted(users.items())]
    _show(("user", "role", "changed"), rows, json=json)


@shell.command(users_app)
async def erase(
    name: Name, yes: Annotated[bool, typer.Option("--yes", help="Erase without asking again.")] = False
) -> None:
    """Erase all conversations, files, feedback and sessions of a user. The audit log keeps its entries."""
    if not yes and not typer.confirm(f"Erase everything that is held about {name}?", err=True):
        raise InputRejected("Nothing was erased.")
    from chat_app.interface.user_data import erase_user

    async with shell.opened_runtime() as runtime:
        await runtime.audit.record("erase", shell.actor(), detail=f"all data of {name}")
        typer.echo(f"Erased {await erase_user(runtime, name)} conversations of {name}.")


@shell.command(users_app)
async def logout(name: Name) -> None:
    """End all logins of a user, in every browser. API keys stay: `asclepius keys revoke`."""
    async with shell.opened_runtime() as runtime:
        await runtime.audit.record("administration", shell.actor(), detail=f"logins of {name} ended")
        await runtime.sign_in.end_all(name)
    typer.echo(f"All logins of {name} have ended.")


@shell.command(exports_app)
async def user(name: Name) -> None:
    """Print everything that is held about a user as JSON: conversations, feedback, sessions and audit entries."""
    from chat_app.interface.user_data import user_data

    async with shell.opened_runtime() as runtime:
        await runtime.audit.record("export", shell.actor(), detail=f"all data of {name}")
        shell.print_json(await user_data(runtime, name))


@shell.command(keys_app, "create")
async def new_key(
    name: Name,
    scope: Annotated[Scope, typer.Option(help="read: only fetch; ask: also ask, change and delete.")] = "ask",
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days until the key expires.")] = 90,
) -> None:
    """Create a key and print it; it is shown only once."""
    settings = Settings()
    await shell.recorded(settings, "administration", f"keys create {name}, {scope}")
    typer.echo(create_key(api_keys_at(settings.storage.data_dir), name, scope, days))


@shell.command(keys_app, "revoke")
async def revoke_key(key: Annotated[str, typer.Argument(help="The key's id, from `asclepius keys list`.")]) -> None:
    """Revoke a key at once."""
    settings = Settings()
    file = api_keys_at(settings.storage.data_dir)
    if key not in file.read().keys:
        shell.fail(f"There is no key {key}. `asclepius keys list` lists them.")
    await shell.recorded(settings, "administration", f"keys revoke {key}")
    file.change(lambda held: ApiKeys(keys={name: one for name, one in held.keys.items() if name != key}))
    typer.echo(f"{key} is revoked.")


@shell.command(keys_app, "list")
async def list_keys(json: shell.Json = False) -> None:
    """List the keys, without their secrets."""
    keys = api_keys_at(Settings().storage.data_dir).read().keys
    rows = [(name, key.user, key.scope, _day(key.created), _day(key.expires)) for name, key in keys.items()]
    _show(("key", "user", "scope", "created", "expires"), rows, json=json)


def _require(name: str, users: dict[str, Account]) -> None:
    if name not in users:
        shell.fail(f"There is no user {name} in this data directory. `asclepius users list` lists them.")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def _show(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, json: bool) -> None:
    if json:
        shell.print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        shell.print_table(columns, rows)
