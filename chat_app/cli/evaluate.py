"""``asclepius eval``: measure search, citations and clinical safety with files of questions."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from chat_app.cli import shell
from chat_app.cli.progress import progress_bars

app = typer.Typer(help="Measure search and citations with files of questions.", no_args_is_help=True)


def print_report(report: BaseModel, details: Iterable[str] = (), *, json: bool) -> None:
    """Print the report's plain values, one per line, then ``details``; or the whole report as JSON."""
    if json:
        shell.print_json(report)
        return
    for name, value in report.model_dump(by_alias=True).items():
        if isinstance(value, int | float | str):
            shown = f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
            typer.echo(f"{name.replace('_', ' '):>24}  {shown}")
    for line in details:
        typer.echo(line)


Embeddings = Annotated[
    str | None, typer.Option(help="Also search by meaning; default: the setting ASCLEPIUS_EMBEDDINGS.")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Number of questions to ask.")]
Parallel = Annotated[int, typer.Option(min=1, max=32, help="Questions in parallel.")]
Model = Annotated[str | None, typer.Option(help="Ask this model.")]
EmbeddingModel = Annotated[str, typer.Option(help="Model of the embedding server.")]


@shell.command(app)
async def retrieval(
    folder: Annotated[Path, typer.Argument(help="corpus.jsonl[.gz], queries.jsonl, qrels_test.tsv.", exists=True)],
    embeddings: Embeddings = None,
    embedding_model: EmbeddingModel = "",
    json: shell.Json = False,
) -> None:
    """Measure nDCG@10 and recall@10 of the guideline search on a test collection in the BEIR layout."""
    import asyncio

    from chat_app.content import embedder as embedder_of
    from chat_app.evaluation.retrieval_evaluation import evaluate_retrieval, read_collection
    from tools.guidelines import open_embedder

    collection = await asyncio.to_thread(read_collection, folder)
    async with shell.opened_content() as content:
        embedder = open_embedder(embeddings, model=embedding_model) if embeddings else embedder_of(content.settings)
        uri, token = content.services.urls.milvus_uri, content.settings.storage.milvus_token
        secret = token.get_secret_value() if token else None
        with progress_bars() as show:
            report = await asyncio.to_thread(
                evaluate_retrieval, uri, collection, token=secret, embedder=embedder, progress=show
            )
    print_report(report, json=json)


@shell.command(app)
async def pages(
    file: Annotated[Path, typer.Argument(help='JSON list of {"question", "document", "gold_pages"}.', exists=True)],
    within_document: Annotated[bool, typer.Option("--within-document", help="Search only the named document.")] = False,
    json: shell.Json = False,
) -> None:
    """Check whether questions find the page that answers them; pages count from 1 in the PDF."""
    from chat_app.evaluation.page_evaluation import evaluate_pages

    async with shell.opened_content() as content:
        await content.guidelines.load()
        report = await evaluate_pages(content.guidelines, file, within_document=within_document)
    misses = (
        f"missed: {miss.question} ({miss.document}: {', '.join(map(str, miss.gold_pages))}); "
        f"found {', '.join(miss.found) or 'nothing'}"
        for miss in report.misses
    )
    print_report(report, misses, json=json)


@shell.command(app)
async def drugs(
    file: Annotated[Path, typer.Argument(help="JSON lines of queries and expected medicines.", exists=True)],
    json: shell.Json = False,
) -> None:
    """Measure how often the right medicine is found, first and among the first five, by kind of query."""
    from chat_app.evaluation.drug_evaluation import evaluate, read_queries

    queries = read_queries(file)
    async with shell.opened_content() as content:
        report = await evaluate(content.drugs, queries)
    if json:
        shell.print_json(report)
        return
    rates = {"overall": report.overall, **report.by_kind}
    rows = [(kind, f"{rate.hit_at_1:.3f}", f"{rate.hit_at_5:.3f}", rate.queries) for kind, rate in rates.items()]
    shell.print_table(("kind", "hit@1", "hit@5", "queries"), rows)
    typer.echo(f"{report.ms.mean:.1f} ms a query, p95 {report.ms.p95:.1f} ms")
    for miss in report.misses:
        typer.echo(f"not first: {miss.query} ({miss.type}); found {', '.join(miss.found) or 'nothing'}")


@shell.command(app)
async def citations(
    file: Annotated[
        Path | None,
        typer.Argument(help='JSON list of {"question"}; default: the demonstration questions.', exists=True),
    ] = None,
    limit: Limit = None,
    parallel: Parallel = 4,
    model: Model = None,
    json: shell.Json = False,
) -> None:
    """Ask each question; check every quote and number against the page it is cited with.

    The exit code is 1 when a quote is not on its page, or a number opens another passage.
    """
    from chat_app.evaluation.citation_evaluation import evaluate_citations, read_questions

    questions = read_questions(file)[:limit]
    async with shell.opened() as asclepius:
        await asclepius.warm_up()
        with progress_bars() as show:
            progress = partial(show, "questions")
            report = await evaluate_citations(
                asclepius.agent, asclepius.guidelines, questions, parallel=parallel, model=model, progress=progress
            )
    findings = (f"{found.what}: {found.question} [{found.number}] {found.detail}" for found in report.findings)
    print_report(report, findings, json=json)
    if not report.clean:
        raise typer.Exit(1)


@shell.command(app)
async def answers(
    file: Annotated[Path, typer.Argument(help='JSON lines of {"question", "must", "any", "answerable"}.', exists=True)],
    guidelines: Annotated[
        Path | None,
        typer.Option(
            help="Ask only about these: a folder of guidelines, or a JSON list of passages. Loaded into a temporary "
            "data directory; yours stays as it is.",
            exists=True,
        ),
    ] = None,
    limit: Limit = None,
    parallel: Parallel = 4,
    model: Model = None,
    json: shell.Json = False,
) -> None:
    """Ask each question; check that the answer holds the fact, cites it, and claims nothing where there is none."""
    from chat_app.evaluation.answer_evaluation import evaluate_answers, read_answer_questions
    from chat_app.evaluation.question_files import guideline_folder

    questions = read_answer_questions(file)[:limit]
    with TemporaryDirectory(prefix="asclepius-") as scratch:
        folder = guideline_folder(guidelines, Path(scratch)) if guidelines else None
        own: dict[str, dict[str, Any]] = {"storage": {"data_dir": f"{scratch}/data"}, "offline": {"load_demo": False}}
        async with shell.opened(**(own if folder else {})) as asclepius:
            with progress_bars() as show:
                if folder is not None:
                    loaded = await asclepius.guidelines.add_folder(folder)
                    show("guidelines", len(loaded.documents), len(loaded.documents) + len(loaded.refused))
                await asclepius.warm_up()
                progress = partial(show, "questions")
                report = await evaluate_answers(
                    asclepius.agent, asclepius.guidelines, questions, parallel=parallel, model=model, progress=progress
                )
    print_report(report, (f"{miss.what}: {miss.question}" for miss in report.misses), json=json)


@shell.command(app)
async def interactions(
    file: Annotated[Path, typer.Argument(help="JSON lines of annotated labels.", exists=True)],
    limit: Annotated[int | None, typer.Option(min=1, help="Ask about the first so many pairs only.")] = None,
    ask: Annotated[bool, typer.Option(help="Also ask about each pair in eight phrasings.")] = True,
    classes: Annotated[bool, typer.Option("--classes", help="Also check pairs with a class of medicines.")] = False,
    json: shell.Json = False,
) -> None:
    """Load labels into a scratch database, and check every documented pair, called and asked in ordinary words."""
    from chat_app.evaluation import interaction_evaluation as evaluation

    labels = evaluation.read_labels(file)
    kinds = (*evaluation.KINDS, "Drug_Class") if classes else evaluation.KINDS
    cases = evaluation.cases_of(labels, kinds)[:limit]
    with TemporaryDirectory() as folder:
        # A scratch database: the data loaded for care are neither searched nor changed.
        own = {"data_dir": folder, "milvus_uri": None, "redis_url": None, "database_url": None}
        async with shell.opened(storage=own) as asclepius:
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
