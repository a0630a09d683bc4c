"""Open lists of an answer: their indentation and the number each would show next."""


class OpenLists:
    """List items that are open at the current line, outermost first."""

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._numbers: dict[int, int] = {}

    @property
    def any(self) -> bool:
        return bool(self._offsets)

    @property
    def innermost(self) -> int:
        """Text column of the innermost item; 0 without one."""
        return self._offsets[-1] if self._offsets else 0

    def offset(self, columns: int) -> int:
        """Return the text column of the innermost item that a line indented by ``columns`` can belong to."""
        return max((offset for offset in self._offsets if offset <= columns), default=0)

    def leave(self, columns: int) -> None:
        """Close the items that are indented further than a line that begins at ``columns``."""
        self._offsets = [offset for offset in self._offsets if offset <= columns]

    def enter(self, columns: int, width: int) -> None:
        """Open an item whose marker is at ``columns`` and, with its space, ``width`` columns wide."""
        self.leave(columns)
        self._offsets.append(columns + width)

    def forget_numbers(self) -> None:
        self._numbers.clear()

    def would_show(self, column: int, number: int) -> bool:
        """Return whether the next item of a list at ``column`` would get ``number``."""
        last = self._numbers.get(column)
        return last is None or number == last + 1

    def shows(self, column: int, number: int) -> bool:
        """Count an item at ``column`` if it would get ``number``; return whether it would."""
        if not self.would_show(column, number):
            return False
        self._numbers = {at: shown for at, shown in self._numbers.items() if at < column}
        self._numbers[column] = number
        return True
