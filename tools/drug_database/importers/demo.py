"""The demonstration drugs that come with the app: ``tools/drug_database/demo/*.json``."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import ConfigDict, Field

from tools.drug_database.importers.importer_base import Importer, RowIntake
from tools.drug_database.names.name_keys import base_moieties, record_key
from tools.drug_database.records import Contribution, DataSource, Label, Product, SectionName
from tools.types import Frozen

SOURCE_ID: Final = "demo"
FOLDER: Final = Path(__file__).parent.parent / "demo"
SOURCE: Final = DataSource(
    id=SOURCE_ID,
    title="Asclepius demonstration drugs (from FDA-approved labels; for demonstration, not for care)",
    publisher="Asclepius",
)


class DemoProduct(Frozen):
    """A form of a demonstration drug."""

    dosage_form: str = Field(min_length=1)
    routes: tuple[str, ...] = Field(min_length=1)
    strengths: tuple[str, ...] = Field(min_length=1)
    brand_names: tuple[str, ...] = ()


class DemoSource(Frozen):
    """The label that a demonstration drug summarises."""

    title: str = Field(min_length=1)
    publisher: str
    url: str
    date: str


class DemoLabel(Frozen):
    """A label of some forms of a medicine that other labels do not cover."""

    dosage_forms: tuple[str, ...] = Field(min_length=1)
    routes: tuple[str, ...] = Field(min_length=1)
    label: dict[SectionName, tuple[str, ...]]
    source: DemoSource


class DemoRecord(Frozen):
    """A demonstration drug."""

    generic_name: str = Field(min_length=1)
    ingredients: tuple[str, ...] = Field(min_length=1)
    substances: tuple[str, ...] = Field(min_length=1)
    brand_names: tuple[str, ...]
    synonyms: tuple[str, ...]
    drug_classes: tuple[str, ...] = Field(min_length=1)
    products: tuple[DemoProduct, ...] = Field(min_length=1)
    label: dict[SectionName, tuple[str, ...]]
    source: DemoSource
    label_routes: tuple[str, ...] = ()
    """Routes that ``label`` covers when there are other labels beside it."""
    other_labels: tuple[DemoLabel, ...] = ()


class DemoFile(Frozen):
    """One file of demonstration drugs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    area: str
    records: tuple[DemoRecord, ...]


def files() -> list[Path]:
    """List the files of demonstration drugs."""
    return sorted(FOLDER.glob("*.json"))


def version() -> str:
    """Return a hash of the demonstration data; it changes with every edit."""
    digest = hashlib.blake2s(digest_size=8)
    for file in files():
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def records() -> list[DemoRecord]:
    """All demonstration records; raises pydantic's ``ValidationError`` for a file that breaks the format."""
    return [record for file in files() for record in _load(file)]


def _load(file: Path) -> tuple[DemoRecord, ...]:
    return DemoFile.model_validate(json.loads(file.read_text(encoding="utf-8"))).records


def read(intake: RowIntake) -> None:
    """Hand every demonstration drug to the intake."""
    for file in files():
        loaded = _load(file)
        rows = intake.rows(file.name, loaded, kind="demonstration drugs", source=SOURCE, total=len(loaded))
        for number, record in enumerate(rows, start=1):
            for contribution in _contributions(record):
                intake.put(contribution, number)


def _contributions(record: DemoRecord) -> Iterator[Contribution]:
    """Yield the record with its label, then one item for each further label."""
    key = record_key(base_moieties(record.ingredients))
    routes = record.label_routes or _only_routes(record.products)
    forms = tuple(sorted({one.dosage_form for one in record.products if set(one.routes) <= set(routes)}))
    yield Contribution(
        source=SOURCE_ID,
        item=record.generic_name,
        substances=record.substances,
        ingredients=record.ingredients,
        generic_name=record.generic_name,
        brand_names=record.brand_names,
        synonyms=record.synonyms,
        drug_classes=record.drug_classes,
        products=tuple(product for listed in record.products for product in _products(listed)),
        label=_label(f"label:{key}", record.source, record.label, forms, routes),
    )
    for number, other in enumerate(record.other_labels, start=2):
        yield Contribution(
            source=SOURCE_ID,
            item=f"{record.generic_name}/{number}",
            substances=record.substances,
            ingredients=record.ingredients,
            label=_label(f"label:{key}:{number}", other.source, other.label, other.dosage_forms, other.routes),
        )


def _only_routes(products: Sequence[DemoProduct]) -> tuple[str, ...]:
    """Return the routes of a medicine whose products all share them; empty when a label may leave some out."""
    routes = {tuple(sorted(product.routes)) for product in products}
    return routes.pop() if len(routes) == 1 else ()


def _label(
    name: str,
    source: DemoSource,
    sections: Mapping[SectionName, tuple[str, ...]],
    forms: tuple[str, ...],
    routes: tuple[str, ...],
) -> Label:
    return Label(
        source=DataSource(id=name, **source.model_dump()),
        sections={section: text for section, text in sections.items() if text},
        dosage_forms=forms,
        routes=routes,
    )


def _products(listed: DemoProduct) -> tuple[Product, ...]:
    """One product per brand; without a brand the generic one. The strengths are those of the form as a whole."""
    return tuple(
        Product(
            dosage_form=listed.dosage_form,
            routes=tuple(sorted(listed.routes)),
            brand_name=brand,
            strengths=listed.strengths,
        )
        for brand in (listed.brand_names or ("",))
    )


IMPORTER = Importer(
    "demonstration drugs",
    role=lambda _: None,
    read=lambda _, intake: read(intake),
    source=SOURCE_ID,
    name_rank=1,
    label_rank=2,
)
"""They are loaded by ``DrugDatabase.load_demo`` and recognised in no file."""
