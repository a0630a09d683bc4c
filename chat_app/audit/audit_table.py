"""The audit log in the database: an append-only table whose rows are chained by their hashes.

Each row's hash covers its fields and the hash before it, and ``audit_ends`` holds both ends of the chain. So ``verify``
finds a changed, removed or inserted row. While the database is down, entries wait in a file of the data directory.
"""

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, Self, Unpack
from uuid import uuid4

from pydantic import AfterValidator, ValidationError
from pydantic_core import PydanticCustomError
from sqlalchemy import Connection, RowMapping, text
from sqlalchemy.ext.asyncio import AsyncEngine

from chat_app.audit.audit_log import AuditAction, AuditDetails, AuditLog, AuditSink, client_address
from chat_app.batches import Batches
from chat_app.data_protection import append_private, file_lock
from chat_app.database.database_engine import DATABASE_ERRORS, in_transaction, lock_database
from chat_app.errors import AuditUnavailable
from tools.types import Frozen

logger = logging.getLogger(__name__)

_LOCK: Final = 6_115_202_612
_SECONDS: Final = 3.0
_LONGEST: Final = 2_000
_REFUSED_SECONDS: Final = 60.0
_UNWRITTEN: Final = (
    "The audit log cannot be written, so the action was refused: check the database, the disk, the data directory, and "
    "ASCLEPIUS_AUDIT_FILE and ASCLEPIUS_AUDIT_SYSLOG if they are set."
)


class AuditEntry(Frozen):
    """One action. ``seq`` is 0 until the entry is in the table."""

    at: str
    action: str
    actor: str
    address: str = ""
    conversation: str = ""
    turn: str = ""
    model: str = ""
    detail: str = ""
    text: str = ""
    seq: int = 0
    previous: str = ""
    hash: str = ""

    def hashed(self, seq: int, previous: str) -> Self:
        """Return the entry at its place in the chain."""
        fields = self.model_dump(exclude={"seq", "previous", "hash"})
        line = json.dumps([seq, previous, fields], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest = hashlib.sha256(line.encode()).hexdigest()
        return self.model_copy(update={"seq": seq, "previous": previous, "hash": digest})


def _as_entries_have_it(time: str) -> str:
    """Return an ISO 8601 date or time, in UTC unless it names an offset, in the format of ``AuditEntry.at``."""
    if not time:
        return ""
    try:
        given = datetime.fromisoformat(time)
    except ValueError:
        said = "Input should be a date or time in ISO 8601, such as 2026-01-31 or 2026-01-31T08:00"
        raise PydanticCustomError("not_iso_8601", said) from None
    return (given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)).isoformat(timespec="milliseconds")


Moment = Annotated[str, AfterValidator(_as_entries_have_it)]


class AuditFilter(Frozen):
    """Which entries are listed; empty fields match all."""

    actor: str = ""
    action: Literal[AuditAction, ""] = ""
    conversation: str = ""
    since: Moment = ""
    until: Moment = ""


class AuditFinding(Frozen):
    """A place at which the chain is broken."""

    seq: int
    what: str


@dataclass(kw_only=True)
class DatabaseAuditLog(AuditLog):
    """The ``AuditLog`` in the database of the history."""

    engine: AsyncEngine
    waiting: Path
    """File in which entries wait while the database is down."""
    keep_text: bool = False
    required: bool = True
    """Whether an action that cannot be recorded is refused."""
    sinks: Sequence[AuditSink] = ()
    """Called with every entry, as a line of JSON."""

    def __post_init__(self) -> None:
        self._entries: Batches[AuditEntry, None] = Batches(self._write)
        self._refused_until = 0.0
        """Until when, on the monotonic clock, ``check`` reports an action that was refused."""

    async def check(self) -> None:
        """See ``AuditLog``. Later the next action is let try: nothing else tells that the log can be written again."""
        if time.monotonic() < self._refused_until:
            raise AuditUnavailable(_UNWRITTEN)

    async def record(self, action: AuditAction, actor: str, **details: Unpack[AuditDetails]) -> None:
        """Append one entry; see ``AuditLog``."""
        question = details.pop("text", "") if self.keep_text else ""
        given = {"actor": actor, "address": client_address.get(), **details, "text": ""}
        kept = {name: _storable(str(value))[:_LONGEST] for name, value in given.items()}
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = AuditEntry.model_validate({"at": at, "action": action, **kept, "text": _storable(question)})
        try:
            await self._entries.do(entry)
            for sink in self.sinks:
                await asyncio.to_thread(sink, entry.model_dump_json(exclude={"seq", "previous", "hash"}))
        except OSError as error:
            self.failures += 1
            logger.error("The audit log could not be written: %s", type(error).__name__)  # noqa: TRY400
            if self.required:
                self._refused_until = time.monotonic() + _REFUSED_SECONDS
                raise AuditUnavailable(_UNWRITTEN) from None
        self._refused_until = 0.0

    async def catch_up(self) -> None:
        """Move entries that waited for the database into the table. Raises ``OSError``."""
        if not (paths := sorted(self.waiting.parent.glob(f"{self.waiting.name}*"))):
            return
        with file_lock(self.waiting.with_suffix(".lock"), wait=False) as alone:
            for path in paths if alone else ():
                # Another process may add to the file meanwhile, or have stored it.
                taken = path.with_name(f"{self.waiting.name}.{uuid4().hex}")
                with suppress(FileNotFoundError):
                    path.rename(taken)
                    if not await self._caught_up(taken):
                        return

    async def _caught_up(self, taken: Path) -> bool:
        lines = await asyncio.to_thread(_lines, taken)
        entries, unreadable = _parsed(lines)
        if not await self._appended(entries):
            return False
        _append_lines(self.waiting.with_suffix(".unreadable"), unreadable)
        _append_lines(self.waiting, _lines(taken)[len(lines) :])
        await asyncio.to_thread(taken.unlink)
        return True

    async def entries(self, wanted: AuditFilter | None = None) -> AsyncGenerator[AuditEntry, None]:
        """Yield entries, oldest first."""
        given = (wanted or AuditFilter()).model_dump()
        conditions = {"since": '"at" >= :since', "until": '"at" < :until'}
        values = {name: value for name, value in given.items() if value}
        where = "".join(" AND " + conditions.get(name, f'"{name}" = :{name}') for name in values)
        query = f'SELECT * FROM audit WHERE TRUE{where} ORDER BY "seq"'  # noqa: S608
        async with self.engine.connect() as connection:
            found = await connection.stream(text(query), values)
            async for row in found.mappings():
                yield AuditEntry.model_validate(dict(row))

    async def verify(self) -> tuple[int, list[AuditFinding]]:
        """Return the number of entries, and every place at which the chain is broken."""
        ends = await self._ends_now()
        seq, previous, found = int(ends["first"]), str(ends["before"]), list[AuditFinding]()
        count, last_hash = 0, ends["hash"]
        async for entry in self.entries():
            count += 1
            if entry.seq != seq:
                found.append(AuditFinding(seq=seq, what=f"entries {seq} to {entry.seq - 1} are missing"))
            elif entry.previous != previous:
                found.append(AuditFinding(seq=entry.seq, what="the entry does not continue the one before"))
            if entry.hashed(entry.seq, entry.previous).hash != entry.hash:
                found.append(AuditFinding(seq=entry.seq, what="the entry was changed"))
            seq, previous = entry.seq + 1, entry.hash
            last_hash = entry.hash if entry.seq == ends["last"] else last_hash
        # Entries may have been added meanwhile.
        latest = (await self._ends_now())["last"]
        if not ends["last"] < seq <= latest + 1:
            found.append(AuditFinding(seq=seq, what=f"the log ends at {seq - 1} instead of {latest}"))
        elif last_hash != ends["hash"]:
            found.append(AuditFinding(seq=int(ends["last"]), what="the last entry was replaced"))
        return count, found

    async def _ends_now(self) -> RowMapping:
        async with self.engine.connect() as connection:
            return await connection.run_sync(_ends)

    async def purge(self, before: str) -> int:
        """Delete entries older than ``before``, an ISO time; the rest still verifies. Return how many were deleted."""
        return await in_transaction(self.engine, partial(_purge, before=before))

    async def _write(self, entries: Sequence[AuditEntry]) -> Sequence[None]:
        """Append entries to the table, or while the database is down to the file. Raises ``OSError``."""
        if not await self._appended(entries):
            await asyncio.to_thread(_append_lines, self.waiting, [entry.model_dump_json() for entry in entries])
        return [None] * len(entries)

    async def _appended(self, entries: Sequence[AuditEntry]) -> bool:
        try:
            async with asyncio.timeout(_SECONDS):
                await in_transaction(self.engine, partial(_append, entries=entries))
        except DATABASE_ERRORS as error:
            logger.warning("The audit log waits for the database: %s", type(error).__name__)
            return False
        return True


_INSERT: Final = """INSERT INTO audit
    ("seq", "at", "action", "actor", "address", "conversation", "turn", "model", "detail", "text", "previous", "hash")
    VALUES (:seq, :at, :action, :actor, :address, :conversation, :turn, :model, :detail, :text, :previous, :hash)"""


def _ends(connection: Connection) -> RowMapping:
    return connection.execute(text("SELECT * FROM audit_ends")).mappings().one()


def _append(connection: Connection, entries: Sequence[AuditEntry]) -> None:
    lock_database(connection, _LOCK)
    ends = _ends(connection)
    last, previous = int(ends["last"]), str(ends["hash"])
    placed: list[AuditEntry] = []
    for entry in entries:
        placed.append(entry.hashed(last + 1, previous))
        last, previous = placed[-1].seq, placed[-1].hash
    if placed:
        connection.execute(text(_INSERT), [entry.model_dump() for entry in placed])
    values = {"last": last, "hash": previous}
    connection.execute(text('UPDATE audit_ends SET "last" = :last, "hash" = :hash'), values)


def _purge(connection: Connection, before: str) -> int:
    lock_database(connection, _LOCK)
    ends = _ends(connection)
    query = 'SELECT MIN("seq") AS "kept" FROM audit WHERE "at" >= :before'
    kept = connection.execute(text(query), {"before": before}).scalar()
    first = int(kept) if kept is not None else int(ends["last"]) + 1
    query = 'SELECT "hash" FROM audit WHERE "seq" = :seq'
    hash_before = connection.execute(text(query), {"seq": first - 1}).scalar()
    if hash_before is None:
        return 0
    connection.execute(text('DELETE FROM audit WHERE "seq" < :first'), {"first": first})
    values = {"first": first, "before": hash_before}
    connection.execute(text('UPDATE audit_ends SET "first" = :first, "before" = :before'), values)
    return first - int(ends["first"])


def _storable(value: str) -> str:
    return value.replace("\0", "\ufffd")


def _lines(path: Path) -> list[str]:
    # Those of a text would also end at its U+2028, which JSON does not escape.
    return [line.decode(errors="replace") for line in path.read_bytes().splitlines()]


def _parsed(lines: Sequence[str]) -> tuple[list[AuditEntry], list[str]]:
    """Return the entries, and the lines that are none."""
    found, unreadable = list[AuditEntry](), list[str]()
    for line in lines:
        try:
            found.append(AuditEntry.model_validate_json(line))
        except ValidationError:
            logger.warning("A waiting entry of the audit log could not be read, and is kept in a file beside it")
            unreadable.append(line)
    return found, unreadable


def _append_lines(path: Path, lines: Sequence[str]) -> None:
    if lines:
        append_private(path, "".join(f"{line}\n" for line in lines), durable=True)
