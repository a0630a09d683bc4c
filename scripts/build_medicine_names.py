"""Builds ``tools/drug_database/data/medicine_names.json`` from files of FDA and NLM.

Run it with RxNorm's prescribable subset, the Orange Book, Drugs@FDA and the NDC directory:

    python -m scripts.build_medicine_names rxnorm.zip orange-book.zip drugsatfda.zip ndctext.zip

Kept are the brands that two of the files bear, of medicines with up to three ingredients that the vocabulary of labels
or the demonstration data hold, and the substances of that vocabulary, of the Orange Book and of Drugs@FDA. Ordinary
words are left out of both, but not of the vocabulary.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tools.drug_database.importers.demo import records as demo_records
from tools.drug_database.importers.importer_base import ImportedRows
from tools.drug_database.importers.recognise import read_paths
from tools.drug_database.importing.rollup import roll_up
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.aliases import MEDICINE_NAMES
from tools.drug_database.names.name_keys import base_moiety
from tools.drug_database.records.drug_record import DrugRecord
from tools.drug_database.records.shipped_data import DATA
from tools.drug_database.storage.staging import Staging
from tools.language.folding import fold_name
from tools.language.vocabulary.clinical_vocabulary import is_known_word

_MOST_INGREDIENTS: Final = 3
_MOST_WORDS: Final = 3
_SHORTEST: Final = 4
_FILES: Final = 2
"""Files that have to bear a brand."""
_SUBSTANCE_FILES: Final = frozenset({"orange-book", "drugs-at-fda"})
_SOURCE: Final = (
    "Brand names and substances of FDA's Orange Book (2020-07), Drugs@FDA (2019-07), NDC directory (2015-12) and of "
    "NLM's RxNorm prescribable subset (2025-10), public domain. Built by scripts/build_medicine_names.py."
)


class Brand(NamedTuple):
    """A brand, the medicine it most often means, and how many products that has."""

    products: int
    ingredients: tuple[str, ...]
    name: str


def read_records(paths: Sequence[Path]) -> list[DrugRecord]:
    """Read the files as an import does."""
    with Staging() as staging:
        imported = ImportedRows(staging, lambda _: None)
        read_paths(paths, imported)
        return [roll_up(group, imported.sources) for group in staging.groups()]


def brands_of(records: Iterable[DrugRecord]) -> dict[str, list[str]]:
    """Return the brands of each medicine; of brands that begin with another one of it, the shortest."""
    records = list(records)
    terms = label_terms()
    known = terms.members | terms.acting | {base_moiety(name) for one in demo_records() for name in one.ingredients}
    generic = {form for one in records for name in one.ingredients for form in (fold_name(name), base_moiety(name))}
    found: dict[str, Brand] = {}
    for record in records:
        parts = tuple(map(base_moiety, record.ingredients))
        if len(parts) <= _MOST_INGREDIENTS and known.issuperset(parts):
            for name in _brand_names(record, generic):
                brand = Brand(record.product_count, parts, name)
                found[fold_name(name)] = max(brand, found.get(fold_name(name), brand))
    brands: dict[str, list[str]] = defaultdict(list)
    for folded, brand in sorted(found.items()):
        starts = (found.get(folded[:place]) for place, sign in enumerate(folded) if sign == " ")
        if not any(start and start.ingredients == brand.ingredients for start in starts):
            brands[" and ".join(brand.ingredients)].append(brand.name)
    return dict(sorted(brands.items()))


def _brand_names(record: DrugRecord, generic: set[str]) -> Iterator[str]:
    for fact in record.brand_names:
        words = fold_name(fact.value).split()
        letters = len("".join(words))
        sized = letters >= _SHORTEST and len(words) <= _MOST_WORDS and not any(word.isdigit() for word in words)
        of_its_own = generic.isdisjoint((*words, " ".join(words))) and not all(map(is_known_word, words))
        if sized and of_its_own and len(set(fact.sources)) >= _FILES:
            yield fact.value


def substances_of(records: Iterable[DrugRecord]) -> list[str]:
    """Return the substances of the vocabulary of labels and of FDA's lists of approved drugs."""
    names = {
        base_moiety(name)
        for record in records
        if _SUBSTANCE_FILES & {source for fact in record.substances for source in fact.sources}
        for name in record.ingredients
    }
    listed = (name for name in names if len(name) > _SHORTEST and name.isalpha() and not is_known_word(name))
    return sorted(label_terms().members.union(listed))


def main() -> None:
    """Write the file from the paths that were given."""
    records = read_records([Path(path) for path in sys.argv[1:]])
    data = {"source": _SOURCE, "brands": brands_of(records), "substances": substances_of(records)}
    (DATA / MEDICINE_NAMES).write_text(json.dumps(data, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
