"""The tool that tells what is loaded: the guidelines with their issuers and dates, and the number of medicines."""

import asyncio

from pydantic import JsonValue

from tools.drug_database import DrugDatabase
from tools.errors import ToolError
from tools.function_tool import FunctionTool
from tools.guidelines import GuidelineLibrary
from tools.guidelines.models import Document
from tools.language.library_questions import library_question
from tools.language.quotable_units import term_set
from tools.types import ToolPresentation, ToolResult


def loaded_sources_tool(library: GuidelineLibrary, database: DrugDatabase) -> FunctionTool:
    """Return ``list_loaded_sources``, which is declared where a question asks about the library."""

    async def list_loaded_sources(subject: str = "") -> ToolResult:
        """Return the catalogue of the library: the loaded guidelines, and how many medicines the drug database has.

        Call it for questions on the library itself: what is loaded, and who issued a guideline and when.

        Args:
            subject: What the titles of the guidelines are to name; empty for all guidelines.
        """
        loaded, drugs = await asyncio.gather(library.documents(), _count(database))
        expanded = (await database.expand(subject)).expansions if subject else ()
        wanted = [term_set(name) for name in (subject, *(same for one in expanded for same in one.same))]
        on_subject = [one for one in loaded if any(terms and terms <= term_set(one.title) for terms in wanted)]
        data: dict[str, JsonValue] = {
            "subject": subject,
            "guidelines_on_subject": [_entry(one) for one in on_subject],
            "guidelines": [_entry(one) for one in loaded],
            "drugs": drugs,
        }
        return ToolResult(data=data)

    presentation = ToolPresentation(title="Guidelines", icon="book-open", subjects=("subject",))
    return FunctionTool(
        list_loaded_sources, presentation=presentation, idempotent=True, relevant_to=_asks_about_library
    )


def _asks_about_library(questions: str) -> bool:
    return any(map(library_question, questions.splitlines()))


async def _count(database: DrugDatabase) -> int | None:
    """Return how many medicines the drug database has; None while it cannot be read."""
    try:
        return (await database.stats()).records
    except ToolError:
        return None


def _entry(document: Document) -> dict[str, JsonValue]:
    """Return the title, and the issuer, version and date that the file gives."""
    version = document.version if document.version in {"", document.date} else f"version {document.version}"
    return {"title": document.title, "details": ", ".join(filter(None, (document.issuer, version, document.date)))}
