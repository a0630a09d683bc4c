"""Splitting of a long answer into several messages, so that a browser keeps up with it.

The page renders the whole message with every piece of text, so the cost of one long message grows with the square of
its length. Split at the start of a block, each piece costs the same. The cuts depend on the text only, not on the
pieces it arrived in.
"""

import re
from dataclasses import dataclass

PART = 1_500
"""Characters of Markdown after which the next paragraph or heading begins a part."""
_PIECES = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^`\n]*\n")


@dataclass
class AnswerParts:
    """Splits the answer's Markdown as it arrives. ``length`` is that of the growing part."""

    longest: int | None = PART
    """None: never cut."""
    length: int = 0
    _line: str = ""
    _after_blank: bool = False
    _fence: str = ""

    def cut(self, markdown: str) -> list[str]:
        """Split ``markdown``: the first piece belongs to the open part, every other piece begins a new one."""
        pieces = [""]
        for piece in _PIECES.findall(markdown):
            if not self._line and self._begins_part(piece[0]):
                pieces.append("")
                self.length = 0
            pieces[-1] += piece
            self.length += len(piece)
            self._line += piece
            if piece.endswith("\n"):
                self._end_line()
        return pieces

    def _begins_part(self, first: str) -> bool:
        # A letter begins a paragraph and # a heading; any other character may continue the block above.
        long_enough = self.longest is not None and self.length >= self.longest
        return long_enough and self._after_blank and not self._fence and (first == "#" or first.isalpha())

    def _end_line(self) -> None:
        line, self._line = self._line, ""
        self._after_blank = not line.strip()
        if self._fence:
            marks = line.strip()
            if marks.startswith(self._fence) and not marks.strip(self._fence[0]):
                self._fence = ""
        elif fence := _FENCE.fullmatch(line):
            self._fence = fence.group(1)
