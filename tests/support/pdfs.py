"""Small PDFs for tests."""

from __future__ import annotations

from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas


def write_pdf(path: Path, *pages: str, title: str = "A short guideline") -> Path:
    """Write a PDF with one page of lines for each of ``pages``."""
    canvas = Canvas(str(path), pagesize=A4)
    canvas.setTitle(title)
    for text in pages:
        block = canvas.beginText(72, 700)
        block.setFont("Helvetica", 11)
        for line in text.splitlines():
            block.textLine(line)
        canvas.drawText(block)
        canvas.showPage()
    canvas.save()
    return path
