"""What all commands share: running async code, errors as one sentence, JSON and tables on standard output."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from chat_app.errors import AsclepiusError
from chat_app.settings import Settings
from tools.errors import ToolError

if TYPE_CHECKING:
    from chat_app.bootstrap import App
    from chat_app.content import Content

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def run(work: Callable[[], Coroutine[Any, Any, T]], *, interrupt_is_error: bool = True) -> T:
    """Runs ``work``; an error of ours becomes one sentence on standard error and exit code 1, Ctrl-C exit code 130."""
    try:
        return asyncio.run(work())
    except (AsclepiusError, ToolError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(130 if interrupt_is_error else 0) from None
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def settings() -> Settings:
    """The settings, checked; exits with a sentence when they are wrong."""
    try:
        loaded = Settings()
        loaded.check()
    except AsclepiusError as error:
        fail(str(error))
    logging.basicConfig(
        level=loaded.diagnostics.log_level.upper() if loaded.diagnostics.log_level == "debug" else "ERROR",
        format="%(levelname)s %(name)s: %(message)s",
    )
    return loaded


def fail(message: str) -> NoReturn:
    typer.echo(f"asclepius: {message}", err=True)
    raise typer.Exit(1)


def note(message: str) -> None:
    """A line for the person at the shell; it goes to standard error, so that output can be piped."""
    typer.echo(message, err=True)


def print_json(value: Any) -> None:
    """``value`` (JSON-able, or pydantic models within) as indented JSON."""
    import orjson
    from pydantic_core import to_jsonable_python

    data = orjson.dumps(to_jsonable_python(value), option=orjson.OPT_INDENT_2)
    sys.stdout.write(data.decode() + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    Console(highlight=False, markup=False).print(table)


@asynccontextmanager
async def opened() -> AsyncGenerator[App, None]:
    """The app; the services of a running ``asclepius serve`` are used when there is one."""
    from chat_app.bootstrap import open_app
    from chat_app.tracing.log_guard import guard_logs

    guard_logs()
    async with open_app(settings(), on_progress=note_if_terminal) as app:
        yield app


@asynccontextmanager
async def opened_content() -> AsyncGenerator[Content, None]:
    """The guidelines and drugs alone, which are there sooner; at the same services."""
    from chat_app.content import open_content
    from chat_app.tracing.log_guard import guard_logs

    guard_logs()
    async with open_content(settings(), on_progress=note_if_terminal) as content:
        yield content


def note_if_terminal(message: str) -> None:
    """Progress for a person; nothing when the output is not looked at."""
    if sys.stderr.isatty():
        note(message)
