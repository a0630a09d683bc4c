"""Clinical guidelines: ingested from files, searched, and cited down to the words on their page."""

from tools.embeddings.embedders import Embedder, open_embedder
from tools.guidelines.guideline_tool import guideline_tools, passage_tool
from tools.guidelines.library import GuidelineLibrary
from tools.guidelines.models import Document, FolderReport, IngestProgress, RefusedFile, SearchFilter
from tools.guidelines.storage.library_catalogs import erase_files
from tools.guidelines.storage.scopes import Scope, scope_of

__all__ = [
    "Document",
    "Embedder",
    "FolderReport",
    "GuidelineLibrary",
    "IngestProgress",
    "RefusedFile",
    "Scope",
    "SearchFilter",
    "erase_files",
    "guideline_tools",
    "open_embedder",
    "passage_tool",
    "scope_of",
]
