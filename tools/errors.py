"""What can go wrong inside a tool, as a small tree.

    ToolError                       a tool call failed; the message may be shown to the model and to the reader
    ├── ToolArgumentsInvalid        the model's arguments do not fit the schema; says which and why
    ├── ToolTimeout                 the tool did not end within its limit
    ├── ToolUnavailable             the service behind the tool cannot be reached; says what to check
    ├── SourceRejected              a file handed in (guideline, drug data) was refused; says why
    └── IndexMismatch               a stored collection does not fit this version; says what to run

Every message says what happened and what to do, and holds no patient text: neither the question, nor a
name that was typed, nor a filter value.
"""


class ToolError(Exception):
    """Base of all errors that a tool raises on purpose."""


class ToolArgumentsInvalid(ToolError):
    """The arguments of a call do not fit the tool's schema."""


class ToolTimeout(ToolError):
    """The tool did not finish within its time limit."""


class ToolUnavailable(ToolError):
    """The service behind the tool cannot be reached or did not answer in time."""


class SourceRejected(ToolError):
    """A file could not be taken in; nothing was changed."""


class IndexMismatch(ToolError):
    """A stored collection has another schema or vector dimension than this version writes."""
