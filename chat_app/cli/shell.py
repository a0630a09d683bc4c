"""Shared by all commands: async execution, errors as one sentence, JSON and tables on standard output."""

from __future__ import annotations

import asyncio
import functools
import getpass
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, ParamSpec, TypeVar

import typer

from chat_app.errors import AsclepiusError, AuditUnavailable, ConfigurationError
from chat_app.settings import Settings
from tools.errors import ToolError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from chat_app.audit import AuditAction, AuditLog
    from chat_app.bootstrap import App
    from chat_app.content import Content
    from chat_app.interface.runtime import Runtime

P = ParamSpec("P")
T = TypeVar("T")

_WIDEST: Final = 10_000
"""Columns of a table that is read by a program."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def run(work: Callable[[], Coroutine[Any, Any, T]], *, serves: bool = False) -> T:
    """Run ``work``. Our errors become one sentence on standard error and exit code 1; Ctrl-C exits with 130.

    What ``serves`` has the fastest event loop, and Ctrl-C, which stops it, is no error.
    """
    loop_factory = None
    if serves:
        import uvloop

        loop_factory = uvloop.new_event_loop
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(work())
    except (AsclepiusError, ToolError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(0 if serves else 130) from None
    except BrokenPipeError:
        # The reader of our output has closed the pipe, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def command(app: typer.Typer, name: str | None = None) -> Callable[[Callable[P, Coroutine[Any, Any, None]]], object]:
    """Decorate an async function as a command of ``app``, which ``run`` runs."""

    def register(work: Callable[P, Coroutine[Any, Any, None]]) -> object:
        @functools.wraps(work)
        def run_work(*args: P.args, **kwargs: P.kwargs) -> None:
            run(lambda: work(*args, **kwargs))

        return app.command(name=name)(run_work)

    return register


def settings(**sections: dict[str, Any]) -> Settings:
    """Return the validated settings, whose ``sections`` win over the environment, or exit with a sentence."""
    try:
        loaded = Settings(**sections)
        loaded.check()
    except AsclepiusError as error:
        fail(str(error))
    logging.basicConfig(
        level=loaded.diagnostics.log_level.upper() if loaded.diagnostics.log_level == "debug" else "ERROR",
        format="%(levelname)s %(name)s: %(message)s",
    )
    return loaded


def _guarded_settings(**sections: dict[str, Any]) -> Settings:
    from chat_app.tracing.log_guard import guard_logs

    guard_logs()
    return settings(**sections)


def actor() -> str:
    """Return the account at the shell, as the audit log names it."""
    return f"shell:{getpass.getuser()}"


async def recorded(settings: Settings, action: AuditAction, detail: str) -> None:
    """Record a command in the audit log, before it does anything. Raises ``AuditUnavailable``."""
    from chat_app.audit import open_audit_log
    from chat_app.data_protection import protect
    from chat_app.database.database_engine import DATABASE_ERRORS, failure_of

    protect(settings.storage.data_dir)
    try:
        async with open_audit_log(settings) as audit:
            await audit.record(action, actor(), detail=detail)
    except DATABASE_ERRORS as error:
        raise AuditUnavailable(
            f"The audit log cannot be written ({failure_of(error)}), so nothing was done: check DATABASE_URL and "
            "ASCLEPIUS_DATA_DIR."
        ) from None


def shell_user(settings: Settings) -> str:
    """Return the user who owns the shell's conversations: the demo user, or else the account under a separate name."""
    return "demo" if settings.server.auth == "demo" else actor()


def ask_password() -> str:
    """Prompt for a password without showing it, or read the first line of piped input, and return its hash."""
    from chat_app.interface.security.accounts import hash_password

    if sys.stdin.isatty():
        return hash_password(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    if not (password := sys.stdin.readline().rstrip("\r\n")):
        fail("The input contains no password: write it as the first line, or run the command at a terminal.")
    return hash_password(password)


def fail(message: str) -> NoReturn:
    """Print an error and exit with 1."""
    typer.echo(f"asclepius: {message}", err=True)
    raise typer.Exit(1)


def note(message: str) -> None:
    """Print a line on standard error, so that output can be piped."""
    typer.echo(message, err=True)


def print_json(value: Any) -> None:
    """Print ``value``, which may contain pydantic models, as indented JSON."""
    import orjson
    from pydantic_core import to_jsonable_python

    data = orjson.dumps(to_jsonable_python(value), option=orjson.OPT_INDENT_2)
    sys.stdout.write(data.decode() + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under column titles; if the output is no terminal, each row in one line."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        # An id is copied from here.
        table.add_column(column, overflow="fold", no_wrap=column == "id")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDEST
    Console(highlight=False, markup=False, width=width).print(table)


def opened(**sections: dict[str, Any]) -> AbstractAsyncContextManager[App]:
    """Open the app; use the services of a running ``asclepius serve`` if there is one. See ``settings``."""
    loaded = _guarded_settings(**sections)
    # pymilvus, which this imports, reads MILVUS_URI on import.
    from chat_app.bootstrap import open_app

    return open_app(loaded, on_progress=note_if_terminal)


@asynccontextmanager
async def opened_runtime() -> AsyncGenerator[Runtime, None]:
    """Open history and services, those of a running ``asclepius serve`` if there is one."""
    loaded = _guarded_settings()
    from chat_app.bootstrap import open_app
    from chat_app.interface.assets import prepare_page_root

    # The running app has that port.
    loaded.diagnostics = loaded.diagnostics.model_copy(update={"metrics_port": None})
    prepare_page_root(loaded.storage.data_dir)
    from chat_app.interface.runtime import Runtime

    def opening(settings: Settings, *, on_progress: Callable[[str], None]) -> AbstractAsyncContextManager[App]:
        def tell(message: str) -> None:
            note_if_terminal(message)
            on_progress(message)

        return open_app(settings, on_progress=tell)

    runtime = Runtime(loaded, opening)
    async with runtime.running(log_failure=False):
        await runtime.ready()
        yield runtime


def opened_content() -> AbstractAsyncContextManager[Content]:
    """Open only guidelines and drugs, which load faster, with the same services."""
    loaded = _guarded_settings()
    from chat_app.content import open_content

    return open_content(loaded, on_progress=note_if_terminal)


@asynccontextmanager
async def opened_database(what: str, *, read: str = "") -> AsyncGenerator[tuple[AsyncEngine, AuditLog], None]:
    """Open the database of the ``what``; the audit log records that ``read`` is read. Raises ``ConfigurationError``."""
    from chat_app.audit import audit_log
    from chat_app.database.database_engine import DATABASE_ERRORS, failure_of
    from chat_app.database.migrations import migrated_database

    loaded = settings()
    try:
        async with migrated_database(loaded) as engine:
            log = audit_log(loaded, engine)
            if read:
                await log.record("export", actor(), detail=read)
            yield engine, log
    except DATABASE_ERRORS as error:
        raise ConfigurationError(
            f"The {what} cannot be read ({failure_of(error)}): check DATABASE_URL and ASCLEPIUS_DATA_DIR."
        ) from None


def note_if_terminal(message: str) -> None:
    """Print progress on a terminal, and nothing elsewhere."""
    if sys.stderr.isatty():
        note(message)
