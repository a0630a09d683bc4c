"""Parse a demonstration guideline's source: front matter and a small, strict subset of Markdown.

The subset has ``#`` to ``###`` headings, paragraphs, ``-`` bullets, ``1.`` numbered recommendations, ``>`` notes,
pipe tables under a ``Table N. ...`` caption, and ``**bold**`` within text. Anything else is refused with its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, HttpUrl

DEMO_DIR = Path(__file__).resolve().parents[2] / "tools" / "guidelines" / "demo"
SLUGS = (
    "hypertension",
    "chronic-kidney-disease",
    "type-2-diabetes",
    "atrial-fibrillation-anticoagulation",
    "asthma",
    "community-acquired-pneumonia",
)

_HEADING = re.compile(r"(#{1,3}) (\S.*)")
_LEVELS: dict[str, Literal[1, 2, 3]] = {"#": 1, "##": 2, "###": 3}
_BULLET = re.compile(r"- (\S.*)")
_NUMBERED = re.compile(r"(\d{1,2})\. (\S.*)")
_CAPTION = re.compile(r"Table \d+\. \S.*")
_FIELD = re.compile(r"([a-z]+): (\S.*)")


class SourceError(ValueError):
    """A source file breaks the format; the message names the line and what is wrong with it."""


class CitedWork(BaseModel):
    """A published guidance document that facts were taken from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    year: int
    url: HttpUrl


class FrontMatter(BaseModel):
    """What a library lists about a document. `date` is ISO 8601, `language` a BCP 47 tag."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    issuer: str
    version: str
    date: str
    language: str
    licence: str
    description: str
    sources: tuple[CitedWork, ...]


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the document's one title."""

    level: Literal[1, 2, 3]
    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph, a bullet, a numbered recommendation (with its number) or a boxed note."""

    kind: Literal["paragraph", "bullet", "numbered", "note"]
    text: str
    number: int = 0


@dataclass(frozen=True)
class PipeTable:
    """A captioned table; every row has as many cells as the header."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Heading | Text | PipeTable

CLOSING = Heading(2, "Sources")


@dataclass(frozen=True)
class Guideline:
    """One parsed document, blocks in reading order."""

    slug: str
    meta: FrontMatter
    blocks: tuple[Block, ...]


def load(slug: str) -> Guideline:
    """Parse the source of a document. Raises ``SourceError``, or ``OSError`` where the file is missing."""
    return parse(slug, (DEMO_DIR / f"{slug}.md").read_text(encoding="utf-8"))


def parse(slug: str, source: str) -> Guideline:
    """Parse a source text. Raises ``SourceError``, and pydantic's ``ValidationError`` for bad front matter."""
    lines = source.splitlines()
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        raise SourceError("line 1: the front matter between two lines of --- is missing")
    end = lines.index("---", 1)
    blocks = tuple(_blocks(lines, end + 1))
    titles = [block for block in blocks if isinstance(block, Heading) and block.level == 1]
    if len(titles) != 1 or blocks[0] != titles[0]:
        raise SourceError(f"line {end + 2}: the document begins with its one title (#)")
    if blocks[-1] != CLOSING:
        raise SourceError(f"line {len(lines)}: the last line is '## Sources'; the build adds the list under it")
    return Guideline(slug, _front_matter(lines[1:end]), blocks)


def _front_matter(lines: list[str]) -> FrontMatter:
    fields: dict[str, object] = {}
    references: list[dict[str, str]] = []
    for number, line in enumerate(lines, start=2):
        if line == "sources:":
            fields["sources"] = references
            continue
        field = _FIELD.fullmatch(line.strip().removeprefix("- "))
        if field is None:
            raise SourceError(f"line {number}: expected 'key: value'")
        if line.startswith("  - "):
            references.append({})
        target = references[-1] if line.startswith("  ") else fields
        target[field[1]] = field[2]
    return FrontMatter.model_validate(fields)


def _blocks(lines: list[str], start: int) -> list[Block]:
    blocks: list[Block] = []
    at = start
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif _CAPTION.fullmatch(line):
            table, at = _table(lines, at)
            blocks.append(table)
        else:
            blocks.append(_line(line, at + 1))
            at += 1
    return blocks


def _line(line: str, number: int) -> Heading | Text:
    if heading := _HEADING.fullmatch(line):
        return Heading(_LEVELS[heading[1]], heading[2])
    if bullet := _BULLET.fullmatch(line):
        return Text("bullet", bullet[1])
    if numbered := _NUMBERED.fullmatch(line):
        return Text("numbered", numbered[2], int(numbered[1]))
    if line.startswith("> "):
        return Text("note", line[2:])
    if line[0] in "#|>-*+ \t`":
        raise SourceError(f"line {number}: this Markdown is outside the subset that the build knows")
    return Text("paragraph", line)


def _table(lines: list[str], at: int) -> tuple[PipeTable, int]:
    caption = lines[at]
    first = at + 1
    while first < len(lines) and not lines[first].strip():
        first += 1
    end = first
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    grid = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[first:end]]
    if len(grid) < 3 or set("".join(grid[1])) - set("-:"):
        raise SourceError(f"line {at + 1}: a table needs a header, a rule and rows under its caption")
    for offset, row in enumerate(grid):
        if len(row) != len(grid[0]):
            raise SourceError(f"line {first + offset + 1}: {len(row)} cells where the header has {len(grid[0])}")
    return PipeTable(caption, grid[0], tuple(grid[2:])), end
