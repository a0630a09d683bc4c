"""Where the lists of an answer stand: how far their text is indented, and which number each would show next."""

from __future__ import annotations


class OpenLists:
    """The list items that are open at the present line, outermost first."""

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._numbers: dict[int, int] = {}

    @property
    def any(self) -> bool:
        return bool(self._offsets)

    def offset(self, columns: int) -> int:
        """Where the text of the innermost item begins that a line indented by ``columns`` can belong to."""
        return max((offset for offset in self._offsets if offset <= columns), default=0)

    def leave(self, columns: int) -> None:
        """A line indented by ``columns`` has begun: items that are indented further have ended."""
        self._offsets = [offset for offset in self._offsets if offset <= columns]

    def enter(self, columns: int, width: int) -> None:
        """An item whose marker, ``width`` columns wide with its space, stands at ``columns`` has begun."""
        self.leave(columns)
        self._offsets.append(columns + width)

    def forget_numbers(self) -> None:
        self._numbers.clear()

    def shows(self, column: int, number: int) -> bool:
        """Whether a list at ``column`` would show ``number`` by itself: it counts on from what it showed last."""
        last = self._numbers.get(column)
        if last is not None and number != last + 1:
            return False
        self._numbers = {at: shown for at, shown in self._numbers.items() if at < column}
        self._numbers[column] = number
        return True
