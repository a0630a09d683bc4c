"""Lay a parsed guideline out as an A4 PDF.

Every page carries the demonstration mark, the running title and its number. Every heading is a bookmark. A table
row is one line of text, so that an extractor reads it whole. The embedded fonts, Bitstream Vera, come with reportlab.
"""

from __future__ import annotations

import io
import re
import zlib
from dataclasses import dataclass
from typing import Any, assert_never
from xml.sax.saxutils import escape

import reportlab
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_LEFT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    HRFlowable,
    KeepTogether,
    PageTemplate,
    Paragraph,
    Spacer,
    TableStyle,
)
from reportlab.platypus import Table as PdfTable

from scripts.demo_guidelines.source import CLOSING, Guideline, Heading, PipeTable, SourceError, Text

MARK = "Demonstration document - not for clinical care"
CREATOR = "tools.guidelines.demo.build"
"""The build's first name. Another one would change the bytes, and so the document ids, of every PDF."""
TOOLCHAIN = f"reportlab {reportlab.__version__}, zlib {zlib.ZLIB_RUNTIME_VERSION}"

_REGULAR, _BOLD, _ITALIC = "Vera", "VeraBd", "VeraIt"
_INK, _TEAL, _MUTED = HexColor("#1f2933"), HexColor("#0b5563"), HexColor("#5b6770")
_RULE, _BAND, _WARN = HexColor("#c5d0d6"), HexColor("#eef4f5"), HexColor("#9a3412")
_SIDE, _TOP, _BOTTOM = 20 * mm, 22 * mm, 18 * mm
_WIDTH = A4[0] - 2 * _SIDE
_CELL_PAD = 4.0
_TABLE_SIZES = (8.2, 7.8, 7.4, 7.0, 6.7)
_WHOLE_ROWS = 9  # a longer table may break over pages, its header repeated
_SPLIT_ROOM = 45 * mm
_VALUE = re.compile(
    r"(?:[<>≥≤] )?\d[\d./-]*"
    r"(?: (?:%|mm Hg|mL/min/1\.73 m2|[mµk]?g\b(?:/\w+)*|m?mol/\w+|mL\b(?:/\w+)*|kPa\b|units?\b"
    r"|(?:minute|hour|day|week|month|year)s?\b))?"
)


def _style(name: str, size: float, leading: float, **options: Any) -> ParagraphStyle:
    settings: dict[str, Any] = {
        "fontName": _REGULAR,
        "textColor": _INK,
        "alignment": TA_LEFT,
        "splitLongWords": 0,
        "allowWidows": 0,
        "allowOrphans": 0,
        **options,
    }
    return ParagraphStyle(name, fontSize=size, leading=leading, **settings)


_STYLES = {
    "title": _style("title", 19, 24, fontName=_BOLD, textColor=_TEAL, spaceAfter=5),
    "h2": _style("h2", 13, 17, fontName=_BOLD, textColor=_TEAL, spaceBefore=13, spaceAfter=4, keepWithNext=1),
    "h3": _style("h3", 10.2, 14, fontName=_BOLD, spaceBefore=9, spaceAfter=3, keepWithNext=1),
    "paragraph": _style("paragraph", 9, 13.2, spaceAfter=5.5),
    "bullet": _style("bullet", 9, 13.2, spaceAfter=3, leftIndent=13, bulletIndent=3),
    "numbered": _style(
        "numbered", 9, 13.2, spaceAfter=4, leftIndent=22, bulletFontName=_BOLD, bulletFontSize=9, bulletColor=_TEAL
    ),
    "source": _style(
        "source", 8.2, 12, spaceAfter=4, leftIndent=22, bulletFontName=_BOLD, bulletFontSize=8.2, bulletColor=_TEAL
    ),
    "note": _style(
        "note",
        8.6,
        12.6,
        backColor=_BAND,
        borderPadding=(6, 8, 6, 8),
        leftIndent=8,
        rightIndent=8,
        spaceBefore=9,
        spaceAfter=16,
    ),
    "caption": _style("caption", 8.4, 12, fontName=_BOLD, textColor=_TEAL, spaceBefore=7, spaceAfter=3),
    "meta": _style("meta", 8.2, 12, textColor=_MUTED, spaceAfter=2),
    "lead": _style("lead", 9.4, 14, fontName=_ITALIC, spaceBefore=4, spaceAfter=6),
}


def _register_fonts() -> None:
    for name in (_REGULAR, _BOLD, _ITALIC):
        pdfmetrics.registerFont(TTFont(name, f"{name}.ttf"))
    pdfmetrics.registerFontFamily(_REGULAR, normal=_REGULAR, bold=_BOLD, italic=_ITALIC, boldItalic=_BOLD)


@dataclass(frozen=True)
class Rendered:
    """A finished PDF and how many pages it has."""

    pdf: bytes
    pages: int


def render(guideline: Guideline) -> Rendered:
    """Build the PDF in memory twice: the first pass counts the pages for the footer."""
    _register_fonts()
    pages = _build(guideline, total=0).pages
    return _build(guideline, total=pages)


def _build(guideline: Guideline, total: int) -> Rendered:
    buffer = io.BytesIO()
    template = _Template(guideline, buffer, total)
    template.build(_story(guideline))
    return Rendered(buffer.getvalue(), template.page)


class _Template(BaseDocTemplate):  # type: ignore[misc,unused-ignore]
    """A page with running header, demonstration mark and footer, and a bookmark for each heading."""

    def __init__(self, guideline: Guideline, buffer: io.BytesIO, total: int) -> None:
        meta = guideline.meta
        super().__init__(
            buffer,
            pagesize=A4,
            invariant=1,
            pageCompression=1,
            lang=meta.language,
            title=meta.title,
            author=meta.issuer,
            subject=f"{MARK}. {meta.description}",
            creator=CREATOR,
            producer=TOOLCHAIN,
            keywords=f"{guideline.slug}, version {meta.version}, {meta.date}",
        )
        self._meta, self._total, self._bookmarks = meta, total, 0
        frame = Frame(_SIDE, _BOTTOM, _WIDTH, A4[1] - _TOP - _BOTTOM, 0, 0, 0, 0, id="body")
        self.addPageTemplates([PageTemplate(id="page", frames=[frame], onPage=self._furniture)])

    def _furniture(self, canvas: Any, document: Any) -> None:
        right, head, foot = A4[0] - _SIDE, A4[1] - 14 * mm, 11 * mm
        canvas.saveState()
        canvas.setFillColor(_MUTED)
        canvas.setFont(_REGULAR, 7.4)
        canvas.drawString(_SIDE, head, self._meta.title)
        canvas.drawString(_SIDE, foot, f"{self._meta.issuer} · version {self._meta.version} · {self._meta.date}")
        canvas.drawRightString(right, foot, f"Page {document.page} of {self._total}")
        canvas.setFillColor(_WARN)
        canvas.setFont(_BOLD, 7.4)
        canvas.drawRightString(right, head, MARK)
        canvas.setStrokeColor(_RULE)
        canvas.setLineWidth(0.6)
        canvas.line(_SIDE, head - 5, right, head - 5)
        canvas.line(_SIDE, foot + 10, right, foot + 10)
        canvas.restoreState()

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 (reportlab's name)
        """Add the bookmark of a heading once reportlab has placed it."""
        level = {"title": 0, "h2": 1, "h3": 2}.get(getattr(getattr(flowable, "style", None), "name", ""))
        if level is None or not isinstance(flowable, Paragraph):
            return
        self._bookmarks += 1
        key = f"heading-{self._bookmarks}"
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(flowable.getPlainText().replace("\u00a0", " "), key, level=level, closed=level == 1)


def _story(guideline: Guideline) -> list[Flowable]:
    story: list[Flowable] = []
    for block in guideline.blocks[:-1]:
        match block:
            case Heading(level=1):
                story += _title_block(guideline, block)
            case Heading():
                story.append(Paragraph(_markup(block.text), _STYLES[f"h{block.level}"]))
            case Text():
                story.append(_text(block))
            case PipeTable():
                story += _captioned(block)
            case _:
                assert_never(block)
    return [*story, KeepTogether(_references(guideline))]


def _title_block(guideline: Guideline, title: Heading) -> list[Flowable]:
    meta = guideline.meta
    facts = f"{meta.issuer} · Version {meta.version} · {meta.date} · Licence: {meta.licence}"
    return [
        Paragraph(_markup(title.text), _STYLES["title"]),
        Paragraph(_markup(facts), _STYLES["meta"]),
        Paragraph(_markup(meta.description), _STYLES["lead"]),
        HRFlowable(width="100%", thickness=1.2, color=_TEAL, spaceBefore=2, spaceAfter=6),
    ]


def _references(guideline: Guideline) -> list[Flowable]:
    entries = [
        Paragraph(_markup(f"{item.title} ({item.year}). {item.url}"), _STYLES["source"], bulletText=f"{number}.")
        for number, item in enumerate(guideline.meta.sources, start=1)
    ]
    return [Paragraph(CLOSING.text, _STYLES["h2"]), *entries]


def _text(block: Text) -> Flowable:
    match block.kind:
        case "bullet":
            return Paragraph(_markup(block.text), _STYLES["bullet"], bulletText="•")
        case "numbered":
            return Paragraph(_markup(block.text), _STYLES["numbered"], bulletText=f"{block.number}.")
        case "paragraph" | "note":
            return Paragraph(_markup(block.text), _STYLES[block.kind])
        case _:
            assert_never(block.kind)


def _captioned(block: PipeTable) -> list[Flowable]:
    caption, table = Paragraph(_markup(block.caption), _STYLES["caption"]), _table(block)
    if len(block.rows) <= _WHOLE_ROWS:
        # reportlab joins a run of keepWithNext flowables: heading, caption and table move as one.
        caption.keepWithNext = 1
        return [caption, table, Spacer(0, 9)]
    return [CondPageBreak(_SPLIT_ROOM), caption, table, Spacer(0, 9)]


def _table(block: PipeTable) -> Flowable:
    size, widths = _fit(block)
    style = TableStyle(
        [
            ("FONT", (0, 0), (-1, -1), _REGULAR, size, size + 3.4),
            ("FONT", (0, 0), (-1, 0), _BOLD),
            ("TEXTCOLOR", (0, 0), (-1, -1), _INK),
            ("TEXTCOLOR", (0, 0), (-1, 0), _TEAL),
            ("BACKGROUND", (0, 0), (-1, 0), _BAND),
            ("LINEABOVE", (0, 0), (-1, 0), 0.8, _TEAL),
            ("LINEBELOW", (0, 0), (-1, -1), 0.4, _RULE),
            ("LINEBELOW", (0, -1), (-1, -1), 0.8, _TEAL),
            ("LEFTPADDING", (0, 0), (-1, -1), _CELL_PAD),
            ("RIGHTPADDING", (0, 0), (-1, -1), _CELL_PAD),
            ("TOPPADDING", (0, 0), (-1, -1), 2.6),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 3.4),
        ]
    )
    return PdfTable([block.header, *block.rows], colWidths=widths, repeatRows=1, style=style, hAlign="LEFT")


def _fit(block: PipeTable) -> tuple[float, list[float]]:
    """Return the largest type size at which every cell fits on one line, and column widths that fill the page."""
    for size in _TABLE_SIZES:
        columns = zip(block.header, *block.rows, strict=True)
        widths = [_column_width(column, size) for column in columns]
        spare = _WIDTH - sum(widths)
        if spare >= 0:
            return size, [width + spare / len(widths) for width in widths]
    raise SourceError(f"'{block.caption}': too wide for one line per row; shorten its cells")


def _column_width(column: tuple[str, ...], size: float) -> float:
    header, *cells = column
    widths = [pdfmetrics.stringWidth(cell, _REGULAR, size) for cell in cells]
    return float(max([pdfmetrics.stringWidth(header, _BOLD, size), *widths])) + 2 * _CELL_PAD


def _markup(text: str) -> str:
    """Escape for reportlab, and join a value to its unit with no-break spaces."""
    joined = _VALUE.sub(lambda value: value[0].replace(" ", "\u00a0"), text)
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(joined))
