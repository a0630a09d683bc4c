"""Reads the amount of one dose where a prescription gives a number of tablets, or the strength of a combination."""

import re
from typing import Final

from tools.language.figures import COUNTS, DECIMAL

_WORDS: Final = {"half": 0.5, "1/2": 0.5, "halbe": 0.5, "eine": 1.0, "zwei": 2.0, "drei": 3.0, "vier": 4.0} | {
    word: float(count) for word, count in COUNTS.items() if 1 <= count <= 8 and word not in {"once", "twice", "thrice"}
}
_COUNT: Final = rf"1/2|[1-8](?:\.5)?|{'|'.join(_WORDS)}"
"""A number of tablets of one dose; higher ones are supplies."""
_AMOUNT: Final = rf"(?<![\w./]){DECIMAL}(?= ?mg\b)"
TABLETS: Final = re.compile(
    rf"(?<![\w./-])(?P<least>{_COUNT})(?: ?(?:-|–|to|or|bis|oder) ?(?P<most>{_COUNT}))? (?:an? )?"
    rf"(?P<strength>{DECIMAL} ?mg (?:[^\W\d_]+ ){{0,2}}?)?"
    r"(?:tab(?:let)?s?|tabletten?|tbl|cap(?:sule)?s?|kapseln?|pills?)\b"
    r"|(?<=mg) ?[x×] ?(?P<times>[1-8])(?![\w.])"
)
_COMBINATION: Final = re.compile(rf"(?<![\w./])(?!1/2\b)({DECIMAL})(?: ?mg)? ?/ ?({DECIMAL})(?: ?mg\b)?(?![\w./])")
_MUCH_MORE: Final = 4
"""Minimum ratio of the paracetamol or ibuprofen in a combination to the opioid; naloxone is less than the opioid."""


def with_whole_doses(words: str) -> str:
    """Return plain ``words`` with tablets multiplied out: ``5 mg, 2 tablets`` is ``10 mg``, ``5/325`` is ``5 mg``.

    The amount is left out for a range of tablets, and if it may be either one of a combination: the calculator asks.
    """
    taken = TABLETS.search(words := _COMBINATION.sub(_of_opioid, words))
    if taken is None:
        return words
    words = f"{words[: taken.start()]}{taken['strength'] or ''}{words[taken.end() :]}"
    least = taken["least"] or taken["times"]
    count = _WORDS.get(least) or float(least)
    return re.sub(_AMOUNT, lambda found: "" if taken["most"] else f"{float(found[0]) * count:g}", words)


def _of_opioid(combination: re.Match[str]) -> str:
    less, more = sorted(map(float, combination.groups()))
    return f"{less:g} mg" if _MUCH_MORE * less <= more else " "
