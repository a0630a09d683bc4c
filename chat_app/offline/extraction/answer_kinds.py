"""What a question asks for, and what an answer of that kind holds: a time, a figure, a prohibition."""

from __future__ import annotations

import re
from typing import Final

from tools.language.question_words import HOW_LONG, HOW_MUCH

HOW_OFTEN: Final = re.compile(rf"{HOW_LONG}|\bduration|\binterval|\bfrequen", re.IGNORECASE)
WAITS: Final = re.compile(
    r"\bapart\b|\btiming\b|\bhow many (?:minute|hour|day|week|month|year)s|\bwait\w*|\bwash-?outs?\b", re.IGNORECASE
)
"""Asks for the time between two medicines."""
TIME: Final = re.compile(
    r"\b(?:second|minute|hour|day|week|month|year|time|daily|weekly|monthly|annual|every|once|twice|yearly)",
    re.IGNORECASE,
)
FIGURE: Final = re.compile(
    rf"{HOW_MUCH}|\bdos(?:es?|ing|age)\b|\bm(?:ax|in)(?:imum|imal)?\b|\bmost\b"
    r"|\b(?:age|ceiling|cut-?off|goal|level|limit|percentage|range|strength|target|threshold)\b",
    re.IGNORECASE,
)
DIGIT: Final = re.compile(r"\d")
FORBIDDEN: Final = re.compile(
    r"\b(?:not|never|avoid\w*|(?:contra|kontra)indi\w+|forbid\w*|unsafe|harmful|nicht|kein\w*|\w*meiden|\w+n['’]t"
    r"|nunca|evit\w+|no (?:se|deb\w+|pued\w+|recom\w+))\b",
    re.IGNORECASE,
)
STOPS: Final = (
    r"(?:be )?(?:\w+ly )?(?:stop|discontinu|withh[eo]ld|withdr[ae]w|interrupt|omit|skip|delay|ceas"
    r"|ab(?:ge)?setz|pausier|unterbr[eo]ch|suspen|interrump)"
)
"""Stopping a medicine: a sentence that forbids it forbids no use."""
FORBIDDEN_USE: Final = re.compile(rf"{FORBIDDEN.pattern}(?! {STOPS})", re.IGNORECASE)
