"""Takes usual doses out of what a tool found, for an answer to what may be an overdose."""

import re
from typing import Final

from pydantic import JsonValue

from tools.drug_database.records.drug_record import DOSE_SECTIONS
from tools.language.figures import DECIMAL, fold, units_of
from tools.language.sentences import sentences

_USUAL: Final = DOSE_SECTIONS | {"indications"}
_AMOUNT: Final = re.compile(
    rf"{DECIMAL}[ -]?(?:{units_of('mass', 'volume', 'activity')})(?![a-z]| ?/ ?(?:{units_of('volume')}|min)(?![a-z]))"
)
"""An amount of a medicine; one per volume is a concentration, and a volume per minute a clearance."""


def without_doses(found: JsonValue) -> JsonValue:
    """Return ``found`` without labels' sections on usual use and without sentences that state an amount."""
    match found:
        case dict():
            return {key: without_doses(value) for key, value in found.items() if key not in _USUAL}
        case list():
            return [kept for value in found if (kept := without_doses(value)) != ""]
        case str() if _AMOUNT.search(fold(found)):
            return "\n".join(sentence for sentence in sentences(found) if not _AMOUNT.search(fold(sentence)))
        case _:
            return found
