"""A turn as one text with URL citations, for clients that know nothing else.

The text has the emergency notice first, ``[1]`` at each citation, then how the turn ended if it did not complete, the
statements that were not found in their sources, notes, and the references with their quotes. Nothing can be taken back
from a stream, so corrected text follows there with a line that says so.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from chat_app.agent.citations.reference_formats import markdown_list
from chat_app.events import (
    AgentEvent,
    CitationAdded,
    Notice,
    Reference,
    TextDelta,
    TextReplaced,
    TurnEnded,
)
from chat_app.interface.i18n.translation import Language, languages, say, say_notice, say_outcome
from chat_app.interface.rendering.reference_cards import where
from chat_app.turn_facts import TurnFacts

_MARKER: Final = re.compile(r" ?\[\d{1,4}\]")


class UrlCitation(NamedTuple):
    """A citation as OpenAI's annotations: the place of its ``[1]``, and the address and title of its passage."""

    url: str
    title: str
    start_index: int
    end_index: int


@dataclass
class ModelAnswer(TurnFacts):
    """A turn's answer while its events come. ``streamed``: the text leaves piece by piece."""

    language: Language
    link: Callable[[Reference], str | None]
    """Returns the address that opens a reference's passage."""
    streamed: bool
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _first: str = ""
    _marks: list[tuple[int, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def failed(self) -> bool:
        return self.outcome.kind == "failed" and not self._length

    @property
    def error(self) -> str:
        return say_outcome(self.language, self.outcome)

    @property
    def citations(self) -> list[UrlCitation]:
        """The citations whose passages can be opened, in the order of the text."""
        urls = {reference.number: self.link(reference) for reference in self.references}
        titles = {
            reference.number: " · ".join(filter(None, (reference.passage.title, where(reference, self.language))))
            for reference in self.references
        }
        ends = [(number, at, at + len(f"[{number}]")) for number, at in self._marks]
        return [UrlCitation(url, titles[n], at, end) for n, at, end in ends if (url := urls.get(n))]

    def see(self, event: AgentEvent) -> str:
        """Collect ``event`` and return the text that it adds."""
        added = ""
        self.collect(event)
        match event:
            case TextDelta():
                added = event.text
            case CitationAdded():
                self._marks.append((event.number, self._length))
                added = f"[{event.number}]"
            case TextReplaced():
                added = self._restart()
            case Notice(comes_first=True):
                added = f"{say_notice(self.language, event)}\n\n"
                self._first += added
            case TurnEnded():
                added = "" if self.failed else self._end()
            case _:
                pass
        self._parts.append(added)
        self._length += len(added)
        return added

    def _restart(self) -> str:
        self._marks.clear()
        if self.streamed:
            return f"\n\n**{say(self.language, 'model_api.corrected')}**\n\n"
        self._parts, self._length = [self._first], len(self._first)
        return ""

    def _end(self) -> str:
        language, blocks = self.language, list[str]()
        if self.outcome.kind != "completed":
            blocks.append(f"**{say(language, 'export.incomplete')}** {self.error}")
        if self.unsupported:
            listed = "\n".join(f"- “{one.text}” {one.marks}{one.missing}" for one in self.unsupported)
            blocks.append(f"**{say(language, 'page.notInSource')}**\n{listed}")
        lasting = (notice for notice in self.notices if not (notice.is_transient or notice.comes_first))
        notes = dict.fromkeys(say_notice(language, notice) for notice in lasting)
        blocks += [say(language, "export.note", notice=note) for note in notes]
        if self.references:
            blocks.append(_heading(language) + markdown_list(self.references, self.link))
        return "".join(f"\n\n{block}" for block in blocks)


def without_references(text: str) -> str:
    """Return an earlier answer without its list of references and the numbers in it, which mean nothing in the next."""
    starts = [at for language in languages() if (at := text.rfind(f"\n\n{_heading(language)}")) >= 0]
    return _MARKER.sub("", text[: max(starts)]) if starts else text


@cache
def _heading(language: Language) -> str:
    return f"---\n\n**{say(language, 'references.heading')}**\n\n"
