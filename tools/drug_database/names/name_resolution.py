"""Resolves a text as one name: of a record, by its name or a curated alias, of a combination, or of a class."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from tools.drug_database.names.aliases import LISTED, ClassAlias, aliases, is_known_word, singular
from tools.drug_database.names.foreign_names import (
    english_forms,
    english_ions,
    international_keys,
    ions_of,
    salt_in_english,
)
from tools.drug_database.names.name_index import Known, NameIndex, NameKind
from tools.drug_database.names.name_keys import acid_or_ion, base_moiety
from tools.drug_database.names.query_words import JOINING, without_form
from tools.drug_database.records.queries import How
from tools.language.folding import fold_name
from tools.language.vocabulary.clinical_vocabulary import begins_word

LONGEST_NAME: Final = 8
"""Maximum number of words of a name inside a question."""
_MOST_PARTS: Final = 16
_SHORTEST_START: Final = 4
"""Minimum length of a shortened name."""
_SHORTEST_ALONE: Final = 5
"""Minimum length of a shortened name of one word if other words begin so, too."""
_SHORTEST_PART: Final = 3
"""Minimum length of a shortened salt."""
_LONG_ENOUGH: Final = 6
"""Minimum length of a name that is recognized in its German or Spanish spelling."""
_CLASS_SCORE: Final = 95.0
_LONG_WORD: Final = 4
_READ_AS: Final = "{} was read as {}."
_HOW: Final[dict[NameKind, How]] = {
    "generic": "exact",
    "substance": "exact",
    "ingredient": "exact",
    "brand": "brand",
    "synonym": "synonym",
}


class NameCandidate(NamedTuple):
    """A record that may be meant: its number in the index, how it was found, and by which of its names."""

    entry: int
    how: How
    on: str
    score: float


def distinct(candidates: Iterable[NameCandidate]) -> tuple[NameCandidate, ...]:
    """Return the first candidate of each record."""
    by_entry: dict[int, NameCandidate] = {}
    for one in candidates:
        by_entry.setdefault(one.entry, one)
    return tuple(by_entry.values())


def named(index: NameIndex, text: str) -> tuple[list[NameCandidate], str]:
    """Return the records with the name ``text``, or the combination of the names in it, and a note on the name."""
    whole = combination(index, text.split())
    return ([whole], "") if whole is not None else named_alone(index, text)


def named_alone(index: NameIndex, text: str) -> tuple[list[NameCandidate], str]:
    """Return the records with the name ``text``, in any spelling, and a note on the name; no combination of names."""
    found, note = _by_name(index, text)
    if not found:
        found = [_candidate(one) for one in leading(index, index.exact(base_moiety(text)))]
    if not found and (other := acid_or_ion(text)):
        found = [_candidate(one)._replace(how="synonym") for one in leading(index, index.exact(other))]
    if not found and (known := foreign_name(index, text) or abbreviated(index, text.split())):
        return [NameCandidate(known.entry, "synonym", known.name, 96.0)], _READ_AS.format(text, known.name)
    if not found and (name := without_form(fold_name(text))) != fold_name(text):
        return named_alone(index, name)
    alias = None if found or is_known_word(text) else aliases().international(text)
    return _by_name(index, alias.alias) if alias else (found, note)


def foreign_name(index: NameIndex, text: str) -> Known | None:
    """Return the one record that a German or Spanish name means, by its parts and endings; None for other text.

    The record may lack a metal of the name, but not one that is a medicine itself, such as lithium.
    """
    entry = None if " " in text else index.international(text)
    for form in () if entry is not None else english_forms(text):
        known = leading(index, index.exact(form) or index.exact(base_moiety(form)) or index.exact(acid_or_ion(form)))
        entries = {one.entry for one in known if one.kind != "brand"}
        entry = next(iter(entries)) if len(entries) == 1 else index.international(form)
        left_out = ions_of(text) - english_ions(index.entries[entry].generic) if entry is not None else ()
        if any(known.kind == "generic" for ion in left_out for known in index.exact(ion)):
            entry = None
        if entry is not None:
            break
    return None if entry is None else Known(entry, "synonym", index.entries[entry].generic)


def _by_name(index: NameIndex, text: str) -> tuple[list[NameCandidate], str]:
    alias = aliases().name(text)
    meanings = index.exact(text)
    found = [_candidate(known) for known in leading(index, meanings)]
    if alias is None or (meanings and (alias.source == LISTED or _is_own(index, meanings[0]))):
        return found, ""
    brands = {one.entry: one for one in found if one.how == "brand"}
    by_alias = [
        brands.get(known.entry, NameCandidate(known.entry, "synonym", alias.alias, 97.0))
        for name in alias.names
        for known in leading(index, meanings_of(index, name))
    ]
    return [*by_alias, *found], alias.note


def _is_own(index: NameIndex, known: Known) -> bool:
    """Return whether a name is of the record itself, and not of one part of it."""
    return known.kind == "generic" or (known.kind == "substance" and len(index.entries[known.entry].ingredients) == 1)


def meanings_of(index: NameIndex, name: str) -> Sequence[Known]:
    """Return the meanings of a name that an alias gives, such as ``sulfamethoxazole and trimethoprim``."""
    found = index.exact(name)
    together = None if found else index.ingredient_set(re.split(r",| and ", name))
    return found if together is None else [Known(together, "generic", index.entries[together].generic)]


def known_name(text: str) -> str:
    """Return the name of the medicine ``text`` in the vocabularies, loaded or not; empty for other text."""
    if is_abbreviation(text):
        return ""
    if (alias := aliases().name(text)) is not None:
        return alias.alias
    squeezed = fold_name(text).replace(" ", "")
    exact, by_key = _substances()
    if squeezed in exact:
        return exact[squeezed]
    if len(squeezed) >= _LONG_ENOUGH and not all(map(is_known_word, fold_name(text).split())):
        (key,) = international_keys([squeezed])
        alias = aliases().international(text)
        return by_key.get(key) or (alias.alias if alias else salt_in_english(text))
    return ""


def is_abbreviation(text: str) -> bool:
    """Return whether ``text`` is an abbreviation of a medicine's name, which may mean something else, too."""
    alias = aliases().name(text)
    return alias is not None and alias.kind == "abbreviation"


def not_loaded(index: NameIndex, text: str) -> str:
    """Return the known name of the medicine ``text`` if no record has it; otherwise empty."""
    name = known_name(text)
    return name if name and not named(index, name)[0] else ""


@cache
def _substances() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the substances by their name without spaces, and by their international key."""
    exact = {name.replace(" ", ""): name for name in sorted(aliases().substances)}
    long = [name for name in exact if len(name) >= _LONG_ENOUGH]
    return exact, {key: exact[name] for key, name in zip(international_keys(long), long, strict=True)}


def _candidate(known: Known) -> NameCandidate:
    return NameCandidate(known.entry, _HOW[known.kind], known.name, 100.0)


def leading(index: NameIndex, meanings: Sequence[Known]) -> list[Known]:
    """Return the best meanings: a medicine's own name means its own record, not a combination."""
    others = [known for known in meanings if known.kind != "ingredient"]
    own = [known for known in others if _is_own(index, known)]
    if own:
        return [known for known in own if known.kind == own[0].kind]
    if others and others[0].kind == "substance":
        fewest = min(len(index.entries[known.entry].ingredients) for known in others)
        return [known for known in others if len(index.entries[known.entry].ingredients) == fewest]
    return others or sorted(meanings, key=lambda known: index.prominence(known.entry), reverse=True)


def combination(index: NameIndex, words: Sequence[str]) -> NameCandidate | None:
    """Return the record of all medicines that ``words`` name one after the other; None if a word names none."""
    parts: list[NameCandidate] = []
    start = 0
    while start < len(words) and len(parts) < _MOST_PARTS:
        if words[start] in JOINING:
            start += 1
            continue
        ends = range(min(len(words), start + LONGEST_NAME), start, -1)
        tried = ((end, _part(index, " ".join(words[start:end]))) for end in ends)
        end, found = next(((end, found) for end, found in tried if found), (0, []))
        if not found:
            return None
        parts.append(found[0])
        start = end
    return together(index, parts) if start >= len(words) else None


def abbreviated(index: NameIndex, words: Sequence[str]) -> Known | None:
    """Return the one medicine whose name is shortened so, word by word (``simva``, ``metop succ``)."""
    if len(words[0]) < _SHORTEST_START or min(map(len, words)) < _SHORTEST_PART:
        return None
    if len(words) == 1 and (is_known_word(words[0]) or (len(words[0]) < _SHORTEST_ALONE and begins_word(words[0]))):
        return None
    entries: set[int] = set()
    for name in index.starting(words[0]):
        parts = name.split()
        if len(parts) == len(words) and all(map(str.startswith, parts, words)):
            entries.update(one.entry for one in index.whole(name) if one.kind in {"generic", "substance"})
    single = [entry for entry in entries if len(index.entries[entry].ingredients) == 1]
    return Known(single[0], "synonym", index.entries[single[0]].generic) if len(single) == 1 else None


def _part(index: NameIndex, text: str) -> list[NameCandidate]:
    """Return the records that one part of a combination names in English, German or Spanish."""
    found = _by_name(index, text)[0]
    known = None if found else foreign_name(index, text)
    return found if known is None else [NameCandidate(known.entry, "synonym", known.name, 96.0)]


def together(index: NameIndex, parts: Sequence[NameCandidate]) -> NameCandidate | None:
    """Return the record of exactly the ingredients of two or more other records.

    A brand of a combination beside the name of one of its ingredients means two medicines, not the combination.
    """
    if len({one.entry for one in parts}) < 2:
        return None
    entry = index.ingredient_set([name for one in parts for name in index.entries[one.entry].ingredients])
    if entry is None or any(one.entry == entry and one.how == "brand" for one in parts):
        return None
    return NameCandidate(entry, "exact", index.entries[entry].generic, 99.0)


def with_combinations(index: NameIndex, found: Sequence[NameCandidate], note: str) -> tuple[str, ...]:
    """Return the ``note`` on the name, and a note on the combinations that contain the medicine."""
    first, combinations = found[0], ""
    if first.how != "brand" and len(index.entries[first.entry].ingredients) == 1:
        base = base_moiety(index.entries[first.entry].ingredients[0])
        if others := sorted(index.containing.get(base, ()), key=index.prominence, reverse=True):
            names = ", ".join(index.entries[number].generic for number in others[:5])
            more = f" and {len(others) - 5} more" if len(others) > 5 else ""
            combinations = f"Also in combination products: {names}{more}."
    return tuple(filter(None, (note, combinations)))


def classed(index: NameIndex, text: str) -> tuple[NameCandidate, ...]:
    """Return the members of the class that ``text`` names, or whose name has all its words."""
    return class_named(index, text) or tuple(_members(index, _by_words(index, fold_name(text))))


def class_named(index: NameIndex, text: str) -> tuple[NameCandidate, ...]:
    """Return the members of the class that ``text`` names, the most common first."""
    folded = fold_name(text)
    forms = (folded, singular(folded), f"{singular(folded)}s")
    own = [form for form in forms if form in index.members][:1]
    alias = aliases().drug_class(text)
    return distinct([*_members(index, own), *(_alias_members(index, alias) if alias else ())])


def _alias_members(index: NameIndex, alias: ClassAlias) -> Sequence[NameCandidate]:
    by_name = [
        NameCandidate(known.entry, "class", alias.alias, _CLASS_SCORE)
        for name in alias.names
        for known in meanings_of(index, name)
        if known.kind == "generic"
    ]
    return [*_members(index, [fold_name(name) for name in alias.classes]), *by_name]


def _by_words(index: NameIndex, folded: str) -> list[str]:
    """Return the shortest class name that has every word of the text, if any."""
    wanted = {singular(word) for word in folded.split()}
    # An element alone names no class: "calcium" does not mean calcium channel blockers.
    if wanted <= english_ions(folded) or max(map(len, wanted)) < _LONG_WORD:
        return []
    fitting = set[str].intersection(*(index.class_words.get(word, set[str]()) for word in wanted))
    return sorted(fitting, key=lambda name: (not index.class_names[name].endswith("[EPC]"), len(name), name))[:1]


def _members(index: NameIndex, names: Iterable[str]) -> list[NameCandidate]:
    """Return the members of classes: single medicines first, then those in most of the classes, then by frequency."""
    on: dict[int, str] = {}
    count: Counter[int] = Counter()
    for name in dict.fromkeys(names):
        for number in index.members.get(name, ()):
            on.setdefault(number, index.class_names[name])
            count[number] += 1
    order = sorted(on, key=index.prominence, reverse=True)
    order.sort(key=lambda number: (len(index.entries[number].ingredients) > 1, -count[number]))
    return [NameCandidate(number, "class", on[number], _CLASS_SCORE) for number in order]
