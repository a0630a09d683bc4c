"""Text that grows by small pieces.

Thousands of short strings take many times the memory of their text, so pieces are joined as they arrive.
"""

_JOIN_AT = 64


class TextBuffer:
    """Append pieces; ``str(buffer)`` is all of them joined."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str = "") -> None:
        self._pieces = [text] if text else []

    def append(self, piece: str) -> None:
        """Append ``piece``."""
        if not piece:
            return
        self._pieces.append(piece)
        if len(self._pieces) >= _JOIN_AT:
            self._pieces[:] = ["".join(self._pieces)]

    def __str__(self) -> str:
        return "".join(self._pieces)

    def __bool__(self) -> bool:
        return bool(self._pieces)
