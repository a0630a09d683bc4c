"""Finds the facts of a PDF: title, issuer, version, date, licence, language. Runs in the worker process.

The metadata of the file come first, unless a word processor filled them; then the text of the first pages. A fact that
is in neither stays empty.
"""

import ctypes
import re
from collections.abc import Sequence
from typing import Any

from pypdfium2 import raw

from tools.documents.models import Block, Extraction, PageContent
from tools.language.terms import clean
from tools.language.vocabulary.common_words import Language, ranks
from tools.language.word_lists import word_list

_LOOKED_AT = 4
"""First pages on which a title page and its imprint are."""
_BETWEEN = 4
"""Maximum number of words set as text between two lines of a title, such as "on the"."""
_PDF_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")
_ISO_DATE = re.compile(r"\b(?:19|20)\d{2}-[01]\d-[0-3]\d\b")
_OTHER_DATE = re.compile(
    r"\b(?:expir\w*|valid (?:until|through|to)|(?:next )?review (?:by|due|date|in)|accessed|retrieved|gültig bis)\b"
    r"[^\n]{0,40}?(?:19|20)\d{2}(?:-[01]\d-[0-3]\d)?",
    re.IGNORECASE,
)
"""Dates of other events than the guideline's publication: an expiry, a review, a visit of a page."""
_YEAR = re.compile(r"\b(19[89]\d|20[0-4]\d)\b")
_FILE_NAME = re.compile(r"\.(docx?|pdf|indd|qxd|pptx?)$|^Microsoft Word", re.IGNORECASE)
_VERSION = re.compile(r"\b(?:version|edition|revision|release)[ :]+(\d[\w.]*)", re.IGNORECASE)
_LICENCE = re.compile(r"\b(CC[ -]BY[\w. -]{0,20}?(?: \d\.\d)(?: IGO)?|CC0(?:-1\.0)?|public domain)\b", re.IGNORECASE)
_NAMED_LICENCE = re.compile(r"\bLicen[cs]e: ([^\n·|]{3,100}?)(?=\s*(?:[·|\n]|(?<=\)) [A-Z]|$))")
_COPYRIGHT = re.compile(
    r"(?:©|\(c\)|Copyright)\s+(?:(?:19|20)\d{2},?\s+)?([A-Z][\w .,&'-]{3,60}?)(?:,?\s+(?:19|20)\d{2}|[.\n]|$)"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_ACRONYM = re.compile(r"[A-Z]{3,10}")
_COMMON = 200
"""Rank of the words by which a language is detected."""
_SHARES: dict[Language, float] = {"en": 0.28, "de": 0.4, "es": 0.4}
"""Share of the words that are common in their language: .30 to .51 in English guidelines; French has .34 of Spanish."""
_READ_FOR_LANGUAGE = 20_000
_LEAST_WORDS = 40
_DOI = re.compile(r"\b(?:https?://doi\.org/|doi:\s?)(10\.\d{4,9}/[^\s,;)]+)", re.IGNORECASE)


def pdf_facts(document: Any, pages: tuple[PageContent, ...]) -> Extraction:
    """Return the facts alone, without pages."""
    fields: dict[str, str] = {key: clean(value) for key, value in document.get_metadata_dict().items()}
    printed = "\n".join(block.text for page in pages[:_LOOKED_AT] for block in page.blocks)[:20_000]
    title = fields.get("Title", "")
    told = f"{fields.get('Keywords', '')}\n{printed}"
    doi = _first(_DOI, printed).rstrip(".")
    return Extraction(
        title=(title if _is_title(title) else _printed_title(pages))[:300],
        issuer=_issuer(fields, printed)[:200],
        version=_first(_VERSION, told)[:40],
        date=_date(fields, printed),
        language=_language(document, pages),
        licence=(_first(_NAMED_LICENCE, printed) or _first(_LICENCE, printed))[:100],
        url=f"https://doi.org/{doi}" if doi else "",
    )


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1].strip() if found else ""


def _issuer(fields: dict[str, str], printed: str) -> str:
    """Return the author if it is an organisation, not a person or a program; else who holds the copyright."""
    author = fields.get("Author", "")
    organisation = not word_list("organisations").isdisjoint(_WORD.findall(author.lower()))
    return author if organisation or _is_printed_acronym(author, printed) else _first(_COPYRIGHT, printed)


def _is_printed_acronym(author: str, printed: str) -> bool:
    """Return True for capitals that are in print, also as initials: National Heart, Lung, and Blood Institute."""
    if not _ACRONYM.fullmatch(author):
        return False
    between = r"\w+(?:\W+(?:and|for|in|of|on|the))*\W+"
    return re.search(rf"\b(?:{author}\b|{between.join(author)}\w)", printed) is not None


def _language(document: Any, pages: tuple[PageContent, ...]) -> str:
    """Return the language of the text; that of the metadata if it agrees, or if the text is too short."""
    named = _named_language(document)
    # From the middle of the document: names and lists of contents fill its first pages.
    text = "\n".join(block.text for page in pages[len(pages) // 3 :] for block in page.blocks if block.body)
    words = _WORD.findall(text[:_READ_FOR_LANGUAGE].lower())
    for language, share in _SHARES.items():
        common = sum(ranks(language).get(word, _COMMON + 1) <= _COMMON for word in words)
        if len(words) >= _LEAST_WORDS and common >= share * len(words):
            return named if named.lower().startswith(language) else language
    return named


def _named_language(document: Any) -> str:
    buffer = ctypes.create_string_buffer(64)
    size = raw.FPDFCatalog_GetLanguage(document, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), 64)
    return clean(buffer.raw[: max(0, min(int(size), 64) - 2)].decode("utf-16-le", errors="ignore"))


def _is_title(text: str) -> bool:
    return len(text) > 5 and " " in text and not _FILE_NAME.search(text)


def _printed_title(pages: tuple[PageContent, ...]) -> str:
    """Return the title in the headings of the first page that has any; empty if there is none."""
    for page in pages[:3]:
        levels = [block.level for block in page.blocks if block.kind == "heading"]
        if levels:
            words = _title_of(page.blocks, min(levels) + 1)
            if _is_title(words):
                return words
    return ""


def _title_of(blocks: Sequence[Block], lowest: int) -> str:
    """Return the words of the headings down to level ``lowest``, and the few words of text between them."""
    named = [at for at, block in enumerate(blocks) if block.kind == "heading" and block.level <= lowest]
    inside = [at for at in range(named[0], named[-1]) if blocks[at].kind == "text"]
    if any(len(blocks[at].text.split()) > _BETWEEN for at in inside):
        inside = []
    return " ".join(blocks[at].text for at in sorted([*named, *inside]))


def _date(fields: dict[str, str], printed: str) -> str:
    """Return a full date in keywords or text, else the file's date if its year is in the text, else a year."""
    printed = _OTHER_DATE.sub(" ", printed)
    iso = _ISO_DATE.search(fields.get("Keywords", "")) or _ISO_DATE.search(printed[:2000])
    if iso:
        return iso[0]
    made = _PDF_DATE.match(fields.get("CreationDate", ""))
    years = _YEAR.findall(printed[:4000])
    if made is not None and (not years or made[1] in years):
        return "-".join(part for part in made.groups() if part)
    return max(years, default="")
