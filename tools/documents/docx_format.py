"""Parse Word documents (DOCX) into blocks. Runs in the worker process."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from tools.bounded_xml import parse_xml
from tools.documents.models import Block, Extraction, PageContent, TableRows
from tools.errors import SourceRejected
from tools.language.terms import clean

_MAX_PART_BYTES = 50_000_000
"""Unpacked; a text of 5,000 pages has about 30 million bytes."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_CONTROLS = (f"{_W}sdt", f"{_W}sdtContent", f"{_W}customXml")
"""Containers of paragraphs, rows or cells."""
_GALLERY = f"{_W}sdtPr/{_W}docPartObj/{_W}docPartGallery"
_HEADING_STYLE = re.compile(r"(?:heading|berschrift|titre)\s?(\d)", re.IGNORECASE)


def read_docx(path: Path) -> Extraction:
    """Return paragraphs, headings, lists and tables. Raises ``SourceRejected`` for other files and zip bombs."""
    try:
        with zipfile.ZipFile(path) as package:
            body = _part(package, "word/document.xml")
            core = _part(package, "docProps/core.xml") if "docProps/core.xml" in package.namelist() else ()
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError):
        raise SourceRejected("The file is damaged or is no Word document.") from None
    root = body.find(f"{_W}body")
    blocks = tuple(_blocks(root)) if root is not None else ()
    facts = {element.tag: clean(element.text or "")[:300] for element in core}
    title = facts.get(f"{_DC}title") or next((block.text for block in blocks if block.kind == "heading"), "")
    return Extraction(
        title=title,
        issuer=facts.get(f"{_DC}creator", ""),
        date=facts.get(f"{_TERMS}modified", "")[:10],
        language=facts.get(f"{_DC}language", ""),
        paged=False,
        pages=(PageContent(number=1, blocks=blocks),),
    )


def _part(package: zipfile.ZipFile, name: str) -> Element:
    with package.open(name) as stream:
        return parse_xml(stream, "The Word document", most_bytes=_MAX_PART_BYTES)


def _blocks(root: Element) -> list[Block]:
    blocks: list[Block] = []
    for element in _parts(root):
        if element.tag == f"{_W}tbl":
            captioned = bool(blocks) and blocks[-1].kind == "caption"
            table = _table(element, blocks.pop().text if captioned else "")
            if table.rows or table.header:
                blocks.append(Block.of_table(table))
        elif element.tag == f"{_W}p" and (block := _paragraph(element)) is not None:
            blocks.append(block)
    return blocks


def _parts(element: Element) -> Iterator[Element]:
    """Yield the children of ``element`` and of its content controls, without a table of contents."""
    for child in element:
        if child.tag not in _CONTROLS:
            yield child
        elif all(gallery.get(f"{_W}val") != "Table of Contents" for gallery in child.iterfind(_GALLERY)):
            yield from _parts(child)


def _paragraph(element: Element) -> Block | None:
    text = _words(element)
    if not text:
        return None
    style = element.find(f"{_W}pPr/{_W}pStyle")
    name = style.get(f"{_W}val", "") if style is not None else ""
    heading = _HEADING_STYLE.search(name)
    if heading or name.lower() == "title":
        return Block(kind="heading", text=text, level=int(heading[1]) if heading else 1)
    if name.lower() == "caption":
        return Block(kind="caption", text=text)
    if element.find(f"{_W}pPr/{_W}numPr") is not None:
        return Block(kind="item", text=f"• {text}")
    return Block(kind="text", text=text)


def _table(element: Element, caption: str) -> TableRows:
    rows = [
        tuple(" ".join(filter(None, map(_words, cell.iter(f"{_W}p")))) for cell in _parts(row) if cell.tag == f"{_W}tc")
        for row in _parts(element)
        if row.tag == f"{_W}tr"
    ]
    filled = [row for row in rows if any(row)]
    return TableRows(caption=caption, header=filled[0] if filled else (), rows=tuple(filled[1:]))


def _words(element: Element) -> str:
    spaces = {f"{_W}tab": " ", f"{_W}br": " "}
    return clean(
        "".join(node.text or "" if node.tag == f"{_W}t" else spaces.get(node.tag, "") for node in element.iter())
    )
