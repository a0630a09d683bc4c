"""Opens PDF files, or says why one cannot be read. Runs in the worker process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from tools.errors import SourceRejected


def open_pdf(path: Path) -> Any:
    """Open a PDF. Raises ``SourceRejected`` with the reason when it cannot be read."""
    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY) or "assword" in str(error):
            raise SourceRejected(
                "The PDF is encrypted: save it without a password and add it again.", code="file_encrypted"
            ) from None
        raise SourceRejected("The PDF is damaged or is no PDF: it cannot be opened.", code="file_damaged") from None
    return document
