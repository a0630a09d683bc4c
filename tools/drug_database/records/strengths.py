"""Strengths in one notation, whichever source they come from.

FDA's NDC directory writes ``.5`` and ``mg/1``, the Orange Book ``500MG`` and ``EQ 1MG BASE``, RxNorm ``500 MG``.
Here they become ``0.5 mg``, ``500 mg``, ``1 mg base equivalent``. Numbers are never rounded or converted.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Final

from tools.drug_database.records.shipped_data import shipped_json

_UNITS: Final[dict[str, str]] = shipped_json("strength_units.json")
"""The unit that each spelling in lower case means."""
_NUMBER = re.compile(r"^\s*(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)\s*(.*)$", re.DOTALL)
_NO_UNIT = re.compile(r"[(;]|[A-Za-z],|,[A-Za-z]")
_NOTE = re.compile(r"\s*\*\*.*$", re.DOTALL)
_EQUIVALENT = re.compile(r"^EQ\s+(.*?)\s*\bBASE\b(.*)$", re.IGNORECASE)


def number(text: str) -> str:
    """Write a decimal number in its shortest form: ``.50`` is ``0.5``, ``1,000`` is ``1000``, ``25.0`` is ``25``."""
    return f"{Decimal(text.replace(',', '')).normalize():f}"


def unit(text: str) -> str:
    """Write a unit in the notation of this database; keep an unknown one."""
    plain = text.strip()
    return _UNITS.get(plain.lower(), plain)


@lru_cache(maxsize=65_536)
def strength(text: str) -> str:
    """Write one ingredient's strength in the notation of this database; return other texts unchanged.

    ``500MG`` → ``500 mg``; ``EQ 1MG BASE`` → ``1 mg base equivalent``; ``5MG/ML`` → ``5 mg/mL``;
    ``.5 mg/1`` → ``0.5 mg``; an Orange Book ``**`` note is removed.
    """
    plain = _NOTE.sub("", text).strip()
    equivalent = _EQUIVALENT.match(plain)
    if equivalent:
        return f"{_amount(equivalent[1] + equivalent[2])} base equivalent"
    return _amount(plain)


def _amount(text: str) -> str:
    top, slash, bottom = text.strip().partition("/")
    parsed = _NUMBER.match(top)
    if not parsed or not parsed[2] or _NO_UNIT.search(text):
        return text.strip()
    amount = f"{number(parsed[1])} {unit(parsed[2])}".replace(" %", "%").strip()
    if not slash:
        return amount
    return amount + _per(bottom)


def _per(bottom: str) -> str:
    parsed = _NUMBER.match(bottom)
    if parsed is None:
        return f"/{unit(bottom)}"
    count, measure = number(parsed[1]), unit(parsed[2])
    if not measure:
        return "" if count == "1" else f"/{count}"
    return f"/{measure}" if count == "1" else f"/{count} {measure}"


def combined(parts: Iterable[str]) -> str:
    """Join the strengths of a combination in the order of its ingredients: ``20 mg / 12.5 mg``."""
    return " / ".join(parts)
