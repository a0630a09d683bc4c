"""``asclepius guidelines``: load, list, search, upload and remove guidelines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chat_app.cli import shell

if TYPE_CHECKING:
    from chat_app.generation.hosted_search import SyncReport
    from tools.guidelines import Document, GuidelineSearchResult

app = typer.Typer(help="Load, list, search, upload and remove guidelines.", no_args_is_help=True)
SUFFIXES = frozenset({".pdf", ".md", ".markdown", ".html", ".htm", ".docx", ".txt"})


@app.command()
def add(
    paths: Annotated[list[Path], typer.Argument(help="Files, or folders with files.", exists=True)],
    json: shell.Json = False,
) -> None:
    """Load guidelines. A file that changed becomes a new version; old answers keep the passages they cited."""
    documents, refused = shell.run(lambda: _add(paths))
    if json:
        shell.print_json({"documents": documents, "refused": refused})
    else:
        for document in documents:
            typer.echo(f"{document.title} ({document.id}): {document.pages} pages, {document.passages} passages")
            if document.unsearchable_pages:
                pages = ", ".join(map(str, document.unsearchable_pages))
                typer.echo(f"  Not searchable, since they hold no text: pages {pages}")
    if refused:
        shell.fail("; ".join(refused))


async def _add(paths: list[Path]) -> tuple[list[Document], list[str]]:
    from chat_app.cli.progress import progress_bars
    from tools.errors import SourceRejected

    documents: list[Document] = []
    refused: list[str] = []
    async with shell.opened() as asclepius:
        with progress_bars() as show:
            for path in _files(paths):
                try:
                    documents.append(
                        await asclepius.guidelines.add(
                            path, progress=lambda p: show(f"{p.file_name}: {p.stage}", p.done, p.total)
                        )
                    )
                except SourceRejected as error:
                    refused.append(str(error))
    return documents, refused


def _files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = (found for found in sorted(path.rglob("*")) if found.suffix.lower() in SUFFIXES)
        files += [found for found in inside if found.is_file()] if path.is_dir() else [path]
    if not files:
        shell.fail("There is no guideline file there; PDF, Markdown, HTML, DOCX and text can be loaded.")
    return files


@app.command(name="list")
def list_documents(json: shell.Json = False) -> None:
    """What is loaded and searchable."""
    documents = shell.run(_documents)
    if json:
        shell.print_json(documents)
        return
    rows = [(d.id, d.title, d.issuer, d.version or d.date, d.pages, len(d.unsearchable_pages) or "") for d in documents]
    shell.print_table(("id", "title", "issuer", "version", "pages", "unreadable"), rows)


async def _documents() -> list[Document]:
    async with shell.opened() as asclepius:
        return await asclepius.guidelines.documents()


@app.command()
def show(document_id: str, json: shell.Json = False) -> None:
    """One guideline: where it comes from, its versions and its gaps."""
    document = next((d for d in shell.run(_documents) if d.id == document_id), None)
    if document is None:
        shell.fail("There is no guideline of that id; `asclepius guidelines list` shows them.")
    if json:
        shell.print_json(document)
        return
    for name, value in document.model_dump().items():
        if value not in {"", None, ()}:
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            typer.echo(f"{name.replace('_', ' '):>20}  {text}")


@app.command()
def remove(document_id: str) -> None:
    """Take a guideline out of search; old answers keep the passages they cited."""
    if not shell.run(lambda: _remove(document_id)):
        shell.fail("There is no guideline of that id; `asclepius guidelines list` shows them.")
    typer.echo(f"Removed {document_id}.")


async def _remove(document_id: str) -> bool:
    async with shell.opened() as asclepius:
        return await asclepius.guidelines.remove(document_id)


@app.command()
def search(
    question: str,
    limit: Annotated[int, typer.Option(min=1, max=50, help="Most passages.")] = 6,
    document: Annotated[list[str] | None, typer.Option(help="Only in this document; may be repeated.")] = None,
    json: shell.Json = False,
) -> None:
    """Search the passages, as the assistant does."""
    result = shell.run(lambda: _search(question, limit, document))
    if json:
        shell.print_json(result)
        return
    if not result.passages:
        typer.echo("Nothing was found.")
    for passage in result.passages:
        page = f", p. {passage.page_label or passage.page}" if passage.page else ""
        typer.secho(f"{passage.title}{page}  {passage.section}", bold=True)
        typer.echo(f"{' '.join(passage.text.split())[:500]}\n")
    if result.passages and not result.answerable:
        typer.echo("These passages do not seem to answer the question.")


async def _search(question: str, limit: int, documents: list[str] | None) -> GuidelineSearchResult:
    async with shell.opened() as asclepius:
        await asclepius.guidelines.load()
        return await asclepius.guidelines.search(question, limit=limit, documents=documents)


@app.command()
def sync(
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Delete there what was uploaded, instead.")] = False,
    json: shell.Json = False,
) -> None:
    """Upload the loaded guidelines to the model server's vector store, for its own file search.

    What is new or changed is uploaded, what is gone is deleted there, and the command waits until all of it can be
    searched. With the server that OPENAI_BASE_URL names, the guidelines leave this machine.
    """
    if withdraw:
        _tell_withdrawn(shell.run(_withdraw), json=json)
        return
    report, note = shell.run(_sync)
    if json:
        shell.print_json(report)
    else:
        for what, documents in (
            ("Uploaded", report.uploaded), ("Unchanged", report.unchanged), ("Deleted there", report.removed),
        ):  # fmt: skip
            if documents:
                typer.echo(f"{what}: {', '.join(documents)}")
        typer.echo(f"Vector store {report.vector_store_id}. {note}")
    if report.failed:
        shell.fail("; ".join(f"{failure.document_id}: {failure.reason}" for failure in report.failed))


async def _sync() -> tuple[SyncReport, str]:
    from chat_app.cli.progress import progress_bars

    async with shell.opened() as asclepius:
        with progress_bars() as show:
            report = await asclepius.route.sync(lambda p: show(p.stage, p.done, p.total))
        return report, asclepius.route.describe()


async def _withdraw() -> tuple[str, ...]:
    async with shell.opened() as asclepius:
        return await asclepius.route.withdraw()


def _tell_withdrawn(documents: tuple[str, ...], *, json: bool) -> None:
    if json:
        shell.print_json({"withdrawn": documents})
    elif documents:
        typer.echo(f"Deleted at the model server: {', '.join(documents)}")
    else:
        typer.echo("Nothing was uploaded from here.")
