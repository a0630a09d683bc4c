"""The members of the class that a text names, by FDA's name of it or by what clinicians call it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tools.drug_database.names.aliases import Aliases, ClassAlias, singular
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_resolution import NameCandidate, distinct, meanings_of
from tools.language.folding import fold_name

_SCORE: Final = 95.0
_LONG_WORD: Final = 4


def classed(index: NameIndex, aliases: Aliases, text: str) -> tuple[NameCandidate, ...]:
    """Return the members of the class that ``text`` names or whose name holds all its words."""
    return class_named(index, aliases, text) or tuple(_members(index, _by_words(index, fold_name(text))))


def class_named(index: NameIndex, aliases: Aliases, text: str) -> tuple[NameCandidate, ...]:
    """Return the members of the class that ``text`` names, the most common first."""
    folded = fold_name(text)
    forms = (folded, singular(folded), f"{singular(folded)}s")
    own = [form for form in forms if form in index.members][:1]
    alias = aliases.drug_class(text)
    return distinct([*_members(index, own), *(_alias_members(index, alias) if alias else ())])


def _alias_members(index: NameIndex, alias: ClassAlias) -> Sequence[NameCandidate]:
    by_name = [
        NameCandidate(known.entry, "class", alias.alias, _SCORE)
        for name in alias.names
        for known in meanings_of(index, name)
        if known.kind == "generic"
    ]
    return [*_members(index, [fold_name(name) for name in alias.classes]), *by_name]


def _by_words(index: NameIndex, folded: str) -> list[str]:
    """Class names that hold every word of the text, the shortest first."""
    wanted = {singular(word) for word in folded.split()}
    if not wanted or max(map(len, wanted)) < _LONG_WORD:
        return []
    fitting = set[str].intersection(*(index.class_words.get(word, set[str]()) for word in wanted))
    return sorted(fitting, key=lambda name: (not index.class_names[name].endswith("[EPC]"), len(name), name))[:1]


def _members(index: NameIndex, names: Iterable[str]) -> list[NameCandidate]:
    """Single medicines before combinations; those that are in most of the classes first, then the most common."""
    on: dict[int, str] = {}
    count: Counter[int] = Counter()
    for name in dict.fromkeys(names):
        for number in index.members.get(name, ()):
            on.setdefault(number, index.class_names[name])
            count[number] += 1
    order = sorted(on, key=index.prominence, reverse=True)
    order.sort(key=lambda number: (len(index.ingredients[number]) > 1, -count[number]))
    return [NameCandidate(number, "class", on[number], _SCORE) for number in order]
