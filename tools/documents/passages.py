"""Cut pages into passages of about 350 words at sentence ends, with overlap, and into single table rows.

A passage stays on one page, so that the page it is cited with is the page its words are on. The one exception is a
sentence that runs over the page's end: it is finished in the passage in which it began, and the rest of it is not
repeated on the next page.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from tools.documents.models import Block, Extraction, PageContent, PassageKind, StoredPassage, TableRows, row_text
from tools.language.sentences import LIST_MARK, sentences
from tools.language.word_lists import word_list
from tools.types import SectionStart

TARGET_WORDS = 350
"""Measured on 938 pages of guidelines: 350 words find the right page more often than 180."""
OVERLAP_WORDS = 50
CITED_WORDS = 45
"""Fewer words than this to each citation make a list of literature; an entry of one has 25 to 40."""
LISTED_WORDS = 120
"""The same under a heading that announces such a list."""
_LITERATURE = re.compile(
    r"(?:\d+[.)]?\s+)?"
    r"(?:references?(?: list)?|bibliography|literature(?: cited)?|sources|works cited|further reading)\W*",
    re.IGNORECASE,
)
LEAST_RISING, MOST_FALLING = 0.3, 0.2
"""Shares of the lines in a list of contents with a page behind, or before, that of the line above."""
_CITATION = re.compile(r"\b(?:19|20)\d{2};\s?\d+|\bdoi\b|https?://|\bISBN\b")
_ENDS_IN_PAGE = re.compile(r"[^\d\s]\s+(\d{1,3}|[ivxlc]{1,6})$")
_LEADING_WORDS = word_list("qualifiers") | word_list("negations") | {"a", "an", "the", "der", "die", "das"}
"""A sentence cannot end with these."""
_CLOSED = (".", "!", "?", ":", ";", ")", "”", '"')


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, list item, heading or caption; ``opens`` a new line of the passage."""

    text: str
    section: str
    opens: bool
    heading: bool = False
    table: TableRows | None = None
    """Of the first line of a table."""

    @property
    def words(self) -> int:
        return self.text.count(" ") + 1


@dataclass(slots=True)
class _Headings:
    path: list[tuple[int, str]] = field(default_factory=list)

    def enter(self, level: int, text: str) -> None:
        while self.path and self.path[-1][0] >= level:
            self.path.pop()
        self.path.append((level, text))

    @property
    def section(self) -> str:
        return " › ".join(text for _, text in self.path)


def passages(extraction: Extraction) -> list[StoredPassage]:
    """Return all passages of a document in reading order, numbered from 0."""
    found: list[StoredPassage] = []
    headings = _Headings()
    pages = _with_whole_sentences(extraction.pages)
    for page in pages:
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
    """Return True for lists of literature and of contents: full of the question's words, and never its answer.

    ``listed`` where the heading above announces literature.
    """
    share = len(text.split()) / (LISTED_WORDS if listed else CITED_WORDS)
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


def _pieces(page: PageContent, headings: _Headings) -> Iterator[_Piece]:
    for level, title in page.opens:
        headings.enter(level, title)
    for block in page.blocks:
        if block.kind == "heading":
            headings.enter(block.level, block.text)
            yield _Piece(block.text, headings.section, opens=True, heading=True)
            continue
        if block.kind == "table":
            for at, line in enumerate(block.text.splitlines()):
                yield _Piece(line, headings.section, opens=True, table=block.table if at == 0 else None)
            continue
        for at, sentence in enumerate(sentences(block.text)):
            yield _Piece(sentence, headings.section, opens=at == 0)


def _with_whole_sentences(pages: Sequence[PageContent]) -> list[PageContent]:
    """Move the rest of a sentence that runs over a page's end to the page on which it began."""
    whole = list(pages)
    for at in range(len(whole) - 1):
        tail_at = _last_prose(whole[at].blocks)
        head_at = _first_prose(whole[at + 1].blocks)
        if tail_at is None or head_at is None:
            continue
        tail, head = whole[at].blocks[tail_at], whole[at + 1].blocks[head_at]
        if tail.text.endswith(_CLOSED) or not _goes_on(tail.text, head.text):
            continue
        first, *rest = sentences(head.text)
        begun = tail.text[:-1] if tail.text.endswith("-") else f"{tail.text} "
        joined = tail.model_copy(update={"text": f"{begun}{first}"})
        whole[at] = _replaced(whole[at], tail_at, joined)
        left = head.model_copy(update={"text": " ".join(rest)}) if rest else None
        whole[at + 1] = _replaced(whole[at + 1], head_at, left)
    return whole


def _goes_on(tail: str, head: str) -> bool:
    """Return whether ``head`` is the rest of the sentence that ``tail`` began on the page before."""
    last_word = tail.rpartition(" ")[2].lower()
    unfinished = tail.endswith((",", "-")) or last_word in _LEADING_WORDS
    return head[:1].islower() or (unfinished and not LIST_MARK.match(head))


def _last_prose(blocks: Sequence[Block]) -> int | None:
    prose = (at for at in reversed(range(len(blocks))) if blocks[at].body and blocks[at].kind in {"text", "item"})
    return next(prose, None)


def _first_prose(blocks: Sequence[Block]) -> int | None:
    return next((at for at, block in enumerate(blocks) if block.body and block.kind == "text"), None)


def _replaced(page: PageContent, at: int, block: Block | None) -> PageContent:
    blocks = list(page.blocks)
    blocks[at : at + 1] = [block] if block is not None else []
    return page.model_copy(update={"blocks": tuple(blocks)})
