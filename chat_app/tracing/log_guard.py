"""Keeps patients' text out of all logs of the process, including those of libraries.

An exception's message may quote its cause: a validation error quotes its input, a server's refusal the question. The
guard reduces an exception to its type and where it was raised. Messages of the app's own errors are kept, because they
never contain patients' text. Libraries that log the contents they handle are held at a level at which they do not.
"""

import logging
from collections.abc import Mapping
from typing import Any

from chat_app.errors import AsclepiusError
from chat_app.tracing.redaction import describe_error
from tools.errors import ToolError

_OWN = (AsclepiusError, ToolError)
# They log the values of SQL statements and the frames of web sockets at DEBUG, and invalid messages at ERROR.
TALKATIVE = {"aiosqlite": logging.INFO, "websockets": logging.INFO, "mcp": logging.CRITICAL}


def guard_logs() -> None:
    """Install the guard for every logger and handler."""
    make = logging.getLogRecordFactory()
    for name, level in TALKATIVE.items():
        logger = logging.getLogger(name)
        logger.setLevel(max(level, logger.level))

    def guarded(*args: Any, **kwargs: Any) -> logging.LogRecord:
        return _without_messages(make(*args, **kwargs))

    logging.setLogRecordFactory(guarded)


def _without_messages(record: logging.LogRecord) -> logging.LogRecord:
    if record.name == "root":
        # A library without a logger, such as the MCP SDK, may have formatted what it handles into its message.
        record.msg, record.args = "Reported at %s, line %s", (record.module, record.lineno)
    elif isinstance(record.msg, BaseException):
        record.msg, record.args = "%s", (_shown(record.msg),)
    elif isinstance(record.args, tuple):
        record.args = tuple(_shown(value) for value in record.args)
    elif isinstance(record.args, Mapping):
        record.args = {name: _shown(value) for name, value in record.args.items()}
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        # A formatter takes ``exc_text`` where it is set, and so does not format the exception itself.
        record.exc_text = _named(error) + describe_error(error).removeprefix(type(error).__name__)
        record.exc_info = None
    return record


def _shown(value: object) -> object:
    return _named(value) if isinstance(value, BaseException) else value


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, _OWN) else type(error).__name__
