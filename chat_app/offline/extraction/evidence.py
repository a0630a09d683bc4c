"""What the tools brought, in one form: sentences with their citation, tables of products, and what was not found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Passage:
    """A retrieved stretch of a document. ``cite`` is the marker to write, such as ``[3]``, or empty."""

    text: str
    cite: str = ""
    document: str = ""
    section: str = ""
    page: str = ""
    file_id: str = ""
    rank: int = 0
    score: float = 0.0
    doubtful: bool = False
    """The search itself says that its passages may not answer."""


@dataclass(frozen=True)
class Product:
    dosage_form: str
    routes: str
    strengths: str
    brand_names: str


@dataclass(frozen=True)
class DrugRecord:
    """A drug of the database: its names, its products, and the sentences of its label by section."""

    name: str
    cite: str
    brand_names: tuple[str, ...] = ()
    drug_classes: tuple[str, ...] = ()
    products: tuple[Product, ...] = ()
    label: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    matched: str = ""
    """How the name was found: exact, brand, synonym, class, spelling, text."""
    asked: str = ""
    """The name that was looked up."""
    cites: dict[str, str] = field(default_factory=dict[str, str])
    """Markers of single label sections, where they have their own."""


@dataclass(frozen=True)
class Lookup:
    """What one look-up in the drug database brought, best record first."""

    asked: str
    records: tuple[DrugRecord, ...] = ()
    suggestions: tuple[str, ...] = ()
    note: str = ""

    @property
    def is_exact(self) -> bool:
        """True when the first record is the very drug that was asked for."""
        return bool(self.records) and self.records[0].matched not in {"class", "spelling", "text"}

    @property
    def is_guess(self) -> bool:
        """True when the name is not in the database and the records are only spelt like it."""
        return bool(self.records) and self.records[0].matched == "spelling"


@dataclass(frozen=True)
class Pair:
    """What the labels of two drugs say of one another; ``said`` is empty when they do not name one another."""

    names: tuple[str, ...]
    said: tuple[DrugRecord, ...]


@dataclass(frozen=True)
class Calculated:
    """What a calculator returned: its result as lines, or the inputs that it needs."""

    title: str
    lines: tuple[str, ...]
    cite: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Fields:
    """An output of no known shape: its function's name, and name and value of each plain field."""

    tool: str
    pairs: tuple[tuple[str, str], ...]
    cite: str = ""


@dataclass
class Evidence:
    """All that one question's calls brought."""

    passages: list[Passage] = field(default_factory=list[Passage])
    lookups: list[Lookup] = field(default_factory=list[Lookup])
    pairs: list[Pair] = field(default_factory=list[Pair])
    fields: list[Fields] = field(default_factory=list[Fields])
    calculations: list[Calculated] = field(default_factory=list[Calculated])
    searched_documents: bool = False
    answerable: bool = False
    """False when every document search said that its passages do not answer."""
    hosted: bool = False
    """True when the documents were searched by the server's own file search."""
    failures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Function and message of each call that failed."""
