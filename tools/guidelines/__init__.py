"""Clinical guidelines: taken in from files, searched, and cited down to the words on their page."""

from tools.guidelines.library import GuidelineLibrary
from tools.guidelines.models import (
    Document,
    GuidelineSearchResult,
    IngestProgress,
    SearchFilter,
)
from tools.guidelines.tool import guideline_tools

__all__ = [
    "Document",
    "GuidelineLibrary",
    "GuidelineSearchResult",
    "IngestProgress",
    "SearchFilter",
    "guideline_tools",
]
