"""Filters by dosage form, route and strength, in the words a clinician uses."""

from typing import NamedTuple, Self

from tools.drug_database.labels.label_scope import WORDS
from tools.drug_database.records.drug_record import DrugRecord, Product
from tools.drug_database.records.queries import DrugQuery
from tools.drug_database.records.strengths import strength
from tools.language.folding import fold_name


class Filters(NamedTuple):
    """Words that a product's form and routes must hold, and a strength it must come in; empty for no filter."""

    form: frozenset[str]
    route: frozenset[str]
    strength: str

    @classmethod
    def of(cls, query: DrugQuery) -> Self:
        """Return the filters of a query, folded."""
        return cls(_words(query.dosage_form), _words(query.route), normal_strength(query.strength or ""))

    @property
    def active(self) -> bool:
        """Return whether any filter is set."""
        return bool(self.form or self.route or self.strength)


def _words(text: str | None) -> frozenset[str]:
    words = fold_name((text or "")[:200]).split()
    return frozenset(part for word in words for part in (WORDS.typed | WORDS.body_parts).get(word, word).split())


def normal_strength(text: str) -> str:
    """Write a strength in the notation of the database: ``1,000 MCG`` becomes ``1000 mcg``."""
    return strength(text.strip()[:100])


def with_fitting_products(record: DrugRecord, filters: Filters, *, brand: str = "") -> DrugRecord | None:
    """Return the record with the products that pass, those of ``brand`` first; None if a filter leaves none."""
    products = tuple(product for product in (_fitting(one, filters) for one in record.products) if product)
    if filters.active and not products:
        return None
    if brand:
        wanted = fold_name(brand)
        products = tuple(sorted(products, key=lambda one: fold_name(one.brand_name) != wanted))
    return record.model_copy(update={"products": products})


def _fitting(product: Product, filters: Filters) -> Product | None:
    if not filters.form <= set(fold_name(product.dosage_form).split()):
        return None
    if not filters.route <= {word for route in product.routes for word in fold_name(route).split()}:
        return None
    if not filters.strength:
        return product
    strengths = tuple(one for one in product.strengths if has_strength(one, filters.strength))
    return product.model_copy(update={"strengths": strengths}) if strengths else None


def has_strength(listed: str, wanted: str) -> bool:
    """Return whether a listed strength has the amount ``wanted``.

    ``500 mg`` is in ``500 mg``, ``500 mg / 25 mg``, ``500 mg base equivalent`` and ``500 mg/5 mL``.
    """
    plain = listed.removesuffix(" base equivalent").casefold()
    sought = wanted.casefold()
    return any(part == sought or part.startswith(f"{sought}/") for part in (plain, *plain.split(" / ")))
