"""Finds scores and formulas that a question asks to calculate, but for which there is no calculator."""

import re
from typing import Final

from chat_app.offline.calculating.calculator_reading import CALCULATION, TO_VALUE, WANTED
from chat_app.offline.calculating.findings import ASKS
from chat_app.offline.calculating.measurements import is_time
from tools.language.named_lists import any_of
from tools.language.word_lists import word_lines

_SCORE: Final = re.compile(
    rf"(?:{any_of(word_lines('scores'))})(?:[ -](?:score|index|scale|skala|criteria|kriterien)\b)?", re.IGNORECASE
)
_RESULT: Final = re.compile(rf"{TO_VALUE}\d+|[ -](?:class |klasse |clase )?[abc]\b", re.IGNORECASE)
"""Follows the name of a score whose result is stated."""


def other_scores(question: str) -> list[str]:
    """Return the listed scores that ``question`` asks to calculate, as it writes them.

    A question asks to calculate if it says so, has figures, or asks nothing else. Scores with a result are left out.
    """
    text = " ".join(question.split())
    found = [match for match in _SCORE.finditer(text) if not _gives_result(text, match.end())]
    rest = _SCORE.sub(" ", text).casefold()
    wanted = any(pattern.search(rest) for pattern in (WANTED, CALCULATION, re.compile(r"\d")))
    return list(dict.fromkeys(match[0] for match in found)) if wanted or not ASKS.search(rest) else []


def _gives_result(text: str, at: int) -> bool:
    result = _RESULT.match(text, at)
    return result is not None and not is_time(text.casefold(), result.end())
