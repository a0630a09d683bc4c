"""``asclepius ask``: the same streamed answer at the shell.

While ``asclepius serve`` runs with the demo user, the question goes to it over its HTTP API, so the first words come at
once. Otherwise the command does the work itself.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from chat_app.cli import shell

if TYPE_CHECKING:
    from chat_app.cli.ask_output import JsonLines, Plain
    from chat_app.events import AgentEvent


def ask(
    question: Annotated[str, typer.Argument(help="The question; `-` reads it from standard input.")],
    json: shell.Json = False,
    session: Annotated[str | None, typer.Option(help="Go on with this conversation.")] = None,
    model: Annotated[str | None, typer.Option(help="Ask this model.")] = None,
    guidelines: Annotated[bool, typer.Option(help="Search the guidelines.")] = True,
    drugs: Annotated[bool, typer.Option(help="Look drugs up.")] = True,
    references: Annotated[
        Literal["vancouver", "markdown", "ris"] | None,
        typer.Option(help="Print the references in this style, to be copied; with --json they are events as ever."),
    ] = None,
) -> None:
    """Ask a question; the answer is streamed, its references follow. With --json: one event a line."""
    from chat_app.cli.ask_output import JsonLines, Plain

    text = sys.stdin.read() if question == "-" else question
    options = {"model": model, "use_clinical_guidelines": guidelines, "use_drug_database": drugs}
    output = JsonLines() if json else Plain(references)
    code = shell.run(lambda: _ask(text, session, {k: v for k, v in options.items() if v is not None}, output))
    raise typer.Exit(code)


async def _ask(text: str, session: str | None, options: dict[str, object], output: JsonLines | Plain) -> int:
    from chat_app.cli.running_app import running_app

    settings = shell.settings()
    address = running_app(settings)
    if address is not None:
        events = address.consult(text, conversation_id=session, **options)
    else:
        events = _consult_here(text, session, options)
    async with aclosing(events) as stream:
        async for event in stream:
            output.show(event)
    return output.exit_code


async def _consult_here(
    text: str, session: str | None, options: dict[str, object]
) -> AsyncGenerator[AgentEvent, None]:
    from chat_app.cli.users import shell_user

    async with shell.opened() as app:
        app.load_listeners.append(lambda p: shell.note_if_terminal(p.what) if p else None)
        await app.warm_up()
        user = shell_user(app.settings)
        consulting = app.agent.consult(text, conversation_id=session, user_id=user, **options)  # type: ignore[arg-type]
        async with aclosing(consulting) as events:
            async for event in events:
                yield event
