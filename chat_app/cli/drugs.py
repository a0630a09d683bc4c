"""``asclepius drugs``: import, search and show drug data."""

from pathlib import Path
from typing import Annotated

import typer

from chat_app.cli import shell
from chat_app.cli.progress import progress_bars

app = typer.Typer(help="Import, search and show drug data.", no_args_is_help=True)


@shell.command(app, "import")
async def import_(
    paths: Annotated[list[Path], typer.Argument(help="Files, zip archives or folders with drug data.", exists=True)],
    replace: Annotated[bool, typer.Option("--replace", help="Replace whole sources instead of updating them.")] = False,
    json: shell.Json = False,
) -> None:
    """Import drug data; the format is recognised by its content."""
    async with shell.opened_content() as content:
        with progress_bars() as bars:
            report = await content.drugs.import_paths(
                paths, replace=replace, progress=lambda p: bars(f"{p.stage} {p.label}", p.done, p.total)
            )
    if json:
        shell.print_json(report)
        return
    columns = ("file", "format", "read", "kept", "merged", "refused")
    shell.print_table(columns, [(f.file, f.format, f.read, f.kept, f.merged, f.refused) for f in report.files])
    for file in report.files:
        for reason, count in file.reasons.items():
            typer.echo(f"{file.file}: {count} rows refused: {reason}")
    for name in report.left_out:
        typer.echo(f"Left out, because no importer reads it: {name}")
    if report.after_cut_off:
        typer.echo("Removed the unfinished data of an interrupted import.")
    typer.echo(f"{report.products:,} products of {report.records:,} medicines, in {report.seconds:.1f} s.")


@shell.command(app)
async def search(
    name: Annotated[str, typer.Argument(help="Brand, generic, salt, class, abbreviation, NDC or RxCUI.")],
    drug_class: Annotated[str | None, typer.Option("--class", help="Only this class.")] = None,
    form: Annotated[str | None, typer.Option(help="Only this dosage form.")] = None,
    route: Annotated[str | None, typer.Option(help="Only this route.")] = None,
    strength: Annotated[str | None, typer.Option(help="Only this strength.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=50, help="Maximum number of medicines.")] = 5,
    json: shell.Json = False,
) -> None:
    """Search medicines as the assistant does."""
    from tools.drug_database import DrugQuery

    query = DrugQuery(name=name, drug_class=drug_class, dosage_form=form, route=route, strength=strength, limit=limit)
    async with shell.opened_content() as content:
        result = await content.drugs.search(query)
    if json:
        shell.print_json(result)
        return
    rows = [
        (
            f"{hit.record.generic_name}{' (discontinued)' if hit.record.discontinued else ''}",
            ", ".join(hit.record.marketed_brands[:4]),
            ", ".join(sorted({product.dosage_form for product in hit.record.products})),
            f"{hit.matched.how}: {hit.matched.on}",
        )
        for hit in result.hits
    ]
    if rows:
        shell.print_table(("medicine", "brands", "forms", "matched by"), rows)
    else:
        typer.echo("No such medicine in the database.")
    if result.did_you_mean:
        typer.echo(f"Did you mean: {', '.join(result.did_you_mean)}?")
    if result.note:
        typer.echo(result.note)


@shell.command(app)
async def show(name: str, json: shell.Json = False) -> None:
    """Show everything known about one medicine, each fact with its source."""
    from tools.drug_database import DrugQuery

    async with shell.opened_content() as content:
        found = await content.drugs.search(DrugQuery(name=name, limit=1))
        sure = [hit for hit in found.hits if hit.matched.how in {"exact", "brand", "synonym", "code"}]
        record = await content.drugs.record(sure[0].record.key) if sure else None
    if record is None:
        empty = not found.hits and found.note
        shell.fail(empty or "No such medicine in the database; `asclepius drugs search` finds similar names.")
    if json:
        shell.print_json(record)
        return
    typer.secho(f"{record.generic_name}{' (discontinued)' if record.discontinued else ''}", bold=True)
    for title, names in (
        ("Brands", record.marketed_brands),
        ("Discontinued brands", record.discontinued_brands),
        ("Classes", [fact.value for fact in record.drug_classes]),
    ):
        if names:
            typer.echo(f"{title}: {', '.join(names)}")
    columns = ("form", "route", "strengths", "name", "status")
    rows = [
        (one.dosage_form, ", ".join(one.routes), ", ".join(one.strengths), one.brand_name,
         "discontinued" if one.discontinued else "")
        for one in record.products
    ]  # fmt: skip
    shell.print_table(columns, rows)
    for label in record.labels:
        for section, sentences in label.sections.items():
            typer.secho(f"\n{section.replace('_', ' ').capitalize()}", bold=True)
            typer.echo("\n".join(sentences))
        typer.secho(f"Source: {label.source.title} {label.source.date}", dim=True)


@shell.command(app)
async def stats(json: shell.Json = False) -> None:
    """Show the size of the database and its sources."""
    async with shell.opened_content() as content:
        found = await content.drugs.stats()
    if json:
        shell.print_json(found)
        return
    typer.echo(
        f"{found.records:,} medicines, {found.products:,} products, {found.names:,} names, {found.classes:,} classes, "
        f"{found.labels:,} labels"
    )
    rows = [(s.source.id, s.source.title, s.source.date, s.items) for s in found.sources]
    shell.print_table(("source", "title", "date", "items"), rows)


@shell.command(app)
async def clear(
    source: Annotated[str | None, typer.Option(help="Remove only this source; `stats` lists the sources.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    json: shell.Json = False,
) -> None:
    """Remove all drug data, or one source's."""
    what = f"everything that {source} said" if source else "all drug data"
    if not yes and not typer.confirm(f"Remove {what}?", err=True):
        shell.fail("Nothing was removed.")
    async with shell.opened_content() as content:
        await shell.recorded(content.settings, "administration", f"drugs clear {source or ''}".rstrip())
        with progress_bars() as bars:
            await content.drugs.clear(source, lambda p: bars(f"{p.stage} {p.label}", p.done, p.total))
        found = await content.drugs.stats()
    if json:
        shell.print_json(found)
    else:
        typer.echo(f"Removed {what}; {found.records:,} medicines are left.")


@shell.command(app)
async def check(json: shell.Json = False) -> None:
    """Check that the database is complete and of this version."""
    async with shell.opened_content() as content:
        problems = await content.drugs.check()
    if json:
        shell.print_json({"ok": not problems, "problems": problems})
    if problems:
        shell.fail(" ".join(problems))
    if not json:
        typer.echo("The drug database is complete.")
