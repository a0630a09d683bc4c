"""The demonstration drugs against FDA's and NLM's own files: names, forms, routes and strengths.

A fact of a demonstration record is known when any of the NDC directory 2015, the Orange Book 2020, Drugs@FDA 2019 or
RxNorm 2025 states it for a product with the same ingredients. RxNorm's copy lacks ingredients that begin with A, and
over-the-counter products are in RxNorm alone, so that a small share of facts, each bounded here, has no second witness.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.drugs import rolled_up
from tools.drug_database.importers import demo
from tools.drug_database.names.name_keys import base_moieties, record_key
from tools.drug_database.records.drug_record import Contribution, DrugRecord, Label
from tools.drug_database.records.strengths import number
from tools.language.folding import fold_name
from tools.types import DEMO_ISSUER

pytestmark = pytest.mark.slow

FILES = (
    "ndctext_2015-12.zip",
    "orange-book_2020-07-06.zip",
    "drugsatfda_2019-07-02.zip",
    "rxnorm_prescribable_2025-10.zip",
)
_NUMBER = re.compile(r"\d[\d,]*\.?\d*|\.\d+")


@pytest.fixture(scope="module")
def known(shared: Path) -> dict[str, DrugRecord]:
    """What the directories say, by ingredient set."""
    records, _ = rolled_up(*(shared / "data/drugs" / name for name in FILES))
    return records


def every_contribution() -> list[Contribution]:
    files = sorted(demo.FOLDER.glob("*.json"))
    return [record for file in files for record in demo.DemoFile.model_validate_json(file.read_bytes()).records]


def key_of(record: Contribution) -> str:
    return record_key(base_moieties(record.ingredients))


def label_of(record: Contribution) -> Label:
    assert record.label is not None, record.generic_name
    return record.label


def test_there_are_at_least_150_medicines_each_with_a_source() -> None:
    records = demo.records()
    assert len(records) >= 150
    assert len({key_of(record) for record in records}) == len(records)
    assert all(record.products and record.drug_classes and record.ingredients for record in records)
    sources = [label_of(record).source for record in records]
    assert all(source.url.startswith("https://") for source in sources)
    # They are summaries, and every reference says so.
    assert {source.publisher for source in (demo.SOURCE, *sources)} == {DEMO_ISSUER}
    assert all(source.title.startswith("Demonstration summary of ") for source in sources)


def test_every_label_has_the_sections_a_clinician_looks_for() -> None:
    for record in demo.records():
        for section in ("indications", "dosage", "warnings", "renal_dosing", "hepatic_dosing", "pregnancy"):
            assert section in label_of(record).sections, f"{record.generic_name}: {section}"


def test_every_medicine_is_known(known: dict[str, DrugRecord]) -> None:
    unknown = [record.generic_name for record in demo.records() if key_of(record) not in known]
    assert unknown == []


def test_every_substance_is_a_form_of_its_ingredients() -> None:
    """Two are moieties of their own that one record covers: enalaprilat, and the human insulin in isophane insulin."""
    strangers = {
        (record.generic_name, substance)
        for record in demo.records()
        for substance in base_moieties(record.substances)
        if substance not in base_moieties(record.ingredients)
    }
    assert strangers <= {("enalapril", "enalaprilat"), ("insulin isophane", "insulin human")}


def test_brand_names_belong_to_their_medicine(known: dict[str, DrugRecord]) -> None:
    holders: dict[str, set[str]] = defaultdict(set)
    for key, held in known.items():
        for fact in held.brand_names:
            holders[fold_name(fact.value)].add(key)
    wrong: list[tuple[str, str]] = []
    unseen = 0
    total = 0
    for record in demo.records():
        for brand in record.brand_names:
            total += 1
            found = holders.get(fold_name(brand))
            if found is None:
                unseen += 1
            elif key_of(record) not in found and not any(_shares(key, key_of(record)) for key in found):
                wrong.append((record.generic_name, brand))
    assert wrong == []
    assert unseen / total <= 0.15


def _shares(key: str, other: str) -> bool:
    return bool(set(key.split("+")) & set(other.split("+")))


def test_dosage_forms_and_routes_are_known(known: dict[str, DrugRecord]) -> None:
    total, missing = 0, []
    for record in demo.records():
        products = known[key_of(record)].products
        forms = {word for product in products for word in _words(product.dosage_form)}
        routes = {word for product in products for route in product.routes for word in _words(route)}
        for product in record.products:
            total += 1
            if not _words(product.dosage_form) <= forms or (routes and not _any_route(product.routes, routes)):
                missing.append((record.generic_name, product.dosage_form, product.routes))
    assert len(missing) / total <= 0.05, missing


def _words(text: str) -> set[str]:
    return set(fold_name(text).split())


def _any_route(routes: tuple[str, ...], known_words: set[str]) -> bool:
    return all(_words(route) & known_words for route in routes)


def test_strengths_are_known(known: dict[str, DrugRecord]) -> None:
    """Compared by their numbers and, for liquids, by the ratio of their numbers: 500 mg/5 mL is 100 mg/mL."""
    total, missing = 0, []
    for record in demo.records():
        listed = {
            amount
            for product in known[key_of(record)].products
            for one in product.strengths
            for amount in _amounts(one)
        }
        for product in record.products:
            for one in product.strengths:
                total += 1
                if not _amounts(one) & listed:
                    missing.append((record.generic_name, product.dosage_form, one))
    assert len(missing) / total <= 0.05, missing


def test_a_brand_has_its_own_strengths(known: dict[str, DrugRecord]) -> None:
    """Injections are left out: the directories give them per vial, per mL or per container."""
    total, foreign = 0, []
    for record in demo.records():
        for product in record.products:
            brand = fold_name(product.brand_name)
            same = [one for one in known[key_of(record)].products if brand and fold_name(one.brand_name) == brand]
            listed = {amount for one in same for strength in one.strengths for amount in _amounts(strength)}
            if not listed or "injection" in product.dosage_form:
                continue
            total += len(product.strengths)
            foreign += [(product.brand_name, one) for one in product.strengths if not _amounts(one) & listed]
    assert total > 800
    assert len(foreign) / total <= 0.025, foreign


def test_a_label_of_a_brand_is_on_a_product_of_its_form() -> None:
    records = {record.item: record for record in every_contribution()}
    for item, record in records.items():
        label = label_of(record)
        products = records[item.partition("/")[0]].products
        sold = [product for product in products if product.brand_name == label.brand_name]
        forms = {product.dosage_form for product in sold} & set(label.dosage_forms)
        assert forms or not (label.brand_name and sold and label.dosage_forms), item


def _amounts(strength: str) -> set[tuple[float, ...]]:
    """The numbers of each ingredient, in milligrams where the unit is a weight, over the volume they are in."""
    found: set[tuple[float, ...]] = set()
    parts = strength.replace("base equivalent", "").split(" / ")
    found.add(tuple(sorted(_ratio(part) for part in parts)))
    return found


def _ratio(part: str) -> float:
    top, _, bottom = part.partition("/")
    amount = _value(top)
    below = _NUMBER.search(bottom)
    if bottom and "mL" in bottom:
        amount /= float(number(below[0])) if below else 1.0
    return round(amount, 6)


def _value(text: str) -> float:
    found = _NUMBER.search(text)
    if found is None:
        return 0.0
    unit = text[found.end() :].strip().split(" ")[0].lower()
    factor = {"g": 1000.0, "mcg": 0.001, "ng": 0.000001, "%": 10.0}.get(unit, 1.0)
    return float(number(found[0])) * factor
