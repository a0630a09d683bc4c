"""Names that are known to be taken for one another (``data/lookalikes.json``, each group with its source)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from pydantic import Field

from tools.drug_database.names import DATA, base_moiety, fold
from tools.types import Frozen


class LookAlikeGroup(Frozen):
    names: tuple[str, ...] = Field(min_length=2)
    source: str


class LookAlikeFile(Frozen):
    sources: dict[str, str]
    groups: tuple[LookAlikeGroup, ...]


@cache
def _table() -> dict[str, dict[str, None]]:
    data = LookAlikeFile.model_validate(json.loads((DATA / "lookalikes.json").read_text(encoding="utf-8")))
    table: dict[str, dict[str, None]] = defaultdict(dict)
    for group in data.groups:
        for name in group.names:
            table[fold(name)].update((other, None) for other in group.names if other != name)
    return table


def look_alikes(names: Iterable[str]) -> tuple[str, ...]:
    """The names that any of ``names`` is known to be confused with, in the order of the lists."""
    table = _table()
    found: dict[str, None] = {}
    for name in names:
        for form in (fold(name), base_moiety(name)):
            found.update(table.get(form, {}))
    return tuple(found)
