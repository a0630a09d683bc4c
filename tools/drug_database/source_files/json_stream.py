"""Records of a JSON file one by one, so that a file of any size needs the memory of one record.

openFDA answers and bulk files are ``{"meta": {…}, "results": [{…}, …]}``; a plain array of objects is read as well.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Final, NamedTuple

import ijson
import numpy as np
from ijson.common import ObjectBuilder

from tools.drug_database.source_files.container import Entry
from tools.errors import SourceRejected

_LARGEST: Final = 64 * 1_048_576
"""Bytes that one record may have."""
_DEEPEST: Final = 500
_BRACES_TO_BRACKETS: Final = 0x20
"""The bit in which ``[`` and ``{``, ``]`` and ``}`` differ."""
_OPENING: Final = ord("{")
_CLOSING: Final = ord("}")
_ARRAYS: Final = ("", "results", "records")
"""Where the array of records is: at the top, or under one of these names."""
_BOM: Final = b"\xef\xbb\xbf"
Record = dict[str, Any]


class Head(NamedTuple):
    """A file's fields before its array, by dotted path, and its first record."""

    facts: dict[str, str]
    first: Record
    path: str
    """The path of the array's items, as ijson writes it."""


def records(entry: Entry) -> Iterator[Record]:
    """Yield each object of the file's array. Raises ``SourceRejected`` for a file that breaks off or is no JSON."""
    path = _head(entry).path
    with _opened(entry) as stream:
        for record in ijson.items(stream, path, use_float=True):
            if not isinstance(record, dict):
                raise _no_list(entry)
            stream.start_record()
            yield record


def head(entry: Entry) -> Head | None:
    """Return what precedes the array, and its first object; None when the file is no such JSON."""
    with suppress(SourceRejected):
        return _head(entry)
    return None


def _head(entry: Entry) -> Head:
    facts: dict[str, str] = {}
    builder: ObjectBuilder | None = None
    with _opened(entry) as stream:
        for prefix, event, value in ijson.parse(stream, use_float=True):
            array, dot, last = prefix.rpartition(".")
            if builder is None and last == "item" and array in _ARRAYS and event == "start_map":
                builder = ObjectBuilder()
            if builder is not None:
                builder.event(event, value)
                if event == "end_map" and last == "item" and array in _ARRAYS:
                    first: Record = builder.value or {}
                    return Head(facts, first, f"{array}{dot}item")
            elif event == "string":
                facts.setdefault(prefix, value)
    raise _no_list(entry)


class _Stream:
    """The bytes of a file without a byte order mark, with bounds on the size and depth of one record.

    The parser keeps the path of every open bracket: deep nesting would take all memory.
    """

    def __init__(self, name: str, stream: IO[bytes]) -> None:
        self._name = name
        self._stream = stream
        self._started = False
        self.start_record()

    def start_record(self) -> None:
        """Begin to count the bytes and brackets of the next record."""
        self._left = _LARGEST
        self._depth = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises ``SourceRejected`` for a record beyond the bounds."""
        raw = self._stream.read(size)
        if not self._started:
            self._started, raw = True, raw.removeprefix(_BOM)
        signs = np.frombuffer(raw, dtype=np.uint8) | _BRACES_TO_BRACKETS
        depths = self._depth + np.cumsum((signs == _OPENING).astype(np.int64) - (signs == _CLOSING))
        self._left -= len(raw)
        if self._left < 0 or (len(depths) and depths.max() > _DEEPEST):
            raise SourceRejected(f"{self._name} nests too deeply or has too large a record to be drug data.")
        self._depth = int(depths[-1]) if len(depths) else self._depth
        return raw


@contextmanager
def _opened(entry: Entry) -> Generator[_Stream]:
    with entry.open() as stream:
        try:
            yield _Stream(entry.name, stream)
        except ijson.JSONError as error:
            is_text = "UTF8" not in str(error)
            fault = "broken JSON or breaks off before its end; nothing was imported" if is_text else "no UTF-8 text"
            raise SourceRejected(f"{entry.name} is {fault}.") from None


def _no_list(entry: Entry) -> SourceRejected:
    return SourceRejected(f"{entry.name} is no list of records in JSON.")


def texts(value: object) -> tuple[str, ...]:
    """Return the texts of a field that holds a text, a list of texts or nothing; blank ones are left out."""
    found = value if isinstance(value, list) else [value]
    return tuple(one for one in found if isinstance(one, str) and one.strip())
