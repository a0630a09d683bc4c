"""The record model: what one source says (``Contribution``) and what all of them say together (``DrugRecord``).

Every fact keeps the ids of the sources that state it; a source has its title, publisher, address and date.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

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
]
SECTIONS: Final[tuple[SectionName, ...]] = get_args(SectionName)

SECTION_TITLES: Final[dict[SectionName, str]] = {
    "boxed_warning": "Boxed warning",
    "indications": "Indications",
    "dosage": "Dosage",
    "contraindications": "Contraindications",
    "warnings": "Warnings",
    "interactions": "Interactions",
    "renal_dosing": "Renal impairment",
    "hepatic_dosing": "Hepatic impairment",
    "pregnancy": "Pregnancy",
}


class Source(Frozen):
    """Where facts come from, as a citation would name it."""

    id: str
    """Short name that facts refer to, such as ``fda-ndc``."""
    title: str
    publisher: str
    url: str = ""
    date: str = ""
    """Date of the data as the source gives it: ``2015-12`` or ``2020-07-06``; empty when it gives none."""


class Product(Frozen):
    """What is marketed in one dosage form by one route under one name."""

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
    """Marketing category or status, as the source words it."""
    approvals: tuple[str, ...] = ()
    """Dates of approval, ISO 8601, or ``before 1982-01-01``."""
    te_codes: tuple[str, ...] = ()
    """FDA therapeutic equivalence codes, such as ``AB``."""
    schedules: tuple[str, ...] = ()
    """Schedule of the US Controlled Substances Act, such as ``CII``."""
    rxcuis: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Label(Frozen):
    """The label of one product or a summary of it; each section holds complete sentences."""

    source: Source
    sections: dict[SectionName, tuple[str, ...]]
    brand_name: str = ""
    set_id: str = ""
    """DailyMed's id of the label over all its versions."""


class Fact(Frozen):
    """A name, class or code, and the ids of the sources that state it."""

    value: str
    sources: tuple[str, ...]


class Contribution(Frozen):
    """What one source says about one item of its own (a product, a concept, a label)."""

    source: str
    item: str
    """Key of the item inside its source; a re-import with the same key replaces it."""
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


class DrugRecord(Frozen):
    """Everything known about one ingredient set."""

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
    sources: tuple[Source, ...] = Field(default=())
    product_count: int = 0
    """Marketed products that were rolled up into this record."""
