"""``asclepius guidelines``: ingest, list, search, index, upload and remove guidelines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chat_app.cli import shell
from chat_app.cli.progress import progress_bars

if TYPE_CHECKING:
    from chat_app.cli.progress import ShowProgress
    from tools.guidelines import FolderReport, GuidelineLibrary, IngestProgress

app = typer.Typer(help="Ingest, list, search, upload and remove guidelines.", no_args_is_help=True)


@shell.command(app)
async def add(
    paths: Annotated[list[Path], typer.Argument(help="Files, or folders with files.", exists=True)],
    json: shell.Json = False,
) -> None:
    """Load guidelines. A file that changed becomes a new version; old answers keep the passages they cited."""
    from tools.guidelines import FolderReport

    folders = {path: path.is_dir() for path in paths}
    async with shell.opened_content() as content:
        with progress_bars() as bars:
            reports = [
                await _ingested(content.guidelines, path, _progress(bars), is_folder=is_folder)
                for path, is_folder in folders.items()
            ]
    documents = tuple(document for report in reports for document in report.documents)
    refused = tuple(refusal for report in reports for refusal in report.refused)
    _tell(FolderReport(documents=documents, refused=refused), json=json)


async def _ingested(
    library: GuidelineLibrary, path: Path, progress: Callable[[IngestProgress], None], *, is_folder: bool
) -> FolderReport:
    from tools.errors import SourceRejected
    from tools.guidelines import FolderReport, RefusedFile

    try:
        if not is_folder:
            return FolderReport(documents=(await library.add(path, progress=progress),))
        report = await library.add_folder(path, progress=progress)
        if report.documents or report.refused:
            return report
        reason = f"{path.name} holds no guideline; PDF, Markdown, HTML, DOCX and text files can be loaded."
    except SourceRejected as error:
        reason = str(error)
    return FolderReport(refused=(RefusedFile(file_name=path.name, reason=reason),))


@shell.command(app)
async def reindex(json: shell.Json = False) -> None:
    """Rebuild the index from the stored files.

    Required after some updates, for another embedding model, or when the Milvus server lost its data.
    """
    async with shell.opened_content() as content:
        with progress_bars() as bars:
            report = await content.guidelines.reindex(progress=_progress(bars))
    _tell(report, json=json)


def _progress(show: ShowProgress) -> Callable[[IngestProgress], None]:
    return lambda p: show(f"{p.file_name}: {p.stage}", p.done, p.total)


def _tell(report: FolderReport, *, json: bool) -> None:
    """Print what was ingested and which parts cannot be searched; exit with 1 when a file was refused."""
    if json:
        shell.print_json(report)
    else:
        for document in report.documents:
            typer.echo(f"{document.title} ({document.id}): {document.pages} pages, {document.passages} passages")
            if document.unsearchable_pages:
                pages = ", ".join(map(str, document.unsearchable_pages))
                typer.echo(f"  Not searchable, since they hold no text: pages {pages}")
        if report.own_documents:
            typer.echo(f"Documents that belong to conversations: {report.own_documents}")
    if report.refused:
        shell.fail("; ".join(refusal.reason for refusal in report.refused))


@shell.command(app, "list")
async def list_documents(json: shell.Json = False) -> None:
    """List guidelines that are loaded, and files that are damaged."""
    from tools.guidelines.search.library_search import damaged_record

    async with shell.opened_content() as content:
        library = content.guidelines
        documents, own = await library.documents(), await library.own_count()
        for name in await library.damaged():
            typer.echo(damaged_record(name), err=True)
    if json:
        shell.print_json(documents)
        return
    rows = [(d.id, d.title, d.issuer, d.version or d.date, d.pages, len(d.unsearchable_pages) or "") for d in documents]
    shell.print_table(("id", "title", "issuer", "version", "pages", "unreadable"), rows)
    if own:
        typer.echo(f"Documents that belong to conversations: {own}.")


@shell.command(app)
async def show(document_id: str, json: shell.Json = False) -> None:
    """Show one guideline: source, versions and gaps."""
    async with shell.opened_content() as content:
        document = await content.guidelines.document(document_id)
    if document is None:
        shell.fail("No guideline has this id; `asclepius guidelines list` shows the ids.")
    if json:
        shell.print_json(document)
        return
    for name, value in document.model_dump().items():
        if value not in {"", None, ()}:
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            typer.echo(f"{name.replace('_', ' '):>20}  {text}")


@shell.command(app)
async def remove(document_id: str) -> None:
    """Remove a guideline from search; old answers keep the passages they cited."""
    async with shell.opened_content() as content:
        await shell.recorded(content.settings, "administration", f"guidelines remove {document_id}")
        removed = await content.guidelines.remove(document_id)
    if not removed:
        shell.fail("No guideline has this id; `asclepius guidelines list` shows the ids.")
    typer.echo(f"Removed {document_id}.")


@shell.command(app)
async def search(
    question: str,
    limit: Annotated[int, typer.Option(min=1, max=50, help="Maximum number of passages.")] = 6,
    document: Annotated[list[str] | None, typer.Option(help="Only this document; repeatable.")] = None,
    issuer: Annotated[list[str] | None, typer.Option(help="Only this issuer; repeatable.")] = None,
    issued_from: Annotated[
        str, typer.Option("--from", help="Only issued from this date on, such as 2023 or 2023-06.")
    ] = "",
    issued_to: Annotated[str, typer.Option("--to", help="Only issued up to this date.")] = "",
    json: shell.Json = False,
) -> None:
    """Search the passages as the assistant does."""
    from tools.guidelines import SearchFilter

    chosen = SearchFilter(
        documents=tuple(document or ()), issuers=tuple(issuer or ()), issued_from=issued_from, issued_to=issued_to
    )
    async with shell.opened_content() as content:
        await content.guidelines.load()
        result = await content.guidelines.search(question, limit=limit, chosen=chosen)
    if json:
        shell.print_json(result)
        return
    if not result.passages:
        typer.echo("No passages found.")
    for passage in result.passages:
        page = f", p. {passage.page_label or passage.page}" if passage.page else ""
        typer.secho(f"{passage.title}{page}  {passage.section}", bold=True)
        typer.echo(f"{' '.join(passage.text.split())[:500]}\n")
    if result.match == "weak":
        typer.echo("No passage shares most of the question's words.")


@shell.command(app)
async def sync(
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Delete the uploaded copies instead.")] = False,
    json: shell.Json = False,
) -> None:
    """Upload the loaded guidelines to the model server's vector store, for its own file search.

    New and changed files are uploaded, removed files are deleted there. The command waits until all can be searched.
    With the server in OPENAI_BASE_URL, the guidelines leave this machine.
    """
    async with shell.opened() as asclepius:
        await shell.recorded(asclepius.settings, "administration", f"guidelines sync{' --withdraw' * withdraw}")
        if withdraw:
            _tell_withdrawn(await asclepius.route.withdraw(), json=json)
            return
        with progress_bars() as bars:
            report = await asclepius.route.sync(lambda p: bars(p.stage, p.done, p.total))
        note = asclepius.route.describe()
    if json:
        shell.print_json(report)
    else:
        for what, documents in (
            ("Uploaded", report.uploaded),
            ("Unchanged", report.unchanged),
            ("Deleted there", report.removed),
        ):
            if documents:
                typer.echo(f"{what}: {', '.join(documents)}")
        typer.echo(f"Vector store {report.vector_store_id}. {note}")
    if report.failed:
        shell.fail("; ".join(f"{failure.document_id}: {failure.reason}" for failure in report.failed))


def _tell_withdrawn(documents: tuple[str, ...], *, json: bool) -> None:
    if json:
        shell.print_json({"withdrawn": documents})
    elif documents:
        typer.echo(f"Deleted at the model server: {', '.join(documents)}")
    else:
        typer.echo("Nothing was uploaded from here.")
