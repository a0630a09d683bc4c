"""Answers as Markdown that the page renders without losing, changing or hiding a character.

``MarkdownFold`` takes the answer as it streams and gives Markdown to append, holding back only what the next
characters decide (a trailing ``:``, an open code span, the marks that begin a line). The result does not depend on how
the text was cut. What is kept as markup: headings, bold and italics, lists whose numbers would be shown as they were
sent, tables, code, rules and quotations. Everything else that Markdown would swallow is escaped.
"""

import re
from collections import deque

from chat_app.interface.markdown.markdown_inline import CITATION, InlineLine, next_piece, stretch
from chat_app.interface.markdown.markdown_lists import OpenLists

_MARKS = re.compile(r"[ \t\-+*=_#>`~|:.)\d\\]*")
_LONGEST_MARKS = 400
_DELIMITER_ROW = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_FENCE = re.compile(r"(`{3,}|~{3,})([^\n]*)")
_LANGUAGE = re.compile(r"[ \t]*[\w+#.-]*[ \t]*")
_BULLET = re.compile(r"[-*](?=[ \t])")
_NUMBER = re.compile(r"(\d{1,9})\.(?=[ \t])")
_BRACKETED_NUMBER = re.compile(r"(\d{1,9})\)(?=[ \t])")
_NUMBER_ALONE = re.compile(r"(\d{1,9})[.)][ \t]*")
_EMPTY_ITEMS = re.compile(r"(?:(?:[-*]|\d{1,9}\.)[ \t]+)*(?:[-*+]|\d{1,9}[.)])?[ \t]*")
_BARE = re.compile(r"[-*_ \t]+|#{1,6}[ \t]*")
_QUOTATION = re.compile(r"> [*_]*")
_GAP = re.compile(r"[ \t]+")
_HEADING = re.compile(r"#{1,6}(?=[ \t])")
_TAB_WIDTH = 4


def _columns(space: str) -> int:
    return len(space.expandtabs(_TAB_WIDTH))


class MarkdownFold:
    """Feed the answer piece by piece; each call returns the Markdown to append."""

    def __init__(self) -> None:
        self._buffer = ""
        self._citations: deque[str] = deque()
        self._space = ""
        self._carriage = False
        self._line: InlineLine | None = None
        self._fence: tuple[str, int] | None = None
        self._fence_owes: list[str] = []
        self._at_fence_line = False
        self._lists = OpenLists()
        self._after_blank = True
        self._after_quote = False
        self._cells_above = 0
        self._columns = 0
        self._marks_only = False
        self._begun = False

    def feed(self, text: str) -> str:
        """Take ``text`` as it was sent and return the Markdown that can be shown now."""
        text = "\r" * self._carriage + text
        self._carriage = text.endswith("\r")
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").replace(CITATION, "\ufffd")
        return self._advance(text, final=False)

    def cite(self, markup: str) -> str:
        """Insert ``markup`` at this point of the answer, after any code that is open."""
        self._citations.append(markup)
        return self._advance(CITATION, final=False)

    def close(self) -> str:
        """Return the text still held back when the answer ends."""
        return self._advance("\n" if self._carriage else "", final=True) + "".join(self._fence_owes)

    def _advance(self, text: str, *, final: bool) -> str:
        self._buffer += text
        written, self._space = self._space, ""
        at = 0
        while at < len(self._buffer):
            piece = self._piece(at, final=final)
            if piece is None:
                break
            at += piece[0]
            written += piece[1]
        self._buffer = self._buffer[at:]
        if not final and written.endswith(" "):
            written, self._space = written[:-1], " "
        return self._with_citations(written)

    def _with_citations(self, written: str) -> str:
        """Insert the markup of citations, each kept on the line of the word before it."""
        first, *parts = written.replace(f" {CITATION}", f"\u00a0{CITATION}").split(CITATION)
        return first + "".join(self._citations.popleft() + part for part in parts)

    def _piece(self, at: int, *, final: bool) -> tuple[int, str] | None:
        if self._fence is not None:
            return self._fenced(at, self._fence, final=final)
        if self._line is None:
            return self._line_start(at, final=final)
        if self._buffer[at] == "\n":
            self._end_line()
            return 1, "\n"
        return next_piece(self._buffer, at, self._line, final=final)

    # -- code blocks ---------------------------------------------------------------------------------------------

    def _fenced(self, at: int, fence: tuple[str, int], *, final: bool) -> tuple[int, str] | None:
        buffer = self._buffer
        if buffer[at] == CITATION:
            self._fence_owes.append(self._citations.popleft())
            return 1, ""
        if self._at_fence_line:
            return self._fence_line(at, fence, final=final)
        ends = [end for end in (buffer.find("\n", at), buffer.find(CITATION, at)) if end >= 0]
        end = min(ends, default=len(buffer))
        if end < len(buffer) and buffer[end] == "\n":
            end += 1
            self._at_fence_line = True
        return end - at, buffer[at:end]

    def _fence_line(self, at: int, fence: tuple[str, int], *, final: bool) -> tuple[int, str] | None:
        """Return whether a line inside a code block is its closing fence."""
        mark, length = fence
        seen = stretch(re.compile(rf"[ \t]*{re.escape(mark)}*[ \t]*"), self._buffer, at)
        end = at + len(seen)
        if end == len(self._buffer) and not final and len(seen) < _LONGEST_MARKS:
            return None
        ends_line = end >= len(self._buffer) or self._buffer[end] == "\n"
        self._at_fence_line = False
        if ends_line and seen.count(mark) >= length:
            self._fence = None
            owed = "".join(self._fence_owes)
            self._fence_owes.clear()
            self._after_blank = True
            newline = int(end < len(self._buffer))
            return len(seen) + newline, seen + "\n" + (owed + "\n" if owed else "")
        return len(seen), seen

    # -- the start of a line -------------------------------------------------------------------------------------

    def _line_start(self, at: int, *, final: bool) -> tuple[int, str] | None:
        marks = stretch(_MARKS, self._buffer, at)
        end = at + len(marks)
        whole = end >= len(self._buffer) or self._buffer[end] == "\n"
        if end >= len(self._buffer) and not final and len(marks) < _LONGEST_MARKS:
            return None
        self._marks_only = whole
        if whole and (line := self._marks_alone(marks)) is not None:
            newline = int(end < len(self._buffer))
            return len(marks) + newline, line + "\n" * newline
        return self._begin(at, marks, final=final)

    def _marks_alone(self, marks: str) -> str | None:
        if not marks.strip(" \t"):
            self._blank()
            return marks
        if _DELIMITER_ROW.fullmatch(marks) and "|" in marks:
            cells = len(marks.strip(" \t").strip("|").split("|"))
            if cells == self._cells_above and not self._columns:
                self._columns = cells
                return marks
        if _RULE.fullmatch(marks):
            # Right under a paragraph a row of dashes would make it a heading.
            above = "" if self._after_blank else "\n"
            self._blank()
            return above + marks
        if self._after_quote and marks.strip(" \t") == ">":
            return marks
        return None

    def _blank(self) -> None:
        self._after_blank = True
        self._after_quote = False
        self._columns = 0
        self._cells_above = 0

    def _begin(self, at: int, marks: str, *, final: bool) -> tuple[int, str] | None:
        """Write the marks that open a line and set up its state."""
        space = marks[: len(marks) - len(marks.lstrip(" \t"))]
        rest = marks[len(space) :]
        fence = _FENCE.match(self._buffer, at + len(space))
        if fence and _columns(space) - self._lists.offset(_columns(space)) < _TAB_WIDTH:
            return self._open_fence(fence, space, final=final)
        line = self._line = InlineLine(row_of=self._columns)
        line.wrote(space)
        if self._columns and rest.startswith("|"):
            return len(space), space
        taken, written = self._markers(line, space, rest)
        return len(space) + taken, written

    def _open_fence(self, fence: re.Match[str], space: str, *, final: bool) -> tuple[int, str] | None:
        whole = fence.end() < len(self._buffer) or final
        if not whole and len(fence.group()) < _LONGEST_MARKS:
            return None
        run, info = fence.groups()
        content = self._buffer[fence.end() + 1 : fence.end() + 2]
        if fence.end() < len(self._buffer) and not content and not final:
            return None
        if not content or not _LANGUAGE.fullmatch(info):
            # Not a block: the page would hide it, or the text after the fence.
            line = self._line = InlineLine()
            line.wrote(space + run)
            return len(space) + len(run), space + "".join("\\" + mark for mark in run)
        self._fence = (run[0], len(run))
        self._at_fence_line = True
        self._blank()
        return len(space) + len(fence.group()) + 1, space + fence.group() + "\n"

    def _markers(self, line: InlineLine, space: str, rest: str) -> tuple[int, str]:
        """Return the line's opening after its ``space``: list markers, a heading, a quotation or escaped text."""
        columns = _columns(space)
        if self._is_wrong_number(columns, rest):
            # A paragraph in the item above: there the page would join it to the text before.
            return self._escaped(line, rest, "\n" + " " * self._lists.innermost)
        outer = self._lists.offset(columns)
        if self._after_blank or _opens_block(rest):
            self._lists.leave(columns)
            if self._after_blank and not self._lists.any and not _opens_list(rest):
                self._lists.forget_numbers()
        if columns - outer >= _TAB_WIDTH or (columns > outer and not _opens_block(rest) and not rest.startswith("|")):
            kept = space[:outer] if "\t" not in space else ""
            # The page trims an answer, but not at this invisible character.
            start = "" if self._begun else "\u2060"
            # Markdown keeps these spaces.
            return self._escaped(line, rest, kept + start + "\u00a0" * _columns(space[len(kept) :]))
        return self._items(line, space, rest, columns)

    def _is_wrong_number(self, columns: int, rest: str) -> bool:
        """Return whether a line right below a list item begins with a number that its list would not show."""
        if self._after_blank or not self._lists.any:
            return False
        number = _NUMBER.match(rest)
        return (
            not self._lists.would_show(columns, int(number.group(1))) if number else bool(_BRACKETED_NUMBER.match(rest))
        )

    def _items(self, line: InlineLine, space: str, rest: str, columns: int) -> tuple[int, str]:
        written, taken = space, 0
        if self._marks_only and _EMPTY_ITEMS.fullmatch(rest):
            return self._escaped(line, rest, space)
        while (marker := self._marker(columns + taken, rest[taken:])) is not None:
            gap = stretch(_GAP, rest, taken + len(marker))
            # More space than this would be code in the item.
            width = len(marker) + (len(gap) if len(gap) <= _TAB_WIDTH else 1)
            self._lists.enter(columns + taken, width)
            written += marker + " " * (width - len(marker))
            taken += len(marker) + len(gap)
            line.wrote(marker + " ")
            line.started = False
        return self._opening(line, written, rest, taken)

    def _marker(self, column: int, rest: str) -> str | None:
        if bullet := _BULLET.match(rest):
            return bullet.group()
        number = _NUMBER.match(rest)
        return number.group() if number and self._lists.shows(column, int(number.group(1))) else None

    def _opening(self, line: InlineLine, written: str, rest: str, taken: int) -> tuple[int, str]:
        here = rest[taken:]
        quoted = here.startswith(">") and not taken and (self._after_quote or bool(_QUOTATION.fullmatch(here)))
        self._after_quote = quoted
        if heading := _HEADING.match(here):
            line.heading = True
            line.wrote(heading.group())
            return taken + len(heading.group()), written + heading.group()
        if quoted:
            line.wrote(">")
            return taken + 1, written + ">"
        count, escaped = self._escaped(line, here, "")
        return taken + count, written + escaped

    def _escaped(self, line: InlineLine, rest: str, written: str) -> tuple[int, str]:
        """Escape the one mark that would turn the line into a block; the inline rules escape the others."""
        only = self._marks_only
        number = _NUMBER.match(rest) or _BRACKETED_NUMBER.match(rest)
        number = number or (_NUMBER_ALONE.fullmatch(rest) if only else None)
        if number:
            digits = number.group(1)
            line.wrote(digits + rest[len(digits)])
            return len(digits) + 1, f"{written}{digits}\\{rest[len(digits)]}"
        bare = only and bool(_BARE.fullmatch(rest))
        if rest and (bare or rest.startswith(("=", "+", ">")) or _BULLET.match(rest) or _HEADING.match(rest)):
            line.wrote(rest[0])
            return 1, f"{written}\\{rest[0]}"
        return 0, written

    def _end_line(self) -> None:
        line, self._line = self._line, None
        self._begun = True
        if line is not None:
            self._cells_above = line.cells if line.bars else 0
            self._after_blank = line.heading


def _opens_list(rest: str) -> bool:
    return bool(_BULLET.match(rest) or _NUMBER.match(rest))


def _opens_block(rest: str) -> bool:
    return _opens_list(rest) or bool(_HEADING.match(rest)) or rest.startswith(">")
