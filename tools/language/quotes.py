"""Finds quotes in their source, word for word, and rejects those that leave out words that change their meaning.

``find_span`` is the one matcher. All code that compares a quote with a passage or a page uses it or ``folding.fold``.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from tools.language.folding import CELL_BREAK, Folded, fold
from tools.language.sentences import LIST_MARK, Sentence, Span, sentence_spans
from tools.language.word_lists import word_list

_MIN_WORDS: Final = 4
_MIN_LETTERS: Final = 12
"""Minimum size of a part of a sentence. A whole sentence may be shorter."""
CLOSED: Final = (".", "!", "?", ".”", '."', ".)")
"""Ends of sentences."""

_MARKUP: Final = re.compile(r"\*\*|__|`|\\(?=[\[\]|])|(?<!\\)\||\u2063")
"""Markup that is not in the source: emphasis, code, a backslash before a bracket, separators of table cells."""
_LEAD_MARKS: Final = re.compile(r"^(?:\s*(?:[-*+>|•]|#{1,6}|\d{1,3}[.)])\s+)+")
_QUOTED: Final = re.compile(r"[\u201c\"]([^\u201c\u201d\"]+)[\u201d\"]")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER_JOINT: Final = ".,/–-"
_COMPARES: Final = re.compile("[<>≤≥≦≧⩽⩾≠]")
_CLAUSE_END: Final = re.compile(r"\s*[,;:.!?(\[–—]")
_UNFINISHED: Final = re.compile(r"[,(–-]$")


def find_span(quote: str, text: str, *, ignore_case: bool = False, whole_words: bool = True) -> Span | None:
    """Return the first position of ``quote`` in ``text``, or None.

    With ``whole_words``, a match must not cut a word, number or range: "5 mg" is not found in "2.5 mg", nor "10" in
    "5-10".
    """
    needle = fold(quote, ignore_case=ignore_case).text
    return next(places(needle, fold(text, ignore_case=ignore_case), text if whole_words else None), None)


def find_longest(quote: str, text: str, *, least: int) -> Span | None:
    """Return the position of ``quote``, or of its longest beginning or end of at least ``least`` folded characters.

    Case does not count. This finds quotes that continue on the next page.
    """
    needle, haystack = fold(quote, ignore_case=True).text, fold(text, ignore_case=True)
    whole = next(places(needle, haystack, None), None)
    if whole is not None:
        return whole
    start = _longest(len(needle), lambda size: needle[:size] in haystack.text)
    end = _longest(len(needle), lambda size: needle[len(needle) - size :] in haystack.text)
    part = needle[:start] if start >= end else needle[len(needle) - end :]
    return next(places(part, haystack, None), None) if len(part) >= least else None


def quotes_in(statement: str, source: str) -> tuple[str, ...]:
    """Return the parts of ``statement`` that are whole quotes from ``source``, in the source's words.

    It tries the whole statement, its list items with the list's lead-in, its last sentence, and its parts in quotation
    marks. A part that begins or ends inside a sentence of the source counts only if the rest of the sentence has no
    negation and no condition.
    """
    marked = _MARKUP.sub("", statement).strip()
    plain = _LEAD_MARKS.sub("", marked).strip()
    if not plain:
        return ()
    # A mark of Markdown may be a character of the source, as in "> 80 kg".
    for said in dict.fromkeys((plain, marked)):
        if whole := _whole_quote(said, source):
            return (whole,)
    if listed := _with_lead(plain, source):
        return listed
    last = sentence_spans(plain)[-1]
    if last.start and (quote := _whole_quote(plain[last.start : last.end], source)):
        return (quote,)
    spans = (_whole_quote(span, source) for span in _QUOTED.findall(plain))
    return tuple(span for span in spans if span is not None)


def marked_segments(text: str, quotes: Iterable[str]) -> list[tuple[str, bool]]:
    """Split ``text`` into segments, each with whether it is quoted."""
    spans = [span for quote in quotes if (span := find_span(quote, text, whole_words=False))]
    bounds = sorted({0, len(text), *(at for span in spans for at in span)})

    def is_quoted(piece: tuple[int, int]) -> bool:
        return any(span.start <= piece[0] and piece[1] <= span.end for span in spans)

    found = ((quoted, list(pieces)) for quoted, pieces in groupby(pairwise(bounds), is_quoted))
    return [(text[pieces[0][0] : pieces[-1][1]], quoted) for quoted, pieces in found]


def cuts_word(text: str, start: int, end: int) -> bool:
    """Return whether ``start`` or ``end`` is inside a word, a number or a range of ``text``."""
    return _joins(text, start) or _joins(text, end)


def _joins(text: str, at: int) -> bool:
    """Return whether the characters before and at ``at`` belong to one word or number."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isalnum() and after.isalnum():
        return True
    joint_before = before in _NUMBER_JOINT and after.isdigit() and text[at - 2 : at - 1].isdigit()
    joint_after = after in _NUMBER_JOINT and before.isdigit() and text[at + 1 : at + 2].isdigit()
    return joint_before or joint_after


def places(needle: str, source: Folded, whole_in: str | None) -> Iterator[Span]:
    """Yield every position of the folded ``needle``, without those that cut a word of ``whole_in``."""
    at = source.text.find(needle) if needle else -1
    while at >= 0:
        span = Span(*source.source_span(at, at + len(needle)))
        if whole_in is None or not cuts_word(whole_in, *span):
            yield span
        at = source.text.find(needle, at + 1)


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest size up to ``most`` that fits, or 0, by a binary search: below it all sizes fit."""
    return bisect_left(range(1, most + 1), True, key=lambda size: not fits(size))


def is_quotable(text: str) -> bool:
    """Return whether ``text`` says something when read alone: it has a few words, or is a short sentence.

    Short text with a capital after its first word is a name, such as a journal's.
    """
    if _says_enough(text):
        return True
    first, *others = text.split() or [""]
    is_sentence = text.endswith(CLOSED) and first.isalpha() and any(map(str.islower, others))
    return is_sentence and not any(map(str.isupper, "".join(others)))


def _says_enough(text: str) -> bool:
    return len(text.split()) >= _MIN_WORDS and sum(map(str.isalpha, text)) >= _MIN_LETTERS


def _whole_quote(candidate: str, source: str) -> str | None:
    """Return ``candidate`` as the source has it, where it leaves nothing out. The source may lack its full stop."""
    for wanted in filter(is_quotable, dict.fromkeys((candidate, candidate.rstrip(". ")))):
        # A candidate of few words must be a whole sentence.
        starts = range(len(source)) if _says_enough(wanted) else [each.start for each in sentence_spans(source)]
        for span in places(fold(wanted).text, fold(source), source):
            quote = source[span.start : span.end]
            if CELL_BREAK not in quote and span.start in starts and _is_whole(source, span):
                return quote
    return None


def _with_lead(statement: str, source: str) -> tuple[str, ...]:
    """Return the lead-in and the items of a list if ``statement`` is the lead-in followed by some of the items."""
    sentences = sentence_spans(source)
    for lead in dict.fromkeys(sentence.lead for sentence in sentences if sentence.lead):
        led = fold(source[lead.start : lead.end]).text
        said = fold(statement).text
        if not said.startswith(led) or not _is_whole(source, lead):
            continue
        listed = [sentence for sentence in sentences if sentence.lead == lead]
        if items := _items(said[len(led) :], source, listed):
            return (source[lead.start : lead.end], *items)
    return ()


def _items(said: str, source: str, items: Sequence[Sentence]) -> tuple[str, ...]:
    """Return the items of which ``said`` consists, in order; none if it has other words."""
    found: list[str] = []
    for item in items:
        mark = LIST_MARK.match(source, item.start, item.end)
        text = source[mark.end() if mark else item.start : item.end]
        for words in (fold(source[item.start : item.end]).text, fold(text).text):
            if words and (said.startswith(words) or said == words.rstrip(".;,")):
                found.append(text)
                said = said[len(words) :].lstrip(";,")
                break
    return tuple(found) if not said.strip(".") else ()


def _is_whole(source: str, span: Span) -> bool:
    """Return whether the quote at ``span`` leaves out no words of its sentences that change their meaning."""
    held = [sentence for sentence in sentence_spans(source) if sentence.start < span.end and span.start < sentence.end]
    first, last = held[0], held[-1]
    if first.lead and first.lead.end <= span.start and _turns(source, *first.lead):
        return False
    return _may_begin(source, first, span.start) and _may_end(source, last, span.end)


def _may_begin(source: str, sentence: Sentence, at: int) -> bool:
    mark = LIST_MARK.match(source, sentence.start, sentence.end)
    start = mark.end() if mark else sentence.start
    if at <= start:
        # A passage that begins in small letters begins inside a sentence.
        return sentence.start > 0 or mark is not None or not source[at].islower()
    before = source[start:at]
    if "\t" in before:
        return before.endswith("\t")
    return not before.rstrip().endswith(":") and not _limits(source, start, at)


def _may_end(source: str, sentence: Sentence, at: int) -> bool:
    rest = source[at : sentence.end]
    if not rest.strip(" .;!?\"'”’)]"):
        last_word = _WORD.findall(source[sentence.start : at])[-1:]
        unfinished = last_word and last_word[0].lower() in word_list("qualifiers") | {"a", "an", "the", "der", "die"}
        return not (at >= len(source.rstrip()) and (unfinished or _UNFINISHED.search(source[:at].rstrip())))
    if rest.startswith("\t"):
        return True
    if not _CLAUSE_END.match(rest):
        return False
    return not _limits(source, at, sentence.end)


def _limits(text: str, start: int, end: int) -> bool:
    """Return whether the text from ``start`` to ``end`` changes or qualifies its sentence."""
    return _turns(text, start, end) or not _words(text, start, end).isdisjoint(word_list("qualifiers"))


def _turns(text: str, start: int, end: int) -> bool:
    """Return whether the text from ``start`` to ``end`` has a negation, a condition or a comparison sign."""
    words = _words(text, start, end)
    return bool(words & word_list("negations") or words & word_list("conditions") or _COMPARES.search(text, start, end))


def _words(text: str, start: int, end: int) -> frozenset[str]:
    return frozenset(word.lower().replace("'", "").replace("’", "") for word in _WORD.findall(text[start:end]))
