"""How strongly a guideline recommends what is quoted, and how certain its evidence is, in the guideline's own words.

Guidelines state this behind a recommendation: in brackets ("(strong recommendation, moderate quality evidence)",
"[1B]"), as a sentence ("This is a B grade."), on a line of its own, or in columns of a table ("COR", "LOE").
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tools.language.quotable_units import is_heading
from tools.language.quotes import find_span
from tools.language.sentences import Span, sentence_spans
from tools.types import Passage

_LEVEL: Final = r"(?:very[ -]low|low|moderate|high|insufficient)(?:(?:[ -]to[ -]|/)(?:very[ -]low|low|moderate|high))?"
_CODE: Final = r"(?:[1-4][abc]?(?:\+\+?|-)?|(?-i:[A-DI])(?:-(?:R|NR|LD|EO))?|I{1,3}(?:-[1-3])?)(?![\w])"
_OF_EVIDENCE: Final = (
    r"(?:\ (?:of|in)\ (?:the\ )?evidence|\ evidence)?(?:\ (?:of|for|on)\ (?:the\ )?effects?|\ effects?)?"
)
_GRADING: Final = re.compile(
    rf"""(?<![\w-])(?:
    (?:strong|conditional|weak|discretionary)(?:ly)?[ ]recommendations?(?:[ ](?:for|against))?
    | good[ ]practice[ ](?:statement|point) | (?:expert|ungraded)[ ](?:consensus|opinion|statement)(?:[ ]statement)?
    | {_LEVEL}[ -](?:certainty|quality|confidence|strength){_OF_EVIDENCE}
    | (?:certainty|quality|strength|level)[ ]of[ ](?:the[ ])?(?:evidence|recommendation)s?[ ]?[:=]?[ ]?
      (?:{_LEVEL}|strong|weak|conditional|{_CODE})
    | (?:class[ ]of[ ]recommendation|COR|class)[ ]?[:=]?[ ]?(?:II[ab]|I{{1,3}}|[123][ab]?)(?!\w)
    | (?:LOE|evidence[ ](?:level|category|grade|quality)|level)[ ]?[:=]?[ ]?{_CODE}
    | (?:grade(?:[ ]of[ ]recommendation)?[ ]?[:=]?[ ]?)(?:[12]?(?-i:[A-D])|(?-i:I))(?!\w)
    | (?-i:[A-DI])[ ](?:grade|recommendation|statement)s? | [12](?-i:[A-D])(?!\w)
    | (?:starke|schwache|offene)[ ]empfehlung | empfehlungsgrad[ ]?:?[ ]?(?:(?-i:[AB])|0|KKP)(?!\w)
    | evidenz(?:level|grad|klasse)[ ]?:?[ ]?{_CODE} | (?:starker[ ])?(?:experten)?konsens
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_LONE: Final = re.compile(r"class ?(?:I{1,3}|[123])|level ?\w+", re.IGNORECASE)
"""Alone this is as often a class of heart failure, or a level of something else than evidence."""
_FILLING: Final = re.compile(
    r"\b(?:th(?:is|ese)|is|are|an?|and|based|on|new|updated|reaffirmed|evidence|strong|conditional|weak|(?:19|20)\d\d)\b|[\W_]",
    re.IGNORECASE,
)
_BRACKETED: Final = re.compile(r"\([^()]{1,120}\)|\[[^][]{1,120}\]")
_COLUMN: Final = re.compile(
    r"(?:COR|LOE|grade|(?:class|level|strength|certainty|quality)(?: (?:of|in) .{1,40})?)", re.IGNORECASE
)
_CODE_ALONE: Final = re.compile(r".(?:grade )?\w{1,2}.", re.IGNORECASE)
"""In brackets within a sentence this is as often the grade of a disease."""
_FOOTNOTE: Final = re.compile(r"(?<=\))\s*[a-z*†‡]$")
_REACH: Final = 8
"""Sentences between a recommendation and the line with its strength: remarks on how to apply it."""


def stated_strengths(passage: Passage, quotes: Sequence[str]) -> tuple[str, ...]:
    """Return what a guideline's passage states on the strength of the quoted recommendations, word for word."""
    if passage.kind != "guideline":
        return ()
    spans = (span for quote in quotes if (span := find_span(quote, passage.text)))
    return tuple(dict.fromkeys(stated for span in spans for stated in _stated(passage, span)))


def is_grading(text: str) -> bool:
    """Return whether ``text`` states a strength or certainty, and nothing else."""
    found = _GRADING.findall(text)
    if not found or (len(found) == 1 and _LONE.fullmatch(found[0])):
        return False
    return not _FILLING.sub("", _GRADING.sub("", text))


def _stated(passage: Passage, quote: Span) -> Iterator[str]:
    text = passage.text
    pieces = _pieces(text)
    held = [at for at, one in enumerate(pieces) if one.start < quote.end and quote.start < one.end]
    first, last = pieces[held[0]], pieces[held[-1]]
    if "\t" in text[first.start : last.end]:
        yield from _in_columns(text, first)
        return
    for bracket in _BRACKETED.finditer(text, first.start, last.end):
        closes = text[bracket.end() : bracket.end() + 1] in {"", ".", ";", "\n"}
        if is_grading(bracket[0]) and (closes or not _CODE_ALONE.fullmatch(bracket[0])):
            yield _plain(bracket[0])
    yield from (_plain(said) for at in held if (said := _grading(text[slice(*pieces[at])])))
    behind = _behind(passage, pieces, held[-1])
    if behind:
        yield _plain(behind)


def _pieces(text: str) -> list[Span]:
    """Return the sentences of each line: a line of a passage is a paragraph, a list item or a row of a table."""
    found: list[Span] = []
    begin = 0
    for line in text.split("\n"):
        found += [Span(begin + one.start, begin + one.end) for one in sentence_spans(line)]
        begin += len(line) + 1
    return found


def _grading(said: str) -> str:
    """Return the grading that a sentence is, or begins with where its letter looks like an initial."""
    return next((one for one in (said, said.partition(". ")[0]) if is_grading(one)), "")


def _behind(passage: Passage, pieces: Sequence[Span], last: int) -> str:
    """Return the strength that is stated next, before another heading; further down only on a line of its own.

    A sentence below the strength of an earlier recommendation is a remark on that one.
    """
    text = passage.text
    ends = min((start.at for start in passage.further_sections if start.at >= pieces[last].end), default=len(text))
    for place, one in enumerate(pieces[last + 1 : last + 1 + _REACH]):
        said = text[one.start : one.end]
        opens = "\n" in text[pieces[last + place].end : one.start]
        found = _grading(said)
        if one.start >= ends or (opens and is_heading(said) and not found):
            return ""
        if found:
            alone = opens and found == said and text[one.end : one.end + 1] in {"", "\n"}
            return found if place == 0 or (alone and not _is_below_strength(passage, pieces, last)) else ""
    return ""


def _is_below_strength(passage: Passage, pieces: Sequence[Span], last: int) -> bool:
    """Return whether the same section states a strength above the sentence ``last``."""
    begins = max(start.at for start in passage.sections if start.at <= pieces[last].start)
    for one in reversed(pieces[:last]):
        said = passage.text[one.start : one.end]
        if one.start < begins or (is_heading(said) and not is_grading(said)):
            return False
        if is_grading(said):
            return True
    return False


def _in_columns(text: str, row: Span) -> Iterator[str]:
    """Yield the row's cells on strength and certainty, each behind the header of its column."""
    line_end = text.find("\n", row.start)
    cells = text[row.start : line_end if line_end >= 0 else len(text)].split("\t")
    above = (line.split("\t") for line in reversed(text[: row.start].splitlines()))
    header = next((line for line in above if any(map(_COLUMN.fullmatch, line))), [])
    named = zip(header, cells, strict=False) if len(header) == len(cells) else ()
    stated = " ".join(_plain(f"{name} {cell}") for name, cell in named if _COLUMN.fullmatch(name) and cell)
    if is_grading(stated):
        yield stated


def _plain(text: str) -> str:
    """Return ``text`` without the brackets around it, a mark of a footnote, and the full stop."""
    plain = _FOOTNOTE.sub("", " ".join(text.split()).rstrip(" ."))
    return plain[1:-1] if _BRACKETED.fullmatch(plain) else plain
