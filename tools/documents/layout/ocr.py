"""Reads the words of a scanned page with Tesseract, when it is installed. Runs in the worker process.

Recognised words can be wrong: pages read this way are marked, and the document's entry names them.
"""

import os
import re
import shutil
import subprocess
from typing import Any

from tools.documents.models import Block
from tools.documents.pdf.pdf_open import fitting_scale, png
from tools.language.terms import clean

_SCALE = 200 / 72
"""200 dots per inch, at which Tesseract reads best for the time it takes."""
_PAGE_SECONDS = 50
_LANGUAGES = "eng"


def tesseract() -> str | None:
    """Return the program's path, or None when it is not installed."""
    return shutil.which("tesseract")


def recognise(page: Any, program: str) -> tuple[Block, ...]:
    """Return the paragraphs on an open page; none when the program fails or takes longer than ``_PAGE_SECONDS``."""
    picture = png(page.render(scale=fitting_scale(page, _SCALE), grayscale=True))
    try:
        done = subprocess.run(
            [program, "stdin", "stdout", "-l", _LANGUAGES, "--psm", "1"],
            input=picture,
            capture_output=True,
            timeout=_PAGE_SECONDS,
            check=True,
            # More threads make Tesseract slower on one page, and a page is all it gets.
            env=os.environ | {"OMP_THREAD_LIMIT": "1"},
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(paragraphs(done.stdout.decode(errors="replace")))


def paragraphs(text: str) -> list[Block]:
    """Return the paragraphs of Tesseract's text; a hyphen at a line end joins two lines."""
    found: list[Block] = []
    for part in re.split(r"\n\s*\n", text.replace("\f", "\n\n")):
        words = clean(re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", part).replace("\n", " "))
        if sum(char.isalnum() for char in words) >= 3:
            found.append(Block(kind="text", text=words))
    return found
