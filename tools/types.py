"""The types that tools and the app share: a call, its output, and the passages that can be cited.

Everything here is plain data; nothing imports the app.
"""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tools.errors import ToolErrorCode
from tools.sync_calls import iterate_sync

DEMO_ISSUER: Final = "Asclepius demonstration library"
"""The issuer of all demonstration guidelines, drug records and summaries of labels; nothing else marks them."""
_PLACE = re.compile(r"\{(\w+)\}")

ToolSource = Literal["guidelines", "drugs", "overdosage"]
"""A source that readers can switch off for a question; tools without one are always offered."""
FunctionType = Literal["sync", "async", "sync_generator", "async_generator"]


class Frozen(BaseModel):
    """Base of immutable records; unknown fields are an error so that drift is seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CitedAs(Frozen):
    """The id and source that citations of a section name where they differ from its passage's."""

    id: str
    title: str
    issuer: str
    version: str
    url: str | None


class SectionStart(Frozen):
    """A section that begins within a passage."""

    at: int = Field(ge=0)
    """Where in the passage's text, in characters."""
    section: str
    """Headings from the outermost to the innermost, joined by `` › ``."""
    cited_as: CitedAs | None = None


class Passage(Frozen):
    """A stored part of a source that an answer can cite.

    ``id`` is stable for one version of a document: a re-ingested, changed file gives new ids, and old
    answers keep the passage they cited.
    """

    id: str
    kind: Literal["guideline", "drug_record", "calculation", "external"]
    """``external``: a source that an MCP server returned; like a calculation it is stored nowhere."""
    document_id: str
    title: str
    text: str
    """The exact words of the source; quotes are verified against these."""
    issuer: str = ""
    version: str = ""
    """Edition or date of the source, as printed."""
    section: str = ""
    """Headings from the outermost to the innermost, joined by `` › ``: those over the beginning of ``text``."""
    further_sections: tuple[SectionStart, ...] = ()
    """Where other sections begin further down, in their order."""
    page: int | None = None
    """1-based page of the PDF file."""
    page_label: str | None = None
    """The page number printed on the page, when it has one."""
    url: str | None = None
    """The source's address, when it is public."""
    score: float = 0.0

    @property
    def is_demo(self) -> bool:
        """Whether the passage is demonstration content; then ``url`` and ``version`` are of the label it summarises."""
        return self.issuer == DEMO_ISSUER

    @property
    def summarises(self) -> str:
        """The address of the label that demonstration content summarises; empty for everything else."""
        return (self.url or "") if self.is_demo else ""

    @property
    def sections(self) -> tuple[SectionStart, ...]:
        """All sections that contain the text, the first one from its beginning."""
        return (SectionStart(at=0, section=self.section), *self.further_sections)

    def with_source_of(self, section: SectionStart) -> Self:
        """Return the passage under the id and source that citations of ``section`` name."""
        return self.model_copy(update=section.cited_as.model_dump()) if section.cited_as else self


class Function(Frozen):
    """One call that the model asked for: ``arguments`` is the JSON text exactly as it was sent."""

    call_id: str
    name: str
    arguments: str = "{}"
    item_id: str | None = None


class Phrase(Frozen):
    """An English text with named placeholders, such as ``{count} products``, and their values.

    Translations are found by ``text``, so a phrase is written once, in the tool that says it. ``singular`` replaces
    ``text`` where ``count`` is 1.
    """

    text: str
    singular: str = ""
    values: dict[str, str | int] = Field(default_factory=dict)

    def __str__(self) -> str:
        text = self.singular if self.singular and self.values.get("count") == 1 else self.text
        return _PLACE.sub(lambda place: str(self.values.get(place[1], place[0])), text)


class ToolPresentation(Frozen):
    """How the calls of a tool are shown to readers."""

    title: str
    """What readers call the tool, such as ``Drug database``."""
    icon: str = "wrench"
    """Name of an icon of lucide.dev."""
    subjects: tuple[str, ...] = ()
    """Arguments that may follow the title, the first one that is given; any argument when none is named."""
    translations: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    """By language code: the title and the tool's phrases, by their English text."""

    @classmethod
    def of_name(cls, name: str) -> Self:
        """Derive the presentation of a tool that has none: ``get_weather`` becomes ``Get weather``."""
        return cls(title=name.replace("_", " ").strip().capitalize() or "Tool")


class ToolResult(Frozen):
    """What a tool returns when its result can be cited.

    ``data`` is the JSON for the model. Wherever it holds an object with the key ``cite`` whose value is the
    ``id`` of one of ``passages``, the citation manager replaces that value by the marker the model is to write.
    ``summary`` is a few words for the step's title; a ``Phrase`` is shown in the reader's language.
    """

    data: JsonValue
    passages: tuple[Passage, ...] = ()
    summary: str | Phrase = ""
    subject: str = ""
    """What the call was found to be about, for the step's title in place of its arguments."""


class FunctionOutput(Frozen):
    """The outcome of one call. ``error`` is set when it failed; then ``output`` is None."""

    name: str
    input: Function
    output: JsonValue = None
    error: str | None = None
    error_code: ToolErrorCode = "other"
    """Kind of the error, which selects the text that readers see."""
    error_params: dict[str, str | int] = Field(default_factory=dict)
    is_streaming: bool = False
    """True when the function was a generator; its items were streamed as progress."""
    passages: tuple[Passage, ...] = ()
    summary: str = ""
    """A few words on the result, in English."""
    summary_phrase: Phrase | None = None
    """The summary as a phrase that can be translated, where the tool gave one."""
    subject: str = ""
    """What the call was found to be about, where the tool says it."""
    duration_ms: float = Field(default=0.0, ge=0)
    finished_at: datetime = Field(default_factory=lambda: datetime.now(UTC))


class ToolProgress(Frozen):
    """One item that a generator tool yielded before its result."""

    call_id: str
    name: str
    item: JsonValue


class StreamingFunctionOutput:
    """A running call, as ``FunctionTool.astream`` returns it: iterate its progress, then read ``function_output``."""

    def __init__(self, items: AsyncGenerator[ToolProgress | FunctionOutput, None]) -> None:
        self._items = items
        self._output: FunctionOutput | None = None

    async def astream(self) -> AsyncGenerator[ToolProgress, None]:
        """Yield each progress item as it arrives; ends with the call."""
        async with aclosing(self._items):
            async for item in self._items:
                if isinstance(item, FunctionOutput):
                    self._output = item
                else:
                    yield item

    async def drained(self) -> FunctionOutput:
        """Return the output of the call, once it has ended."""
        async for _ in self.astream():
            pass
        return self.function_output

    def stream(self) -> Iterator[ToolProgress]:
        """Like ``astream``, without an event loop; raises ``RuntimeError`` inside one."""
        return iterate_sync(self.astream())

    @property
    def function_output(self) -> FunctionOutput:
        """The output of the call; raises ``LookupError`` before its end."""
        if self._output is None:
            raise LookupError("The call has not ended yet; iterate it to its end first.")
        return self._output


class FunctionDefinition(Frozen):
    """A tool as the Responses API wants it declared (``type: function``)."""

    type: Literal["function"] = "function"
    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool = True
