"""The interface of the audit log.

Callers record an action *before* they carry it out, so that an action which cannot be recorded can be refused.
"""

import logging
import os
from collections.abc import Callable
from contextvars import ContextVar
from logging.handlers import SysLogHandler
from pathlib import Path
from typing import Literal, Protocol

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


class AuditLog(Protocol):
    """An append-only record of actions."""

    failures: int
    """Entries of this process that could not be written."""

    async def record(
        self,
        action: AuditAction,
        actor: str,
        *,
        conversation: str = "",
        turn: str = "",
        model: str = "",
        detail: str = "",
        text: str = "",
    ) -> None:
        """Append one entry with the time and ``client_address``.

        Args:
            action: The kind of action.
            actor: The user, or ``system``.
            conversation: The conversation's id.
            turn: The turn's id.
            model: The model that is asked.
            detail: Ids, counts or names of the objects; never text of a question, an answer or a file.
            text: The question; kept only with ``ASCLEPIUS_AUDIT_TEXT``.

        Raises:
            AuditUnavailable: The entry cannot be written, so the action must not happen.
        """

    async def catch_up(self) -> None:
        """Store entries that waited for the database. Raises ``OSError``."""


class SilentAuditLog:
    """Records nothing: for parts that run without a database."""

    failures = 0

    async def record(self, action: AuditAction, actor: str, **_details: str) -> None:
        """Do nothing."""

    async def catch_up(self) -> None:
        """Do nothing."""


def file_sink(path: Path) -> AuditSink:
    """Return a function that appends lines to ``path``, which only its owner can read. It raises ``OSError``."""

    def append(line: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(line + "\n")

    return append


def syslog_sink(address: str) -> AuditSink:
    """Return a function that sends lines to syslog: the path of a socket, or ``host:port`` over UDP."""
    host, _, port = address.rpartition(":")
    target = (host, int(port)) if host and port.isdigit() else address

    def send(line: str) -> None:
        handler = SysLogHandler(target, facility=SysLogHandler.LOG_AUTH)
        try:
            handler.emit(
                logging.LogRecord("asclepius.audit", logging.INFO, "", 0, f"asclepius-audit: {line}", None, None)
            )
        finally:
            handler.close()

    return send
