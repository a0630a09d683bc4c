"""Applies a follow-up to a list of items that the question before stated, such as opioids with their doses."""

import re
from typing import Final

from chat_app.offline.calculating.calculator_reading import DeclaredCalculator, StatedInputs
from chat_app.offline.calculating.findings import STOPPED, aliases, blanked, by_option
from chat_app.offline.reading.dialogue import ADDED, fields_of
from chat_app.offline.wire.errors import Json
from tools.language.named_lists import any_of

_JOINED: Final = re.compile(r"^(?:and|und|y)\b(?! (?:if|what|when|for|wenn|was|si|bei)\b)")
"""A conjunction that adds an item: "and tramadol 50 mg tds", but "and if it were tramadol"."""
_TO_AMOUNT: Final = re.compile(r"(?<!\d )(?<!mg )\b(?:to|auf) \d")
_INSTEAD: Final = re.compile(r"\b(?:instead|stattdessen|en su lugar)\b(?! of)")
_TAKEN_OFF: Final = (
    r"\b(?:stop\w*|without|instead of|in place of|rather than|off|no longer|dropp?\w*|discontinu\w*|minus|ohne"
    r"|(?:an)?statt|anstelle von|nicht mehr|sin|en (?:lugar|vez) de|suspend\w*) (?:[^\W\d_]+ ){0,2}?"
)
_EXCHANGED: Final = r"\b(?:replac|switch|chang|swap|ersetz|wechs|cambi)\w* (?:[^\W\d_]+ ){0,2}?"


def changed_lists(calculator: DeclaredCalculator, before: Json, text: str) -> Json:
    """Return the list inputs of ``before`` that ``text`` changes: items added, taken off, altered, or all replaced."""
    changed: Json = {}
    for name, schema in calculator.properties.items():
        choice, fields = calculator.choice(schema)
        if not (choice and before.get(name)):
            continue
        names = f"(?:{any_of(aliases(fields[choice]))})"
        taken_off = re.compile(rf"(?:{_TAKEN_OFF}|{_EXCHANGED}(?=.*{names}.*{names})){names}|{names}(?={STOPPED})")
        spans = [match.span() for match in taken_off.finditer(text)]
        gone = {option for start, end in spans for option, _ in by_option(fields[choice], text[start:end])}
        stated = calculator.items(schema, blanked(text, spans))
        kept = [item for item in before[name] if item[choice] not in gone]
        is_joined = bool(stated and _JOINED.search(text) and not calculator.mentions(text))
        measured = [field for field, part in fields.items() if "enum" not in part]
        lacking = [item[choice] for item in kept if any(item.get(field) is None for field in measured)]
        lacking = lacking or [item[choice] for item in kept]
        if not (stated or gone) and len(lacking) == 1 and not calculator.other_words(text):
            stated = [
                one for one in calculator.items(schema, f"{lacking[0]} {text}") if any(map(fields_of, one.values()))
            ]
        if not stated:
            items = kept
        elif _INSTEAD.search(text) and not gone:
            items = stated
        elif not _TO_AMOUNT.search(text) and (is_joined or ADDED.search(text)):
            items = [*kept, *(item for item in stated if item not in kept)]
        elif gone or any(item[choice] == old[choice] for item in stated for old in kept):
            items = _altered(kept, stated, choice)
        else:
            items = stated
        if gone or stated:
            changed[name] = items or before[name]
    return changed


def alters_list(followed: StatedInputs, text: str) -> bool:
    """Return whether ``text`` changes a list of the question before, rather than stating one of its own."""
    own = followed.calculator.read(text).given
    lists = {name: value for name, value in followed.given.items() if isinstance(value, list)}
    return any(value != own.get(name) and len(own.get(name, ())) <= 1 for name, value in lists.items())


def _altered(kept: list[Json], stated: list[Json], choice: str) -> list[Json]:
    """Return ``kept`` with what ``stated`` says of the same options, and its other items."""
    told = {item[choice]: {name: value for name, value in item.items() if value is not None} for item in stated}
    known = {item[choice] for item in kept}
    new = (item for item in stated if item[choice] not in known)
    return [*({**item, **told.get(item[choice], {})} for item in kept), *new]
