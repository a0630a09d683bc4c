"""``asclepius ask``: a streamed answer at the shell.

While ``asclepius serve`` runs with the demo user, the question goes to its HTTP API, so the first words arrive at once.
Otherwise the command opens the app itself.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from chat_app.answer_options import AnswerLanguage, AnswerLength
from chat_app.cli import shell
from chat_app.errors import InputRejected

if TYPE_CHECKING:
    from chat_app.bootstrap import App, LoadProgress
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
    if not text.strip():
        shell.fail("The question is empty.")
    models = tuple(dict.fromkeys(model or ()))
    if session and len(models) > 1:
        raise typer.BadParameter("A comparison starts new conversations.", param_hint="--session")
    body: dict[str, Any] = {
        "message": text,
        "use_clinical_guidelines": guidelines,
        "use_drug_database": drugs,
        "documents": tuple(guideline or ()),
        "language": language,
        "length": length,
    }
    body |= {"models": models} if len(models) > 1 else {"conversation_id": session, "model": next(iter(models), None)}
    if json:
        output: JsonLines | Plain | Sections = JsonLines(compared=len(models) > 1)
    elif len(models) > 1:
        output = Sections(models, references)
    else:
        output = Plain(references)
    raise typer.Exit(shell.run(lambda: _ask(body, output)))


async def _ask(body: dict[str, Any], output: JsonLines | Plain | Sections) -> int:
    """Ask as the HTTP API takes the question in ``body``; return the exit code."""
    from chat_app.cli.running_app import ask_running_app, running_app
    from chat_app.events import TurnEnded

    address, exit_code = running_app(shell.settings()), 0
    async with aclosing(ask_running_app(address, body) if address else _ask_here(body)) as stream:
        async for model, event in stream:
            output.show(model, event)
            if isinstance(event, TurnEnded) and event.outcome.kind not in {"completed", "refused"}:
                exit_code = 1
    return exit_code


async def _ask_here(given: dict[str, Any]) -> AsyncGenerator[tuple[str, AgentEvent], None]:
    """Ask as the API does, so that the history and the audit log have the question."""
    from pydantic import ValidationError

    async with shell.opened_runtime() as runtime:
        from chat_app.interface.api.question_start import ConsultBody, begin

        app = await runtime.ready()
        await _loaded(app)
        if missing := await app.missing_tools():
            shell.note(f"Tools whose MCP server does not answer: {', '.join(missing)}.")
        try:
            body = ConsultBody.model_validate(given)
        except ValidationError:
            raise InputRejected("No model, guideline or session has such a name.") from None
        question = await begin(runtime, body, shell.shell_user(app.settings), "en")
        try:
            async for model, event in question.events():
                yield model, event
        finally:
            question.stop()
            for turn in question.turns.values():
                await turn.saved.wait()


async def _loaded(app: App) -> None:
    """Wait until all content is loaded; show the progress."""
    loaded = asyncio.Event()

    def show(progress: LoadProgress | None) -> None:
        if progress is None:
            loaded.set()
        else:
            shell.note_if_terminal(progress.what)

    app.load_listeners.append(show)
    if app.loading is not None:
        await loaded.wait()
