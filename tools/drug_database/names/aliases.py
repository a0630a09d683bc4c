"""Curated aliases: INN, BAN and JAN names, abbreviations, and what clinicians call classes.

``data/aliases.json`` has each alias with its source. An alias leads to names of the database; it never makes a record.
``data/lookalikes.json`` has the names that are known to be confused with each other.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, Literal

from pydantic import Field

from tools.drug_database.names.foreign_names import international_key, international_keys
from tools.drug_database.names.name_keys import base_moiety
from tools.drug_database.names.spelling import Spellings
from tools.drug_database.records.shipped_data import Shipped, shipped
from tools.language.folding import fold_name
from tools.language.vocabulary import clinical_vocabulary
from tools.types import Frozen

LOOK_ALIKES: Final = "lookalikes.json"
MEDICINE_NAMES: Final = "medicine_names.json"
LISTED: Final = "us_listed"
"""Source of the brands of ``data/medicine_names.json``."""
_LONG_ENOUGH: Final = 6
"""Minimum length of an abbreviation that can be misspelt. A shorter one with a wrong letter may be another one."""


class NameAlias(Frozen):
    """Another name of a medicine. Several names mean that the alias is ambiguous; the first is the usual meaning."""

    alias: str
    names: tuple[str, ...] = Field(min_length=1)
    kind: Literal["inn", "abbreviation", "brand"]
    source: str
    note: str = ""
    """A warning for the reader, such as a known confusion."""
    foreign: Mapping[str, str] = {}
    """The one name that the alias means in another language, by the language."""
    in_files: bool = False
    """Whether FDA's or NLM's files have both names in one record."""


class ClassAlias(Frozen):
    """What clinicians call a class, with the class names of the database and the members that it means."""

    alias: str
    classes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    source: str


class AliasFile(Frozen):
    """The content of ``data/aliases.json``."""

    checked: str
    """How the aliases were checked."""
    sources: dict[str, str]
    names: tuple[NameAlias, ...]
    classes: tuple[ClassAlias, ...]


class MedicineNames(Shipped):
    """``data/medicine_names.json``: names in FDA's and NLM's files.

    They tell a medicine that is not loaded from a misspelling. A medicine with several ingredients is named by them,
    joined by ``and``.
    """

    brands: dict[str, tuple[str, ...]]
    """The brands of each medicine."""
    substances: tuple[str, ...]
    """Substances, folded, with those of the vocabulary of labels."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each brand with its medicine."""
        return ((brand, medicine) for medicine, brands in self.brands.items() for brand in brands)


@cache
def medicine_names() -> MedicineNames:
    """Return the shipped names."""
    return shipped(MEDICINE_NAMES, MedicineNames)


class Aliases:
    """Finds aliases by their folded text, with and without spaces, in the singular and plural."""

    def __init__(self, data: AliasFile, listed: MedicineNames) -> None:
        self.classes = data.classes
        self._names: dict[str, NameAlias] = {}
        self._classes: dict[str, ClassAlias] = {}
        self._nicknames: dict[str, list[str]] = defaultdict(list)
        self._other_names: dict[str, list[str]] = defaultdict(list)
        self._substance_names: dict[str, dict[str, None]] = defaultdict(dict)
        self.substances = frozenset(fold_name(name) for one in data.names for name in one.names).union(
            listed.substances
        )
        """Folded names of substances, including those that aliases lead to."""
        brands = [NameAlias(alias=one, names=(means,), kind="brand", source=LISTED) for one, means in listed.pairs()]
        for name in (*data.names, *brands):
            for form in _forms(name.alias):
                self._names.setdefault(form, name)
            if len(name.names) != 1:
                continue
            self._other_names[fold_name(name.names[0])].append(name.alias)
            if name.kind == "inn":
                self._substance_names[fold_name(name.names[0])][name.alias] = None
                self._substance_names[fold_name(name.alias)][name.names[0]] = None
        for group in data.classes:
            for form in _forms(group.alias):
                self._classes.setdefault(form, group)
            for drug_class in group.classes[:1]:
                self._nicknames[fold_name(drug_class)].append(group.alias)
        international = [one for one in data.names if one.kind == "inn"]
        keys = international_keys([fold_name(one.alias) for one in international])
        self._international = dict(zip(keys, international, strict=True))
        spelt = [one for one in data.names if one.kind != "abbreviation" or len(one.alias) >= _LONG_ENOUGH]
        self.spellings = Spellings([fold_name(one.alias) for one in spelt if one.kind != "brand"])
        self.brand_spellings = Spellings([fold_name(one.alias) for one in spelt if one.kind == "brand"])
        self.substance_spellings = Spellings(sorted(self.substances))
        classes = [fold_name(one.alias) for one in data.classes if len(one.alias) >= _LONG_ENOUGH]
        self.class_spellings = Spellings(classes)

    def name(self, text: str) -> NameAlias | None:
        """Return the alias of a medicine with the spelling ``text``."""
        return self._names.get(fold_name(text))

    def international(self, text: str) -> NameAlias | None:
        """Return the alias of which ``text`` is the German or Spanish spelling, such as ``Cotrimoxazol``."""
        found = self._international.get(international_key(fold_name(text)))
        return found if found and len(text) >= _LONG_ENOUGH else None

    def substance_names(self, name: str) -> Sequence[str]:
        """Return the other official names (INN, BAN, USAN) of the substance ``name``."""
        return list(self._substance_names.get(fold_name(name), ()))

    def drug_class(self, text: str) -> ClassAlias | None:
        """Return the alias of a class with the spelling ``text``, in the singular or plural."""
        folded = fold_name(text)
        return self._classes.get(folded) or self._classes.get(singular(folded))

    def other_names(self, name: str) -> Sequence[str]:
        """Return the aliases that mean only this medicine."""
        return self._other_names.get(fold_name(name), ())

    def nicknames(self, drug_class: str) -> Sequence[str]:
        """Return what clinicians call the class with this name in the database."""
        return self._nicknames.get(fold_name(drug_class), ())


def singular(folded: str) -> str:
    """Put the last word into the singular: ``loop diuretics`` becomes ``loop diuretic``."""
    if folded.endswith("ies") and len(folded) > 5:
        return f"{folded[:-3]}y"
    if folded.endswith("s") and not folded.endswith("ss") and len(folded) > 3:
        return folded[:-1]
    return folded


def _forms(alias: str) -> set[str]:
    folded = fold_name(alias)
    return {folded, folded.replace(" ", "")}


@cache
def aliases() -> Aliases:
    """Return the shipped aliases."""
    return Aliases(shipped("aliases.json", AliasFile), medicine_names())


def is_known_word(word: str) -> bool:
    """Return whether ``word`` is an ordinary or clinical word; no alias is one as a form of German words ("Banan")."""
    if clinical_vocabulary.is_listed_word(word):
        return True
    return clinical_vocabulary.is_known_word(word) and aliases().name(word) is None


class LookAlikeGroup(Frozen):
    """Names that are confused with each other."""

    names: tuple[str, ...] = Field(min_length=2)
    source: str
    tall_in_files: tuple[str, ...] = ()
    """Those of the names that the NDC directory writes in tall man letters."""


class LookAlikeFile(Frozen):
    """The content of ``data/lookalikes.json``."""

    checked: str
    """How the groups were checked."""
    sources: dict[str, str]
    groups: tuple[LookAlikeGroup, ...]


@cache
def _look_alikes() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for group in shipped(LOOK_ALIKES, LookAlikeFile).groups:
        for name in group.names:
            found[fold_name(name)] += (other for other in group.names if other != name)
    return found


def look_alikes(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names with which any of ``names`` is known to be confused, in the order of the lists."""
    forms = (form for name in names for form in (fold_name(name), base_moiety(name)))
    return tuple(dict.fromkeys(other for form in forms for other in _look_alikes().get(form, ())))
