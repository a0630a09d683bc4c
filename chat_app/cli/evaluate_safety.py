"""``asclepius eval interactions`` and ``emergencies``: the measures of clinical safety."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chat_app.cli import shell
from chat_app.cli.evaluate import app, print_report

__all__ = ["app"]


@shell.command(app)
async def interactions(
    file: Annotated[Path, typer.Argument(help="JSON lines of annotated labels.", exists=True)],
    limit: Annotated[int | None, typer.Option(min=1, help="Ask about the first so many pairs only.")] = None,
    ask: Annotated[bool, typer.Option(help="Also ask about each pair in eight phrasings.")] = True,
    classes: Annotated[bool, typer.Option("--classes", help="Also check pairs with a class of medicines.")] = False,
    json: shell.Json = False,
) -> None:
    """Load labels into a scratch database, and check every documented pair, called and asked in ordinary words."""
    import tempfile

    from chat_app.bootstrap import open_app
    from chat_app.cli.progress import progress_bars
    from chat_app.evaluation import interaction_evaluation as evaluation
    from chat_app.settings import Settings
    from chat_app.tracing import guard_logs

    guard_logs()
    labels = evaluation.read_labels(file)
    kinds = (*evaluation.KINDS, "Drug_Class") if classes else evaluation.KINDS
    cases = evaluation.cases_of(labels, kinds)[:limit]
    with tempfile.TemporaryDirectory() as folder:
        # A scratch database: the data loaded for care are neither searched nor changed.
        own = {"data_dir": folder, "milvus_uri": None, "redis_url": None, "database_url": None}
        async with open_app(Settings(storage=own), on_progress=shell.note_if_terminal) as asclepius:
            await asclepius.warm_up()
            await asclepius.drugs.import_paths([evaluation.write_formulary(labels, cases, Path(folder))])
            with progress_bars() as show:
                report = await evaluation.evaluate_called(asclepius.drugs, labels, cases, show)
                if ask:
                    report = await evaluation.evaluate_asked(asclepius.agent, cases, report, show)
    misses = (f"not quoted: {miss.label} + {miss.other} ({miss.asked}): {miss.sentence}" for miss in report.misses)
    print_report(report, misses, json=json)


@shell.command(app)
async def emergencies(
    file: Annotated[
        Path | None, typer.Argument(help="JSON lines of text, emergency and language; default: our own.", exists=True)
    ] = None,
    json: shell.Json = False,
) -> None:
    """Measure how many emergencies are recognised, and how many ordinary questions are taken for one."""
    from chat_app.evaluation.emergency_evaluation import evaluate_emergencies, read_emergencies

    report = evaluate_emergencies(read_emergencies(file))
    if json:
        shell.print_json(report)
        return
    for one in (*report.groups, report):
        counts = f"{one.recognised} of {one.emergencies} emergencies, {one.false_alarms} false alarms of {one.ordinary}"
        kinds = f"{one.withheld} of {one.exposures} exposures, {one.answered} of {one.illnesses} others fully answered"
        typer.echo(f"{one.group or 'questions':>16}  {counts}; {kinds}")
    for what, questions in (("missed", report.missed), ("alarmed", report.alarmed)):
        for question in questions:
            typer.echo(f"{what}: {question}")
