"""PDF files written line by line, so that a test defines positions and drawing order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import registerFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from tools.documents.extract import extract
from tools.documents.models import Extraction

BOLD = "VeraBd"
"""An embedded font: PDFium does not know the weight of the standard fonts."""
Drawn = tuple[float, float, str] | tuple[float, float, str, float, bool]
"""``x``, ``y`` and text; optionally type size and ``bold``."""


class Pages:
    """A PDF under construction; ``read`` closes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        registerFont(TTFont(BOLD, f"{BOLD}.ttf"))
        self._canvas = Canvas(str(path), pagesize=A4)

    def rules(self, left: float, right: float, *heights: float, joints: Sequence[float] = ()) -> Pages:
        """Draw horizontal rules on the next page, in pieces that meet at ``joints``."""
        ends = [left, *joints, right]
        for height in heights:
            for start, end in itertools.pairwise(ends):
                self._canvas.line(start, height, end, height)
        return self

    def page(self, *lines: Drawn) -> Pages:
        for line in lines:
            x, y, text = line[:3]
            size, bold = (line[3], line[4]) if len(line) == 5 else (10, False)
            self._canvas.setFont(BOLD if bold else "Helvetica", size)
            self._canvas.drawString(x, y, text)
        self._canvas.showPage()
        return self

    def read(self) -> Extraction:
        self._canvas.save()
        return extract(self.path, ".pdf", progress=lambda done, total: None)
