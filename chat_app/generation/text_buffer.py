"""Text that grows by small pieces.

Thousands of short strings cost many times the text in them, so pieces are joined as they come; an answer that streams
takes about its own size.
"""

from __future__ import annotations

_JOIN_AT = 64


class TextBuffer:
    """Append pieces; ``str(buffer)`` is all of them joined."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str = "") -> None:
        self._pieces = [text] if text else []

    def append(self, piece: str) -> None:
        if not piece:
            return
        self._pieces.append(piece)
        if len(self._pieces) >= _JOIN_AT:
            self._pieces[:] = ["".join(self._pieces)]

    def __str__(self) -> str:
        return "".join(self._pieces)

    def __bool__(self) -> bool:
        return bool(self._pieces)
