"""Turns the lines of PDF pages into blocks: headings, paragraphs, list items, captions.

It needs the whole document at once: only then it knows what repeats on every page, and the usual type size.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tools.documents.layout.glued_words import GluedWords
from tools.documents.layout.paragraphs import BlockDraft, continues, face, is_second_line, runs_on
from tools.documents.layout.reading_order import reading_order
from tools.documents.models import Block, BlockKind, PageContent
from tools.documents.pdf.false_spaces import takes_number
from tools.documents.pdf.pdf_lines import Line, PdfPage
from tools.documents.pdf.running_heads import RunningHeads
from tools.documents.tables.page_tables import find_tables
from tools.documents.tables.table_rows import FoundTable
from tools.language.folding import folded
from tools.language.sentences import BULLETS

_BULLET = re.compile(rf"^[{BULLETS}*–-]\s+(?=\S)|^[{BULLETS}]\s*$")
_ITEM = re.compile(rf"{_BULLET.pattern}|^\(?(?:\d{{1,2}}|[a-z])[.)]\s+(?=\S)")
_CAPTION = re.compile(
    r"^(?:Table|TABLE|Figure|FIGURE|Fig\.|Box|Panel|Exhibit)\s+"
    r"(?:[A-Z]{1,4}[-.]?){0,3}\d*[-.]?\d+(?:\.?[a-z])?\b(?=[.: ]|$)"
)
_CAPTION_WORDS = ("Table", "TABLE", "Fig", "FIG", "Box", "Panel", "Exhibit")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LEADERS = re.compile(r"(?:\. ?){4}|…{2}")
"""Dots between a heading and its page in a list of contents."""
_ADDRESS = re.compile(r"www\.|://|@")
_AROUND_WORDS = ".,;:()[]?!\"'“”‘’•"
_MAX_LEVEL = 4
_BELOW_OUTLINE = 10
"""Level of a printed heading that the outline does not name."""
_HEADING_WORDS = 22
"""A heading has at most this many words; longer text in large type is a lead paragraph."""
_HEADING_WIDTH = 0.75
"""Maximum width of a heading for each character, in heights of the type. Most take 0.5; a table's header takes more."""
_HEADINGS_ABREAST = 3
"""Maximum number of headings beside each other; more lines are a table's header, or labels in a figure."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An entry of the PDF's own outline: ``level`` from 1, the page it leads to (from 1)."""

    level: int
    title: str
    page: int


class Layout:
    """Lays out one document: drops what repeats, finds the headings, and joins the lines of each block."""

    def __init__(self, pages: Sequence[PdfPage], outline: Sequence[OutlineEntry] = ()) -> None:
        heads = RunningHeads(pages)
        self._outline = defaultdict[int, list[OutlineEntry]](list)
        for entry in outline:
            self._outline[entry.page].append(entry)
        self._labels = heads.numbers
        self._pages = [(page, heads.kept(page)) for page in pages]
        # How often each string between white space is printed.
        printed = Counter("\n".join(line.text for line in self._lines()).lower().split())
        glued = GluedWords(printed, list(self._lines()))
        self._pages = [(page, glued.repair(lines)) for page, lines in self._pages]
        self._body_size = self._usual_size()
        self._levels = self._heading_levels()
        self._words = _vocabulary(printed)

    def _lines(self) -> Iterator[Line]:
        return (line for _, lines in self._pages for line in lines)

    def _usual_size(self) -> float:
        sizes: Counter[float] = Counter()
        for line in self._lines():
            if not line.bold:
                sizes[line.size] += len(line.text)
        return sizes.most_common(1)[0][0] if sizes else 10.0

    def pages(self) -> Iterator[PageContent]:
        """Yield the pages as headed blocks of text and tables."""
        for page, lines in self._pages:
            drafts = self._group(lines, find_tables(lines, page, self._body_size))
            blocks = tuple(self._block(draft, page) for draft in drafts)
            yield PageContent(
                number=page.number,
                label=page.label or self._labels.get(page.number),
                blocks=blocks,
                searchable=bool(blocks) or not page.pictured,
                opens=self._unprinted(page, blocks),
            )

    def _block(self, draft: BlockDraft, page: PdfPage) -> Block:
        if draft.table is not None:
            return Block.of_table(draft.table)
        text = self._joined(draft.lines)
        # Several lines of bold type that are longer than any heading are a paragraph.
        kind = "text" if draft.kind == "heading" and len(text.split()) > _HEADING_WORDS else draft.kind
        level = self._level(draft, text, page) if kind == "heading" else 0
        body = abs(draft.last.size - self._body_size) < 0.6
        return Block(kind=kind, text=text, level=level, body=body)

    def _level(self, draft: BlockDraft, text: str, page: PdfPage) -> int:
        """Return the outline's level of a heading; one that the outline lacks is below its section."""
        words = folded(text, ignore_case=True)
        for entry in self._outline.get(page.number, ()):
            if _same_heading(words, entry):
                return entry.level
        return _BELOW_OUTLINE if self._outline else self._levels.get(face(draft.lines[0]), _MAX_LEVEL)

    def _unprinted(self, page: PdfPage, blocks: Sequence[Block]) -> tuple[tuple[int, str], ...]:
        printed = [folded(block.text, ignore_case=True) for block in blocks if block.kind == "heading"]
        return tuple(
            (entry.level, entry.title)
            for entry in self._outline.get(page.number, ())
            if not any(_same_heading(words, entry) for words in printed)
        )

    def _group(self, lines: Sequence[Line], tables: Sequence[FoundTable]) -> list[BlockDraft]:
        drafts: list[BlockDraft] = []
        inside = {index for table in tables for index in table.lines}
        starts = {min(table.lines): table for table in tables}
        for index in reading_order(lines, [table.lines for table in tables]):
            line = lines[index]
            if index in inside:
                if index in starts:
                    drafts.append(BlockDraft("table", [line], starts[index].table))
                continue
            last = drafts[-1] if drafts and drafts[-1].kind != "table" else None
            kind = self._kind(line)
            if kind == "heading" and (is_second_line(line, last) or _lines_beside(line, lines) > _HEADINGS_ABREAST):
                kind = "text"
            if last is not None and (runs_on(last, line, kind) or continues(last, line, kind)):
                if kind == "text" and last.kind == "heading":
                    last.kind = "text"
                last.lines.append(line)
            else:
                drafts.append(BlockDraft(kind, [line]))
        return drafts

    def _kind(self, line: Line) -> BlockKind:
        text = line.text
        if text.startswith(_CAPTION_WORDS) and _CAPTION.match(text):
            return "caption"
        if not text[:2].isalpha() and _ITEM.match(text):
            return "item"
        return "heading" if face(line) in self._levels and _could_be_heading(line) else "text"

    def _heading_levels(self) -> dict[tuple[int, bool], int]:
        """Return the faces (size, weight) that set headings, the largest as level 1."""
        faces: Counter[tuple[int, bool]] = Counter()
        for line in self._lines():
            larger = line.size >= self._body_size * (0.92 if line.bold else 1.12)
            if larger and _could_be_heading(line):
                faces[face(line)] += 1
        needed = 1 if len(self._pages) < 20 else 3
        order = sorted((face for face in faces if faces[face] >= needed), key=lambda face: (-face[0], not face[1]))
        return {face: min(rank, _MAX_LEVEL) for rank, face in enumerate(order, start=1)}

    def _joined(self, lines: Sequence[Line]) -> str:
        """Return the lines as one running text, and join the words that a line end divides."""
        text = lines[0].text
        hyphenated = lines[0].hyphenated
        for line in lines[1:]:
            words = line.text
            if hyphenated:
                text = self._mend(text, words)
            elif text[-1] == "-" and text[-2:-1].isalnum() and words[0].isalnum():
                text = self._mend(text[:-1], words)
            else:
                joint = "" if line.raised and takes_number(text) else " "
                text = f"{text}{joint}{words}"
            hyphenated = line.hyphenated
        return f"{text}-" if hyphenated else text

    def _mend(self, head: str, tail: str) -> str:
        """Return ``head`` and ``tail``, which a line end divides, with a hyphen between them if it belongs there."""
        first = re.search(r"[^\W_]+(?:-[^\W_]+)*$", head[head.rfind(" ") + 1 :])
        second = re.match(r"[^\W_]+(?:-[^\W_]+)*", tail)
        if first is None or second is None:
            return f"{head}-{tail}"
        whole = self._words[(first[0] + second[0]).lower()]
        parted = self._words[f"{first[0]}-{second[0]}".lower()]
        keeps_hyphen = parted > whole or first[0][-1].isdigit() or second[0][0].isdigit() or second[0][0].isupper()
        if whole == parted == 0 and "-" in first[0] + second[0]:
            # The words of a compound are printed elsewhere, too; the halves of a broken word only here.
            last, following = first[0].lower().rpartition("-")[2], second[0].lower().partition("-")[0]
            words = not self._words[last + following] and min(self._words[last], self._words[following]) > 1
            keeps_hyphen = keeps_hyphen or words
        return f"{head}-{tail}" if keeps_hyphen else f"{head}{tail}"


def _vocabulary(printed: Mapping[str, int]) -> Mapping[str, int]:
    """Return how often each word is printed, in lower case."""
    words = defaultdict[str, int](int)
    for marked, count in printed.items():
        bare = marked if marked.isalpha() else marked.strip(_AROUND_WORDS)
        for word in (bare,) if bare.isalpha() else _WORD.findall(bare):
            words[word] += count
    return words


def _could_be_heading(line: Line) -> bool:
    words = line.text.split()
    white = len(words) > 1 and line.right - line.left > _HEADING_WIDTH * line.size * len(line.text)
    return (
        len(words) <= _HEADING_WORDS
        and not white
        and not line.text.endswith((".", ",", ";"))
        and len(line.text) > 2
        and line.text.lower() != line.text.upper()
        and not _CAPTION.match(line.text)
        and not _BULLET.match(line.text)
        and not _LEADERS.search(line.text)
        and not _ADDRESS.search(line.text)
    )


def _same_heading(printed: str, entry: OutlineEntry) -> bool:
    """Return whether one text contains the other: outlines drop and add chapter numbers."""
    named = folded(entry.title, ignore_case=True)
    short, long = sorted((printed, named), key=len)
    return short == long or (len(short) >= 6 and short in long)


def _lines_beside(line: Line, lines: Sequence[Line]) -> int:
    """Return how many lines of the same type are level with ``line``."""
    return sum(abs(other.base - line.base) < 1 and face(other) == face(line) for other in lines)
