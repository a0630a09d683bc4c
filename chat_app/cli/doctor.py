"""``asclepius doctor``: check configuration, services and content, and say how to fix each fault."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from chat_app.cli import shell
from chat_app.embedded.redis_binary import has_fixes
from chat_app.errors import AsclepiusError, ConfigurationError
from chat_app.settings import Settings
from tools.errors import ToolError
from tools.types import Frozen

if TYPE_CHECKING:
    from chat_app.bootstrap import App

Part = Literal[
    "settings",
    "certificate",
    "storage",
    "history",
    "audit",
    "accounts",
    "services",
    "sessions",
    "model",
    "drugs",
    "guidelines",
    "tools",
]
Checked = tuple[list[str], str]
"""The problems of a part; and a sentence for when there is none, empty where the part is not used."""
_LEAST_FREE_BYTES = 500_000_000
_LEAST_DAYS = 7
_SECONDS = 5.0


class DoctorFinding(Frozen):
    """The state of one part, and a sentence that describes it or names the remedy."""

    part: Part
    ok: bool
    detail: str
    warning: bool = False
    """Whether the finding is only a warning: the app can run."""


def doctor(
    json: shell.Json = False,
    start: Annotated[bool, typer.Option("--start", help="Start the services to check them, if none runs.")] = False,
) -> None:
    """Check settings, certificate, storage, history, services, model, drug database, guidelines and MCP servers.

    Starts and creates nothing unless --start is given. Exit code 1 when something needs attention.
    """
    findings = shell.run(lambda: _examine(start=start))
    if json:
        shell.print_json({"ok": all(f.ok for f in findings), "findings": findings})
    else:
        for finding in findings:
            typer.echo(f"{_mark(finding)} {finding.part:<11} {finding.detail}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _mark(finding: DoctorFinding) -> str:
    if not finding.ok:
        return typer.style("FAIL", fg="red", bold=True)
    return typer.style("warn", fg="yellow") if finding.warning else typer.style("ok  ", fg="green")


async def _examine(*, start: bool) -> list[DoctorFinding]:
    try:
        settings = Settings()
        settings.check()
    except AsclepiusError as error:
        return [DoctorFinding(part="settings", ok=False, detail=str(error))]
    # pymilvus, which these import, reads MILVUS_URI on import.
    from chat_app.audit import audit_problems
    from chat_app.bootstrap import open_app
    from chat_app.embedded.owner import is_owned
    from chat_app.embedded.specs import needed
    from chat_app.interface.security.accounts import account_problems, account_warnings

    findings = [DoctorFinding(part="settings", ok=True, detail=f"data directory {settings.storage.data_dir}")]
    findings += [DoctorFinding(part="settings", ok=True, detail=said, warning=True) for said in settings.warnings()]
    findings += _findings("certificate", *_certificate(settings))
    findings += _findings("storage", *_storage(settings))
    findings += _findings("history", *await _history(settings))
    findings += _findings("audit", audit_problems(settings))
    findings += _findings("accounts", account_problems(settings))
    findings += [
        DoctorFinding(part="accounts", ok=True, detail=said, warning=True) for said in account_warnings(settings)
    ]
    if needed(settings) and not start and not is_owned(settings.storage.data_dir):
        detail = "not started: run `asclepius serve`, or check them with `asclepius doctor --start`"
        return [*findings, DoctorFinding(part="services", ok=True, detail=detail)]
    try:
        async with open_app(settings) as app:
            for part, check in _CHECKS.items():
                try:
                    findings += _findings(part, *await check(app))
                except (AsclepiusError, ToolError) as error:
                    findings += _findings(part, [str(error)])
    except AsclepiusError as error:
        findings.append(DoctorFinding(part="services", ok=False, detail=str(error)))
    return findings


def _findings(part: Part, problems: Sequence[str], fine: str = "") -> list[DoctorFinding]:
    """Return each problem; without one the sentence ``fine``, if there is any."""
    if problems or not fine:
        return [DoctorFinding(part=part, ok=False, detail=problem) for problem in problems]
    return [DoctorFinding(part=part, ok=True, detail=fine)]


def _certificate(settings: Settings) -> Checked:
    if (file := settings.server.tls_certificate) is None:
        return [], ""
    from cryptography.x509 import load_pem_x509_certificate

    ends = load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
    detail = f"{file} is valid until {ends:%Y-%m-%d}"
    ends_soon = (ends - datetime.now(UTC)).days < _LEAST_DAYS
    return [f"{detail}: renew it, and restart the app"] if ends_soon else [], detail


def _storage(settings: Settings) -> Checked:
    """Check the data directory, or where it would be created, without creating it."""
    folder = next(path for path in (settings.storage.data_dir, *settings.storage.data_dir.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    writable = os.access(folder, os.W_OK | os.X_OK) and not os.statvfs(folder).f_flag & os.ST_RDONLY
    if not writable or not folder.is_dir():
        return [f"{folder} cannot be written: make it writable, or set ASCLEPIUS_DATA_DIR"], ""
    detail = f"{free / 1e9:,.1f} GB free in {folder}"
    return [f"{detail}: free space, or set ASCLEPIUS_DATA_DIR"] if free < _LEAST_FREE_BYTES else [], detail


async def _history(settings: Settings) -> Checked:
    from chat_app.database.database_engine import (
        DAMAGED,
        DATABASE_ERRORS,
        configured_url,
        database_engine,
        failure_of,
        is_damaged_file,
    )
    from chat_app.database.migrations import schema_problems

    given, file = settings.storage.database_url, settings.storage.data_dir / "history.sqlite3"
    if given is None and not file.exists():
        return [], "made at the first start"
    try:
        engine = database_engine(configured_url(settings))
    except ConfigurationError as error:
        return [str(error)], ""
    try:
        async with asyncio.timeout(_SECONDS):
            problems = await schema_problems(engine)
    except DATABASE_ERRORS as error:
        remedy = "DATABASE_URL and the server" if given else f"who may read and write {file}"
        silent = f"The database does not answer ({failure_of(error)}): check {remedy}."
        problems = [DAMAGED.format(file=file) if given is None and is_damaged_file(error) else silent]
    finally:
        await engine.dispose()
    return problems, "PostgreSQL answers" if given else "SQLite"


async def _services(app: App) -> Checked:
    problems = await app.services.problems()
    if any(problems.values()):
        return [" ".join(filter(None, problems.values()))], ""
    running = ", ".join(problems) or "none embedded"
    return [], running if app.services.owned else f"{running} (of the running asclepius)"


async def _sessions(app: App) -> Checked:
    version = await app.sessions.version()
    lacks = "" if has_fixes(version) else "; it lacks security fixes: install a version from 7.2.11 on"
    return [], f"{version} answers{lacks}"


async def _model(app: App) -> Checked:
    await app.model.ping()
    if app.settings.uses_offline_model:
        return [], "the offline model: answers are extracts of what is loaded"
    return [], f"{app.settings.model.model} at {app.settings.model.base_url or 'OpenAI'}"


async def _drugs(app: App) -> Checked:
    if problems := await app.drugs.check():
        return problems, ""
    found = await app.drugs.stats()
    return [], f"{found.records:,} medicines, {found.products:,} products"


async def _guidelines(app: App) -> Checked:
    problems = [*await app.guidelines.check(), *await app.guidelines.check_own(), *await app.route.check()]
    documents, own = await app.guidelines.documents(), await app.guidelines.own_count()
    if not problems and not documents:
        problems = ["No guideline is loaded. Run `asclepius guidelines add PATH`."]
    beside = f"; {own} more belong to conversations" if own else ""
    return problems, f"{len(documents)} documents, {sum(document.pages for document in documents):,} pages{beside}"


async def _tools(app: App) -> Checked:
    missing = await app.missing_tools()
    problems = [f"{name} is missing: its MCP server does not answer, or has no such tool" for name in missing]
    return problems, f"of MCP servers: {', '.join(app.remote_tools)}" if app.remote_tools else ""


_CHECKS: dict[Part, Callable[[App], Awaitable[Checked]]] = {
    "services": _services,
    "sessions": _sessions,
    "model": _model,
    "drugs": _drugs,
    "guidelines": _guidelines,
    "tools": _tools,
}
