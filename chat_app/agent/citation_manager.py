"""Numbers, verifies and collects the citations of one turn.

Two numbers are distinguished. A passage is *retrieved* under a number that is unique in its conversation; the marker
that the model receives and writes contains it. The reader sees another number: passages are numbered from 1 in the
order in which the answer first uses them. A citation of a passage that this conversation never retrieved is dropped and
counted. A quote is kept only when it occurs in the passage verbatim.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence

import orjson
from pydantic import JsonValue

from chat_app.agent.citations.citation_markers import Marker, MarkerParser
from chat_app.agent.citations.passage_choice import best_source, cited_sections
from chat_app.agent.citations.stated_strength import stated_strengths
from chat_app.agent.hosted_results import results_of
from chat_app.agent.statements.statement_check import Claim
from chat_app.events import CitationAdded, Notice, Reference, ReferencesReady, TextDelta
from chat_app.generation.text_buffer import TextBuffer
from chat_app.generation.updates import CitationUpdate
from tools.language.quotes import quotes_in
from tools.language.sentences import last_sentence
from tools.types import FunctionOutput, Passage

logger = logging.getLogger(__name__)

PassageNumberer = Callable[[Sequence[Passage]], Awaitable[tuple[int, ...]]]
"""Returns the number of each passage in the conversation; a passage keeps its number."""

CitedEvent = TextDelta | CitationAdded | Notice
_SUBSCRIPTED = re.compile(r"(?<!\w)[a-z]\Z")

DROPPED = Notice(
    code="citation_dropped",
    message="A citation in this answer pointed to nothing that was looked up, and was removed. Check that statement.",
)


class CitationManager:
    """The citations of one turn. ``retrieved`` are the passages of earlier turns, by number."""

    def __init__(self, number: PassageNumberer, retrieved: Iterable[tuple[int, Passage]] = ()) -> None:
        self._number = number
        self._retrieved: dict[int, Passage] = dict(retrieved)
        self._hosted: dict[str, list[Passage]] = {}
        self.restart()

    def restart(self) -> None:
        """Forget the answer so far, which follows again from its beginning; retrieved passages stay."""
        self._parser = MarkerParser()
        self._order: dict[str, int] = {}
        self._cited: dict[str, Passage] = {}
        self._quotes: dict[str, list[str]] = {}
        self._sections: dict[str, list[str]] = {}
        self._statement = TextBuffer()
        self._last_statement = ""
        self._dropped = 0
        self.claims: list[Claim] = []
        """The cited statements of the answer, in their order."""

    async def render_output(self, output: FunctionOutput) -> str:
        """Return a tool's output as JSON for the model, each ``cite`` in it replaced by the marker to write."""
        if output.error is not None:
            return orjson.dumps({"error": output.error}).decode()
        numbers = await self._number(output.passages) if output.passages else ()
        self._retrieved.update(zip(numbers, output.passages, strict=True))
        markers = {passage.id: f"[{number}]" for number, passage in zip(numbers, output.passages, strict=True)}
        return orjson.dumps(_with_markers(output.output, markers)).decode()

    def add_hosted(self, output: FunctionOutput) -> None:
        """Add passages that the server's own file search found; annotations refer to them by file.

        Servers identify the file in an annotation by its id, by a document id among its attributes, or by its name.
        """
        for passage, result in zip(output.passages, results_of(output), strict=False):
            document_id = (result.attributes or {}).get("document_id", "")
            for name in {passage.document_id, result.file_id, result.filename, document_id} - {""}:
                self._hosted.setdefault(name, []).append(passage)

    def feed(self, text: str) -> list[CitedEvent]:
        """Return the events for the next text of the answer: its deltas and citations."""
        return self._events(self._parser.feed(text))

    def annotate(self, update: CitationUpdate) -> list[CitedEvent]:
        """Return the events for an annotation of the server at this point of the text."""
        events, file = self._events(self._parser.flush()), update.citation
        candidates = self._hosted.get(file.file_id) or self._hosted.get(file.filename) or []
        if not candidates:
            return [*events, *self._drop()]
        passage = best_source(last_sentence(update.statement or self._said()), candidates)
        return [*events, self._cite(passage, "", statement=update.statement)]

    def finish(self) -> list[CitedEvent]:
        """Return the events that were held back, once the text has ended."""
        return self._events(self._parser.flush())

    def references(self) -> ReferencesReady:
        """Return the References section: every cited passage once, numbered as in the text."""
        return ReferencesReady(references=tuple(map(self._reference, self._order)), dropped=self._dropped)

    def _reference(self, key: str) -> Reference:
        passage, quotes = self._cited[key], tuple(dict.fromkeys(self._quotes[key]))
        return Reference(
            number=self._order[key],
            passage=passage,
            quotes=quotes,
            sections=tuple(dict.fromkeys(self._sections[key])),
            strengths=stated_strengths(passage, quotes),
        )

    def _events(self, parts: list[str | Marker]) -> list[CitedEvent]:
        events: list[CitedEvent] = []
        for part in parts:
            if isinstance(part, Marker):
                events += self._marker(part)
            else:
                self._follow(part)
                events.append(TextDelta(text=part))
        return events

    def _follow(self, text: str) -> None:
        """Track the statement that a following citation supports: the text since the last line or citation."""
        _, ended, line = text.rpartition("\n")
        if ended:
            self._statement = TextBuffer()
        self._statement.append(line)
        if text.strip():
            self._last_statement = ""

    def _marker(self, marker: Marker) -> list[CitedEvent]:
        known = [self._retrieved[number] for number in marker.numbers if number in self._retrieved]
        # Several numbers of which none was retrieved, or a range that was not: values, not a citation.
        values = len(known) < len(marker.numbers) and (marker.ranges or (not known and len(marker.numbers) > 1))
        # ``a[1]`` is a name with an index.
        if values or (not known and _SUBSCRIPTED.search(str(self._statement))):
            self._follow(marker.raw)
            return [TextDelta(text=marker.raw)]
        events: list[CitedEvent] = [self._cite(passage, marker.raw) for passage in known]
        for _ in range(len(marker.numbers) - len(known)):
            events += self._drop()
        return events

    def _said(self) -> str:
        """Return the statement that a citation at this point supports."""
        statement = str(self._statement)
        return statement if statement.strip(" .,;:") else self._last_statement

    def _cite(self, passage: Passage, marker: str, *, statement: str = "") -> CitationAdded:
        said = statement or self._said()
        quotes = quotes_in(said, passage.text)
        claim = last_sentence(said)
        sections = cited_sections(passage, claim, quotes)
        passage = passage.with_source_of(sections[0]) if sections else passage
        key = passage.id
        number = self._order.setdefault(key, len(self._order) + 1)
        self._cited[key] = passage
        # The words of a calculation are the app's own, those of no publication.
        self._quotes.setdefault(key, []).extend(quotes if passage.kind != "calculation" else ())
        self._sections.setdefault(key, []).extend(one.section for one in sections)
        if not self.claims or self.claims[-1].text != claim:
            self.claims.append(Claim(claim))
        self.claims[-1].cited[number] = passage
        if not statement:
            self._last_statement, self._statement = said, TextBuffer()
        return CitationAdded(number=number, passage=passage, marker=marker)

    def _drop(self) -> list[CitedEvent]:
        self._dropped += 1
        logger.warning("A citation to something that was not retrieved was dropped.")
        return [DROPPED] if self._dropped == 1 else []


def _with_markers(data: JsonValue, markers: dict[str, str]) -> JsonValue:
    if isinstance(data, dict):
        marked = {key: _with_markers(value, markers) for key, value in data.items()}
        cite = data.get("cite")
        return {**marked, "cite": markers.get(cite, cite)} if isinstance(cite, str) else marked
    if isinstance(data, list):
        return [_with_markers(part, markers) for part in data]
    return data
