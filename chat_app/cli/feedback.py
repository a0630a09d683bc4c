"""``asclepius feedback`` and ``asclepius usage``: what users rated, and how much they ask."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from chat_app.cli import shell

app = typer.Typer(help="List and export rated answers.", no_args_is_help=True)

_SHOWN = 80


@shell.command(app, "list")
async def list_feedback() -> None:
    """List ratings, oldest first, with the question's beginning."""
    from chat_app.database.usage_reports import rated_answers

    async with shell.opened_database("history", read="feedback") as (engine, _):
        found = await rated_answers(engine)
    rows = [
        (one.at, one.user, "helpful" if one.helpful else "not", one.question[:_SHOWN], one.comment) for one in found
    ]
    shell.print_table(("at", "user", "rating", "question", "comment"), rows)


@shell.command(app)
async def export(
    as_evaluation: Annotated[
        bool, typer.Option("--eval", help="As cases for `asclepius eval answers`; fill in `must` of unhelpful answers.")
    ] = False,
) -> None:
    """Print rated answers with their questions as lines of JSON. They may contain patients' data."""
    import orjson

    from chat_app.database.usage_reports import rated_answers

    async with shell.opened_database("history", read="feedback") as (engine, _):
        found = await rated_answers(engine)
    for one in found:
        line = one.evaluation_case() if as_evaluation else one.model_dump()
        sys.stdout.write(orjson.dumps(line).decode() + "\n")


async def usage(
    days: Annotated[int, typer.Option(min=1, help="How many days back.")] = 30, json: shell.Json = False
) -> None:
    """Count questions, users, conversations and ratings per day, in UTC."""
    from chat_app.database import usage_reports

    since = (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
    async with shell.opened_database("history") as (engine, _):
        found = await usage_reports.usage(engine, since=since)
    if json:
        shell.print_json(found)
        return
    columns = ("day", "questions", "users", "conversations", "helpful", "unhelpful")
    shell.print_table(columns, [[getattr(day, column) for column in columns] for day in found])
