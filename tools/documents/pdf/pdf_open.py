"""Opens PDF files, or says why one cannot be read, and draws their pages as PNG. Runs in the worker process."""

import struct
import zlib
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from tools.errors import SourceRejected

_MAX_PIXELS = 40_000_000
"""An A4 page at scale 5; larger pages are drawn at a smaller scale."""


def open_pdf(path: Path) -> Any:
    """Open a PDF. Raises ``SourceRejected`` with the reason when it cannot be read."""
    try:
        return pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise SourceRejected(
                "The PDF is encrypted: save it without a password and add it again.", code="file_encrypted"
            ) from None
        raise SourceRejected("The PDF is damaged or is no PDF: it cannot be opened.", code="file_damaged") from None


def fitting_scale(page: Any, scale: float) -> float:
    """Return ``scale``, or less where the page would have more than ``_MAX_PIXELS``."""
    width, height = page.get_size()
    return float(max(0.1, min(scale, (_MAX_PIXELS / max(1.0, width * height)) ** 0.5)))


def png(bitmap: Any) -> bytes:
    """Return a bitmap with 1, 3 or 4 channels as PNG."""
    colour_type = {1: 0, 3: 2, 4: 6}[bitmap.n_channels]
    header = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, colour_type, 0, 0, 0)
    pixels, used = bytes(bitmap.buffer), bitmap.width * bitmap.n_channels
    rows = (pixels[at : at + used] for at in range(0, bitmap.stride * bitmap.height, bitmap.stride))
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
