"""What an event of a response makes known, as ``ResponseFold`` tells it."""

from __future__ import annotations

from dataclasses import dataclass

from chat_app.response_objects import FileCitation, FileSearchCallItem, FunctionCallItem


@dataclass(frozen=True, slots=True)
class TextUpdate:
    """The next characters of the message ``item_id``."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CitationUpdate:
    """A citation; ``statement`` is the line that ends at its index, where more text has come since."""

    item_id: str
    citation: FileCitation
    statement: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallReady:
    item: FunctionCallItem


@dataclass(frozen=True, slots=True)
class FileSearchStarted:
    item_id: str


@dataclass(frozen=True, slots=True)
class FileSearchDone:
    item: FileSearchCallItem


@dataclass(frozen=True, slots=True)
class ReasoningUpdate:
    text: str


Update = TextUpdate | CitationUpdate | ToolCallReady | FileSearchStarted | FileSearchDone | ReasoningUpdate
