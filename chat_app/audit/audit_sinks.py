"""Copies of the audit log outside the database: a file of JSON lines, or syslog."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from logging.handlers import SysLogHandler
from pathlib import Path

AuditSink = Callable[[str], None]


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
