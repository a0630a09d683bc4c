"""References as the page shows them: one card per passage, its quoted words marked."""

from collections.abc import Iterable
from typing import Any, Final

from chat_app.agent.citations.reference_formats import formatted, vancouver, web_address
from chat_app.events import Reference
from chat_app.interface.i18n.translation import Language, say
from tools.language.quotes import marked_segments

_AS_STORED: Final = {"kind", "document_id", "title", "issuer", "version", "page", "page_label"}


def card(reference: Reference, language: Language = "en") -> dict[str, Any]:
    """Return what the page needs to show one reference, its panel and its page image."""
    passage = reference.passage
    return {
        **passage.model_dump(include=_AS_STORED),
        "number": reference.number,
        "passage_id": passage.id,
        "section": reference.section,
        "url": web_address(passage.url) or None,
        "quotes": list(reference.quotes),
        "segments": marked_segments(passage.text, reference.quotes),
        "demo": say(language, "references.demo") if passage.is_demo else "",
        "where": where(reference, language),
        "strength": "; ".join(reference.strengths),
        "citation": vancouver(reference),
    }


def where(reference: Reference, language: Language = "en") -> str:
    """Return section and page in words: ``3 Treatment › 3.1 Drugs · page 12 (PDF page 14)``."""
    passage = reference.passage
    parts = [reference.section] if reference.section else []
    if passage.page is not None:
        label = passage.page_label or str(passage.page)
        parts.append(say(language, "references.page", label=label))
        if label != str(passage.page):
            parts[-1] += f" ({say(language, 'references.pdf_page', page=str(passage.page))})"
    return " · ".join(parts)


def reference_list(references: Iterable[Reference], language: Language = "en") -> str:
    """Return the References section as plain text in Vancouver style."""
    listed = formatted(references, "vancouver")
    return f"{say(language, 'references.heading')}\n{listed}" if listed else ""
