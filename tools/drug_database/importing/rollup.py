"""Merges the statements of all sources on an ingredient set into one record."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

from tools.drug_database.importers import demo, formulary
from tools.drug_database.names.name_keys import base_moieties, class_kind, class_name, joined, salt_words
from tools.drug_database.records.drug_record import Contribution, DataSource, DrugRecord, Fact, Label, Product
from tools.drug_database.records.shipped_data import shipped_words
from tools.drug_database.storage.staging import StagedGroup
from tools.language.folding import fold_name

_MOST_LABELS: Final = 12
_LONG_WORD: Final = 7
_FORM_WORDS: Final = shipped_words("plain")
_KIND_ORDER: Final = {"": 0, "epc": 1, "moa": 2, "pe": 3, "cs": 4}
_DISCONTINUED: Final = "discontinued"
_MARKETED: Final = frozenset({"prescription", "over-the-counter"})
_LEADING_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_MERGED: Final = tuple(
    name
    for name, one in Product.model_fields.items()
    if one.annotation == tuple[str, ...] and name not in {"routes", "sources"}
)
"""The lists of a product; its routes tell products apart."""
_BinKey = tuple[str, tuple[str, ...], str, bool]
"""Dosage form, routes, brand, and whether the product is discontinued."""
_NAME_RANKS: Final = {formulary.SOURCE_ID: 0, demo.SOURCE_ID: 1, "": 2}
"""Whose wording of the generic name wins, by source id up to a colon; 0 is first."""
_LABEL_RANKS: Final = {formulary.SOURCE_ID: 0, "": 1, demo.SOURCE_ID: 2}
"""Whose labels are shown first."""


class Facts:
    """Values in their first order, equal ones (by ``fold_name``) once, with the sources of each."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[str, list[str]]] = {}

    def add(self, values: Iterable[str], source: str) -> None:
        """Add values of one source."""
        for value in values:
            _, sources = self._values.setdefault(fold_name(value) or value, (value, []))
            if source not in sources:
                sources.append(source)

    def __contains__(self, value: str) -> bool:
        return fold_name(value) in self._values

    def facts(self) -> tuple[Fact, ...]:
        """Return the values with their sources."""
        return tuple(Fact(value=value, sources=tuple(sources)) for value, sources in self._values.values())


@dataclass
class _ProductBin:
    """Collects the products of one form, route, brand and marketing state from all sources."""

    first: Product
    lists: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])

    def add(self, product: Product, source: str) -> None:
        for name in _MERGED:
            values: tuple[str, ...] = getattr(product, name)
            if values:
                self.lists.setdefault(name, {}).update(dict.fromkeys(values))
        self.lists.setdefault("sources", {})[source] = None

    def product(self) -> Product:
        lists = {name: tuple(values) for name, values in self.lists.items()}
        lists["strengths"] = tuple(sorted(lists.get("strengths", ()), key=_strength_order))
        lists["labelers"] = tuple(sorted(lists.get("labelers", ()), key=str.casefold))
        return self.first.model_copy(update=lists)


def roll_up(group: StagedGroup, sources: Mapping[str, DataSource]) -> DrugRecord:
    """Return the record of one ingredient set. ``sources`` names every source that its lines refer to."""
    items = [Contribution.model_validate_json(line) for line in group.lines]
    items.sort(key=lambda item: (_rank(_NAME_RANKS, item.source), item.source, item.item))
    # The best source orders and spells the ingredients.
    first = next((item for item in items if item.ingredients), items[0])
    ingredients = first.ingredients or base_moieties(first.substances)
    generic = next((item.generic_name for item in items if item.generic_name), "") or _joined(ingredients)
    substances, synonyms, classes, rxcuis, brands = Facts(), Facts(), Facts(), Facts(), Facts()
    plain = _plain_words(ingredients, items)
    bins: dict[_BinKey, _ProductBin] = {}
    for item in items:
        substances.add(item.substances, item.source)
        rxcuis.add(item.rxcuis, item.source)
        classes.add(item.drug_classes, item.source)
        for name in item.brand_names:
            (brands if is_brand(name, plain) else synonyms).add([name], item.source)
        synonyms.add(item.synonyms, item.source)
        for product in item.products:
            _file(bins, product, item.source, plain)
    products = tuple(sorted((bin_.product() for bin_ in bins.values()), key=_product_order))
    known = {fold_name(generic), *(fold_name(fact.value) for fact in substances.facts())}
    return DrugRecord(
        key=group.key,
        generic_name=generic,
        ingredients=ingredients,
        substances=substances.facts(),
        brand_names=brands.facts(),
        rxcuis=rxcuis.facts(),
        synonyms=tuple(
            fact for fact in synonyms.facts() if fold_name(fact.value) not in known and fact.value not in brands
        ),
        drug_classes=_classes(classes.facts()),
        products=products,
        labels=_best_labels(items),
        product_count=sum(len(item.products) for item in items),
        sources=tuple(sources[name] for name in dict.fromkeys(item.source for item in items) if name in sources),
        discontinued_brands=tuple(_discontinued(brands.facts(), products)),
        discontinued=bool(products) and all(product.discontinued for product in products),
    )


def _joined(ingredients: Sequence[str]) -> str:
    more = [f"{len(ingredients) - 4} more ingredients"]
    return joined([*ingredients[:4], *more] if len(ingredients) > 5 else ingredients)


def is_brand(name: str, plain: frozenset[str]) -> bool:
    """Return whether a name is a brand, not just made of the record's words (``Metformin ER``).

    A slip of one letter in such a word (``Metfomin Hydrochloride`` occurs in the NDC directory) makes no brand either.
    """
    words = fold_name(name).split()
    return bool(words) and not all(word in plain or word.isdigit() or _is_slip(word, plain) for word in words)


def _is_slip(word: str, plain: frozenset[str]) -> bool:
    if len(word) < _LONG_WORD:
        return False
    return process.extractOne(word, plain, scorer=OSA.distance, score_cutoff=1) is not None


def _rank(ranks: Mapping[str, int], source: str) -> int:
    return ranks.get(source.partition(":")[0], ranks[""])


def _plain_words(ingredients: Iterable[str], items: Iterable[Contribution]) -> frozenset[str]:
    names = (*ingredients, *(name for item in items for name in item.substances))
    return _FORM_WORDS.union(salt_words().endings, *(fold_name(name).split() for name in names))


def _file(bins: dict[_BinKey, _ProductBin], product: Product, source: str, plain: frozenset[str]) -> None:
    brand = product.brand_name if is_brand(product.brand_name, plain) else ""
    statuses = {status.casefold() for status in product.marketing}
    ended = _DISCONTINUED in statuses and statuses.isdisjoint(_MARKETED)
    key = (fold_name(product.dosage_form), product.routes, fold_name(brand), ended)
    if key not in bins:
        first = Product(dosage_form=product.dosage_form, routes=product.routes, brand_name=brand, discontinued=ended)
        bins[key] = _ProductBin(first)
    bins[key].add(product, source)


def _discontinued(brands: Iterable[Fact], products: Iterable[Product]) -> Iterator[str]:
    """Yield the brands whose products are all discontinued, unless a source names one without a product of it."""
    sold: dict[str, list[Product]] = {}
    for product in products:
        sold.setdefault(fold_name(product.brand_name), []).append(product)
    for fact in brands:
        found = sold.get(fold_name(fact.value), ())
        said = {source for product in found for source in product.sources}
        if said.issuperset(fact.sources) and all(product.discontinued for product in found):
            yield fact.value


def _classes(found: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Return each class once, established ones first; FDA's marked name wins over the same name without a mark."""
    by_name: dict[str, Fact] = {}
    for fact in found:
        name = fold_name(class_name(fact.value))
        other = by_name.get(f"{name}|")
        marked = f"{name}|{class_kind(fact.value)}"
        if other and marked != f"{name}|":
            del by_name[f"{name}|"]
        if not (marked == f"{name}|" and any(key.startswith(marked) for key in by_name)):
            by_name[marked] = fact
    return tuple(sorted(by_name.values(), key=lambda fact: _KIND_ORDER.get(class_kind(fact.value), 9)))


def _best_labels(items: Sequence[Contribution]) -> tuple[Label, ...]:
    """Return at most twelve labels, by the rank of their source, the newest of one rank first."""
    found = [(_rank(_LABEL_RANKS, item.source), item.label) for item in items if item.label]
    found.sort(key=lambda ranked: ranked[1].source.date, reverse=True)
    return tuple(label for _, label in sorted(found, key=lambda ranked: ranked[0])[:_MOST_LABELS])


def _product_order(product: Product) -> tuple[bool, int, str, str, str]:
    return (
        product.discontinued,
        -len(product.ndcs) - len(product.applications),
        product.dosage_form,
        product.brand_name.casefold(),
        " ".join(product.routes),
    )


def _strength_order(strength: str) -> tuple[str, float, str]:
    number = _LEADING_NUMBER.search(strength)
    unit = re.sub(r"[\d.\s]", "", strength.split("/", maxsplit=1)[0])
    return (unit, float(number[0]) if number else 0.0, strength)
