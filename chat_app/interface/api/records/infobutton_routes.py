"""Infobutton: a record system asks about a code or a name in its context (HL7, URL-based implementation guide).

Without a response type the reader gets the page with the question filled in and not sent. Feeds of label sections and
guideline passages need a login or an API key.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from chat_app.interface.api.records.addresses import base_address, page_link
from chat_app.interface.api.records.infobutton_query import InfobuttonQuery
from chat_app.interface.api.records.knowledge_feed import KnowledgeFeed, feed_entries, now
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import Unauthenticated
from tools.drug_database import DrugDatabase, DrugQuery, DrugRecord
from tools.drug_database.labels.label_tools import named_record, section_passage
from tools.errors import ToolError
from tools.guidelines import GuidelineLibrary
from tools.language.folding import fold_name
from tools.types import Passage

_NO_STORE: Final = {"cache-control": "no-store"}
_FOUND: Final = "Quotations from drug labels and guidelines. They are no advice on a patient."
_WEAK: Final = "No passage shares most of the words: these are the closest ones."
_NOTHING: Final = "No label and no guideline that is loaded here has words of this request."


def infobutton_router(runtime: Runtime) -> APIRouter:
    """Return the route of Infobutton requests."""
    router = APIRouter()

    @router.get("/infobutton")
    async def infobutton(request: Request, asked: Annotated[InfobuttonQuery, Query()]) -> Response:
        """Open the page with the question, or return a feed."""
        if asked.response_type == "text/html":
            question = asked.question(await _signed_in_name(runtime, request, asked))
            return RedirectResponse(page_link(runtime.settings.server.root_path, question), 303, headers=_NO_STORE)
        user = runtime.identity.from_cookies(request.cookies)
        feed = await _feed(runtime, request, asked)
        await runtime.audit.record("sources", user, detail=f"infobutton: {len(feed.entries)} entries")
        if asked.response_type == "application/json":
            return JSONResponse(feed.json_feed(), headers=_NO_STORE)

        return Response(feed.atom(), media_type=asked.response_type, headers=_NO_STORE)

    return router


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
    base = base_address(runtime, request)
    question = asked.question(medicine)
    link = page_link(base, question)
    labels = _label_sections(record, asked)
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


def _label_sections(record: DrugRecord | None, asked: InfobuttonQuery) -> list[Passage]:
    label = next(iter(record.labels), None) if record else None
    if record is None or label is None:
        return []
    return [section_passage(record, label, name) for name in asked.sections() if label.sections.get(name)]


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
