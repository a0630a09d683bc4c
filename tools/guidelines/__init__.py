"""Clinical guidelines: taken in from files, searched, and cited down to the words on their page.

Each name is loaded at its first use: the process that reads a file, or draws one page, lives in this package too, and
would else spend half its time on loading what searches and embeds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.guidelines.embedders import Embedder, open_embedder
    from tools.guidelines.library import GuidelineLibrary
    from tools.guidelines.models import (
        Document,
        FolderReport,
        GuidelineSearchResult,
        IngestProgress,
        Refusal,
        SearchFilter,
    )
    from tools.guidelines.scopes import Scope, scope_of
    from tools.guidelines.shelves import erase_files
    from tools.guidelines.tool import guideline_tools

__all__ = [
    "Document",
    "Embedder",
    "FolderReport",
    "GuidelineLibrary",
    "GuidelineSearchResult",
    "IngestProgress",
    "Refusal",
    "Scope",
    "SearchFilter",
    "erase_files",
    "guideline_tools",
    "open_embedder",
    "scope_of",
]

_HOMES = {
    "Embedder": "embedders",
    "open_embedder": "embedders",
    "GuidelineLibrary": "library",
    "Scope": "scopes",
    "scope_of": "scopes",
    "erase_files": "shelves",
    "guideline_tools": "tool",
}

if not TYPE_CHECKING:  # A type checker would take any name for one of this module's.

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'models')}"), name)
