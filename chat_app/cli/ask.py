"""``asclepius ask``: a streamed answer at the shell.

While ``asclepius serve`` runs with the demo user, the question goes to its HTTP API, so the first words arrive at once.
Otherwise the command opens the app itself.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from chat_app.answer_options import AnswerLanguage, AnswerLength, ConsultOptions
from chat_app.cli import shell

if TYPE_CHECKING:
    from chat_app.agent.comparison import ModelEvent
    from chat_app.cli.ask_output import JsonLines, Plain, Sections
    from chat_app.events import AgentEvent


def ask(
    question: Annotated[str, typer.Argument(help="The question; `-` reads it from standard input.")],
    json: shell.Json = False,
    session: Annotated[str | None, typer.Option(help="Continue this conversation.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Ask this model; several are compared.")] = None,
    guidelines: Annotated[bool, typer.Option(help="Search the guidelines.")] = True,
    drugs: Annotated[bool, typer.Option(help="Search the drug database.")] = True,
    guideline: Annotated[
        list[str] | None,
        typer.Option(help="Search only this guideline, by its id in `asclepius guidelines list`; repeatable."),
    ] = None,
    language: Annotated[AnswerLanguage, typer.Option(help="Language of the answer; auto: the question's.")] = "auto",
    length: Annotated[AnswerLength, typer.Option(help="Level of detail.")] = "standard",
    references: Annotated[
        Literal["vancouver", "markdown", "ris"] | None,
        typer.Option(help="Print references in this style; with --json they remain events."),
    ] = None,
) -> None:
    """Ask a question and stream the answer with its references. With --json, print one event per line.

    With several models, print each answer in its own section when it is complete; with --json, each event names its
    model.
    """
    from chat_app.cli.ask_output import JsonLines, Plain, Sections

    text = sys.stdin.read() if question == "-" else question
    models = tuple(dict.fromkeys(model or ()))
    if session and len(models) > 1:
        raise typer.BadParameter("A comparison starts new conversations.", param_hint="--session")
    options = ConsultOptions(
        conversation_id=session,
        model=next(iter(models), None),
        use_clinical_guidelines=guidelines,
        use_drug_database=drugs,
        documents=tuple(guideline or ()),
        language=language,
        length=length,
    )
    if json:
        output: JsonLines | Plain | Sections = JsonLines()
    elif len(models) > 1:
        output = Sections(models, references)
    else:
        output = Plain(references)
    code = shell.run(lambda: _ask(text, models, options, output))
    raise typer.Exit(code)


async def _ask(
    text: str, models: tuple[str, ...], options: ConsultOptions, output: JsonLines | Plain | Sections
) -> int:
    from chat_app.cli.running_app import running_app

    address = running_app(shell.settings())
    if address is None:
        events = _ask_here(text, models, options)
    elif len(models) > 1:
        events = address.compare(text, models, options)
    else:
        events = address.consult(text, options)
    async with aclosing(events) as stream:
        async for event in stream:
            output.show(event)
    return output.exit_code


async def _ask_here(
    text: str, models: tuple[str, ...], options: ConsultOptions
) -> AsyncGenerator[AgentEvent | ModelEvent, None]:
    from chat_app.agent.comparison import compare

    async with shell.opened() as app:
        app.load_listeners.append(lambda p: shell.note_if_terminal(p.what) if p else None)
        await app.warm_up()
        if missing := await app.missing_tools():
            shell.note(f"Tools whose MCP server does not answer: {', '.join(missing)}.")
        await app.check_documents(options.documents)
        options = replace(options, user_id=shell.shell_user(app.settings))
        asking: AsyncGenerator[AgentEvent | ModelEvent, None]
        asking = compare(app.agent, text, models, options) if len(models) > 1 else app.agent.consult(text, options)
        async with aclosing(asking) as events:
            async for event in events:
                yield event
