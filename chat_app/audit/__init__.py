"""The audit log: who did what, when and from where, as a chain in which any change or gap is found."""

from __future__ import annotations

from chat_app.audit.audit_log import AuditAction, AuditLog, SilentAuditLog, client_address

__all__ = ["AuditAction", "AuditLog", "SilentAuditLog", "client_address"]
