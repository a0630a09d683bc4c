"""axe-core, downloaded with npm when tests first need it; it is not part of the app."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

VERSION = "4.14.1"
_KEPT = Path("build") / "axe"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def axe_source() -> str | None:
    """Return the script, or None without npm or its registry."""
    script = _KEPT / f"axe-{VERSION}.min.js"
    if script.is_file():
        return script.read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        return None
    _KEPT.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(
        [npm, "pack", "--silent", f"axe-core@{VERSION}"],
        cwd=_KEPT,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    archive = _KEPT / f"axe-core-{VERSION}.tgz"
    if packed.returncode or not archive.is_file():
        return None
    with tarfile.open(archive) as content:
        found = content.extractfile("package/axe.min.js")
        if found is None:
            return None
        script.write_bytes(found.read())
    archive.unlink()
    return script.read_text(encoding="utf-8")
