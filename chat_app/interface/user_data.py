"""Everything held about a user: export, erasure, and deletion by age."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from chat_app.audit import AuditEntry, AuditFilter, DatabaseAuditLog
from chat_app.background import repeat
from chat_app.errors import SessionError
from chat_app.interface.rendering.turn_steps import iso
from chat_app.interface.runtime import Runtime

_MOST_SESSIONS: Final = 100_000
_PURGE_SECONDS: Final = 3_600


async def user_data(runtime: Runtime, name: str) -> dict[str, Any]:
    """Return what is held about a user: conversations with their feedback, sessions and audit entries."""
    sessions = (await runtime.ready()).sessions
    threads = [await runtime.history.get_thread(thread) for thread in await runtime.history.threads_of(name)]
    stored: list[dict[str, Any]] = []
    for found in await sessions.summaries(name, _MOST_SESSIONS):
        messages = [message.model_dump(mode="json") for message in await sessions.messages(found.session.session_id)]
        stored.append({**found.session.model_dump(mode="json"), "messages": messages})
    entries: list[AuditEntry] = []
    if isinstance(runtime.audit, DatabaseAuditLog):
        entries = [entry async for entry in runtime.audit.entries(AuditFilter(actor=name))]
    audit = [entry.model_dump() for entry in entries]
    return {"user": name, "conversations": threads, "sessions": stored, "audit": audit}


async def erase_user(runtime: Runtime, name: str) -> int:
    """Erase all conversations of a user and the user; return their number. The audit log keeps its entries."""
    sessions = (await runtime.ready()).sessions
    threads = await runtime.history.threads_of(name)
    for thread in threads:
        await runtime.history.delete_thread(thread)
    left = await sessions.summaries(name, _MOST_SESSIONS)
    for found in left:
        await runtime.erasure.conversation(found.session.session_id, name)
    await runtime.history.delete_user(name)
    return len(threads) + len(left)


async def purge(runtime: Runtime, now: datetime) -> int:
    """Delete conversations and audit entries that are older than the settings allow; return how many conversations."""
    governance = runtime.settings.governance
    deleted = 0
    if governance.retention_days:
        before = iso(now - timedelta(days=governance.retention_days))
        threads = await runtime.history.threads_before(before)
        if threads:
            await runtime.audit.record("purge", "system", detail=f"{len(threads)} conversations before {before}")
        for thread in threads:
            await runtime.history.delete_thread(thread)
        deleted = len(threads)
    if governance.audit_retention_days and isinstance(runtime.audit, DatabaseAuditLog):
        before = iso(now - timedelta(days=governance.audit_retention_days))
        if removed := await runtime.audit.purge(before):
            await runtime.audit.record("purge", "system", detail=f"{removed} audit entries before {before}")
    return deleted


async def keep_purging(runtime: Runtime) -> None:
    """Purge and retry failed deletions every hour, in one process at a time, until cancelled."""

    async def purge_once() -> None:
        if await (await runtime.ready()).sessions.journal.claim("purge", seconds=_PURGE_SECONDS - 60):
            await runtime.erasure.retry_responses()
            await purge(runtime, datetime.now(UTC))

    await repeat(purge_once, _PURGE_SECONDS, quiet=(SessionError,))
