"""The records of a JSON file one by one, so that a file of any size needs the memory of one record.

openFDA answers and bulk files are ``{"meta": {…}, "results": [{…}, …]}``; a plain array of objects is read as well.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any, Final

from tools.drug_database.importers.container import Entry
from tools.errors import SourceRejected

_CHUNK: Final = 1_048_576
_LARGEST: Final = 64 * 1_048_576
"""Characters that one record may have."""
_START = re.compile(r'"(?:results|records)"\s*:\s*\[')
Record = dict[str, Any]


def records(entry: Entry) -> Iterator[Record]:
    """Each object of the file's array. Raises ``SourceRejected`` for a file that breaks off or is no JSON."""
    with entry.open() as stream:
        yield from _Reader(entry.name, stream).records()


def head(entry: Entry) -> tuple[str, Record] | None:
    """What stands before the array, and its first object; None when the file is no such JSON."""
    try:
        with entry.open() as stream:
            reader = _Reader(entry.name, stream)
            first = next(reader.records(), None)
            return None if first is None else (reader.preamble, first)
    except SourceRejected:
        return None


class _Reader:
    def __init__(self, name: str, stream: IO[bytes]) -> None:
        self._name = name
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._ended = False
        self.preamble = ""

    def records(self) -> Iterator[Record]:
        self._find_array()
        decoder = json.JSONDecoder()
        while True:
            self._text = self._text.lstrip(" \t\r\n,")
            if self._text.startswith("]"):
                return
            if not self._text and not self._more():
                raise self._broken_off()
            if not self._text.strip():
                continue
            record, end = self._one(decoder)
            self._text = self._text[end:]
            yield record

    def _find_array(self) -> None:
        while True:
            found = _START.search(self._text)
            plain = self._text.lstrip()
            if found or plain.startswith("["):
                end = found.end() if found else self._text.index("[") + 1
                self.preamble, self._text = self._text[:end], self._text[end:]
                return
            if len(self._text) > _CHUNK or not self._more():
                raise SourceRejected(f"{self._name} is no list of records in JSON.")

    def _one(self, decoder: json.JSONDecoder) -> tuple[Record, int]:
        while True:
            try:
                value, end = decoder.raw_decode(self._text)
            except json.JSONDecodeError:
                if len(self._text) > _LARGEST or not self._more():
                    raise self._broken_off() from None
            except RecursionError:
                raise SourceRejected(f"{self._name} nests too deeply to be drug data.") from None
            else:
                if not isinstance(value, dict):
                    raise SourceRejected(f"{self._name} is no list of records in JSON.")
                return value, end

    def _more(self) -> bool:
        if self._ended:
            return False
        raw = self._stream.read(max(_CHUNK, len(self._text)))
        self._ended = not raw
        try:
            self._text += self._decode.decode(raw, final=self._ended)
        except UnicodeDecodeError:
            raise SourceRejected(f"{self._name} is no UTF-8 text.") from None
        return bool(raw)

    def _broken_off(self) -> SourceRejected:
        return SourceRejected(f"{self._name} is broken JSON or breaks off before its end; nothing was imported.")


def texts(value: object) -> tuple[str, ...]:
    """A field that holds a text, a list of texts or nothing, as texts that are not blank."""
    found = value if isinstance(value, list) else [value]
    return tuple(one for one in found if isinstance(one, str) and one.strip())
