"""XML from outside, read without what makes XML dangerous: no document type, no entities, bounded depth and size."""

from __future__ import annotations

from typing import IO, Any, Final, Never
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from tools.errors import SourceRejected

LARGEST: Final = 64 * 1_048_576
_DEEPEST: Final = 150
_CHUNK: Final = 262_144


class _Parser:
    def __init__(self, name: str) -> None:
        self._name = name
        self._tree = TreeBuilder()
        self._depth = 0
        parser = self._expat = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._tree.data
        parser.StartDoctypeDeclHandler = self._forbidden
        parser.EntityDeclHandler = self._forbidden
        parser.UnparsedEntityDeclHandler = self._forbidden
        parser.ExternalEntityRefHandler = self._forbidden

    def _forbidden(self, *_: Any) -> Never:
        raise SourceRejected(f"{self._name} declares a document type or entities, which a label does not need.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise SourceRejected(f"{self._name} nests its elements too deeply to be a label.")
        self._tree.start(_named(tag), attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self._tree.end(_named(tag))

    def parse(self, stream: IO[bytes]) -> Element:
        """Return the root element; names of elements read ``{namespace}name``. Raises ``SourceRejected``."""
        size = 0
        try:
            while raw := stream.read(_CHUNK):
                size += len(raw)
                if size > LARGEST:
                    raise SourceRejected(f"{self._name} is larger than any label.")
                self._expat.Parse(raw, False)
            self._expat.Parse(b"", True)
            return self._tree.close()
        except (expat.ExpatError, AssertionError):
            raise SourceRejected(f"{self._name} is broken XML or breaks off before its end.") from None


def _named(tag: str) -> str:
    """Write expat's ``namespace}name`` as ElementTree does."""
    return f"{{{tag}" if "}" in tag else tag


def parse(name: str, stream: IO[bytes]) -> Element:
    """Return the root element; names of elements read ``{namespace}name``. Raises ``SourceRejected``."""
    return _Parser(name).parse(stream)
