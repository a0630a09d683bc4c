"""The audit log: who did what, when and from where, as a chain in which any change or gap is found."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncEngine

from chat_app.audit.audit_log import AuditAction, AuditLog, client_address, file_sink, sink_problems, syslog_sink
from chat_app.audit.audit_table import AuditEntry, AuditFilter, DatabaseAuditLog
from chat_app.settings import Settings

__all__ = [
    "AuditAction",
    "AuditEntry",
    "AuditFilter",
    "AuditLog",
    "DatabaseAuditLog",
    "audit_log",
    "audit_problems",
    "client_address",
    "open_audit_log",
    "sink_problems",
]


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
