"""The interface of the audit log.

Callers record an action *before* they carry it out, so that an action which cannot be recorded can be refused.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Literal, Protocol

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
        ...

    async def catch_up(self) -> None:
        """Store entries that waited for the database. Raises ``OSError``."""
        ...


class SilentAuditLog:
    """Records nothing: for parts that run without a database."""

    failures = 0

    async def record(self, action: AuditAction, actor: str, **_details: str) -> None:
        """Do nothing."""

    async def catch_up(self) -> None:
        """Do nothing."""
