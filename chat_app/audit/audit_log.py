"""The interface of the audit log, and the sinks that also get its entries.

Callers record an action *before* they carry it out, so that an action which cannot be recorded can be refused.
"""

import logging
import os
from collections.abc import Callable
from contextvars import ContextVar
from logging.handlers import SysLogHandler
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from chat_app.data_protection import append_private

AuditSink = Callable[[str], None]
AuditAction = Literal[
    "administration",
    "backup",
    "delete",
    "erase",
    "export",
    "feedback",
    "key",
    "login",
    "login_failed",
    "logout",
    "order_check",
    "purge",
    "question",
    "restore",
    "settings",
    "sources",
    "tool",
    "upload",
]

client_address: ContextVar[str] = ContextVar("client_address", default="")
"""Address of the client whose request is being answered; empty at the shell."""


class AuditDetails(TypedDict, total=False):
    """What an entry says beside its action and actor."""

    conversation: str
    turn: str
    model: str
    detail: str
    """Ids, counts or names of the objects; never text of a question, an answer or a file."""
    text: str
    """The question; kept only with ``ASCLEPIUS_AUDIT_TEXT``."""


class AuditLog:
    """An append-only record of actions. This one records nothing, for parts that run without a database."""

    failures = 0
    """Entries of this process that could not be written, or not to every sink."""

    async def check(self) -> None:
        """Raise ``AuditUnavailable`` if the latest action was refused, within the last minute."""

    async def record(self, action: AuditAction, actor: str, **details: Unpack[AuditDetails]) -> None:
        """Append one entry with the time and ``client_address``; ``actor`` is the user, or ``system``.

        Raises ``AuditUnavailable`` when the entry cannot be written, so the action must not happen.
        """

    async def catch_up(self) -> None:
        """Store entries that waited for the database. Raises ``OSError``."""


def file_sink(path: Path) -> AuditSink:
    """Return a function that appends lines to ``path``, which only its owner can read. It raises ``OSError``."""
    return lambda line: append_private(path, f"{line}\n")


def syslog_sink(address: str) -> AuditSink:
    """Return a function that sends lines to syslog: the path of a socket, or ``host:port`` over UDP."""
    target = _target(address)

    def send(line: str) -> None:
        handler = _Syslog(target, facility=SysLogHandler.LOG_AUTH)
        try:
            handler.emit(
                logging.LogRecord("asclepius.audit", logging.INFO, "", 0, f"asclepius-audit: {line}", None, None)
            )
        finally:
            handler.close()

    return send


def _target(address: str) -> tuple[str, int] | str:
    host, _, port = address.rpartition(":")
    return (host, int(port)) if host and port.isdigit() else address


def sink_problems(file: Path | None, syslog: str | None) -> list[str]:
    """Return which sinks cannot be written to, without writing to them."""
    problems = []
    if file is not None and not _can_append(file):
        said = "cannot be written: create its folder, make it writable, or change ASCLEPIUS_AUDIT_FILE"
        problems.append(f"{file} {said}")
    if syslog is not None and isinstance(_target(syslog), str) and not Path(syslog).is_socket():
        said = "is neither a socket nor host:port: start the syslog service, or change ASCLEPIUS_AUDIT_SYSLOG"
        problems.append(f"{syslog} {said}")
    return problems


def _can_append(file: Path) -> bool:
    # ``Path.is_dir`` raises for a folder that cannot be entered.
    if os.path.isdir(file):  # noqa: PTH112
        return False
    return os.access(file if os.access(file, os.F_OK) else file.parent, os.W_OK)


class _Syslog(SysLogHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Raise the error, which ``DatabaseAuditLog.record`` counts, instead of printing the entry."""
        raise  # noqa: PLE0704 - the handler calls this where it catches the error
