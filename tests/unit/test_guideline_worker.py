"""The process that reads a file or draws a page starts quickly, for a clinician waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
_LOADED = """
import sys
import tools.documents.worker, tools.documents.extract, tools.documents.passages, tools.documents.page_image
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"httpx", "numpy", "pymilvus", "openai", "chat_app"}))
"""


def test_the_worker_loads_nothing_of_what_searches_and_embeds() -> None:
    loaded = subprocess.run([sys.executable, "-c", _LOADED], cwd=PROJECT, capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []
