"""Queries to the drug database and their results."""

from typing import Literal

from pydantic import Field, field_validator

from tools.drug_database.records.drug_record import DrugRecord
from tools.types import Frozen

How = Literal["exact", "brand", "synonym", "code", "class", "spelling", "text"]


class DrugQuery(Frozen, hide_input_in_errors=True):
    """A search. ``name`` is a brand, generic, salt, class, abbreviation, a misspelling of one, or a code."""

    name: str = Field(max_length=100_000)
    drug_class: str | None = None
    limit: int = Field(default=5, ge=1, le=50)
    all_named: bool = False
    """Whether to return every medicine that ``name`` names, up to 16, also beyond ``limit``."""
    dosage_form: str | None = None
    route: str | None = None
    strength: str | None = None

    @field_validator("name", "drug_class", "dosage_form", "route", "strength", mode="before")
    @classmethod
    def _readable(cls, value: object) -> object:
        """Replace a lone surrogate, which no encoding can carry, with a question mark."""
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class Match(Frozen):
    """The reason why a record was found."""

    how: How
    on: str
    """The name or class of the record that was matched."""


class LabelScope(Frozen):
    """What the shown label covers of the requested form, route and population."""

    asked: tuple[str, ...] = ()
    """The asked brand, where the shown label is of another one, and the asked forms and routes, in FDA's words."""
    implied: tuple[str, ...] = ()
    """The routes of the asked brand's products, where the shown label is of another brand."""
    dosage_forms: tuple[str, ...] = ()
    """The dosage forms that the shown label covers; empty where the source does not say."""
    routes: tuple[str, ...] = ()
    """The routes that it is for; where another brand was asked for, its own brand with them."""
    fits: bool | None = None
    """Whether the label covers what was asked; None where the question or the source does not say."""
    not_mentioned: tuple[str, ...] = ()
    """Asked populations that the label's text does not mention."""
    no_dose_for: tuple[str, ...] = ()
    """The asked forms and routes, where every dose of the label is for another route."""


class DrugHit(Frozen):
    """A found record; ``record.products`` holds the products that pass the query's filters."""

    record: DrugRecord
    matched: Match
    score: float
    look_alikes: tuple[str, ...] = ()
    """Names that are known to be confused with the matched one."""
    scope: LabelScope | None = None
    """What the first label covers; None for a record without a label."""


class DrugSearchResult(Frozen):
    """Hits, best first. ``did_you_mean`` holds similar spellings when the name is unknown."""

    query: DrugQuery
    hits: tuple[DrugHit, ...] = ()
    did_you_mean: tuple[str, ...] = ()
    note: str = ""
    absent: bool = False
    """Whether a known name or a code was typed whose medicine is not in the database; ``note`` names it."""
    not_loaded: tuple[str, ...] = ()
    """The notes on typed names whose medicine is not in the database; ``note`` contains them, too."""
    misspelt: tuple[str, ...] = ()
    """The typed words that can only be a misspelling of one medicine; of one alone, of the first suggestion."""
    also_named: tuple[str, ...] = ()
    """Classes, foods and herbs that the text names beside the medicines found, as labels word them."""
