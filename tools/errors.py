"""What can go wrong inside a tool.

Every message says what happened and what to do, and may be shown to the model and to the reader. It holds no patient
text: neither the question, nor a name that was typed, nor a filter value. ``code`` and ``params`` identify the sentence
that readers see.
"""

from collections.abc import Mapping
from typing import Literal

ToolErrorCode = Literal[
    "arguments_invalid",
    "conversation_closed",
    "conversation_full",
    "failed",
    "file_damaged",
    "file_empty",
    "file_encrypted",
    "file_not_pdf",
    "file_too_large",
    "file_too_long",
    "file_too_slow",
    "file_without_text",
    "index_mismatch",
    "other",
    "timeout",
    "unavailable",
]


class ToolError(Exception):
    """Base of all errors that a tool raises on purpose."""

    code: ToolErrorCode = "other"
    """``other`` shows the message itself to the reader."""

    def __init__(
        self, message: str, *, code: ToolErrorCode | None = None, params: Mapping[str, str | int] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.params: Mapping[str, str | int] = params or {}


class ToolArgumentsInvalid(ToolError):
    """The arguments of a call do not fit the tool's schema."""

    code: ToolErrorCode = "arguments_invalid"


class ToolTimeout(ToolError):
    """The tool did not finish within its time limit."""

    code: ToolErrorCode = "timeout"


class ToolUnavailable(ToolError):
    """The service behind the tool cannot be reached or did not answer in time."""

    code: ToolErrorCode = "unavailable"


class SourceRejected(ToolError):
    """A file could not be ingested; nothing was changed."""


class IndexMismatch(ToolError):
    """A stored collection has another schema or vector dimension than this version writes."""

    code: ToolErrorCode = "index_mismatch"
