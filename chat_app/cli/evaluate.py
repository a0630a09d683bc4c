"""``asclepius eval``: measure search and citations with files of questions."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from chat_app.cli import shell

if TYPE_CHECKING:
    from pydantic import BaseModel

    from chat_app.evaluation.answer_evaluation import AnswersReport
    from chat_app.evaluation.citation_report import CitationReport
    from chat_app.evaluation.drug_evaluation import DrugEvaluation
    from chat_app.evaluation.page_evaluation import PagesReport
    from chat_app.evaluation.retrieval_evaluation import RetrievalReport

app = typer.Typer(help="Measure search and citations with files of questions.", no_args_is_help=True)


def print_figures(report: BaseModel) -> None:
    """Print the report's plain values, one per line."""
    for name, value in report.model_dump(by_alias=True).items():
        if isinstance(value, int | float | str):
            shown = f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
            typer.echo(f"{name.replace('_', ' '):>24}  {shown}")


Embeddings = Annotated[
    str | None,
    typer.Option(help="Also search by meaning; default: the setting ASCLEPIUS_EMBEDDINGS."),
]
EmbeddingModel = Annotated[str, typer.Option(help="Model of the embedding server.")]


@app.command()
def retrieval(
    folder: Annotated[Path, typer.Argument(help="corpus.jsonl[.gz], queries.jsonl, qrels_test.tsv.", exists=True)],
    embeddings: Embeddings = None,
    embedding_model: EmbeddingModel = "",
    json: shell.Json = False,
) -> None:
    """Measure nDCG@10 and recall@10 of the guideline search on a test collection in the BEIR layout."""
    report = shell.run(lambda: _retrieval(folder, embeddings, embedding_model))
    if json:
        shell.print_json(report)
    else:
        print_figures(report)


async def _retrieval(folder: Path, embeddings: str | None, model: str) -> RetrievalReport:
    import asyncio

    from chat_app.cli.progress import progress_bars
    from chat_app.content import embedder as embedder_of
    from chat_app.evaluation.retrieval_evaluation import evaluate_retrieval, read_collection
    from tools.guidelines import open_embedder

    collection = await asyncio.to_thread(read_collection, folder)
    async with shell.opened_content() as content:
        embedder = open_embedder(embeddings, model=model) if embeddings else embedder_of(content.settings)
        uri, token = content.services.urls.milvus_uri, content.settings.storage.milvus_token
        secret = token.get_secret_value() if token else None
        with progress_bars() as show:
            return await asyncio.to_thread(
                evaluate_retrieval, uri, collection, token=secret, embedder=embedder, progress=show
            )


@app.command()
def pages(
    file: Annotated[Path, typer.Argument(help='JSON list of {"question", "document", "gold_pages"}.', exists=True)],
    within_document: Annotated[bool, typer.Option("--within-document", help="Search only the named document.")] = False,
    json: shell.Json = False,
) -> None:
    """Check whether questions find the page that answers them; pages count from 1 in the PDF."""
    report = shell.run(lambda: _pages(file, within_document=within_document))
    if json:
        shell.print_json(report)
        return
    print_figures(report)
    for miss in report.misses:
        wanted = ", ".join(map(str, miss.gold_pages))
        typer.echo(f"missed: {miss.question} ({miss.document}: {wanted}); found {', '.join(miss.found) or 'nothing'}")


async def _pages(file: Path, *, within_document: bool) -> PagesReport:
    from chat_app.evaluation.page_evaluation import evaluate_pages

    async with shell.opened_content() as content:
        await content.guidelines.load()
        return await evaluate_pages(content.guidelines, file, within_document=within_document)


@app.command()
def drugs(
    file: Annotated[Path, typer.Argument(help="JSON lines of queries and expected medicines.", exists=True)],
    json: shell.Json = False,
) -> None:
    """Measure how often the right medicine is found, first and among the first five, by kind of query."""
    report = shell.run(lambda: _drugs(file))
    if json:
        shell.print_json(report)
        return
    rates = {"overall": report.overall, **report.by_kind}
    rows = [(kind, f"{rate.hit_at_1:.3f}", f"{rate.hit_at_5:.3f}", rate.queries) for kind, rate in rates.items()]
    shell.print_table(("kind", "hit@1", "hit@5", "queries"), rows)
    typer.echo(f"{report.ms.mean:.1f} ms a query, p95 {report.ms.p95:.1f} ms")
    for miss in report.misses:
        typer.echo(f"not first: {miss.query} ({miss.type}); found {', '.join(miss.found) or 'nothing'}")


async def _drugs(file: Path) -> DrugEvaluation:
    from chat_app.evaluation.drug_evaluation import evaluate, read_queries

    queries = read_queries(file)
    async with shell.opened_content() as content:
        return await evaluate(content.drugs, queries)


@app.command()
def citations(
    file: Annotated[
        Path | None,
        typer.Argument(help='JSON list of {"question"}; default: the demonstration questions.', exists=True),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of questions to ask.")] = None,
    parallel: Annotated[int, typer.Option(min=1, max=32, help="Questions in parallel.")] = 4,
    model: Annotated[str | None, typer.Option(help="Ask this model.")] = None,
    json: shell.Json = False,
) -> None:
    """Ask each question; check every quote and number against the page it is cited with.

    The exit code is 1 when a quote is not on its page, or a number opens another passage.
    """
    report = shell.run(lambda: _citations(file, limit, parallel, model))
    if json:
        shell.print_json(report)
    else:
        print_figures(report)
        for finding in report.findings:
            typer.echo(f"{finding.what}: {finding.question} [{finding.number}] {finding.detail}")
    if not report.clean:
        raise typer.Exit(1)


async def _citations(file: Path | None, limit: int | None, parallel: int, model: str | None) -> CitationReport:
    from chat_app.cli.progress import progress_bars
    from chat_app.evaluation.citation_evaluation import evaluate_citations
    from chat_app.evaluation.citation_report import read_questions

    questions = read_questions(file)[:limit]
    async with shell.opened() as asclepius:
        await asclepius.warm_up()
        with progress_bars() as show:
            return await evaluate_citations(
                asclepius.agent,
                asclepius.guidelines,
                questions,
                parallel=parallel,
                model=model,
                progress=lambda done, total: show("questions", done, total),
            )


@app.command()
def answers(
    file: Annotated[Path, typer.Argument(help='JSON lines of {"question", "must", "any", "answerable"}.', exists=True)],
    guidelines: Annotated[
        Path | None,
        typer.Option(
            help="Ask only about these: a folder of guidelines, or a JSON list of passages. Loaded into a temporary "
            "data directory; yours stays as it is.",
            exists=True,
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of questions to ask.")] = None,
    parallel: Annotated[int, typer.Option(min=1, max=32, help="Questions in parallel.")] = 4,
    model: Annotated[str | None, typer.Option(help="Ask this model.")] = None,
    json: shell.Json = False,
) -> None:
    """Ask each question; check that the answer holds the fact, cites it, and claims nothing where there is none."""
    with _temporary_data(guidelines) as folder:
        report = shell.run(lambda: _answers(file, folder, limit, parallel, model))
    if json:
        shell.print_json(report)
        return
    print_figures(report)
    for miss in report.misses:
        typer.echo(f"{miss.what}: {miss.question}")


@contextmanager
def _temporary_data(guidelines: Path | None) -> Generator[Path | None, None, None]:
    """Point the settings at an empty data directory, and yield the folder with the guidelines to load into it."""
    if guidelines is None:
        yield None
        return
    from chat_app.evaluation.passage_files import guideline_folder
    from tools.errors import SourceRejected

    with TemporaryDirectory(prefix="asclepius-") as folder:
        os.environ["ASCLEPIUS_DATA_DIR"] = f"{folder}/data"
        os.environ["ASCLEPIUS_LOAD_DEMO"] = "false"
        try:
            loaded = guideline_folder(guidelines, Path(folder))
        except SourceRejected as error:
            shell.fail(str(error))
        yield loaded


async def _answers(
    file: Path, guidelines: Path | None, limit: int | None, parallel: int, model: str | None
) -> AnswersReport:
    from chat_app.cli.progress import progress_bars
    from chat_app.evaluation.answer_evaluation import evaluate_answers, read_answer_questions

    questions = read_answer_questions(file)[:limit]
    async with shell.opened() as asclepius:
        with progress_bars() as show:
            if guidelines is not None:
                loaded = await asclepius.guidelines.add_folder(guidelines)
                show("guidelines", len(loaded.documents), len(loaded.documents) + len(loaded.refused))
            await asclepius.warm_up()
            return await evaluate_answers(
                asclepius.agent,
                asclepius.guidelines,
                questions,
                parallel=parallel,
                model=model,
                progress=lambda done, total: show("questions", done, total),
            )
