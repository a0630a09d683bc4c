"""The information that ``ResponseFold`` derives from an event of a response."""

from dataclasses import dataclass
from typing import ClassVar

from chat_app.response_objects import FileCitation, FileSearchCallItem, FunctionCallItem


@dataclass(frozen=True, slots=True)
class TextUpdate:
    """The next characters of the message ``item_id``."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class TextReplacement:
    """The whole text of the message ``item_id``, in place of its text and citations so far."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CitationUpdate:
    """A citation, which runs yield as an event.

    ``statement`` is the line that ends at its index, where later text has already arrived.
    """

    type: ClassVar = "citation_received"
    item_id: str
    citation: FileCitation
    statement: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallReady:
    """A function call that is complete."""

    item: FunctionCallItem


@dataclass(frozen=True, slots=True)
class FileSearchStarted:
    """The start of the server's own file search."""

    item_id: str


@dataclass(frozen=True, slots=True)
class FileSearchDone:
    """The end of the server's own file search, with its results."""

    item: FileSearchCallItem


@dataclass(frozen=True, slots=True)
class ReasoningUpdate:
    """The next characters of the reasoning."""

    text: str


OtherUpdate = TextReplacement | CitationUpdate | ToolCallReady | FileSearchStarted | FileSearchDone | ReasoningUpdate
Update = TextUpdate | OtherUpdate
