"""CDS Hooks 2.0: requests as the specification and its sandbox write them, to the real routes and drug database."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID, uuid4

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from pydantic import ValidationError

from chat_app.audit import AuditEntry, DatabaseAuditLog
from chat_app.errors import ConfigurationError
from chat_app.interface.api.records.cds_routes import HookRequest
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.settings import Settings
from tests.support.api_server import Api, api
from tests.support.written_files import holding
from tools.drug_database import DrugDatabase

Json = dict[str, Any]
RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"
ISSUER = "https://ehr.hospital.example"
PUBLIC = "https://asclepius.hospital.example"
CANARY = "JaneRoe1961"
FORMULARY = """generic_name,ingredients,rxcui
clarithromycin,,21212
simvastatin,,36567
amoxicillin and clavulanate,amoxicillin;clavulanate,617993
"""


@pytest.fixture(scope="module")
def drugs(milvus_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrugDatabase]:
    """Yield a database of the demonstration drugs with the RxNorm codes of three."""
    formulary = tmp_path_factory.mktemp("formulary") / "formulary.csv"
    formulary.write_text(FORMULARY, "utf-8")
    database = DrugDatabase(milvus_uri, name=f"drugs_{uuid4().hex[:8]}")

    async def load() -> None:
        await database.load_demo()
        await database.import_paths([formulary])

    async def remove() -> None:
        await database.clear()
        await database.aclose()

    asyncio.run(load())
    yield database
    asyncio.run(remove())


@asynccontextmanager
async def services(
    drugs: DrugDatabase, folder: Path, *, governance: Json | None = None, redis: str = "", **server: Any
) -> AsyncIterator[tuple[Api, httpx.AsyncClient]]:
    """Serve the services to anyone, unless ``server`` says otherwise. Tokens need ``redis``."""
    sessions = RedisSessionStore(redis) if redis else None
    given = {"cds_open": True, **server}
    async with (
        api(None, folder / "data", drugs=drugs, sessions=sessions, governance=governance, **given) as running,
        running.client(None) as client,
    ):
        yield running, client
    if sessions:
        await sessions.aclose()


def order(name: str = "", code: str = "", *, kind: str = "MedicationRequest", **more: Any) -> Json:
    coding = [{"system": RXNORM, "code": code, "display": name}] if code else []
    concept = {"medicationCodeableConcept": {"coding": coding, "text": name}} if name or code else {}
    patient = {"reference": "Patient/1288992", "display": CANARY}
    number = uuid4().hex[:6]
    return {"resourceType": kind, "id": number, "status": "draft", "subject": patient, **concept, **more}


def bundle(*resources: Json) -> Json:
    return {"resourceType": "Bundle", "entry": [{"resource": one} for one in resources]}


def request(*drafts: Json, hook: str = "order-sign", active: Any = None, **context: Any) -> Json:
    """Return a request; ``active`` is the prefetch of active medications, and ``...`` leaves it out."""
    prefetch = {} if active is ... else {"medications": active}
    return {
        "hook": hook,
        "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
        "fhirServer": "http://hapi.fhir.org/baseR4",
        "context": {
            "userId": "Practitioner/example",
            "patientId": "1288992",
            "encounterId": "89284",
            "draftOrders": bundle(*drafts),
            **context,
        },
        "prefetch": prefetch,
    }


async def cards(client: httpx.AsyncClient, body: Json) -> list[Json]:
    answer = await client.post(f"/cds-services/{body['hook']}", json=body)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["cards"])


async def entries(running: Api) -> list[AuditEntry]:
    log = running.runtime.audit
    assert isinstance(log, DatabaseAuditLog)
    return [entry async for entry in log.entries()]


async def test_a_contraindication_is_a_critical_card_that_quotes_both_labels(
    drugs: DrugDatabase, tmp_path: Path
) -> None:
    async with services(drugs, tmp_path) as (running, client):
        drafts = order("Clarithromycin 500 MG Oral Tablet", "21212")
        active = bundle(order("simvastatin 20 MG Oral Tablet", "36567", status="active"))
        (card,) = await cards(client, request(drafts, active=active))
        kept = [entry for entry in await entries(running) if entry.action == "order_check"]
        labels = [await drugs.record("clarithromycin"), await drugs.record("simvastatin")]
    assert card["indicator"] == "critical"
    assert card["summary"] == "clarithromycin + simvastatin: contraindicated (label of clarithromycin)"
    assert len(card["summary"]) < 140
    assert card["source"]["label"]
    assert UUID(card["uuid"])
    quotes = [
        "".join(line.removeprefix("> ").split("\\")) for line in card["detail"].splitlines() if line.startswith("> ")
    ]
    for record in labels:
        assert record is not None
        sentences = {s for label in record.labels for section in label.sections.values() for s in section}
        assert sentences.intersection(quotes), f"no quote of the label of {record.generic_name}"
    asked = card["links"][0]
    assert asked["type"] == "absolute"
    assert (
        asked["url"]
        == f"{running.url}/#ask=What%20do%20the%20labels%20say%20about%20clarithromycin%20with%20simvastatin%3F"
    )
    assert card["uuid"] in kept[0].detail
    assert kept[0].actor == "cds-client"


@pytest.mark.parametrize(
    ("ordered", "taken", "indicator", "severity"),
    [
        ("omeprazole", "clopidogrel", "warning", "avoid"),
        ("amoxicillin and clavulanate", "warfarin", "info", "monitor"),
        ("aspirin", "warfarin", "info", "described"),
    ],
)
async def test_the_wording_of_a_label_decides_the_urgency(
    drugs: DrugDatabase, tmp_path: Path, ordered: str, taken: str, indicator: str, severity: str
) -> None:
    async with services(drugs, tmp_path) as (_, client):
        (card,) = await cards(client, request(order(ordered), active=bundle(order(taken, status="active"))))
    assert card["indicator"] == indicator
    assert f": {severity} (label of " in card["summary"]


async def test_a_label_that_says_nothing_is_named_beside_the_one_that_is_quoted(
    drugs: DrugDatabase, tmp_path: Path
) -> None:
    async with services(drugs, tmp_path) as (_, client):
        (card,) = await cards(client, request(order("azithromycin"), active=bundle(order("warfarin"))))
    assert "**Label of azithromycin**" in card["detail"]
    assert card["detail"].endswith("The label of warfarin has no statement about azithromycin.")


async def test_the_order_select_request_of_the_specification_is_answered(drugs: DrugDatabase, tmp_path: Path) -> None:
    """A diet beside the medicine, a dose as one object instead of a list, and only the selected order checked."""
    name = "Amoxicillin 120 MG/ML / clavulanate potassium 8.58 MG/ML Oral Suspension"
    diet = {"resourceType": "NutritionOrder", "id": "pureeddiet-simple", "status": "draft", "oralDiet": {"type": []}}
    dosage = [{"text": "5 mL bid x 10 days", "doseAndRate": {"doseQuantity": {"value": 5, "unit": "mL"}}}]
    selected = order(name, "617993", intent="order", dosageInstruction=dosage, id="smart-MedicationRequest-103")
    before = [order("clopidogrel"), order("omeprazole")]
    async with services(drugs, tmp_path) as (_, client):
        selections = ["NutritionOrder/pureeddiet-simple", "MedicationRequest/smart-MedicationRequest-103"]
        body = request(
            diet, selected, *before, hook="order-select", selections=selections, active=bundle(order("warfarin"))
        )
        found = await cards(client, body)
        only_diet = {**body, "context": {**body["context"], "selections": selections[:1]}}
        assert await cards(client, only_diet) == []
    assert [card["summary"] for card in found] == [
        "amoxicillin and clavulanate + warfarin: monitor (label of amoxicillin and clavulanate)"
    ]


def sandbox_order(fhir: str, code: str, name: str) -> Json:
    """Return the draft order that the official sandbox makes for a server of a FHIR version."""
    old = fhir == "DSTU2"
    quantity = {"value": 1, "system": "http://unitsofmeasure.org", "code": "{pill}"}
    timing = {"repeat": {"frequency": 1, "period": 1, "periodUnits" if old else "periodUnit": "d"}}
    dose = {"doseAndRate": [{"doseQuantity": quantity}]} if fhir == "R4" else {"doseQuantity": quantity}
    condition = {"coding": [{"system": "http://snomed.info/sct", "code": "185903001"}], "text": CANARY}
    return {
        "resourceType": "MedicationOrder" if old else "MedicationRequest",
        "id": "order-123" if old else "request-123",
        "status": "draft",
        **({} if old else {"intent": "order"}),
        "patient" if old else "subject": {"reference": "Patient/smart-1288992"},
        "dateWritten" if old else "authoredOn": "2026-11-22",
        "dosageInstruction": [{"timing": timing, **dose}],
        "dispenseRequest": {"expectedSupplyDuration": {"value": 1, "unit": "days", "code": "d"}},
        # The standard has lists here.
        "category": {"coding": [{"code": "community"}]},
        "reasonCodeableConcept" if old else "reasonCode": condition,
        "medicationCodeableConcept": {"text": name, "coding": [{"display": name, "system": RXNORM, "code": code}]},
    }


def sandbox_request(hook: str, fhir: str) -> Json:
    """Return what https://github.com/cds-hooks/sandbox sends, with the access token of its FHIR server."""
    draft = sandbox_order(fhir, "21212", "Clarithromycin 500 MG Oral Tablet")
    taken = {**sandbox_order(fhir, "36567", "Simvastatin 20 MG Oral Tablet"), "id": "a-1", "status": "active"}
    orders = {"resourceType": "Bundle", "entry": [{"resource": draft}]}
    context: Json = {"medications": orders} if hook == "medication-prescribe" else {"draftOrders": orders}
    if hook == "order-select":
        context["selections"] = [f"{draft['resourceType']}/{draft['id']}"]
    found = {"fullUrl": "https://launch.smarthealthit.org/a-1", "resource": taken, "search": {"mode": "match"}}
    return {
        "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
        "hook": hook,
        "fhirServer": "https://launch.smarthealthit.org/v/r4/fhir",
        "context": {"patientId": "smart-1288992", "userId": "Practitioner/smart-Practitioner-71482713", **context},
        "fhirAuthorization": {"access_token": CANARY, "token_type": "Bearer", "expires_in": 300, "subject": "cds"},
        "prefetch": {"medications": {"resourceType": "Bundle", "type": "searchset", "total": 1, "entry": [found]}},
    }


async def test_the_requests_of_the_official_sandbox_are_answered(drugs: DrugDatabase, tmp_path: Path) -> None:
    imaging = {"resourceType": "ServiceRequest", "id": "example-request-id", "status": "draft", "intent": "plan"}
    async with services(drugs, tmp_path) as (_, client):
        for hook, fhir in product(("order-select", "order-sign", "medication-prescribe"), ("R4", "STU3", "DSTU2")):
            (card,) = await cards(client, sandbox_request(hook, fhir))
            assert card["summary"] == "clarithromycin + simvastatin: contraindicated (label of clarithromycin)", fhir
        selections = ["ServiceRequest/example-request-id"]
        assert await cards(client, request(imaging, hook="order-select", selections=selections)) == []


async def test_cards_are_in_the_language_of_the_client_and_quotes_in_their_own(
    drugs: DrugDatabase, tmp_path: Path
) -> None:
    async with services(drugs, tmp_path) as (_, client):
        client.headers["accept-language"] = "de-AT,de;q=0.9"
        drafts = [order("azithromycin"), order("Zzyzxumab"), order()]
        pair, other = await cards(client, request(*drafts, active=bundle(order("warfarin"))))
    assert pair["summary"].startswith("azithromycin + warfarin: ")
    assert pair["summary"].endswith("(Fachinformation azithromycin)")
    assert "**Fachinformation azithromycin**" in pair["detail"]
    assert pair["detail"].endswith("In der Fachinformation warfarin steht nichts über azithromycin.")
    assert pair["links"][0]["label"] == "Zu azithromycin mit warfarin fragen"
    assert other["summary"] == "Nicht alle Arzneimittel konnten auf Wechselwirkungen geprüft werden"
    assert "Zzyzxumab\\, eine Verordnung ohne lesbares Arzneimittel" in other["detail"]


async def test_the_medicines_of_medication_prescribe_are_checked(drugs: DrugDatabase, tmp_path: Path) -> None:
    """CDS Hooks 1.0 calls the drafts ``medications``."""
    async with services(drugs, tmp_path) as (_, client):
        body = request(hook="medication-prescribe", active=bundle(order("simvastatin")))
        body["context"]["medications"] = bundle(order("clarithromycin"))
        del body["context"]["draftOrders"]
        (card,) = await cards(client, body)
    assert card["indicator"] == "critical"


async def test_no_statement_gives_no_card(drugs: DrugDatabase, tmp_path: Path) -> None:
    async with services(drugs, tmp_path) as (_, client):
        assert await cards(client, request(order("metformin"), active=bundle(order("warfarin")))) == []
        assert await cards(client, request(order("metformin"), active=None)) == []
        assert await cards(client, request(active=...)) == []


async def test_a_risk_that_both_labels_state_is_one_card_for_information(drugs: DrugDatabase, tmp_path: Path) -> None:
    async with services(drugs, tmp_path) as (_, client):
        (card,) = await cards(client, request(order("clarithromycin"), active=bundle(order("fluoxetine"))))
    assert (card["indicator"], "QT prolongation" in card["summary"]) == ("info", True)
    assert "clarithromycin:" in card["detail"]
    assert "fluoxetine:" in card["detail"]


async def test_medicines_that_cannot_be_checked_are_named_and_never_called_safe(
    drugs: DrugDatabase, tmp_path: Path
) -> None:
    async with services(drugs, tmp_path) as (_, client):
        drafts = [
            order("Zzyzxumab *10* mg"),
            order(),
            order("metformin"),
            {"resourceType": "MedicationRequest", "id": 7},
        ]
        (card,) = await cards(client, request(*drafts, active=None))
        _, unsent = await cards(client, request(order("clarithromycin"), order("simvastatin"), active=...))
    assert card["indicator"] == "info"
    assert "Zzyzxumab \\*10\\* mg" in card["detail"]
    assert "an order without a readable medicine" in card["detail"]
    assert "no evidence that a combination is safe" in card["detail"]
    assert "metformin" not in card["detail"]
    assert "sent no list of active medications" in unsent["detail"]


@pytest.mark.parametrize(
    "how", ["contained", "in the bundle", "by full address", "only by its name", "statement", "single resource"]
)
async def test_a_medicine_is_found_wherever_fhir_lets_it_be(drugs: DrugDatabase, tmp_path: Path, how: str) -> None:
    concept = {"coding": [{"system": RXNORM, "code": "36567"}]}
    medication = {"resourceType": "Medication", "id": "med1", "code": concept}
    refers = order(medicationReference={"reference": "Medication/med1"})
    active = bundle(refers, medication)
    if how == "contained":
        active = bundle(order(medicationReference={"reference": "#med1"}, contained=[medication]))
    elif how == "by full address":
        active = bundle(order(medicationReference={"reference": "urn:uuid:1"}))
        active["entry"].append({"fullUrl": "urn:uuid:1", "resource": medication})
    elif how == "only by its name":
        active = bundle(order(medicationReference={"reference": "Medication/9", "display": "Simvastatin 20 MG"}))
    elif how == "statement":
        active = bundle(order("Zocor", kind="MedicationStatement", status="active"))
    elif how == "single resource":
        active = order("simvastatin", status="active")
    async with services(drugs, tmp_path) as (_, client):
        (card,) = await cards(client, request(order("clarithromycin"), active=active))
    assert card["indicator"] == "critical"


@pytest.mark.parametrize("field", [{"status": "stopped"}, {"status": "entered-in-error"}, {"doNotPerform": True}])
async def test_a_medicine_that_is_not_to_be_taken_is_left_out(drugs: DrugDatabase, tmp_path: Path, field: Json) -> None:
    async with services(drugs, tmp_path) as (_, client):
        assert await cards(client, request(order("clarithromycin"), active=bundle(order("simvastatin", **field)))) == []


async def test_a_renewal_is_not_checked_against_itself_but_each_part_of_a_combination_is(
    drugs: DrugDatabase, tmp_path: Path
) -> None:
    async with services(drugs, tmp_path) as (_, client):
        renewal = request(order("simvastatin"), active=bundle(order("Zocor"), order("simvastatin 40 MG")))
        assert await cards(client, renewal) == []
        both = "acetaminophen 325 MG / tramadol hydrochloride 37.5 MG Oral Tablet"
        found = await cards(client, request(order(both), active=bundle(order("warfarin"))))
    summaries = " ".join(card["summary"] for card in found)
    assert "acetaminophen + warfarin" in summaries
    assert "tramadol + warfarin" in summaries


async def test_without_the_active_medications_one_order_cannot_be_checked(drugs: DrugDatabase, tmp_path: Path) -> None:
    outcome = {"resourceType": "OperationOutcome", "issue": [{"severity": "error", "code": "timeout"}]}
    async with services(drugs, tmp_path) as (_, client):
        for active in (..., outcome):
            answer = await client.post("/cds-services/order-sign", json=request(order("warfarin"), active=active))
            assert (answer.status_code, answer.json()["title"]) == (412, "Precondition Failed")


async def test_discovery_lists_the_services_and_nothing_is_served_unless_it_was_set_up(
    drugs: DrugDatabase, tmp_path: Path
) -> None:
    async with services(drugs, tmp_path / "on") as (_, client):
        listed = (await client.get("/cds-services")).json()["services"]
        assert (await client.post("/cds-services/nothing", json=NO_CARD)).status_code == 404
        assert (await client.post("/cds-services/order-sign", json={"hook": "order-sign"})).status_code == 422
        other = await client.post("/cds-services/order-select", json=request(order("warfarin")))
        assert other.status_code == 400
    async with services(drugs, tmp_path / "off", cds_open=False) as (_, client):
        assert (await client.get("/cds-services")).status_code == 404
        assert (await client.post("/cds-services/order-sign", json=request(order("warfarin")))).status_code == 401
    assert [service["id"] for service in listed] == ["order-select", "order-sign", "medication-prescribe"]
    for service in listed:
        assert {"hook", "title", "description", "id", "prefetch"} <= service.keys()
        assert "{{context.patientId}}" in service["prefetch"]["medications"]


# -- who may call -----------------------------------------------------------------------------------------------------

EC_KEY, OTHER_KEY = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def key_set(**keys: Any) -> str:
    """Return a JWK Set of public keys by their ids, without the optional ``alg``."""
    jwks = []
    for kid, key in keys.items():
        to_jwk = ECAlgorithm.to_jwk if isinstance(key, ec.EllipticCurvePrivateKey) else RSAAlgorithm.to_jwk
        jwks.append({**to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"})
    return json.dumps({"keys": jwks})


def token(
    *, key: Any = EC_KEY, algorithm: str = "ES384", kid: str = "one", path: str = "order-sign", **claims: Any
) -> Json:
    now = int(time.time())
    address = f"{PUBLIC}/cds-services/{path}"
    content = {"iss": ISSUER, "aud": address, "exp": now + 300, "iat": now, "jti": uuid4().hex, **claims}
    content = {name: value for name, value in content.items() if value is not None}
    signed = jwt.encode(content, key, algorithm=algorithm, headers={"kid": kid, "jku": "https://evil.example/keys"})
    return {"authorization": f"Bearer {signed}"}


@pytest.fixture
def trusted(tmp_path: Path, redis_url: str) -> Json:
    """Settings that trust one issuer, whose keys are in a file."""
    keys = tmp_path / "ehr-keys.json"
    keys.write_text(key_set(one=EC_KEY, two=RSA_KEY), "utf-8")
    return {"cds_open": False, "public_url": PUBLIC, "cds_issuers": f"{ISSUER}={keys}", "redis": redis_url}


NO_CARD: Json = request(active=None)


async def test_a_token_of_a_trusted_issuer_is_accepted_and_names_the_caller(
    drugs: DrugDatabase, tmp_path: Path, trusted: Json
) -> None:
    accepted = [
        token(),
        token(aud=[f"{PUBLIC}/other", f"{PUBLIC}/cds-services/order-sign"]),
        token(key=RSA_KEY, algorithm="RS384", kid="two"),
        token(key=RSA_KEY, algorithm="PS256", kid="two"),
    ]
    async with services(drugs, tmp_path, **trusted) as (running, client):
        for headers in accepted:
            answer = await client.post("/cds-services/order-sign", json=NO_CARD, headers=headers)
            assert answer.status_code == 200, answer.text
        checked = request(order("aspirin"), active=bundle(order("warfarin")))
        await client.post("/cds-services/order-sign", json=checked, headers=token())
        assert (await client.get("/cds-services")).status_code == 200
        assert {entry.actor for entry in await entries(running) if entry.action == "order_check"} == {ISSUER}


@pytest.mark.parametrize(
    "made",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "https://evil.example/cds-services/order-sign"},
        {"path": "order-select"},
        {"aud": None},
        {"exp": 1_422_568_860},
        {"exp": None},
        {"iat": int(time.time()) + 3_600},
        {"iat": None},
        {"jti": None},
        {"key": OTHER_KEY},
        {"kid": "unknown"},
        {"kid": "two"},
        {"key": "a secret that both sides know, long enough", "algorithm": "HS256"},
        {"key": None, "algorithm": "none"},
    ],
    ids="-".join,
)
async def test_any_other_token_is_refused(drugs: DrugDatabase, tmp_path: Path, trusted: Json, made: Json) -> None:
    async with services(drugs, tmp_path, **trusted) as (_, client):
        headers = token(**made)
        answer = await client.post("/cds-services/order-sign", json=NO_CARD, headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (401, "Sign in first.")
        body = {"feedback": []}
        assert (await client.post("/cds-services/order-sign/feedback", json=body, headers=headers)).status_code == 401


async def test_neither_a_login_nor_an_unsigned_text_is_a_token(
    drugs: DrugDatabase, tmp_path: Path, trusted: Json
) -> None:
    async with services(drugs, tmp_path, **trusted) as (running, nobody), running.client("ana") as ana:
        assert (await ana.post("/cds-services/order-sign", json=NO_CARD)).status_code == 401
        for given in ("", "Bearer", "Bearer x", "Bearer a.b.c", "Basic YTpi", token()["authorization"][7:]):
            answer = await nobody.post("/cds-services/order-sign", json=NO_CARD, headers={"authorization": given})
            assert answer.status_code == 401


async def test_a_token_is_accepted_once_by_all_replicas(drugs: DrugDatabase, tmp_path: Path, trusted: Json) -> None:
    url, first, second = "/cds-services/order-sign", token(), token(key=RSA_KEY, algorithm="RS384", kid="two")
    jti = jwt.decode(second["authorization"][7:], options={"verify_signature": False})["jti"]
    signed_again = token(key=RSA_KEY, algorithm="PS384", kid="two", jti=jti)
    async with (
        services(drugs, tmp_path / "one", **trusted) as (_, one),
        services(drugs, tmp_path / "two", **trusted) as (_, two),
    ):
        asked = [one.post(url, json=NO_CARD, headers=first), two.post(url, json=NO_CARD, headers=first)]
        assert sorted(answer.status_code for answer in await asyncio.gather(*asked)) == [200, 401]
        for client, headers, status in ((one, second, 200), (one, second, 401), (two, signed_again, 401)):
            assert (await client.post(url, json=NO_CARD, headers=headers)).status_code == status


class KeyServer(BaseHTTPRequestHandler):
    """Serves ``keys``, and counts the requests."""

    keys, asked = "", 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200 if self.keys else 503)
        self.end_headers()
        self.wfile.write(self.keys.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


async def test_keys_come_from_the_address_of_the_issuer_and_unknown_ids_cause_no_flood(
    drugs: DrugDatabase, tmp_path: Path, redis_url: str
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), KeyServer)
    Thread(target=server.serve_forever, daemon=True).start()
    KeyServer.keys, KeyServer.asked = key_set(one=EC_KEY), 0
    place = f"http://127.0.0.1:{server.server_port}/jwks.json"
    settings_ = {"cds_open": False, "public_url": PUBLIC, "cds_issuers": f"{ISSUER}={place}", "redis": redis_url}
    try:
        async with services(drugs, tmp_path, **settings_) as (_, client):
            url = "/cds-services/order-sign"
            assert (await client.post(url, json=NO_CARD, headers=token())).status_code == 200
            for number in range(5):
                refused = await client.post(url, json=NO_CARD, headers=token(kid=f"made up {number}"))
                assert refused.status_code == 401
            KeyServer.keys = ""
            assert (await client.post(url, json=NO_CARD, headers=token())).status_code == 200
    finally:
        server.shutdown()
        server.server_close()
    assert KeyServer.asked == 1


@pytest.mark.parametrize(
    "given",
    [
        {"cds_issuers": "https://ehr.example=https://ehr.example/keys"},
        {"cds_issuers": "https://ehr.example", "public_url": PUBLIC},
        {"cds_issuers": "=/keys.json", "public_url": PUBLIC},
        {"cds_issuers": "https://ehr.example=http://ehr.example/keys", "public_url": PUBLIC},
    ],
    ids=str,
)
def test_settings_that_would_trust_the_wrong_party_are_refused(given: Json, tmp_path: Path) -> None:
    made = Settings(storage={"data_dir": str(tmp_path)}, server={"auth": "header", **given})
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_CDS_ISSUERS"):
        made.check()


# -- feedback, browsers, privacy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps_text", [False, True])
async def test_feedback_is_stored_with_the_comment_only_where_text_is_kept(
    drugs: DrugDatabase, tmp_path: Path, keeps_text: bool
) -> None:
    card = "9368d37b-283f-44a0-93ea-547cebab93ed"
    reason = {"reason": {"code": "d7ecf885", "system": "https://example.com/override"}, "userComment": CANARY}
    given = {"card": card, "outcome": "overridden", "outcomeTimestamp": "2020-12-11T00:00:00Z"}
    body = {"feedback": [{**given, "overrideReason": reason}, {**given, "outcome": "accepted"}]}
    governance = {"audit_text": keeps_text}
    async with services(drugs, tmp_path, governance=governance) as (running, client):
        answer = await client.post("/cds-services/order-sign/feedback", json=body)
        assert answer.status_code == 200, answer.text
        wrong = {"feedback": [{**given, "outcome": "liked"}]}
        assert (await client.post("/cds-services/order-sign/feedback", json=wrong)).status_code == 422
        assert (await client.post("/cds-services/nothing/feedback", json=body)).status_code == 404
        kept = [entry for entry in await entries(running) if entry.action == "feedback"]
    start = f"order-sign: card {card}"
    assert [entry.detail for entry in kept] == [
        f"{start} overridden at 2020-12-11T00:00:00+00:00 d7ecf885",
        f"{start} accepted at 2020-12-11T00:00:00+00:00",
    ]
    assert kept[0].text == (CANARY if keeps_text else "")


async def test_only_browsers_of_configured_origins_may_call(drugs: DrugDatabase, tmp_path: Path) -> None:
    origin = "https://sandbox.cds-hooks.example"
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    async with services(drugs, tmp_path, allowed_origins=origin) as (_, client):
        url = "/cds-services/order-sign"
        preflight = await client.options(url, headers={"origin": origin, **asked})
        allowed = await client.post(url, json=NO_CARD, headers={"origin": origin})
        refused = await client.post(url, json={}, headers={"origin": origin})
        found = await client.get("/cds-services", headers={"origin": origin})
        foreign = await client.options(url, headers={"origin": "https://evil.example", **asked})
        blocked = await client.post(url, json=NO_CARD, headers={"origin": "https://evil.example"})
        read = await client.get("/cds-services", headers={"origin": "https://evil.example"})
    assert preflight.status_code == 200
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    assert (allowed.status_code, refused.status_code, blocked.status_code) == (200, 422, 403)
    for answer in (preflight, allowed, refused, found):
        assert answer.headers["access-control-allow-origin"] == origin
        assert "access-control-allow-credentials" not in answer.headers
    for answer in (foreign, blocked, read):
        assert "access-control-allow-origin" not in answer.headers


async def test_nothing_of_the_patient_is_kept_or_logged(
    drugs: DrugDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    patient = {"resourceType": "Patient", "id": CANARY, "name": [{"family": CANARY}]}
    body = request(order("clarithromycin"), order(f"{CANARY} drops"), active=bundle(order("simvastatin")))
    body["prefetch"]["patient"] = patient
    body["context"]["patientId"] = CANARY
    async with services(drugs, tmp_path) as (running, client):
        assert len(await cards(client, body)) == 2
        wrong = {**body, "hook": CANARY, "hookInstance": None}
        assert CANARY not in (await client.post("/cds-services/order-sign", json=wrong)).text
        assert CANARY not in str(await entries(running))
    assert CANARY not in caplog.text
    assert holding(tmp_path, CANARY) == []


# -- odd requests -----------------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=40) | st.sampled_from(["warfarin", "aspirin 81 mg", "\x00", "\ud800", "a" * 5_000, "RxCUI 1"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | TEXTS
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)
FIELDS = """resourceType id status medicationCodeableConcept medicationReference reference coding text system code
display entry resource fullUrl contained doNotPerform hook hookInstance context prefetch draftOrders selections
medications feedback card outcome outcomeTimestamp overrideReason userComment reason"""
KEYS = st.sampled_from(FIELDS.split())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


def valid_bodies() -> list[Json]:
    medication = {"resourceType": "Medication", "id": "m", "code": {"coding": [{"system": RXNORM, "code": "36567"}]}}
    refers = order(medicationReference={"reference": "#m"}, contained=[medication])
    given = {"card": str(uuid4()), "outcome": "overridden", "outcomeTimestamp": "2020-12-11T00:00:00Z"}
    reason = {"overrideReason": {"reason": {"code": "x"}, "userComment": "y"}}
    return [
        request(order("clarithromycin", "21212"), refers, active=bundle(order("simvastatin"))),
        {"feedback": [{**given, **reason}]},
    ]


@st.composite
def odd_bodies(draw: st.DrawFn) -> Any:
    """A valid request in which some parts were replaced, or any JSON at all."""
    body = copy.deepcopy(draw(st.sampled_from(valid_bodies())))
    for _ in range(draw(st.integers(0, 4))):
        *path, last = draw(st.sampled_from(list(places(body))[1:])) or ("",)
        target: Any = body
        for key in path:
            target = target[key]
        target[last] = draw(ANYTHING | st.dictionaries(KEYS, ANYTHING, max_size=5))
        if not list(places(body))[1:]:
            break
    return draw(st.just(body) | st.just(body) | ANYTHING)


def test_every_part_of_a_request_may_be_of_any_kind() -> None:
    body = valid_bodies()[0]
    for odd in (None, True, -1, 0.5, "", "x", [], [[]], [{}], {}, {"x": []}, {"resourceType": {}}):
        for *path, last in list(places(body))[1:]:
            changed: Any = copy.deepcopy(body)
            target = changed
            for key in path:
                target = target[key]
            target[last] = odd
            with suppress(ValidationError):
                drafts, active = HookRequest.model_validate(changed).medicines()
                assert len(drafts) + len(active) <= 3, (path, last, odd)


async def test_odd_requests_are_never_a_server_error(drugs: DrugDatabase, tmp_path: Path) -> None:
    raw = [b"", b"[", b"null", b"{" * 100_000, b"\xff\xfe", b'{"hook": NaN}', b'{"a": ' + b"1" * 6_000 + b"}"]
    async with services(drugs, tmp_path) as (running, client):
        for content in raw:
            answer = await client.post("/cds-services/order-sign", content=content)
            assert answer.status_code in {400, 422}, (content[:20], answer.status_code)
        for path in ("order-sign", "%00", "..%2f..", "a" * 3_000, "order-sign/feedback/x", "\u202e"):
            assert (await client.post(f"/cds-services/{path}", json=NO_CARD)).status_code < 500

        caller = httpx.Client(base_url=running.url, timeout=60)

        @settings(max_examples=150)
        @given(body=odd_bodies(), path=st.sampled_from(["order-sign", "order-select", "order-sign/feedback"]))
        def answered(body: Any, path: str) -> None:
            content = json.dumps(body).encode()
            answer = caller.post(f"/cds-services/{path}", content=content)
            assert answer.status_code < 500, answer.text

        with caller:
            await asyncio.to_thread(answered)


async def test_a_whole_medication_list_is_checked_within_limits(drugs: DrugDatabase, tmp_path: Path) -> None:
    await drugs.load()
    held = ["warfarin", "aspirin", "lisinopril", "simvastatin", "clopidogrel", "omeprazole", "metformin", "fluoxetine"]
    async with services(drugs, tmp_path) as (_, client):
        active = bundle(*(order(one, status="active") for one in held), *(order("aspirin") for _ in range(200)))
        found = await cards(client, request(order("clarithromycin"), active=active))
    assert [card["indicator"] for card in found] == sorted(
        (card["indicator"] for card in found), key=["critical", "warning", "info"].index
    )
    assert "beyond the limit of one check" in found[-1]["detail"]
