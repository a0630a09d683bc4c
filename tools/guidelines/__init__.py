"""Clinical guidelines: taken in from files, searched, and cited down to the words on their page."""

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
