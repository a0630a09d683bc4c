"""Names that are known to be taken for one another (``data/lookalikes.json``, each group with its source)."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from pydantic import Field

from tools.drug_database.names.name_keys import base_moiety, shipped
from tools.language.folding import fold_name
from tools.types import Frozen


class LookAlikeGroup(Frozen):
    """Names that are confused with each other."""

    names: tuple[str, ...] = Field(min_length=2)
    source: str
    tall_in_files: tuple[str, ...] = ()
    """Those that the NDC directory writes in tall man letters."""


class LookAlikeFile(Frozen):
    """The content of ``data/lookalikes.json``."""

    checked: str
    """How the groups were checked."""
    sources: dict[str, str]
    groups: tuple[LookAlikeGroup, ...]


@cache
def groups() -> tuple[LookAlikeGroup, ...]:
    """Return the shipped groups."""
    return shipped("lookalikes.json", LookAlikeFile).groups


@cache
def _table() -> dict[str, dict[str, None]]:
    table: dict[str, dict[str, None]] = defaultdict(dict)
    for group in groups():
        for name in group.names:
            table[fold_name(name)].update((other, None) for other in group.names if other != name)
    return table


def look_alikes(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that any of ``names`` is known to be confused with, in the order of the lists."""
    table = _table()
    found: dict[str, None] = {}
    for name in names:
        for form in (fold_name(name), base_moiety(name)):
            found.update(table.get(form, {}))
    return tuple(found)
