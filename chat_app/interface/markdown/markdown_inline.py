"""Inline rules of the Markdown fold: what to write for the characters of one line so that none is lost.

The page renders answers with CommonMark, GFM and directives. Those read more into clinical text than it says:
``HER2:negative`` loses its second half to a directive, ``B*57 and B*58`` and ``5~10 or 20~30`` lose their signs to
emphasis and strike-through, ``[x]: y`` disappears as a link definition. Each rule below says when a character is
markup the writer meant (bold, code, a table's bars) and when it is text to be escaped.

``next_piece`` looks at the start of a buffer and returns how many characters it takes and what they become, or None
when it has to see more first.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

Piece = tuple[int, str]

CITATION = "\0"
"""Placeholder for a citation in the buffer, which the fold replaces by its markup."""

# A backslash before one of these is an escape that the writer meant; before any other character it is a backslash.
_MEANT_ESCAPES = frozenset("*_#`~|-.>!+<$")
_ALWAYS_ESCAPED = frozenset("[<&~")
_PLAIN = re.compile("[^\\n\\\\\\[<&~*_:#|`w\u200b\\0 ]+")
_RUN = re.compile(r"(.)\1*", re.DOTALL)
_TICKS = re.compile("`+")
_LONGEST_CODE = 2000
_LONGEST_TAIL = 8
_LONGEST_PADDING = 400
_BOX_COLONS = 3


@dataclass
class InlineLine:
    """State of the line being written."""

    previous: str = "\n"
    """The last character written, as it was sent."""
    tail: str = ""
    """The last few characters of the line, for what must be looked back at."""
    heading: bool = False
    row_of: int = 0
    """Number of columns when the line is a row of a table."""
    started: bool = False
    """Something other than space has been written."""
    bars: int = 0
    leading_bar: bool = False
    url: bool = False
    domain: bool = False

    def wrote(self, text: str) -> None:
        if text:
            self.previous = text[-1]
            self.started = self.started or not text.isspace()
            self.tail = (self.tail + text)[-_LONGEST_TAIL:]

    @property
    def cells(self) -> int:
        """Count the cells of the line so far as a table row."""
        closing = self.tail.rstrip(" \t").endswith("|") and self.bars > int(self.leading_bar)
        return 1 + self.bars - int(self.leading_bar) - int(closing)


def next_piece(buffer: str, at: int, line: InlineLine, *, final: bool) -> Piece | None:
    """Return the next piece of the line at ``buffer[at]``, or None when more text is needed."""
    if line.url and (piece := _url(buffer, at, line)) is not None:
        return piece
    if plain := _PLAIN.match(buffer, at):
        return _taken(plain.group(), plain.group(), line)
    character = buffer[at]
    if character in _ALWAYS_ESCAPED:
        return _taken(character, "\\" + character, line)
    rule = _RULES.get(character)
    return rule(buffer, at, line, final) if rule else _taken(character, _ALONE.get(character, character), line)


def _taken(source: str, written: str, line: InlineLine) -> Piece:
    line.wrote(source)
    return len(source), written


def stretch(pattern: re.Pattern[str], text: str, at: int) -> str:
    """Return what ``pattern`` matches at ``at``; an empty text for no match."""
    found = pattern.match(text, at)
    return found.group() if found else ""


def _run(buffer: str, at: int, *, final: bool) -> str | None:
    """Return the run of equal characters at ``at``, or None when it may continue."""
    run = stretch(_RUN, buffer, at)
    return run if at + len(run) < len(buffer) or final else None


def _after(buffer: str, at: int) -> str:
    return buffer[at] if at < len(buffer) else "\n"


def _spaces(buffer: str, at: int, line: InlineLine, final: bool) -> Piece | None:
    run = _run(buffer, at, final=final)
    if run is None:
        return None
    # Two spaces before a line end would become a line break.
    trailing = _after(buffer, at + len(run)) == "\n" and len(run) > 1 and not line.row_of and not line.heading
    return _taken(run, run[:-1] + "&#32;" if trailing else run, line)


def _code(buffer: str, at: int, line: InlineLine, final: bool) -> Piece | None:
    fence = _run(buffer, at, final=final)
    if fence is None:
        return None
    start = at + len(fence)
    line_end = buffer.find("\n", start)
    stop = line_end if line_end >= 0 else len(buffer)
    closing = _closing(buffer, start, stop, len(fence))
    if closing is not None and (closing + len(fence) < len(buffer) or final):
        source = buffer[at : closing + len(fence)]
        inside = source.replace(CITATION, "")
        written = inside.replace("|", "\\|") if line.row_of else inside
        line.wrote(source)
        return len(source), written + CITATION * source.count(CITATION)
    if line_end < 0 and not final and len(buffer) - at < _LONGEST_CODE:
        return None
    return _taken(fence, "\\`" * len(fence), line)


def _closing(buffer: str, start: int, stop: int, length: int) -> int | None:
    runs = _TICKS.finditer(buffer, start, stop)
    return next((run.start() for run in runs if len(run.group()) == length), None)


def _backslash(buffer: str, at: int, line: InlineLine, final: bool) -> Piece | None:
    if at + 1 >= len(buffer) and not final:
        return None
    following = _after(buffer, at + 1)
    if following in _MEANT_ESCAPES and at + 1 < len(buffer):
        return _taken("\\" + following, "\\" + following, line)
    return _taken("\\", "\\\\", line)


def _is_word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _emphasis(buffer: str, at: int, line: InlineLine, final: bool) -> Piece | None:
    run = _run(buffer, at, final=final)
    if run is None:
        return None
    before, following = line.previous, _after(buffer, at + len(run))
    inside_word = _is_word(before) and _is_word(following)
    bracketed = before in "([{" and following in ")]}"
    if run[0] == "_":
        text = bracketed
    elif len(run) == 1:
        # Star alleles (*57:01, CYP2C19*2) and products (5*3*2).
        text = bracketed or inside_word or following.isdigit()
    else:
        text = bracketed or (inside_word and (before.isdigit() or following.isdigit()))
    return _taken(run, ("\\" + run[0]) * len(run) if text else run, line)


def _colon(buffer: str, at: int, line: InlineLine, final: bool) -> Piece | None:
    following = buffer[at + 1 : at + 3]
    if not final and (not following or following == "/"):
        return None
    if following == "//" and re.search(r"(?:^|[^A-Za-z])https?$", line.tail):
        if at + 3 >= len(buffer) and not final:
            return None
        line.url = line.domain = _is_word(_after(buffer, at + 3))
        return _taken("://", "://", line)
    run = _run(buffer, at, final=final)
    if run is None:
        return None
    following = buffer[at + len(run) : at + len(run) + 1]
    directive = following.isalpha() or following == "_"
    # The page turns a text that begins with three colons into a coloured box.
    boxed = "\u2060" if len(run) >= _BOX_COLONS and not line.started else ""
    return _taken(run, boxed + run[:-1] + ("\\:" if directive else ":"), line)


def _www(buffer: str, at: int, line: InlineLine, final: bool) -> Piece | None:
    seen = buffer[at : at + 4]
    starts_word = line.previous in "\n (*_]" or line.previous.isspace()
    if starts_word and "www.".startswith(seen) and len(seen) < 4 and not final:
        return None
    if starts_word and seen == "www.":
        line.url = line.domain = True
        return _taken(seen, seen, line)
    return _taken("w", "w", line)


def _url(buffer: str, at: int, line: InlineLine) -> Piece | None:
    """Take a URL without escapes, which would become part of its link."""
    character = buffer[at]
    ends = character in f" \t<{CITATION}" or (bool(line.row_of) and character == "|")
    if line.domain and not ends:
        if character == "_":
            ends = True
        elif not (_is_word(character) or character in ".-"):
            line.domain = False
    if ends:
        line.url = line.domain = False
        return None
    return _taken(character, character, line)


def _bar(buffer: str, at: int, line: InlineLine, final: bool) -> Piece | None:
    first = not line.started
    if line.row_of and not first and line.bars + 1 - int(line.leading_bar) >= line.row_of:
        rest = buffer[at + 1 : at + 1 + _LONGEST_PADDING].lstrip(" \t")
        if not rest and not final:
            return None
        if rest and rest[0] != "\n":
            # A row with more cells than its header: the rest would not be shown at all.
            return _taken("|", "\\|", line)
    if first:
        line.leading_bar = True
    line.bars += 1
    return _taken("|", "|", line)


def _number_sign(buffer: str, at: int, line: InlineLine, final: bool) -> Piece | None:
    # At the end of a heading number signs would be taken for its closing.
    return _taken("#", "\\#" if line.heading else "#", line)


_RULES: dict[str, Callable[[str, int, InlineLine, bool], Piece | None]] = {
    " ": _spaces,
    "`": _code,
    "\\": _backslash,
    "*": _emphasis,
    "_": _emphasis,
    ":": _colon,
    "|": _bar,
    "w": _www,
    "#": _number_sign,
}
# The page shows its cursor at any zero-width space, so another invisible character replaces it.
_ALONE = {"\u200b": "\u2060"}
