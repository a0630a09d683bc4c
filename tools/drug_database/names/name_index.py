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
StoredEntry = dict[str, Any]


class IndexEntry(NamedTuple):
    """The facts of a record that rank its names."""

    key: str
    generic: str
    ingredients: tuple[str, ...]
    classes: tuple[str, ...]
    products: int
    """Number of marketed products."""
    marketed: int
    """Number of their product codes."""
    labelled: bool


def entry_of(record: DrugRecord) -> StoredEntry:
    """Return the entry of a record as it is stored, as plain JSON data."""
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

    A record is given by its number, which is its position in ``entries``.
    """

    def __init__(self, stored: Iterable[StoredEntry]) -> None:
        self.entries: list[IndexEntry] = []
        self.by_key: dict[str, int] = {}
        self._exact: dict[str, list[Known]] = {}
        self._squeezed: dict[str, str] = {}
        self._brand_starts: dict[str, list[Known]] = defaultdict(list)
        self.members: dict[str, list[int]] = defaultdict(list)
        self.class_names: dict[str, str] = {}
        self.class_words: dict[str, set[str]] = defaultdict(set)
        """The classes with a word in their name; the word is in the singular."""
        self.containing: dict[str, list[int]] = defaultdict(list)
        for entry in stored:
            self._add(entry)
        for meanings in self._exact.values():
            meanings.sort(key=self._order)
        for members in self.members.values():
            members.sort(key=self.prominence, reverse=True)
        self._keep_brand_starts()
        self.names: list[str] = [*self._exact, *self._brand_starts]
        self._sorted = sorted(self._exact)
        best = (self.exact(name)[0].entry for name in self.names)
        self.spellings = Spellings(self.names, [self.entries[entry].products for entry in best])
        self.class_spellings = Spellings(list(self.class_names))
        self._international = by_international_key(
            (name, known.entry) for name, meanings in self._exact.items() for known in self._substances(meanings)
        )

    def _substances(self, meanings: Sequence[Known]) -> list[Known]:
        """Return the meanings that are not brands or synonyms and have the fewest ingredients."""
        kept = [known for known in meanings if known.kind in {"generic", "substance", "ingredient"}]
        fewest = min((len(self.entries[known.entry].ingredients) for known in kept), default=0)
        return [known for known in kept if len(self.entries[known.entry].ingredients) == fewest]

    def _add(self, stored: StoredEntry) -> None:
        number = len(self.entries)
        ingredients, classes = tuple(stored["i"]), tuple(stored["c"])
        entry = IndexEntry(stored["k"], stored["g"], ingredients, classes, stored["n"], stored["m"], stored["l"])
        self.entries.append(entry)
        self.by_key[entry.key] = number
        self._name(number, "generic", entry.generic)
        for kind, field in (("substance", "s"), ("brand", "b"), ("synonym", "y")):
            for name in stored[field]:
                self._name(number, kind, name)  # type: ignore[arg-type]
        single = len(ingredients) == 1
        for name in ingredients:
            self._name(number, "generic" if single else "ingredient", name)
            if not single:
                self.containing[base_moiety(name)].append(number)
        for drug_class in classes:
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
        entry = self.entries[number]
        return entry.labelled, entry.marketed, entry.products

    def _order(self, known: Known) -> tuple[int, int, bool, int, int]:
        labelled, marketed, products = self.prominence(known.entry)
        parts = len(self.entries[known.entry].ingredients)
        # A name that only one part of a combination has is a weaker match than a brand.
        kind: NameKind = "synonym" if known.kind == "substance" and parts > 1 else known.kind
        return _KIND_ORDER[kind], parts, not labelled, -marketed, -products

    def __len__(self) -> int:
        return len(self.entries)

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
