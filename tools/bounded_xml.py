"""Parse XML that comes from outside: no document type and so no entities, bounded depth and size."""

from typing import IO, Any, Final, Never
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from tools.errors import SourceRejected

_DEEPEST: Final = 150
_CHUNK: Final = 262_144


def parse_xml(stream: IO[bytes], name: str, *, most_bytes: int) -> Element:
    """Return the root element of the XML in ``stream``. Raises ``SourceRejected``, which calls it ``name``."""
    parser = XMLParser(target=_BoundedTree(name))  # noqa: S314 - the tree refuses what could do harm
    size = 0
    try:
        while raw := stream.read(_CHUNK):
            size += len(raw)
            if size > most_bytes:
                raise SourceRejected(f"{name} holds more XML than such a document has.")
            parser.feed(raw)
        root: Element = parser.close()
    except (ParseError, AssertionError):
        raise SourceRejected(f"{name} is broken XML or breaks off before its end.") from None
    return root


class _BoundedTree(TreeBuilder):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._depth = 0

    def doctype(self, *_: Any) -> Never:
        raise SourceRejected(f"{self._name} declares a document type or entities, which such a document does not need.")

    def start(self, tag: Any, attrs: Any, /) -> Element:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise SourceRejected(f"{self._name} nests its elements too deeply.")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(tag)
