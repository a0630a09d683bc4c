"""``asclepius audit``: verify, list and export the audit log."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from chat_app.cli import shell
from chat_app.errors import ConfigurationError

if TYPE_CHECKING:
    from chat_app.audit import AuditEntry, DatabaseAuditLog
    from chat_app.audit.audit_table import AuditFilter

app = typer.Typer(help="Verify, list and export the audit log.", no_args_is_help=True)

Actor = Annotated[str, typer.Option(help="Only entries of this user.")]
Action = Annotated[str, typer.Option(help="Only this action, such as login, question or delete.")]
Conversation = Annotated[str, typer.Option(help="Only entries of this conversation.")]
Since = Annotated[str, typer.Option(help="Only entries from this date or time on, in UTC (ISO 8601).")]
Until = Annotated[str, typer.Option(help="Only entries before this date or time, in UTC (ISO 8601).")]


@shell.command(app)
async def verify(json: shell.Json = False) -> None:
    """Check the whole chain; exit code 1 when an entry was changed, removed or inserted."""
    async with _opened(read=False) as log:
        count, found = await log.verify()
    if json:
        shell.print_json({"entries": count, "findings": found})
    else:
        for finding in found:
            typer.echo(f"entry {finding.seq}: {finding.what}")
        typer.echo(f"{count} entries, {len(found)} findings")
    if found:
        raise typer.Exit(1)


@shell.command(app, "list")
async def list_entries(
    actor: Actor = "", action: Action = "", conversation: Conversation = "", since: Since = "", until: Until = ""
) -> None:
    """List entries, oldest first, with times in UTC."""
    rows: list[tuple[object, ...]] = []
    wanted = _filter(actor, action, conversation, since, until)
    async with _opened() as log, aclosing(log.entries(wanted)) as found:
        async for e in found:
            rows.append((e.seq, e.at[:19].replace("T", " "), e.action, _details(e)))  # noqa: PERF401
    shell.print_table(("entry", "at", "action", "by whom, and what"), rows)


@shell.command(app)
async def export(
    actor: Actor = "", action: Action = "", conversation: Conversation = "", since: Since = "", until: Until = ""
) -> None:
    """Print entries as lines of JSON, with their hashes."""
    wanted = _filter(actor, action, conversation, since, until)
    async with _opened() as log, aclosing(log.entries(wanted)) as found:
        async for entry in found:
            sys.stdout.write(entry.model_dump_json() + "\n")


def _details(entry: AuditEntry) -> str:
    """Return in one text what only some entries have, because a column for each is too narrow to read."""
    named = (("from", entry.address), ("conversation", entry.conversation), ("model", entry.model))
    parts = [entry.actor, *(f"{name} {value}" for name, value in named if value), entry.detail]
    return "  ".join(filter(None, parts))


def _filter(actor: str, action: str, conversation: str, since: str, until: str) -> AuditFilter:
    from chat_app.audit.audit_table import AuditFilter

    given = {"actor": actor, "action": action, "conversation": conversation, "since": since, "until": until}
    try:
        return AuditFilter.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise typer.BadParameter(first["msg"], param_hint=f"--{first['loc'][0]}") from None


@asynccontextmanager
async def _opened(*, read: bool = True) -> AsyncGenerator[DatabaseAuditLog, None]:
    """Open the audit log of the configured database, which records that it is read. Raises ``ConfigurationError``."""
    from chat_app.audit import DatabaseAuditLog

    async with shell.opened_database("audit log", read="audit log" if read else "") as (_, log):
        if not isinstance(log, DatabaseAuditLog):
            raise ConfigurationError("There is no audit log: ASCLEPIUS_AUDIT is off.")
        yield log
