"""Removes laboratory results from a question, so that their analytes are not read as medicines.

A dose has a unit of mass, amount or activity, a form or a frequency. A result has a concentration, a bare number or a
word such as "normal".
"""

import re
from typing import Final

from tools.drug_database.names.foreign_names import ions_of
from tools.drug_database.names.query_words import PRODUCT_WORDS
from tools.drug_database.records.shipped_data import shipped_words
from tools.language.figures import COUNTS, LATIN_COUNTS
from tools.language.folding import fold_name
from tools.language.measurement_units import any_spelling, units_of
from tools.language.vocabulary.measured_quantities import QUANTITIES
from tools.language.word_lists import word_lines

_SEPARATOR: Final = "concentration"
"""Replaces a result. No name contains it, and the medicines around it stay apart."""
_QUANTITIES: Final = "|".join(
    each.named.pattern for each in QUANTITIES if any(unit.endswith(("/l", "/dl")) for unit in each.units)
)
_NAME: Final = (
    r"(?:(?:serum|plasma|blood|free|total|freies|ioni[sz]ed)[ -]?){0,2}"
    rf"(?:{any_spelling(word_lines('analytes'))}|{_QUANTITIES})(?:-?(?:spiegel|werte?))?(?![\w-])"
)
_NAMES: Final = rf"{_NAME}(?:(?:, ?{_NAME}){{0,6}},?(?: (?:and|und|y) | ?[/&+] ?){_NAME})?"
_LINK: Final = (
    r"(?:[^\S\n]*(?:[:=|<>≤≥~≈-]|\([^()\d\n]{1,12}\)|\[[^\[\]\n]{1,12}\]|\(|\b(?:levels?|values?|is|was|are|were|of|at|now"
    r"|still|all|both|slightly|very|down|up|to|below|above|under|over|ist|war|sind|bei|von|jetzt|unter|über|es|de)\b))*"
    r"[^\S\n]*"
)
_DOSE: Final = (
    rf"[ -]?(?!ng\b)(?:{any_spelling(PRODUCT_WORDS | LATIN_COUNTS.keys() | shipped_words('compounded'))}"
    rf"|{units_of('mass', 'amount', 'activity', 'volume', 'share')}|a day|pro tag|täglich"
    r"|morgens|abends|nocte|mane|at night|nightly|each|x|mal)"
    r"(?!\w)(?! ?(?:/|per|pro) ?(?:d?l|lit(?:er|re)|100 ?ml)\b)"
)
"""Follows the number of a dose. A mass or amount per litre or decilitre is a result."""
_GERMAN: Final = r"null|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\w+(?:zehn|zig|hundert)"
_NUMBER: Final = (
    rf"(?:\d+(?:[.,]\d+)*|(?:{'|'.join(COUNTS.keys() - {'once', 'twice', 'thrice'})}|{_GERMAN})\b)"
    rf"(?![.,]?\d|/\d|-\d+-|{_DOSE})"
)
_STATE: Final = (
    r"(?:(?:normal\w{0,2}|low|high|deficient|negativ[eo]?|positiv[eo]?|borderline|undetectable|unremarkable"
    r"|niedrig|hoch|unauffällig|grenzwertig|baj[ao]|alt[ao])\b(?![ -](?:dos|intake|diet|strength))"
    r"|(?:ok(?:ay)?|fine)\b(?! ?\?| (?:with|together|in|for|to|during|while|if|when|mit|zusammen|bei)\b)"
    r"|(?:raised|elevated|increased|reduced|decreased|suppressed|erhöht|erniedrigt|vermindert|elevad[ao])\b"
    r"(?=[^\S\n]*(?:[^\w\s]|\n|$|(?:and|but|on|in|with|while|und|aber|bei|unter|mit|y|con)\b)))"
)
"""A state of a value. "Calcium reduced the absorption" and "is calcium ok with ramipril?" are on medicines."""
_LEVEL: Final = r"(?<=[ -])(?:levels?|spiegel|werte?)\b|(?<=spiegel)"
_AFTER: Final = rf"(?:{_NAME}{_LINK}{_NUMBER}|{_NAMES}{_LINK}(?:{_STATE}|{_LEVEL}))"
_BEFORE: Final = (
    r"(?:low|high|raised|elevated|normal|niedrige[mnrs]?|hohe[mnrs]?|erhöhte[mnrs]?|normale[mnrs]?|erniedrigte[mnrs]?"
    rf"|(?:levels?|niveles|nivel) (?:of|de)) {_NAMES}"
    rf"(?![ -](?:dos|intake|diet|food|supplement|content|salt|substitute|rich)| ?\d+(?:[.,]\d+)*{_DOSE})"
)
_RESULT: Final = re.compile(rf"(?<![\w-])(?:{_AFTER}|{_BEFORE})", re.IGNORECASE)
_NEAR: Final = 30
"""Number of characters before a result that are read."""
_SALT: Final = re.compile(r"[^\W\d_]+(?=[ -]$)")
_TAKEN: Final = re.compile(
    r"\b(?:on|tak(?:es?|ing)|took|giv(?:es?|en|ing)|gave|(?:start|add)(?:s|ed|ing)?|nimmt|bekommt|erhält|gibt|geben) $",
    re.IGNORECASE,
)
"""Words before a medicine whose dose has no unit: "on folate 5"."""


def without_results(text: str) -> str:
    """Return ``text`` with each laboratory result replaced by one neutral word."""
    return _RESULT.sub(_without_result, text)


def _without_result(found: re.Match[str]) -> str:
    """Return the neutral word; the whole match in a salt ("potassium chloride 20") or behind a verb of taking."""
    before = found.string[max(0, found.start() - _NEAR) : found.start()]
    last = _SALT.search(before)
    is_medicine = _TAKEN.search(before) or (last and ions_of(fold_name(last[0])))
    return found[0] if is_medicine else _SEPARATOR
