"""The files of a running app: services create and remove some while a test looks."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def files_in(folder: Path) -> list[Path]:
    """Return the files below ``folder`` in order of name."""
    return sorted(path for root, _, names in os.walk(folder) for name in names if (path := Path(root, name)).is_file())


def holding(folder: Path, content: str | bytes) -> list[str]:
    """Return the names of the files below ``folder`` that contain ``content``."""
    wanted, found = content.encode() if isinstance(content, str) else content, []
    for path in files_in(folder):
        with suppress(OSError):
            if wanted in path.read_bytes():
                found.append(str(path.relative_to(folder)))
    return found
