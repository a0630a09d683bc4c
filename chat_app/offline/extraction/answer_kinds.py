"""Patterns for kinds of answer: how questions ask for a time, a figure or a prohibition, and how answers say them."""

from __future__ import annotations

import re
from typing import Final

from tools.language.question_words import HOW_LONG, HOW_MUCH, PERIOD

HOW_OFTEN: Final = re.compile(rf"{HOW_LONG}|\bduration|\binterval|\bfrequen", re.IGNORECASE)
WAITS: Final = re.compile(
    r"\bapart\b|\btiming\b|\bhow many (?:minute|hour|day|week|month|year)s|\bwait\w*|\bwash-?outs?\b", re.IGNORECASE
)
"""Matches a question for the time between two medicines."""
TIME: Final = re.compile(
    r"\b(?:second|minute|hour|day|week|month|year|time|daily|weekly|monthly|annual|every|once|twice|yearly"
    r"|stunde|tage?n?\b|woche|monat|jahr|(?:stünd|täg|wöchent|monat|jähr)lich|(?:ein|zwei|drei|vier|mehr)mal\b"
    r"|hora|d[íi]as?\b|semana|mes(?:es)?\b|a[ñn]os?\b|cada\b|diari|mensual|anual)",
    re.IGNORECASE,
)
LASTS: Final = re.compile(r"\bhow long\b|\bwie lang\w*|\bcu[áa]nto tiempo\b|\bdura(?:tion|ción)|\bdauer", re.IGNORECASE)
"""Matches a question for a length of time."""
DURATION: Final = re.compile(
    rf"(?<!every )(?<!alle )(?<!cada )(?<!aged )(?<!age )\b\d+(?: ?(?:-|–|to|or|bis|oder|a|o) ?\d+)?[ -]{PERIOD}"
    r"(?! (?:or|and) (?:older|over|younger)| of age| old| alt)|\b(?:until|bis zu[mr]?|hasta que)\b"
    r"|\blife-?long\b|\blebenslang|\bde por vida\b|\bindefinite|\bunbefristet|\blong[- ]term\b|\bdauerhaft",
    re.IGNORECASE,
)
"""Matches a length of time, and no age or frequency."""
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
"""Stopping a medicine. A sentence that forbids stopping forbids no use."""
STOPPED: Final = re.compile(rf"\b{STOPS}", re.IGNORECASE)
FORBIDDEN_USE: Final = re.compile(rf"{FORBIDDEN.pattern}(?! {STOPS})", re.IGNORECASE)
LISTS: Final = re.compile(
    r"\bcomponents?\b|\bcriteria\b|\bconsists?\b|\bincludes?\b|\blist\b|\bstages\b|\bsteps\b|\bcategories\b",
    re.IGNORECASE,
)
"""Matches a question for a list, such as criteria or steps."""
_PLURAL: Final = r"(?!(?:does|has|was)\b)\w+[^\W\dius]s\b"
SEVERAL: Final = re.compile(
    rf"\b(?:what|which) (?:\w+ )?(?:are|were)\b|\bwhich (?:\w+ )?{_PLURAL}|\bexamples\b"
    rf"|\bwhat {_PLURAL} (?:are|can|could|do|does|has|have|is|may|must|need|should|were)\b"
    rf"|^\W*{_PLURAL} (?:for|in|of|to|with)\b"
    r"|\b(?:who|whom|wer|wem|wen|quién(?:es)?)\b|\b(?:reasons?|gründe?n?|razones|motivos) (?:for|to|für|para|de)\b"
    r"|\b(?:when|wann|cuándo)\b.*(?:\b(?:not|never|avoid\w*|refer\w*|nicht|nie|\w*meide\w*|überw\w+|no|nunca|evitar\w*"
    r"|deriv\w+|remit\w+)\b|n['’]t\b|kontraindiz|contraindi)",
    re.IGNORECASE,
)
"""Matches a question for several things, such as contraindications."""
