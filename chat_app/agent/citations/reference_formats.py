"""References as clinicians copy them: Vancouver style, Markdown, and RIS for reference managers.

Pure functions of ``Reference``. A part that the source does not state is left out, never made up, and no title breaks
the line, list or record around it.

Sources: NLM's Citing Medicine, 2nd edition (Vancouver style; chapters on reports and on parts of them); the RIS format
as Reference Manager described it (tags, CRLF line ends, one ``TY`` to ``ER`` record for each reference).
"""

import re
from collections.abc import Callable, Iterable
from typing import Literal, assert_never

from chat_app.events import Reference
from tools.types import Passage

ReferenceFormat = Literal["vancouver", "markdown", "ris"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = re.compile(r"((?:1[89]|20|21)\d\d)(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?)?")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~&!$])")
_LIST_MARK = re.compile(r"^(\d{1,9}(?=[.)])|(?=[-+=]))(.)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
DEMO = "Demonstration content, not for clinical care"
_FIGURES = re.compile(r"\d{1,9}")
_CLOSING = (".", "?", "!")
_UNSAFE_IN_LINK = {" ": "%20", "<": "%3C", ">": "%3E", "\\": "%5C", "|": "%7C", "`": "%60", '"': "%22"}


def formatted(references: Iterable[Reference], style: ReferenceFormat) -> str:
    """Return the whole list in one of the three styles; empty for no references."""
    match style:
        case "vancouver":
            return "\n".join(map(vancouver, references))
        case "markdown":
            return markdown_list(references)
        case "ris":
            return "".join(map(ris, references))
        case _:
            assert_never(style)


def vancouver(reference: Reference) -> str:
    """``1. Issuer. Title. Edition; 2024 Feb. Section; p. 4 (PDF p. 20). Available from: https://…``, on one line."""
    passage = reference.passage
    parts = [
        _line(passage.issuer),
        _line(passage.title) or "[Title not stated]",
        _edition(passage),
        _place(reference, separator="; "),
        _strength(reference),
        demo_note(passage),
    ]
    text = f"{reference.number}. " + " ".join(_closed(part) for part in parts if part)
    url = _own_address(passage)
    return f"{text} Available from: {url}" if url else text


def markdown(reference: Reference, address: str | None = None) -> str:
    """Return a list item: the title linked to ``address`` or its source, its place, and verified quotes in blocks."""
    passage = reference.passage
    title = _escaped(passage.title) or "Title not stated"
    url = address or _own_address(passage)
    # The full stop that closes a title of figures alone would make it the number of a list of its own.
    unlinked = f"{title}\\." if _FIGURES.fullmatch(title) else title
    head = f"[{title}]({_link(url)})" if url else unlinked
    place, strength = _place(reference, separator=", "), _strength(reference)
    parts = [head, *map(_escaped, (passage.issuer, _edition(passage), place, strength, demo_note(passage)))]
    number = f"{reference.number}. "
    indent = " " * len(number)
    quotes = "".join(f"\n\n{indent}> {_escaped(quote)}" for quote in reference.quotes)
    return number + " ".join(_closed(part) for part in parts if part) + quotes


def markdown_list(references: Iterable[Reference], address: Callable[[Reference], str | None] = lambda _: None) -> str:
    """Return a numbered list; ``address`` returns where a reference's title links to."""
    return "\n\n".join(markdown(reference, address(reference)) for reference in references)


def ris(reference: Reference) -> str:
    """One RIS record, ``TY`` to ``ER``, each line ended by CRLF."""
    passage = reference.passage
    issuer, version = _line(passage.issuer), "" if passage.summarises else _line(passage.version)
    printed = _DATE.fullmatch(version)
    fields = [
        # A guideline is a report; a drug record is an entry of a data set.
        ("TY", "RPRT" if passage.kind == "guideline" else "DATA"),
        ("TI", _line(passage.title)),
        # A comma separates a person's surname from the rest: an institution with one in its name cannot be an author.
        ("AU", issuer if "," not in issuer else ""),
        ("PB", issuer),
        ("PY", printed[1] if printed else ""),
        ("DA", "/".join(part or "" for part in (*printed.groups(), "")) if printed else ""),
        ("ET", "" if printed else version),
        ("SE", _line(reference.section)),
        ("SP", _printed_page(passage)),
        ("UR", _own_address(passage)),
        ("N1", _pdf_page(passage)),
        ("N1", _strength(reference)),
        ("N1", demo_note(passage)),
        *(("N1", f"“{_line(quote)}”") for quote in reference.quotes),
        ("ID", _line(passage.id)),
    ]
    return "".join(f"{tag}  - {value}\r\n" for tag, value in fields if value) + "ER  - \r\n"


def demo_note(passage: Passage) -> str:
    """Return that ``passage`` is demonstration content and the label it summarises; empty for other passages."""
    url = web_address(passage.summarises)
    origin = f". Summarised from: {url} ({_version(passage.version)})" if url else ""
    return f"{DEMO}{origin}" if passage.is_demo else ""


def _line(text: str) -> str:
    """``text`` on one line, without control characters."""
    return " ".join(_CONTROL.sub(" ", text).split())


def _closed(part: str) -> str:
    """``part`` as a sentence of the reference: it ends in one full stop, unless it has an end of its own."""
    return part if part.rstrip("\"'”’)]*_").endswith(_CLOSING) else f"{part}."


def _version(version: str) -> str:
    """Return an ISO date as Citing Medicine writes it (``2024 Feb 3``); other text as the source prints it."""
    printed = _line(version)
    found = _DATE.fullmatch(printed)
    if found is None:
        return printed
    year, month, day = found.groups()
    parts = [year, _MONTHS[int(month) - 1] if month else "", str(int(day)) if day else ""]
    return " ".join(part for part in parts if part)


def _edition(passage: Passage) -> str:
    return "" if passage.summarises else _version(passage.version)


def _place(reference: Reference, *, separator: str) -> str:
    """Section and page: ``3 Treatment › Drugs; p. 4 (PDF p. 20)``."""
    passage = reference.passage
    page = _printed_page(passage)
    shown = f"p. {page}" if page else ""
    if passage.page is not None and page != str(passage.page):
        shown += f" (PDF p. {passage.page})"
    return separator.join(part for part in (_line(reference.section), shown) if part)


def _strength(reference: Reference) -> str:
    """Return what the guideline states on the strength of the quoted recommendations."""
    return _line("; ".join(reference.strengths))


def _printed_page(passage: Passage) -> str:
    """Return the number printed on the page; where it has none, that of the PDF's page."""
    return _line(passage.page_label or "") or ("" if passage.page is None else str(passage.page))


def _pdf_page(passage: Passage) -> str:
    if passage.page is None or _printed_page(passage) == str(passage.page):
        return ""
    return f"Page {passage.page} of the PDF file"


def _own_address(passage: Passage) -> str:
    return "" if passage.is_demo else web_address(passage.url)


def web_address(address: str | None) -> str:
    """Return ``address`` if it is one of the web, else an empty text: nothing else becomes a link."""
    url = _line(address or "")
    return url if url.lower().startswith(("https://", "http://")) else ""


def _escaped(text: str) -> str:
    """``text`` so that Markdown shows it as it is."""
    # Nor does a beginning such as ``1.`` or ``-`` begin a list.
    return _LIST_MARK.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", _line(text)))


def _link(url: str) -> str:
    return "<" + "".join(_UNSAFE_IN_LINK.get(character, character) for character in url) + ">"
