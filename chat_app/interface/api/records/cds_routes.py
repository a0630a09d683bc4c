"""CDS Hooks 2.0: the record system sends the orders being written, and gets cards with what labels say about them.

The services read the request and the drug database alone: they never call the record system's FHIR server, and keep
nothing of a request but an entry of the audit log with the names of medicines that gave a card. Addresses and fields
are those of https://cds-hooks.hl7.org/2.0/.
"""

import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal, get_args
from uuid import UUID

from fastapi import Body, Depends, FastAPI, HTTPException, Request
from pydantic import BaseModel, Field
from starlette.middleware.cors import CORSMiddleware

from chat_app.interface.api import problems
from chat_app.interface.api.dependencies import ReaderLanguage
from chat_app.interface.api.passages.passage_links import page_link
from chat_app.interface.api.records.cds_cards import Card, cards_of
from chat_app.interface.api.records.client_tokens import TrustedIssuers
from chat_app.interface.api.records.fhir_medicines import Coding, FhirModel, OrderedMedicine, medicines_in
from chat_app.interface.api.records.order_check import check_orders
from chat_app.interface.i18n.translation import Language
from chat_app.interface.runtime import Runtime

PATH: Final = "/cds-services"
_ANYONE: Final = "cds-client"
"""Name in the audit log of a client that needs no token."""
_PREFETCH: Final = {
    "medications": "MedicationRequest?patient={{context.patientId}}&status=active",
    "statements": "MedicationStatement?patient={{context.patientId}}&status=active",
}
_ORDER: Final = "Quotes what drug labels say about the ordered medicines with each other and with the active ones."
_MOST_FEEDBACK: Final = 100
_CODE: Final = re.compile(r"[\w.:-]{1,64}", re.ASCII)
Hook = Literal["order-select", "order-sign", "medication-prescribe"]


class CdsService(BaseModel):
    """A service in the discovery document."""

    hook: Hook
    id: Hook
    title: str = "Drug interactions from labels"
    description: str = _ORDER
    prefetch: dict[str, str] = _PREFETCH


SERVICES: Final = {hook: CdsService(hook=hook, id=hook) for hook in get_args(Hook)}


class HookContext(FhirModel):
    """The orders of a request; ``medications`` are those of CDS Hooks 1.0."""

    selections: tuple[str, ...] = ()
    draft_orders: dict[str, Any] = Field(default_factory=dict[str, Any])
    medications: dict[str, Any] = Field(default_factory=dict[str, Any])


class HookRequest(FhirModel):
    """A call of a service."""

    hook: Hook
    hook_instance: str
    context: HookContext
    prefetch: dict[str, Any] = Field(default_factory=dict[str, Any])

    def medicines(self) -> tuple[list[OrderedMedicine], list[OrderedMedicine]]:
        """Return the medicines that are ordered now, and the patient's others."""
        drafts = medicines_in(self.context.draft_orders, self.context.medications)
        active = medicines_in(*self.prefetch.values())
        if self.hook != "order-select" or not self.context.selections:
            return drafts, active
        selected = [one for one in drafts if one.order in self.context.selections]
        return selected, [*(one for one in drafts if one not in selected), *active]

    def names_active(self) -> bool:
        """Return whether the active medications were sent: null says that there are none."""
        sent = [self.prefetch[key] for key in _PREFETCH if key in self.prefetch]
        return any(not (isinstance(one, dict) and one.get("resourceType") == "OperationOutcome") for one in sent)


class OverrideReason(FhirModel):
    """Why a card was overridden."""

    reason: Coding = Coding()
    user_comment: str = ""


class CardFeedback(FhirModel):
    """What a clinician did with a card."""

    card: UUID
    outcome: Literal["accepted", "overridden"]
    outcome_timestamp: datetime
    override_reason: OverrideReason = OverrideReason()

    def detail(self) -> str:
        """Return the feedback for the audit log, without the comment."""
        code = _CODE.fullmatch(self.override_reason.reason.code)
        parts = [f"card {self.card} {self.outcome} at {self.outcome_timestamp.isoformat()}", code[0] if code else ""]
        return " ".join(filter(None, parts))


FeedbackList = Annotated[list[CardFeedback], Body(embed=True, alias="feedback", max_length=_MOST_FEEDBACK)]


def cds_app(runtime: Runtime) -> CORSMiddleware:
    """Return the services as an app with CORS for the configured origins."""
    server = runtime.settings.server
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.runtime = runtime
    problems.install(app)
    issuers = TrustedIssuers(server.cds_clients, runtime.first_use)

    async def client(request: Request) -> str:
        """Return who calls. Raises ``Unauthenticated``."""
        if server.cds_open:
            return _ANYONE
        address = runtime.identity.base_address(request) + request.url.path
        audience = [address, address.removesuffix("/feedback")]
        return await issuers.issuer_of(request.headers.get("authorization", ""), audience)

    @app.get(PATH)
    async def discover() -> dict[str, list[CdsService]]:
        if not (server.cds_open or server.cds_clients):
            raise HTTPException(404)
        return {"services": list(SERVICES.values())}

    @app.post(PATH + "/{service_id}", response_model_exclude_none=True)
    async def call(
        request: Request, language: ReaderLanguage, service_id: str, body: HookRequest, caller: str = Depends(client)
    ) -> dict[str, list[Card]]:
        if body.hook != service_id:
            raise HTTPException(400 if service_id in SERVICES else 404, "This service is for another hook.")
        link = partial(page_link, runtime.identity.base_address(request))
        return {"cards": await _cards(runtime, body, caller, language, link)}

    @app.post(PATH + "/{service_id}/feedback")
    async def feedback(service_id: str, body: FeedbackList, caller: str = Depends(client)) -> dict[str, str]:
        """Record what clinicians did with cards. Their comments are kept only where the audit log keeps text."""
        if service_id not in SERVICES:
            raise HTTPException(404)
        for given in body:
            comment = given.override_reason.user_comment
            await runtime.audit.record("feedback", caller, detail=f"{service_id}: {given.detail()}", text=comment)
        return {}

    return CORSMiddleware(
        app,
        allow_origins=server.allowed_origins,
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type"],
    )


async def _cards(
    runtime: Runtime, body: HookRequest, caller: str, language: Language, link: Callable[[str], str]
) -> list[Card]:
    ordered, others = body.medicines()
    if not ordered:
        return []
    check = await check_orders((await runtime.ready()).drugs, ordered, others)
    if not check.pairs and not body.names_active():
        raise HTTPException(412, "The prefetch of active medications is missing, so there is nothing to compare.")
    cards = cards_of(check, link, language, active_given=body.names_active())
    shown = "; ".join(f"{card.uuid} {card.indicator} {card.summary}" for card in cards)
    await runtime.audit.record("order_check", caller, detail=f"{body.hook}: {shown or 'no card'}")
    return cards
