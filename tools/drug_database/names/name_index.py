"""The index of all names in memory: the records of a name, a spelling or a class.

It is read from Milvus once per generation, so that every process answers from the same data. Exact names are looked up
in dictionaries; ``Spellings`` finds misspelt ones.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from tools.drug_database.names.aliases import singular
from tools.drug_database.names.foreign_names import by_international_key, international_key
from tools.drug_database.names.name_keys import base_moieties, base_moiety, class_name, record_key
from tools.drug_database.names.spelling import Spellings
from tools.drug_database.records.drug_record import DrugRecord
from tools.language.folding import fold_name

NameKind = Literal["generic", "substance", "ingredient", "brand", "synonym"]
_KIND_ORDER: Final[dict[NameKind, int]] = {"generic": 0, "substance": 1, "brand": 2, "synonym": 3, "ingredient": 4}
_MOST_NAMES: Final = 400
_FEW: Final = 3
_SHORTEST_START: Final = 4
IndexEntry = dict[str, Any]


def entry_of(record: DrugRecord) -> IndexEntry:
    """Return the entry of a record in the index, as plain JSON data."""
    return {
        "k": record.key,
        "g": record.generic_name,
        "i": list(record.ingredients),
        "s": [fact.value for fact in record.substances][:_MOST_NAMES],
        "b": [fact.value for fact in record.brand_names][:_MOST_NAMES],
        "y": [fact.value for fact in record.synonyms][:_MOST_NAMES],
        "c": [fact.value for fact in record.drug_classes],
        "n": record.product_count,
        "m": sum(len(product.ndcs) for product in record.products),
        "l": bool(record.labels),
    }


class Known(NamedTuple):
    """One meaning of a name."""

    entry: int
    kind: NameKind
    name: str
    """The name as the record writes it."""


class NameIndex:
    """An index that is read-only after its construction, so that threads can share it.

    A record is given by its number, which is its position in ``keys``, ``generics`` and the other lists.
    """

    def __init__(self, entries: Iterable[IndexEntry]) -> None:
        self.keys: list[str] = []
        self.generics: list[str] = []
        self.ingredients: list[tuple[str, ...]] = []
        self.products: list[int] = []
        self.marketed: list[int] = []
        self.labelled: list[bool] = []
        self.classes: list[tuple[str, ...]] = []
        self.by_key: dict[str, int] = {}
        self._exact: dict[str, list[Known]] = {}
        self._squeezed: dict[str, str] = {}
        self._brand_starts: dict[str, list[Known]] = defaultdict(list)
        self.members: dict[str, list[int]] = defaultdict(list)
        self.class_names: dict[str, str] = {}
        self.class_words: dict[str, set[str]] = defaultdict(set)
        """The classes with a word in their name; the word is in the singular."""
        self.containing: dict[str, list[int]] = defaultdict(list)
        for entry in entries:
            self._add(entry)
        for meanings in self._exact.values():
            meanings.sort(key=self._order)
        for members in self.members.values():
            members.sort(key=self.prominence, reverse=True)
        self._keep_brand_starts()
        self.names: list[str] = [*self._exact, *self._brand_starts]
        self._sorted = sorted(self._exact)
        self.spellings = Spellings(self.names, [self.products[self.exact(name)[0].entry] for name in self.names])
        self.class_spellings = Spellings(list(self.class_names))
        self._international = by_international_key(
            (name, known.entry) for name, meanings in self._exact.items() for known in self._substances(meanings)
        )

    def _substances(self, meanings: Sequence[Known]) -> list[Known]:
        """Return the meanings that are not brands or synonyms and have the fewest ingredients."""
        kept = [known for known in meanings if known.kind in {"generic", "substance", "ingredient"}]
        fewest = min((len(self.ingredients[known.entry]) for known in kept), default=0)
        return [known for known in kept if len(self.ingredients[known.entry]) == fewest]

    def _add(self, entry: IndexEntry) -> None:
        number = len(self.keys)
        self.keys.append(entry["k"])
        self.generics.append(entry["g"])
        self.ingredients.append(tuple(entry["i"]))
        self.products.append(entry["n"])
        self.marketed.append(entry["m"])
        self.labelled.append(entry["l"])
        self.classes.append(tuple(entry["c"]))
        self.by_key[entry["k"]] = number
        self._name(number, "generic", entry["g"])
        for kind, field in (("substance", "s"), ("brand", "b"), ("synonym", "y")):
            for name in entry[field]:
                self._name(number, kind, name)  # type: ignore[arg-type]
        single = len(entry["i"]) == 1
        for name in entry["i"]:
            self._name(number, "generic" if single else "ingredient", name)
            if not single:
                self.containing[base_moiety(name)].append(number)
        for drug_class in entry["c"]:
            folded = fold_name(class_name(drug_class))
            if folded not in self.class_names:
                self.class_names[folded] = drug_class
                for word in folded.split():
                    self.class_words[singular(word)].add(folded)
            if number not in self.members[folded][-1:]:
                self.members[folded].append(number)

    def _name(self, number: int, kind: NameKind, name: str) -> None:
        folded = fold_name(name)
        if not folded:
            return
        meanings = self._exact.setdefault(folded, [])
        if not any(known.entry == number and _KIND_ORDER[known.kind] <= _KIND_ORDER[kind] for known in meanings):
            meanings.append(Known(number, kind, name))
        self._squeezed.setdefault(folded.replace(" ", ""), folded)
        if kind == "brand":
            words = folded.split()
            for count in range(1, min(len(words), 4)):
                start = " ".join(words[:count])
                if len(start) >= _SHORTEST_START:
                    self._brand_starts[start].append(Known(number, kind, name))

    def _keep_brand_starts(self) -> None:
        """Keep a start such as ``Advair`` of ``Advair Diskus`` if it is not a name itself and few medicines have it."""
        for start, meanings in list(self._brand_starts.items()):
            if start in self._exact or len({known.entry for known in meanings}) > _FEW:
                del self._brand_starts[start]
            else:
                meanings.sort(key=self._order)

    def prominence(self, number: int) -> tuple[bool, int, int]:
        """Return the sort key for equally good records: those with a label, then those with more marketed products."""
        return self.labelled[number], self.marketed[number], self.products[number]

    def _order(self, known: Known) -> tuple[int, int, bool, int, int]:
        labelled, marketed, products = self.prominence(known.entry)
        parts = len(self.ingredients[known.entry])
        # A name that only one part of a combination has is a weaker match than a brand.
        kind: NameKind = "synonym" if known.kind == "substance" and parts > 1 else known.kind
        return _KIND_ORDER[kind], parts, not labelled, -marketed, -products

    def __len__(self) -> int:
        return len(self.keys)

    def exact(self, name: str) -> Sequence[Known]:
        """Return the meanings of a name, the best first; case, accents, hyphens and spaces do not matter."""
        return self.whole(name) or self._brand_starts.get(fold_name(name), ())

    def whole(self, name: str) -> Sequence[Known]:
        """Return the meanings of a whole name, and not of the start of a brand."""
        folded = fold_name(name)
        return self._exact.get(folded) or self._exact.get(self._squeezed.get(folded.replace(" ", ""), "")) or ()

    def international(self, name: str) -> int | None:
        """Return the record whose name differs from ``name`` only by spelling rules, or None."""
        return self._international.get(international_key(fold_name(name)))

    def starting(self, start: str) -> Iterator[str]:
        """Yield the folded names that begin with ``start``."""
        place = bisect_left(self._sorted, start)
        while place < len(self._sorted) and self._sorted[place].startswith(start):
            yield self._sorted[place]
            place += 1

    def ingredient_set(self, names: Sequence[str]) -> int | None:
        """Return the record of exactly these ingredients; their salts do not matter."""
        bases = base_moieties(names)
        return self.by_key.get(record_key(bases)) if bases else None
