"""Parse Markdown, plain text and HTML into blocks. Runs in the worker process."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools.documents.models import Block, BlockKind, Extraction, PageContent, TableRows
from tools.errors import SourceRejected
from tools.language.terms import clean

_FRONT_MATTER = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?\n", re.DOTALL)
_FIELD = re.compile(r"^([a-z_]+):[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*(?:([-*+•])|(\d{1,3})[.)])[ \t]+(?=\S)")
_CAPTION = re.compile(r"^(?:Table|Figure|Box) [A-Z]?\d[\w.-]*[.:] ")
_BULLET = re.compile(r"^([ \t]*)•(?=[ \t]+\S)", re.MULTILINE)
"""A bullet of word processors, which Markdown does not have."""
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_BLOCK_BEGINS = {"paragraph_open", "heading_open", "list_item_open", "fence", "code_block", "end"}
_FACTS = ("title", "issuer", "version", "date", "language", "licence", "url")
_HTML_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HTML_BLOCKS = {"p", "li", "td", "th", "caption", "figcaption", "div", "blockquote", "dt", "dd", "pre", "title"}
_HTML_CELLS = {"td", "th", "caption"}
_HTML_IN_CELLS = {"p", "div", "li", "pre", "blockquote", "dt", "dd"}
"""Blocks that are part of their cell."""
_HTML_FACTS = {
    "author": "issuer",
    "dc.publisher": "issuer",
    "date": "date",
    "dcterms.issued": "date",
    "article:published_time": "date",
}
"""The fact that a ``meta`` element of each name states."""
_HTML_SILENT = {"script", "style", "nav", "footer", "template", "noscript", "svg", "form", "button"}


def decode(data: bytes) -> str:
    """Decode UTF-8, UTF-16 with a byte order mark, or else Windows-1252. Raises ``SourceRejected`` for binary data."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data:
        raise SourceRejected("The file is no text: it holds binary data.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def read_markdown(text: str) -> Extraction:
    """Parse headings, paragraphs, lists and pipe tables, and a front matter between two lines of ``---``."""
    facts: dict[str, str] = {}
    front = _FRONT_MATTER.match(text)
    if front:
        facts = {key: value.strip("\"'") for key, value in _FIELD.findall(front[1]) if key in _FACTS}
        text = text[front.end() :]
    return _extraction(_markdown_blocks(text), facts)


def read_plain(text: str) -> Extraction:
    """Split paragraphs at empty lines and list items; a short single line without a full stop is a heading."""
    blocks: list[Block] = []
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        single = "\n" not in paragraph.strip()
        for part in _split_items(paragraph.split("\n")):
            words = clean(part)
            if not words:
                continue
            alone = single and len(words) <= 80 and words[0].isupper() and words[-1] not in ".,;:!?"
            kind: BlockKind = "heading" if alone else "item" if _ITEM.match(part) else "text"
            blocks.append(Block(kind=kind, text=words, level=1 if alone else 0))
    title = blocks[0].text if blocks and blocks[0].kind == "heading" else ""
    return Extraction(title=title, paged=False, pages=(PageContent(number=1, blocks=tuple(blocks)),))


def _split_items(lines: Sequence[str]) -> Iterator[str]:
    """Split a paragraph before the items of a list: two with the same bullet, or with consecutive numbers."""
    found = [_ITEM.match(line) for line in lines]
    bullets = Counter(match[1] for match in found if match)
    numbers = [(int(match[2]), at) for at, match in enumerate(found) if match and match[2]]
    first, last = dict(reversed(numbers)), dict(numbers)
    held: list[str] = []
    for at, (line, match) in enumerate(zip(lines, found, strict=True)):
        number = int(match[2] or -2) if match else -2
        runs_on = first.get(number - 1, at) < at or last.get(number + 1, at) > at
        if match and (runs_on if match[2] else bullets[match[1]] > 1):
            yield " ".join(held)
            held.clear()
        held.append(line)
    yield " ".join(held)


def read_html(text: str) -> Extraction:
    """Parse headings, paragraphs, lists, captions and tables, without navigation, scripts and styles."""
    parser = _HtmlReader()
    parser.feed(text)
    parser.close()
    return _extraction(parser.finished(), parser.facts)


def _extraction(blocks: Iterable[Block], facts: Mapping[str, str]) -> Extraction:
    """Return the blocks as one page with the facts; a title that these lack is the first heading."""
    page = PageContent(number=1, blocks=tuple(blocks))
    found = {key: clean(value)[:300] for key, value in facts.items()}
    title = facts.get("title") or next((block.text for block in page.blocks if block.kind == "heading"), "")
    return Extraction(**{**found, "title": title}, paged=False, pages=(page,))


def _markdown_blocks(text: str) -> Iterator[Block]:
    mark, caption, level = "", "", 0
    rows: list[list[str]] = []
    # The end of the text, at which a caption without a table is released.
    for token in (*_MARKDOWN.parse(_BULLET.sub(r"\1-", text)), Token("end", "", 0)):
        if caption and token.type in _BLOCK_BEGINS:
            yield Block(kind="caption", text=caption)
            caption = ""
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "list_item_open":
            mark = f"{token.info}{token.markup} "
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            header, *body = map(tuple, rows)
            yield Block.of_table(TableRows(caption=caption, header=header, rows=tuple(filter(any, body))))
            caption, rows = "", []
        elif token.type in {"inline", "fence", "code_block"}:
            words = clean(_words(token))
            if rows:
                rows[-1].append(words)
            elif _CAPTION.match(words) and not level and not mark:
                caption = words
            elif words:
                kind: BlockKind = "heading" if level else "item" if mark else "text"
                yield Block(kind=kind, text=f"{mark}{words}", level=level)
            mark, level = "", 0


def _words(token: Token) -> str:
    """Return the words of a token without the marks of emphasis and the addresses of links."""
    parts = token.children or ()
    return "".join(" " if part.type.endswith("break") else part.content for part in parts) or token.content


class _HtmlReader(HTMLParser):
    """Collects blocks; words outside any block element form paragraphs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.facts: dict[str, str] = {}
        self._blocks: list[Block] = []
        self._words: list[str] = []
        self._tag = "p"
        self._silent = 0
        self._rows: list[list[str]] | None = None
        self._header: tuple[str, ...] = ()
        self._caption = ""

    def finished(self) -> list[Block]:
        self._flush()
        return self._blocks

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if tag in _HTML_SILENT:
            self._silent += 1
        elif tag == "html" and given.get("lang"):
            self.facts["language"] = given["lang"]
        elif tag == "meta":
            self._meta(given)
        elif tag == "table":
            self._flush()
            self._end_table()  # An outer table is layout.
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag == "br" or (self._tag in _HTML_CELLS and tag in _HTML_IN_CELLS):
            self._words.append(" • " if tag == "li" else " ")
        elif tag in _HTML_HEADINGS or tag in _HTML_BLOCKS:
            self._flush()
            self._tag = tag

    def handle_endtag(self, tag: str) -> None:
        if tag in _HTML_SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "table":
            self._flush()
            self._end_table()
        elif self._tag in _HTML_CELLS and tag in _HTML_IN_CELLS:
            self._words.append(" ")
        elif (tag == "tr" and self._rows) or tag == self._tag or tag in _HTML_BLOCKS:
            self._flush()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._words.append(data)

    def _meta(self, given: dict[str, str]) -> None:
        name = (given.get("name") or given.get("property") or "").lower()
        if name in _HTML_FACTS and given.get("content"):
            self.facts.setdefault(_HTML_FACTS[name], given["content"])

    def _flush(self) -> None:
        text = clean(" ".join("".join(self._words).split()))
        self._words.clear()
        tag, self._tag = self._tag, "p"
        if tag in {"td", "th"} and self._rows:
            self._rows[-1].append(text)
            if tag == "th" and not self._rows[:-1]:
                self._header = tuple(self._rows[-1])
        elif not text:
            return
        elif tag == "title":
            self.facts.setdefault("title", text)
        elif tag == "caption" and self._rows is not None:
            self._caption = text
        elif tag in _HTML_HEADINGS:
            self._blocks.append(Block(kind="heading", text=text, level=_HTML_HEADINGS[tag]))
        else:
            kind: BlockKind = "item" if tag == "li" else "caption" if tag == "figcaption" else "text"
            self._blocks.append(Block(kind=kind, text=f"• {text}" if kind == "item" else text))

    def _end_table(self) -> None:
        rows, self._rows = self._rows or [], None
        header, self._header, caption, self._caption = self._header, (), self._caption, ""
        body = tuple(tuple(row) for row in rows if any(row) and tuple(row) != header)
        if not header and not caption and all(len(row) == 1 for row in body):  # A frame around text.
            self._blocks += [Block(kind="text", text=text) for (text,) in body]
        elif body or header:
            table = TableRows(caption=caption, header=header, rows=body)
            self._blocks.append(Block.of_table(table))
