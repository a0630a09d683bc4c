"""The audit log: who did what, when and from where, as a chain in which any change or gap is found."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncEngine

from chat_app.audit.audit_log import AuditAction as AuditAction
from chat_app.audit.audit_log import AuditLog as AuditLog
from chat_app.audit.audit_log import client_address as client_address
from chat_app.audit.audit_log import file_sink, syslog_sink
from chat_app.audit.audit_log import sink_problems as sink_problems
from chat_app.audit.audit_table import AuditEntry as AuditEntry
from chat_app.audit.audit_table import AuditFilter as AuditFilter
from chat_app.audit.audit_table import DatabaseAuditLog as DatabaseAuditLog
from chat_app.settings import Settings


def audit_log(settings: Settings, engine: AsyncEngine) -> AuditLog:
    """Return the audit log that the settings ask for, in the database of ``engine``."""
    governance = settings.governance
    if governance.audit == "off":
        return AuditLog()
    sinks = [file_sink(governance.audit_file)] if governance.audit_file else []
    sinks += [syslog_sink(governance.audit_syslog)] if governance.audit_syslog else []
    return DatabaseAuditLog(
        engine=engine,
        waiting=settings.storage.data_dir / "audit-waiting.jsonl",
        keep_text=governance.audit_text,
        required=governance.audit == "required",
        sinks=sinks,
    )


def audit_problems(settings: Settings) -> list[str]:
    """Return which copies of the audit log cannot be written."""
    given = settings.governance
    return [] if given.audit == "off" else sink_problems(given.audit_file, given.audit_syslog)


@asynccontextmanager
async def open_audit_log(settings: Settings) -> AsyncGenerator[AuditLog]:
    """Open the audit log of the configured database, migrated, until the block ends."""
    from chat_app.database.migrations import migrated_database

    async with migrated_database(settings) as engine:
        yield audit_log(settings, engine)
