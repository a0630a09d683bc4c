"""Drug records: the statements of one source (``Contribution``) and the merged record (``DrugRecord``).

Every fact keeps the ids of its sources; a source has a title, publisher, address and date.
"""

from typing import Final, Literal, Self, get_args

from pydantic import Field

from tools.types import Frozen

SectionName = Literal[
    "boxed_warning",
    "indications",
    "dosage",
    "contraindications",
    "warnings",
    "interactions",
    "renal_dosing",
    "hepatic_dosing",
    "pregnancy",
    "lactation",
    "pediatric_use",
    "geriatric_use",
    "overdosage",
]
SECTIONS: Final[tuple[SectionName, ...]] = get_args(SectionName)
DOSE_SECTIONS: Final = frozenset({"dosage", "renal_dosing", "hepatic_dosing"})

SECTION_TITLES: Final[dict[SectionName, str]] = {
    **{name: name.replace("_", " ").capitalize() for name in SECTIONS},
    "renal_dosing": "Renal impairment",
    "hepatic_dosing": "Hepatic impairment",
}


class DataSource(Frozen):
    """A source of facts, as a citation names it."""

    id: str
    """Short name that facts refer to, such as ``fda-ndc``."""
    title: str
    publisher: str
    url: str = ""
    date: str = ""
    """Date of the data as the source states it: ``2015-12`` or ``2020-07-06``; empty when it states none."""


class Product(Frozen):
    """The products marketed in one dosage form, by one route, under one name."""

    dosage_form: str = ""
    routes: tuple[str, ...] = ()
    brand_name: str = ""
    """Empty for products sold under the generic name."""
    strengths: tuple[str, ...] = ()
    labelers: tuple[str, ...] = ()
    ndcs: tuple[str, ...] = ()
    """Product codes of the National Drug Code, such as ``0002-1200``."""
    packages: tuple[str, ...] = ()
    """Package codes of the National Drug Code, such as ``0002-1200-10``."""
    applications: tuple[str, ...] = ()
    """FDA applications, such as ``NDA021411``."""
    marketing: tuple[str, ...] = ()
    """Marketing category or status in the source's words."""
    approvals: tuple[str, ...] = ()
    """Dates of approval, ISO 8601, or ``before 1982-01-01``."""
    te_codes: tuple[str, ...] = ()
    """FDA therapeutic equivalence codes, such as ``AB``."""
    schedules: tuple[str, ...] = ()
    """Schedule of the US Controlled Substances Act, such as ``CII``."""
    rxcuis: tuple[str, ...] = ()
    discontinued: bool = False
    """Whether each source that lists these products says that they are discontinued."""
    sources: tuple[str, ...] = ()


class Label(Frozen):
    """The label of one product or a summary of it; each section holds complete sentences."""

    source: DataSource
    sections: dict[SectionName, tuple[str, ...]]
    brand_name: str = ""
    set_id: str = ""
    """DailyMed's id of the label, shared by all its versions."""
    dosage_forms: tuple[str, ...] = ()
    """Dosage forms of the products that the label is for; empty where the source does not say."""
    routes: tuple[str, ...] = ()


class Fact(Frozen):
    """A name, class or code with the ids of its sources."""

    value: str
    sources: tuple[str, ...]


class Contribution(Frozen):
    """The statements of one source about one of its items (a product, a concept, a label)."""

    source: str
    item: str
    """Key of the item within its source; a re-import replaces the item of the same key."""
    substances: tuple[str, ...]
    """Active substances as the source names them, in lower case. Their base moieties make the ingredient set."""
    ingredients: tuple[str, ...] = ()
    """Base moieties where the source names them itself; otherwise they are derived from ``substances``."""
    generic_name: str = ""
    brand_names: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    drug_classes: tuple[str, ...] = ()
    rxcuis: tuple[str, ...] = ()
    products: tuple[Product, ...] = ()
    label: Label | None = None

    @classmethod
    def of_product(cls, product: Product, *, source: str, item: str, substances: tuple[str, ...]) -> Self:
        """Return what a source states about one product, which has the medicine's brand name, if any."""
        brands = (product.brand_name,) if product.brand_name else ()
        return cls(source=source, item=item, substances=substances, brand_names=brands, products=(product,))


class DrugRecord(Frozen):
    """The merged facts about one ingredient set."""

    key: str
    generic_name: str
    ingredients: tuple[str, ...]
    substances: tuple[Fact, ...] = ()
    brand_names: tuple[Fact, ...] = ()
    synonyms: tuple[Fact, ...] = ()
    drug_classes: tuple[Fact, ...] = ()
    rxcuis: tuple[Fact, ...] = ()
    products: tuple[Product, ...] = ()
    labels: tuple[Label, ...] = ()
    sources: tuple[DataSource, ...] = Field(default=())
    product_count: int = 0
    """Number of products merged into this record."""
    discontinued_brands: tuple[str, ...] = ()
    """Those of ``brand_names`` that every source lists as discontinued."""
    discontinued: bool = False
    """Whether all products are discontinued."""

    @property
    def marketed_brands(self) -> tuple[str, ...]:
        """Return the brand names that are not discontinued."""
        return tuple(fact.value for fact in self.brand_names if fact.value not in self.discontinued_brands)
