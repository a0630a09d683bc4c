"""The text of an answer as it is put together: paragraphs, list items and table rows, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.reading.evidence import EvidencePassage, Quote
from chat_app.offline.wire.model import FileMark
from tools.language.quotable_units import Unit
from tools.language.vocabulary.common_words import Language

_REMARK: Final = re.compile(r"([^()]+) \(.+\)(?=, [^()]*$)")
"""The name of a medicine and a remark on its label, before the name of a section."""
_REFERENCE: Final = re.compile(r"(?<!\\)\[(?=\d)")


@dataclass
class Draft:
    """The text of an answer so far, and its citations of files."""

    language: Language = "en"
    """The reader's, for the model's own phrases."""
    text: str = ""
    citations: list[FileMark] = field(default_factory=list[FileMark])
    _last: tuple[str, int, object] = ("", 0, None)
    """The last heading with its remark, the end of the text below it, and the table of its last row."""

    def paragraph(self, text: str, source: EvidencePassage | None = None) -> None:
        """Add a paragraph, with its citation if it has a source."""
        self.text += "\n\n" if self.text and text else ""
        self._cited(text, source or EvidencePassage(""))

    def say(self, phrase: str, joint: str = "and", **names: list[str]) -> None:
        """Add a paragraph with one of the model's own phrases, each list of ``names`` set into it."""
        self.paragraph(phrases.filled(phrase, self.language, names, joint))

    def lines(self, heading: str, units: Iterable[Quote], *, title: str = "") -> None:
        """Add a heading with list items and table rows below it, each with its source.

        Nothing separates them from those above if these have the same heading. ``title`` is the heading with its remark
        if ``heading`` leaves that out.
        """
        goes_on = bool(heading) and self._last[1] == len(self.text) and self._last[0] in (heading, title or heading)
        above: object = self._last[2] if goes_on else self
        if not goes_on:
            self.paragraph(phrases.said(heading, self.language))
        for unit, source in units:
            opens, above = table_of(unit) != above, table_of(unit)
            if opens and unit.table:
                self.paragraph(unit.table.caption)
            if _has_all_cells(unit):
                self._row(unit, source, opens=opens)
            else:
                # A row that left cells empty cannot be put under the columns again: its cells are given as they come.
                self.text += "\n\n- " if opens else "\n- "
                self._cited("; ".join(unit.cells) or unit.text, source)
        self._last = (title or heading, len(self.text), above)

    def quotes(self, units: Iterable[Quote], heading: str = "") -> None:
        """Add what the text does not hold yet, under the titles of the passages, or ``heading`` where one has none."""
        unsaid = (one for one in units if not self.holds(one[0]))
        for title, group in groupby(unsaid, lambda one: one[1].title):
            self.lines(self._once(title) or self._further(heading), group, title=title)

    def _once(self, title: str) -> str:
        """Return the title of a label without its remark in brackets if that is the last one on the medicine so far."""
        remark = _REMARK.match(title)
        last = self.text.rfind(f"{remark[1]} (") if remark else -1
        return _plain(title) if remark and last >= 0 and self.text.startswith(remark[0], last) else title

    def _further(self, heading: str) -> str:
        """Return the heading of quotes of guidelines, another one if the text has it above something else."""
        apart = phrases.said(heading, self.language) in self.text and self._last[:2] != (heading, len(self.text))
        return phrases.MORE if heading == phrases.FROM_GUIDELINES and apart else heading

    def holds(self, unit: Unit) -> bool:
        """Return whether the text has a sentence, or all cells of a row."""
        return (" | ".join(map(_cell, unit.cells)) if _has_all_cells(unit) else unit.text) in self.text

    def _row(self, unit: Unit, source: EvidencePassage, *, opens: bool) -> None:
        if opens and unit.table:
            header = " | ".join(map(_cell, unit.table.header))
            self.paragraph(f"| {header} |\n|{'---|' * len(unit.table.header)}")
        self.text += "\n| "
        self._cited(" | ".join(map(_cell, unit.cells)), source)
        self.text += " |"

    def _cited(self, text: str, source: EvidencePassage) -> None:
        """Add ``text`` and its citation: a marker, or an annotation of the file.

        Reference numbers of the source are escaped where the client would take them for citation markers.
        """
        self.text += _REFERENCE.sub(r"\\[", text) if source.cite else text
        if source.file_id:
            self.citations.append(FileMark(len(self.text), source.file_id, source.document))
        self.text += f" {source.cite}" if source.cite else ""


def _plain(title: str) -> str:
    """Return the title of a label without its remark in brackets."""
    return _REMARK.sub(r"\1", title)


def _has_all_cells(unit: Unit) -> bool:
    """Return whether a unit is a row with a cell for each column of its header."""
    return unit.table is not None and len(unit.cells) == len(unit.table.header)


def table_of(unit: Unit) -> object:
    """Return the table of a row with whether the row fits its header, and None for a sentence."""
    return (unit.table, _has_all_cells(unit)) if unit.table else None


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
