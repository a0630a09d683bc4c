"""The answer as it grows: blocks of text, list items and table rows, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.evidence import EvidencePassage
from chat_app.offline.wire.model import Answer, FileMark
from tools.language.quotable_units import Table
from tools.language.vocabulary.common_words import Language

_REFERENCE: Final = re.compile(r"(?<!\\)\[(?=\d)")


@dataclass
class Draft:
    language: Language = "en"
    """The reader's, for the model's own phrases."""
    text: str = ""
    citations: list[FileMark] = field(default_factory=list[FileMark])

    def block(self, text: str) -> None:
        """A paragraph of its own."""
        self.text += f"\n\n{text}" if self.text else text

    def say(self, phrase: str, joint: str = "and", **names: list[str]) -> None:
        """A paragraph with one of the model's own phrases, each list of ``names`` set into it."""
        said = partial(phrases.said, language=self.language)
        listed = {key: phrases.listed(list(map(said, values)), said(joint)) for key, values in names.items()}
        self.block(said(phrase).format(**listed))

    def statement(self, sentence: str, source: EvidencePassage) -> None:
        """A paragraph: the sentence and its citation."""
        self.block(_quoted(sentence, source))
        self.cite(source)

    def quote(self, sentence: str, source: EvidencePassage, *, first: bool) -> None:
        """One list item: the sentence and its citation."""
        self.text += ("\n\n" if first else "\n") + f"- {_quoted(sentence, source)}"
        self.cite(source)

    def head(self, table: Table) -> None:
        """The caption and the header of a table whose rows follow."""
        if table.caption:
            self.block(table.caption)
        cells = [_cell(cell) for cell in table.header]
        self.block(f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}")

    def row(self, cells: Sequence[str], source: EvidencePassage) -> None:
        """One row, its citation at the end of its last cell."""
        self.text += "\n| " + " | ".join(_quoted(_cell(cell), source) for cell in cells)
        self.cite(source)
        self.text += " |"

    def cite(self, source: EvidencePassage) -> None:
        """The citation of what was just written: a marker, or an annotation of the file."""
        if source.file_id:
            self.citations.append(FileMark(len(self.text), source.file_id, source.document))
        if source.cite:
            self.text += f" {source.cite}"

    def answer(self) -> Answer:
        return Answer(self.text, tuple(self.citations))


def _quoted(text: str, source: EvidencePassage) -> str:
    """``text`` with its own reference numbers escaped, where the client would take them for citation markers."""
    return _REFERENCE.sub(r"\\[", text) if source.cite else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
