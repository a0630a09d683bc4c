"""Splits a message that asks several questions into them, each with what the message tells besides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Final, NamedTuple

from chat_app.offline.extraction.drug_parts import asked_sections
from chat_app.offline.planning.followup_signs import (
    ASKING_WORDS,
    PREPOSITION,
    PREPOSITIONS,
    QUESTION_VERBS,
    asks_dose,
    asks_part,
    is_everyday,
    length,
    only_tells,
    states_more,
)
from chat_app.offline.planning.small_talk import changes_subject
from tools.language.sentences import BULLETS, sentences
from tools.language.vocabulary.absence import absence
from tools.language.vocabulary.clinical_phrases import clinical_phrases

_MOST: Final = 6
"""Maximum number of questions; more are read together with the last."""
_ITEM: Final = re.compile(rf"\s*(?:[{BULLETS}*–—-]\s*|\(?(?:\d{{1,2}}|[a-hA-H])[.)]\s+)(?=\S)")
"""The mark before a list item; clinicians often leave out the space behind a hyphen."""
_NUMBERED: Final = re.compile(r"(?:^|(?<=\s))\(?(\d|[a-h])[.)]\s+(?=\S)", re.IGNORECASE)
_LEAD: Final = r"(?:(?:also|then|please|pls|secondly|finally|lastly|außerdem|bitte|zudem|auch|además) )*"
_SUBJECT: Final = (
    r"i|we|you|s?he|they|it|there|th[ei]s|that|the|th[eo]se|an?|any|her|his|my"
    r"|ich|wir|man|er|sie|es|das|die|de[rmn]|eine?|dies\w*|que"
)
_WORDS: Final = rf"(?:{PREPOSITIONS} |below |above |from |bis |von )?(?:{ASKING_WORDS})\b"
_OPENING: Final = (
    rf"(?:(?!(?:when|where|who|which)\b){_WORDS}"
    rf"|(?:when|where|who|which|wann) (?:{QUESTION_VERBS}|to|dose\w*|drugs?|one)\b"
    rf"|(?:{QUESTION_VERBS}) (?:{_SUBJECT})\b"
    r"|(?:remind|tell) me\b|sag\w* mir\b)"
)
_OPENS: Final = re.compile(rf"\s*(?:(?:and|but|so|or|und|aber|oder|y)\b,? *)?{_LEAD}{_OPENING}", re.IGNORECASE)
_NEXT: Final = re.compile(
    r"(?:[,;:]\s+(?:(?:and|but|und|aber|sowie|y)\s+|(?!wh(?:ich|o|ere) ))|\s(?:and|und|sowie|y|&|plus|\+)\s+)"
    rf"(?={_LEAD}{_OPENING})",
    re.IGNORECASE,
)
"""A place in a sentence behind which another question begins."""
_AND: Final = re.compile(
    r"^(?:(?:oh|and|also|und|außerdem|noch|y|también|otra (?:cosa|pregunta)"
    r"|(?:an|one )?(?:other|more|last) (?:thing|question)|noch (?:et)?was|(?:eine|letzte) frage)\b[,:]?\s+)+(?=\S)",
    re.IGNORECASE,
)
"""Words before a further question, which do not refer to the one before."""
_VERB: Final = re.compile(rf"\b(?:{QUESTION_VERBS})\b", re.IGNORECASE)
_WORD_ASKS: Final = re.compile(rf"[,;:]?\s+(?:(?:and|und|y|&) )?{_WORDS}", re.IGNORECASE)
_LONGEST_ASPECT: Final = 4
"""Maximum number of words."""
_LONGEST_NOTE: Final = 8
"""Maximum number of words."""
_ALTERNATIVE: Final = re.compile(r"\s*(?:or|oder|o|no|nein)\b", re.IGNORECASE)


class QuestionPart(NamedTuple):
    """One of several questions of a message."""

    told: str
    """What the message tells."""
    question: str

    @property
    def text(self) -> str:
        """The question behind what the message tells."""
        return f"{self.told} {self.question}".strip()


def questions_in(text: str) -> list[QuestionPart]:
    """Return the questions of ``text`` in their order; none if it asks at most one.

    A clause that tells something belongs to the question of its sentence. A question without words of its own ("ok?")
    and an alternative ("or should we wait?") belong to the question before.
    """
    told: list[str] = []
    asked: list[tuple[list[str], str]] = []
    for part, asks in chain.from_iterable(_clauses(*each) for each in _sentences(text)):
        told = [] if changes_subject(part) else told
        if not asks:
            told += (part,) if clinical_phrases(part) or any(map(str.isdigit, part)) else ()
        elif asked and (_ALTERNATIVE.match(part) or _is_empty(part) or len(asked) == _MOST):
            asked[-1] = (asked[-1][0], f"{asked[-1][1]} {part}")
        else:
            asked.append((told, _AND.sub("", part)))
    return [QuestionPart(" ".join(about), question) for about, question in asked] if len(asked) > 1 else []


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each sentence of ``text`` with whether it is in a list, which may be within a line; marks are left out."""
    marks = list(_NUMBERED.finditer(text))
    in_order = all(mark[1].lower() in f"{place + 1}{'abcdefgh'[place]}" for place, mark in enumerate(marks[:8]))
    starts = [mark.start() for mark in marks] if in_order and 1 < len(marks) <= 8 else []
    for start, end in pairwise([0, *starts, len(text)]):
        # A question mark ends a question also before a small letter.
        for line in re.split(r"\n|(?<=\?)\s+", text[start:end]):
            mark = _ITEM.match(line)
            yield from ((one, mark is not None) for one in sentences(line[mark.end() :] if mark else line))


def _clauses(sentence: str, is_item: bool) -> list[tuple[str, bool]]:
    """Return the questions of a sentence, or the sentence if it asks nothing, each with whether it asks.

    A clause that only tells something is part of the next question, or of the last one. So is one that asks for another
    aspect without a verb: "and how often".
    """
    gaps = [match.span() for match in _NEXT.finditer(sentence)]
    spans = list(zip([0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(sentence)], strict=True))
    found: list[tuple[int, int]] = []
    begin = 0
    for place, (start, end) in enumerate(spans):
        clause, after = sentence[start:end], sentence[end:]
        if found and _is_aspect(clause):
            found[-1] = found[-1][0], end
        elif _asks(clause) and not (_is_aspect(clause) and _WORD_ASKS.match(after)):
            found.append((begin, end))
        else:
            continue
        begin = spans[place + 1][0] if after else end
    if found and begin < len(sentence):
        found[-1] = found[-1][0], len(sentence)
    asks = is_item and not found and _notes_question(sentence)
    return [(sentence[start:end], True) for start, end in found] or [(sentence, asks)]


def _asks(clause: str) -> bool:
    if clause.endswith("?") or _OPENS.match(clause):
        return length(clause) > 0
    if not clause.endswith("."):
        if _WORD_ASKS.match(f" {clause}") and not clause.lower().startswith("when "):
            return True
        clause = re.split(r"[,;:] ", clause)[-1]
    return not (PREPOSITION.match(clause) or absence(clause).denied) and (asks_part(clause) or asks_dose(clause))


def _is_empty(part: str) -> bool:
    """Return whether ``part`` has no words of its own, or is a single word that does not look like a question."""
    asks = part.endswith("?") or _OPENS.match(part) or _WORD_ASKS.match(f" {part}")
    return length(part) < (1 if asks else 2)


def _notes_question(item: str) -> bool:
    """Return whether a list item notes a question: "dose of ramipril"."""
    tells = only_tells(item) or states_more(item)
    return len(item.split()) <= _LONGEST_NOTE and bool(asked_sections(item)) and not tells


def _is_aspect(clause: str) -> bool:
    """Return whether ``clause`` asks for one more aspect of another question: "for how long"."""
    return len(clause.split()) <= _LONGEST_ASPECT and is_everyday(clause) and not _VERB.search(clause)
