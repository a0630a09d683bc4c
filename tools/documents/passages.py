"""Cut pages into passages of about 350 words at sentence ends, with overlap, and into single table rows.

A passage stays on one page, so that the page it is cited with is the page its words are on. The one exception is a
sentence that runs over the page's end: it is finished in the passage in which it began, and the rest of it is not
repeated on the next page.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from tools.documents.models import Extraction, PageContent, PassageKind, StoredPassage, TableRows, row_text
from tools.language.sentences import LIST_MARK, is_unfinished, sentences
from tools.types import SectionStart

TARGET_WORDS = 350
"""Measured on 938 pages of guidelines: 350 words find the right page more often than 180."""
OVERLAP_WORDS = 50
_CITED_WORDS = 45
"""Fewer words than this to each citation make a list of literature; an entry of one has 25 to 40."""
_LISTED_WORDS = 120
"""Maximum number of words to each citation under a heading that announces such a list."""
_LITERATURE = re.compile(
    r"(?:\d+[.)]?\s+)?"
    r"(?:references?(?: list)?|bibliography|literature(?: cited)?|sources|works cited|further reading)\W*",
    re.IGNORECASE,
)
LEAST_RISING, MOST_FALLING = 0.3, 0.2
"""Shares of the lines in a list of contents with a page behind, or before, that of the line above."""
_CITATION = re.compile(r"\b(?:19|20)\d{2};\s?\d+|\bdoi\b|https?://|\bISBN\b")
_ENDS_IN_PAGE = re.compile(r"[^\d\s]\s+(\d{1,3}|[ivxlc]{1,6})$")
_CLOSED = (".", "!", "?", ":", ";", ")", "”", '"')


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, list item, heading or caption; ``opens`` a new line of the passage."""

    text: str
    section: str
    opens: bool
    heading: bool = False
    table: TableRows | None = None
    """The table, if this is its first line."""

    @property
    def words(self) -> int:
        return self.text.count(" ") + 1


def passages(extraction: Extraction) -> list[StoredPassage]:
    """Return all passages of a document in reading order, numbered from 0."""
    found: list[StoredPassage] = []
    headings: list[tuple[int, str]] = []
    for page in _with_whole_sentences(extraction.pages):
        pieces = list(_pieces(page, headings))
        # A list of literature is cut separately: recommendations before it must not count as part of it.
        for listed, run in groupby(pieces, lambda piece: _announces_literature(piece.section)):
            for part in _cut(list(run)):
                text, sections = _joined(part)
                kind: PassageKind = "reference" if is_reference(text, listed=listed) else "text"
                found.append(_stored(len(found), page, text, sections, kind))
        for piece in pieces:
            for text in _row_passages(piece.table) if piece.table else ():
                found.append(_stored(len(found), page, text, [SectionStart(at=0, section=piece.section)], "table_row"))
    return found


def is_reference(text: str, *, listed: bool = False) -> bool:
    """Return whether ``text`` is a list of literature or contents, which has words of questions and no answers.

    ``listed`` tells whether the heading above announces literature.
    """
    share = len(text.split()) / (_LISTED_WORDS if listed else _CITED_WORDS)
    if len(_CITATION.findall(text)) > share or text.count(". . .") > 5 or text.count("....") > 5:
        return True
    lines = text.splitlines()
    numbered = [found[1] for line in lines if (found := _ENDS_IN_PAGE.search(line))]
    return len(lines) >= 8 and len(numbered) > 0.6 * len(lines) and _count_up(numbered)


def _count_up(pages: Sequence[str]) -> bool:
    steps = [second - first for first, second in pairwise(int(page) for page in pages if page.isdigit())]
    rising, falling = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    return rising >= LEAST_RISING * len(steps) and falling <= MOST_FALLING * len(steps)


def _announces_literature(section: str) -> bool:
    return _LITERATURE.fullmatch(section.rpartition(" › ")[2]) is not None


def _stored(
    number: int, page: PageContent, text: str, sections: Sequence[SectionStart], kind: PassageKind
) -> StoredPassage:
    first, *further = sections
    return StoredPassage(
        number=number,
        text=text,
        section=first.section,
        further_sections=tuple(further),
        page=page.number,
        label=page.label,
        kind=kind,
    )


def _row_passages(table: TableRows) -> Iterator[str]:
    """Yield each row of a table under its caption and header, and under the row whose first cell it shares."""
    group = ""
    for row in table.rows:
        text = row_text(row)
        if row[0]:
            group = text
        if sum(map(bool, row)) < 2:
            continue
        above = group if not row[0] else ""
        yield "\n".join(line for line in (table.caption, row_text(table.header), above, text) if line)


def _cut(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    total = sum(piece.words for piece in pieces)
    if not pieces or all(piece.heading for piece in pieces):
        return
    # Equal shares rather than full ones with a small rest.
    share = total / max(1, round(total / TARGET_WORDS))
    current: list[_Piece] = []
    size = 0
    left = total
    for piece in pieces:
        if current and size >= share and left > OVERLAP_WORDS:
            yield current
            current = _overlap(current)
            size = 0
        current.append(piece)
        size += piece.words
        left -= piece.words
    yield current


def _overlap(pieces: Sequence[_Piece]) -> list[_Piece]:
    kept: list[_Piece] = []
    words = 0
    for piece in reversed(pieces):
        words += piece.words
        if words > OVERLAP_WORDS and not piece.heading:
            break
        kept.insert(0, piece)
    return kept


def _joined(pieces: Sequence[_Piece]) -> tuple[str, list[SectionStart]]:
    """Return the text of a passage and where its sections begin: each at the first of its headings."""
    text = ""
    sections: list[SectionStart] = []
    opened: int | None = None
    for piece in pieces:
        text += ("\n" if piece.opens else " ") if text else ""
        at = len(text) if opened is None else opened
        opened = at if piece.heading else None
        if not piece.heading and (not sections or sections[-1].section != piece.section):
            sections.append(SectionStart(at=at, section=piece.section))
        text += piece.text
    return text, sections or [SectionStart(at=0, section=pieces[0].section)]


def _pieces(page: PageContent, headings: list[tuple[int, str]]) -> Iterator[_Piece]:
    """Yield the pieces of a page; ``headings`` are those above it, and then those above the next page."""
    for level, title in page.opens:
        _enter(headings, level, title)
    for block in page.blocks:
        if block.kind == "heading":
            _enter(headings, block.level, block.text)
        section = " › ".join(title for _, title in headings)
        if block.kind == "heading":
            yield _Piece(block.text, section, opens=True, heading=True)
        elif block.kind == "table":
            for at, line in enumerate(block.text.splitlines()):
                yield _Piece(line, section, opens=True, table=block.table if at == 0 else None)
        else:
            for at, sentence in enumerate(sentences(block.text)):
                yield _Piece(sentence, section, opens=at == 0)


def _enter(headings: list[tuple[int, str]], level: int, title: str) -> None:
    headings[:] = [*(above for above in headings if above[0] < level), (level, title)]


def _with_whole_sentences(pages: Sequence[PageContent]) -> list[PageContent]:
    """Move the rest of a sentence that runs over a page's end to the page on which it began."""
    whole = [list(page.blocks) for page in pages]
    for above, below in pairwise(whole):
        prose = [at for at, block in enumerate(above) if block.body and block.kind in {"text", "item"}]
        head_at = next((at for at, block in enumerate(below) if block.body and block.kind == "text"), None)
        if not prose or head_at is None:
            continue
        tail, head = above[prose[-1]], below[head_at]
        if tail.text.endswith(_CLOSED) or not _continues(tail.text, head.text):
            continue
        first, *rest = sentences(head.text)
        begun = tail.text[:-1] if tail.text.endswith("-") else f"{tail.text} "
        above[prose[-1]] = tail.model_copy(update={"text": f"{begun}{first}"})
        below[head_at : head_at + 1] = [head.model_copy(update={"text": " ".join(rest)})] if rest else []
    return [page.model_copy(update={"blocks": tuple(blocks)}) for page, blocks in zip(pages, whole, strict=True)]


def _continues(tail: str, head: str) -> bool:
    """Return whether ``head`` is the rest of the sentence that ``tail`` began on the page before."""
    return head[:1].islower() or ((is_unfinished(tail) or head.startswith("(")) and not LIST_MARK.match(head))
