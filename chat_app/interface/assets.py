"""Files of the page in a separate folder, so that Chainlit never writes into the working directory.

Chainlit takes its configuration from ``CHAINLIT_APP_ROOT`` when it is imported, and writes there: a folder for
uploads and every translation it misses. ``prepare_page_root`` fills ``<data dir>/page`` from the project (or the
installed package) and points Chainlit at it. It has to run before the first import of ``chainlit``.
"""

import os
import shutil
import time
from pathlib import Path

from chat_app.data_protection import protect
from chat_app.interface.page.page_document import page_sources

_FOLDERS = ("public", ".chainlit")
_OLD_SECONDS = 12 * 3600
ROOT_VARIABLE = "CHAINLIT_APP_ROOT"


def prepare_page_root(data_dir: Path) -> None:
    """Copy the page's files to ``data_dir/page`` and make it Chainlit's root."""
    protect(data_dir)
    source, target = page_sources(), data_dir / "page"
    for left in (target / ".files").glob("*"):
        # Another process may serve the newer ones.
        if time.time() - left.stat().st_mtime > _OLD_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
    for folder in _FOLDERS:
        _mirror(source / folder, target / folder)
    _copy(source / "chainlit.md", target / "chainlit.md")
    for language in (path.stem for path in (source / ".chainlit" / "translations").glob("*.json")):
        # Chainlit warns on every page load when a language has no text.
        own = source / ".chainlit" / f"chainlit_{language}.md"
        _copy(own if own.is_file() else source / "chainlit.md", target / f"chainlit_{language}.md")
    os.environ[ROOT_VARIABLE] = str(target)


def _mirror(source: Path, target: Path) -> None:
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    for relative in wanted:
        _copy(source / relative, target / relative)
    for path in list(target.rglob("*")):
        # A hidden file is one that another process is about to put in place.
        if path.is_file() and path.relative_to(target) not in wanted and not path.name.startswith("."):
            path.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Replace ``target`` atomically, because another process may be serving it."""
    content = source.read_bytes()
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(target)
