"""An Infobutton request: the parameters of HL7's URL-based implementation guide, and the question that they ask.

Names, codes and code systems (OIDs) are those of the guide, release 4. Parameters that are not listed are ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from tools.drug_database.names.name_keys import joined
from tools.drug_database.records import SECTION_TITLES, SECTIONS, SectionName

Text = Annotated[str, StringConstraints(max_length=300, strip_whitespace=True)]
ResponseType = Literal["text/html", "text/xml", "application/xml", "application/atom+xml", "application/json"]
_DRUG_CODES: Final = {"2.16.840.1.113883.6.88": "RxCUI", "2.16.840.1.113883.6.69": "NDC"}
_ICD_10: Final = frozenset({"2.16.840.1.113883.6.90", "2.16.840.1.113883.6.3"})
_PROBLEM_TASKS: Final = frozenset({"PROBLISTREV", "PROBLISTE", "DIAGLISTREV", "DIAGLISTE"})
_ORDERING: Final[tuple[SectionName, ...]] = ("dosage", "contraindications", "interactions")
_REVIEWING: Final[tuple[SectionName, ...]] = ("interactions", "warnings", "contraindications")
_FIRST: Final[dict[str, tuple[SectionName, ...]]] = {
    "OE": _ORDERING,
    "MEDOE": _ORDERING,
    "MLREV": _REVIEWING,
    "MARWLREV": _REVIEWING,
}
"""Sections of a label that come first in a task: entering an order, reviewing a medication list."""
_UNITS: Final = {"a": "year", "mo": "month", "wk": "week", "d": "day"}
_SEXES: Final = {"M": "male ", "F": "female "}


class InfobuttonQuery(BaseModel):
    """The parameters of a request; empty ones are absent."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    code: Text = Field("", alias="mainSearchCriteria.v.c")
    code_system: Text = Field("", alias="mainSearchCriteria.v.cs")
    display: Text = Field("", alias="mainSearchCriteria.v.dn")
    original: Text = Field("", alias="mainSearchCriteria.v.ot")
    topic: Text = Field("", alias="subTopic.v.dn")
    task: Text = Field("", alias="taskContext.c.c")
    sex: Text = Field("", alias="patientPerson.administrativeGenderCode.c")
    age: float | None = Field(None, ge=0, le=1_000, allow_inf_nan=False, alias="age.v.v")
    age_unit: Text = Field("a", alias="age.v.u")
    response_type: ResponseType = Field("text/html", alias="knowledgeResponseType")

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, value: Any) -> Any:
        """Drop empty parameters, and replace control characters with blanks."""
        return {name: "".join(c if c.isprintable() else " " for c in str(part)) for name, part in value.items() if part}

    @model_validator(mode="after")
    def _asks_something(self) -> InfobuttonQuery:
        if not (self.code or self.name):
            raise ValueError("mainSearchCriteria is missing")
        return self

    @property
    def name(self) -> str:
        """The name of the requested concept; empty when the request has only a code."""
        return self.display or self.original

    @property
    def drug_code(self) -> str:
        """The code as the drug database finds it, such as ``RxCUI 11289``; empty for another code system."""
        kind = _DRUG_CODES.get(self.code_system)
        return f"{kind} {self.code}" if kind and self.code else ""

    @property
    def is_drug(self) -> bool:
        """Whether a medicine is asked about, by its code or by the task."""
        return bool(self.drug_code) or self.task in _FIRST

    def sections(self) -> tuple[SectionName, ...]:
        """Return the sections of a label, those of the task first."""
        return tuple(dict.fromkeys((*_FIRST.get(self.task, ()), *SECTIONS)))

    def question(self, medicine: str = "") -> str:
        """Return the question in words; ``medicine`` is the name of the concept in the drug database."""
        about = medicine or self.name or self.drug_code or self.code
        if self.topic:
            return f"{about}: {self.topic}{self._patient()}?"
        if medicine or self.is_drug:
            titles = [SECTION_TITLES[name].lower() for name in _FIRST.get(self.task, _ORDERING)]
            return f"What are the {joined(titles)} of {about}{self._patient()}?"
        if self.code_system in _ICD_10 or self.task in _PROBLEM_TASKS:
            return f"How is {about} diagnosed and treated{self._patient()}?"
        return f"What do the sources say about {about}{self._patient()}?"

    def _patient(self) -> str:
        sex, unit = _SEXES.get(self.sex, ""), _UNITS.get(self.age_unit)
        aged = f" aged {self.age:g} {unit}{'s' * (self.age != 1)}" if self.age is not None and unit else ""
        return f" in a {sex}patient{aged}" if sex or aged else ""
