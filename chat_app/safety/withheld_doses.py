"""Takes usual doses out of what a tool found, for an answer to what may be an overdose."""

from typing import Final

from pydantic import JsonValue

from tools.drug_database.records.drug_record import DOSE_SECTIONS
from tools.language.figures import has_amount
from tools.language.sentences import sentences

_USUAL: Final = DOSE_SECTIONS | {"indications"}


def without_doses(found: JsonValue) -> JsonValue:
    """Return ``found`` without labels' sections on usual use and without sentences that state an amount.

    The result of a calculation repeats the amounts of the question, and is whole.
    """
    match found:
        case {"calculation": _}:
            return found
        case dict():
            return {key: without_doses(value) for key, value in found.items() if key not in _USUAL}
        case list():
            return [kept for value in found if (kept := without_doses(value)) != ""]
        case str() if has_amount(found):
            return "\n".join(sentence for sentence in sentences(found) if not has_amount(sentence))
        case _:
            return found
