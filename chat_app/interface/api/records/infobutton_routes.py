"""Infobutton: a record system asks about a code or a name in its context (HL7, URL-based implementation guide).

Without a response type the reader gets the page with the question filled in and not sent. Feeds of label sections and
guideline passages need a login or an API key.
"""

from itertools import product
from typing import Annotated, Any, Final, Literal, Self

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from chat_app.interface.api.dependencies import NO_STORE, ServedRuntime
from chat_app.interface.api.passages.passage_links import page_link
from chat_app.interface.api.records.knowledge_feed import KnowledgeFeed, feed_entries, now
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import Unauthenticated
from tools.drug_database import DrugDatabase, DrugQuery, DrugRecord
from tools.drug_database.labels.record_rendering import named_record, section_passage
from tools.drug_database.names.name_keys import joined
from tools.drug_database.records.drug_record import SECTION_TITLES, SECTIONS, SectionName
from tools.errors import ToolError
from tools.guidelines import GuidelineLibrary
from tools.language.folding import fold_name
from tools.types import Passage

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
_FOUND: Final = "Quotations from drug labels and guidelines. They are no advice on a patient."
_WEAK: Final = "No passage shares most of the words: these are the closest ones."
_NOTHING: Final = "No label and no guideline that is loaded here has words of this request."


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
    def _asks_something(self) -> Self:
        if not (self.code or self.name):
            raise PydanticCustomError("no_criteria", "Send mainSearchCriteria.v.c with .cs, or mainSearchCriteria.v.dn")
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


router = APIRouter(include_in_schema=False)


@router.get("/infobutton")
async def infobutton(runtime: ServedRuntime, request: Request, asked: Annotated[InfobuttonQuery, Query()]) -> Response:
    """Open the page with the question, or return a feed."""
    if asked.response_type == "text/html":
        question = asked.question(await _signed_in_name(runtime, request, asked))
        return RedirectResponse(page_link(runtime.settings.server.root_path, question), 303, headers=NO_STORE)
    user = runtime.identity.from_cookies(request.cookies)
    feed = await _feed(runtime, request, asked)
    await runtime.audit.record("sources", user, detail=f"infobutton: {len(feed.entries)} entries")
    if asked.response_type == "application/json":
        return JSONResponse(feed.json_feed(), headers=NO_STORE)
    return Response(feed.atom(), media_type=asked.response_type, headers=NO_STORE)


async def _signed_in_name(runtime: Runtime, request: Request, asked: InfobuttonQuery) -> str:
    """Return the database's name of the medicine, for a reader who is signed in; else an empty text."""
    try:
        runtime.identity.from_cookies(request.cookies)
        record = await _medicine(runtime.app.drugs, asked) if runtime.app else None
    except (Unauthenticated, ToolError):
        return ""
    return record.generic_name if record else ""


async def _feed(runtime: Runtime, request: Request, asked: InfobuttonQuery) -> KnowledgeFeed:
    app = await runtime.ready()
    record = await _medicine(app.drugs, asked)
    medicine = record.generic_name if record else ""
    base = runtime.identity.base_address(request)
    question = asked.question(medicine)
    link = page_link(base, question)
    labels = _label_sections(record, asked) if record else []
    passages, note = await _guideline_passages(app.guidelines, medicine or asked.name, asked)
    sent = asked.model_dump(by_alias=True, exclude_defaults=True, mode="json")
    return KnowledgeFeed(
        title=question,
        subtitle=_FOUND if labels else note,
        href=link,
        categories={name: str(value) for name, value in sent.items()},
        updated=now(),
        entries=feed_entries([*labels, *passages], base, link),
    )


async def _medicine(drugs: DrugDatabase, asked: InfobuttonQuery) -> DrugRecord | None:
    """Return the medicine of the request's code or name.

    Unless a medicine is asked about, the whole name must be one: a disease may be named after a medicine.
    """
    for name in filter(None, (asked.drug_code, asked.name)):
        found = await drugs.search(DrugQuery(name=name, limit=1))
        record = named_record(found)
        if record and (asked.is_drug or fold_name(found.hits[0].matched.on) == fold_name(name)):
            return record
    return None


def _label_sections(record: DrugRecord, asked: InfobuttonQuery) -> list[Passage]:
    wanted = product(record.labels[:1], asked.sections())
    return [section_passage(record, label, name) for label, name in wanted if label.sections.get(name)]


async def _guideline_passages(
    guidelines: GuidelineLibrary, name: str, asked: InfobuttonQuery
) -> tuple[list[Passage], str]:
    """Return the passages on the name, or those in which the bare code is written; and what to say about them."""
    found = await guidelines.search(" ".join(filter(None, (name or asked.code, asked.topic))))
    passages = list(found.passages) if found.match != "none" else []
    if not name:
        passages = [passage for passage in passages if asked.code in passage.text]
    if not passages:
        return [], _NOTHING
    return passages, _FOUND if found.match == "strong" else _WEAK
