"""Writes and reads the files with the words of one version of a document.

    facts.json       the facts of the document
    pages.jsonl      a page a line
    passages.jsonl   a passage a line
    terms.txt        the indexed terms of each passage, a line each
    terms.json       in how many passages each term is

Records damaged by a disk fault or a manual edit are detected, so that one document never takes down the others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from tools.documents.document_abbreviations import Expander, find_abbreviations
from tools.documents.models import PageContent, StoredPassage
from tools.errors import ToolUnavailable
from tools.language.terms import terms
from tools.types import Frozen

Record = TypeVar("Record", bound=BaseModel)


class Lexicon(Frozen):
    """How many passages of a version hold each term."""

    indexed: int
    """Number of searched passages."""
    counts: dict[str, int]


def write_version(folder: Path, title: str, pages: Iterable[PageContent], passages: Sequence[StoredPassage]) -> None:
    """Write into ``folder`` all files of one version but for its facts."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / "pages.jsonl", pages)
    _write_lines(folder / "passages.jsonl", passages)
    expander = Expander(find_abbreviations(passage.text for passage in passages))
    counts: Counter[str] = Counter()
    indexed = 0
    with (folder / "terms.txt").open("w", encoding="utf-8") as out:
        for passage in passages:
            found = expander.expand(terms(f"{title} {passage.section} {passage.text}"))
            if passage.kind != "reference":
                counts.update(set(found))
                indexed += 1
            out.write(" ".join(found) + "\n")
    (folder / "terms.json").write_bytes(orjson.dumps({"indexed": indexed, "counts": dict(counts)}))


def parsed(model: type[Record], data: bytes) -> Record | None:
    """Parse a record; None when ``data`` is damaged."""
    try:
        return model.model_validate_json(data)
    except ValidationError:
        return None


def parsed_file(model: type[Record], path: Path) -> Record | None:
    """Parse the record in a file; None when it is missing or damaged."""
    return parsed(model, path.read_bytes()) if path.is_file() else None


def parsed_lines(model: type[Record], path: Path) -> Iterator[Record]:
    """Yield the records of a file, one a line. Raises ``ToolUnavailable`` at a damaged one."""
    with path.open("rb") as lines:
        for line in lines:
            record = parsed(model, line)
            if record is None:
                raise ToolUnavailable(
                    f"The words of {path.parent.name} are damaged in the library's folder. "
                    "Add the guideline's file again, or run `asclepius guidelines reindex`."
                )
            yield record


def _write_lines(path: Path, records: Iterable[BaseModel]) -> None:
    with path.open("wb") as out:
        for record in records:
            out.write(record.model_dump_json().encode() + b"\n")
