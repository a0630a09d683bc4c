"""Reads the doses of a prescription: schemes such as 1-0-1, numbers of tablets, strengths of combinations."""

import re
from typing import Final

from tools.language.figures import COUNTS, DECIMAL

_WORDS: Final = {"half": 0.5, "1/2": 0.5, "halbe": 0.5, "eine": 1.0, "zwei": 2.0, "drei": 3.0, "vier": 4.0} | {
    word: float(count) for word, count in COUNTS.items() if 1 <= count <= 8 and word not in {"once", "twice", "thrice"}
}
_COUNT: Final = rf"1/2|0\.5|[1-8](?:\.5)?|{'|'.join(_WORDS)}"
"""A number of tablets of one dose; higher ones are supplies."""
_AMOUNT: Final = rf"(?<![\w./]){DECIMAL}(?= ?mg\b)"
TABLETS: Final = re.compile(
    rf"(?<![\w./-])(?P<least>{_COUNT})(?: ?(?:-|–|to|or|bis|oder) ?(?P<most>{_COUNT}))? (?:an? )?"
    rf"(?P<strength>{DECIMAL} ?mg (?:[^\W\d_]+ ){{0,2}}?)?"
    r"(?:tab(?:let)?s?|tabletten?|tbl|cap(?:sule)?s?|kapseln?|pills?)\b"
    r"|(?<=mg) ?[x×] ?(?P<times>[1-8])(?![\w.])"
)
_COMBINATION: Final = re.compile(rf"(?<![\w./])(?!1/2\b)({DECIMAL})(?: ?mg)? ?/ ?({DECIMAL})(?: ?mg\b)?(?![\w./])")
_EACH: Final = r"(?:[0-8](?:\.5)?|1[/⁄]2)"
_SCHEME: Final = re.compile(
    rf"(?<![\w./⁄-]){_EACH}(?:-{_EACH}){{2,3}}(?![\w./⁄-]| ?(?:mg|µg)\b)"
    rf"|(?<![\w./])(?P<times>[1-6]) ?[x×] ?(?P<count>{_EACH})(?![\w.]| ?(?:[mµ]?g|ml|[cm]m)\b)"
)
"""Tablets in the morning, at noon, in the evening and at night, ``1-0-1``, or their number after the times, ``2x1``."""
_TIME_OF_DAY: Final = (
    r"(?:(?:every|each|q|at|before|in the|in der|zur|am|vor dem|jeden) (?:morning|noon|afternoon|evening|night|bed"
    r"|bedtime|morgen|mittag|nachmittag|abend|nacht|schlafen\w*)|mornings|evenings|mane|noon|nocte|bedtime|qam|qpm|qhs"
    r"|morgens|früh|mittags|nachmittags|abends|nachts)\b"
)
_TIMES_OF_DAY: Final = re.compile(rf"\b{_TIME_OF_DAY}(?:(?: ?[,/&+] ?| )(?:(?:and|und) )?{_TIME_OF_DAY})*")
_MUCH_MORE: Final = 4
"""Minimum ratio of the paracetamol or ibuprofen in a combination to the opioid; naloxone is less than the opioid."""


def with_rates(words: str) -> str:
    """Return folded ``words`` with schemes and times of the day written as a number of times a day."""
    return _TIMES_OF_DAY.sub(
        lambda found: f"{len(re.findall(_TIME_OF_DAY, found[0]))} times a day", _SCHEME.sub(_as_rate, words)
    )


def _as_rate(scheme: re.Match[str]) -> str:
    written = [scheme["count"]] * int(scheme["times"]) if scheme["times"] else scheme[0].split("-")
    counts = [_WORDS.get(one) or float(one) for one in (each.replace("⁄", "/") for each in written)]
    taken = [count for count in counts if count] or [0]
    # Different numbers have the same sum as that many single tablets.
    count, times = (taken[0], len(taken)) if len(set(taken)) == 1 else (1, sum(taken))
    return f"{count:g} tablets {times:g} times a day"


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
