"""Row 33: every route of the app, called as the owner of what it names, as a stranger and as nobody.

The routes come from the app, so a new one is called, too. One that changes something needs a case here that says how.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from tests.support.app_routes import AppRoutes, Operation, app_routes
from tests.support.page_sockets import NAMELESS, NAMING, asking, seen, socket_of
from tests.support.pdfs import write_pdf
from tests.support.served import Served, serve

SECRET = "zolpidazine"
LETTER = f"Mrs Maier tolerated {SECRET} 12 mg daily from the first week on, without any rash."
SETTINGS = {"ASCLEPIUS_AUTH": "header", "ASCLEPIUS_LOAD_DEMO": "false", "ASCLEPIUS_ROLES": "audra:auditor"}
RECORDED = {"login", "question", "sources", "upload", "settings", "export", "feedback", "delete"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
REFUSED = {401, 404, 405}

Access = Literal["anyone", "signed in", "owner", "role", "nobody"]


@dataclass(frozen=True)
class Case:
    """A request and the users who may send it. Names in braces are replaced by ids of ana's objects."""

    access: Access
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    file: bool = False


PUBLIC, SIGNED_IN, CLOSED = Case("anyone"), Case("signed in"), Case("nobody")
SIGN_IN_PAGE = (
    *("/", "/{full_path:path}", "/healthz", "/livez", "/readyz", "/health", "/offline", "/service-worker.js"),
    *("/scripts/{language}.js", "/assets/{name}", "/assets/{version}/{name}", "/assets/{filename:path}"),
    *("/public/{filename:path}", "/favicon"),
    *("/logo", "/avatars/{avatar_id:str}", "/auth/config", "/project/translations", "/api/v1/openapi.json"),
)
UNUSED = (
    *("/docs", "/docs/oauth2-redirect", "/redoc", "/openapi.json", "/copilot/{filename:path}", "/auth/jwt"),
    *("/auth/oauth/{provider_id}", "/auth/oauth/{provider_id}/callback", "/auth/oauth/azure-ad-hybrid/callback"),
    *("/project/share/{thread_id}", "/project/thread/share", "/project/element", "/project/action"),
    *("/mcp", "/v1/{path:path}", "/api/{path:path}", "/cds-services{path:path}"),
)
QUESTION = {"model": "asclepius", "stream": False}
MCP = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "asclepius://passages/{passage_id}"}}
THREAD = {"threadId": "{thread_id}"}
CASES: dict[Operation, Case] = {
    **{("GET", path): PUBLIC for path in SIGN_IN_PAGE},
    **{(method, path): CLOSED for path in UNUSED for method in (*METHODS, "*")},
    # The socket: tests/security/test_socket_owners.py.
    ("*", "/ws/socket.io"): PUBLIC,
    ("POST", "/login"): PUBLIC,
    ("POST", "/logout"): PUBLIC,
    ("POST", "/set-session-cookie"): Case("anyone", {"session_id": "x"}),
    ("POST", "/auth/header"): SIGNED_IN,
    ("POST", "/project/threads"): Case("signed in", {"pagination": {"first": 50}, "filter": {"userId": "{user_id}"}}),
    ("POST", "/project/file"): Case("owner", query={"session_id": "{session_id}"}, file=True),
    ("GET", "/project/file/{file_id}"): Case("owner", query={"session_id": "{session_id}"}),
    ("PUT", "/project/thread"): Case("owner", {**THREAD, "name": "taken"}),
    ("DELETE", "/project/thread"): Case("owner", THREAD),
    ("PUT", "/feedback"): Case("owner", {"feedback": {"forId": "{run_id}", "value": 1}}),
    ("DELETE", "/feedback"): Case("owner", {"feedbackId": "{feedback_id}"}),
    ("POST", "/api/v1/threads/{thread_id}/settings"): Case("owner", {"drugs": False}),
    ("POST", "/api/v1/threads/{thread_id}/files/{document_id}"): Case("owner", {"for": "conversation"}),
    ("DELETE", "/api/v1/threads/{thread_id}/files/{document_id}"): Case("owner"),
    ("DELETE", "/api/v1/turns/{turn_id}"): Case("owner"),
    ("DELETE", "/api/v1/conversations/{conversation_id}"): Case("owner"),
    ("DELETE", "/api/v1/logins"): SIGNED_IN,
    ("GET", "/api/v1/audit"): Case("role"),
    ("GET", "/administration"): Case("role"),
    ("GET", "/administration/{view}"): Case("role"),
    ("DELETE", "/api/v1/users/{name}/logins"): Case("role"),
    # A conversation that is not one's own is none: the answer begins another.
    ("POST", "/api/v1/consult"): Case(
        "signed in", {"message": "Which dose?", "conversation_id": "{conversation_id}", "stream": False}
    ),
    ("POST", "/v1/chat/completions"): Case("signed in", {**QUESTION, "messages": [{"role": "user", "content": "Hi?"}]}),
    ("POST", "/v1/responses"): Case("owner", {**QUESTION, "input": "Why?", "previous_response_id": "{response_id}"}),
    ("DELETE", "/v1/responses/{response_id}"): Case("owner"),
    ("POST", "/mcp"): Case("signed in", MCP),
    ("GET", "/infobutton"): Case(
        "signed in", query={"knowledgeResponseType": "application/json", "mainSearchCriteria.v.ot": "fever"}
    ),
}
OTHERS = {
    "page": "1",
    "view": "usage",
    "name": "asclepius",
    "path": "x",
    "language": "en",
    "version": "1",
    "avatar_id": "x",
    "provider_id": "github",
}
OTHERS |= {"filename": "x.js", "full_path": "thread/x"}


@dataclass
class Ana:
    """The user whose things the routes name."""

    client: httpx.AsyncClient
    ids: dict[str, str]

    async def state(self) -> list[Any]:
        """Return all that others could have changed."""
        thread = (await self.client.get(f"/project/thread/{self.ids['thread_id']}")).json()
        asked = await self.client.get(f"/api/v1/conversations/{self.ids['conversation_id']}")
        files = await self.client.get(f"/api/v1/guidelines/{self.ids['document_id']}/original.pdf")
        return [thread["name"], thread["steps"], thread["elements"], asked.json(), files.status_code]


@pytest.fixture(scope="module")
def routes() -> AppRoutes:
    return app_routes(**SETTINGS)


def as_user(served: Served, name: str | None) -> httpx.AsyncClient:
    headers = {"accept": "application/json, text/event-stream"} | ({"X-Forwarded-User": name} if name else {})
    return httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60, verify=False)


@asynccontextmanager
async def ana_of(served: Served, folder: Path) -> AsyncIterator[Ana]:
    """ana has dropped a letter into the chat, asked on the page, over the API and over /v1, and judged an answer."""
    letter = write_pdf(folder / "letter.pdf", LETTER, title="Discharge letter")
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(as_user(served, "ana"))
        (await client.post("/auth/header")).raise_for_status()
        socket, events, session = await stack.enter_async_context(socket_of(served, client))
        file = {"file": ("letter.pdf", letter.read_bytes(), "application/pdf")}
        sent = await client.post(f"/project/file?session_id={session}", files=file)
        question = asking(f"Which dose of {SECRET} was tolerated?")
        await socket.emit("client_message", question | {"fileReferences": [{"id": sent.json()["id"]}]})
        _, element = await seen(events, "element", 2)
        run = next(data for event, data in events if event == "new_message" and data.get("type") == "run")
        await seen(events, "task_end", 3)
        judged = await client.put("/feedback", json={"feedback": {"forId": run["id"], "value": 0, "comment": SECRET}})
        answer = (await client.post("/api/v1/consult", json={"message": f"Is {SECRET} safe?", "stream": False})).json()
        response = (await client.post("/v1/responses", json={**QUESTION, "input": f"Is {SECRET} safe?"})).json()
        props = element["props"]
        ids = {
            "thread_id": element["threadId"],
            "element_id": element["id"],
            "run_id": run["id"],
            "session_id": session,
            "file_id": sent.json()["id"],
            "feedback_id": judged.json()["feedbackId"],
            "document_id": props["files"][0]["document"],
            "passage_id": props["references"][0]["passage_id"],
            "conversation_id": answer["conversation_id"],
            "turn_id": answer["turn_id"],
            "response_id": response["id"],
            "user_id": (await client.get("/user")).json()["id"],
        }
        yield Ana(client, ids)


def case_of(operation: Operation) -> Case:
    """Return how to call a route; one without a case reads, and is for its owner where it names something of ana."""
    method, path = operation
    if method == "HEAD":
        operation = ("GET", path)
    if (known := CASES.get(operation)) is not None:
        return known
    assert method in {"GET", "HEAD"}, f"{operation} changes something: say in CASES how, and who may"
    return SIGNED_IN if set(re.findall(r"{(\w+)", path)) <= OTHERS.keys() else Case("owner")


def filled(given: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(given, str):
        return re.sub(r"{(\w+)(?::\w+)?}", lambda match: ids[match[1]], given)
    if isinstance(given, Mapping):
        return {name: filled(value, ids) for name, value in given.items()}
    return [filled(value, ids) for value in given] if isinstance(given, list) else given


async def call(
    client: httpx.AsyncClient, operation: Operation, ids: Mapping[str, str], user: str | None = None
) -> httpx.Response:
    method, path = operation
    case = case_of(operation)
    file = {"file": ("x.pdf", b"%PDF-1.4", "application/pdf")} if case.file else None
    address, body, query = (filled(one, {**OTHERS, **ids}) for one in (path, case.body, case.query))
    return await client.request(
        "POST" if method == "*" else method,
        address,
        json=body,
        params=query,
        files=file,
        headers={"X-Forwarded-User": user} if user else {},
    )


async def is_kept_from_others(client: httpx.AsyncClient, operation: Operation, ana: Ana, stranger: str) -> None:
    """Assert that neither a stranger nor nobody gets anything of ana's, or what only some may get."""
    access = case_of(operation).access
    unknown, theirs = await call(client, operation, ana.ids), await call(client, operation, ana.ids, stranger)
    client.cookies.clear()
    said = f"{operation}: {unknown.status_code}, {theirs.status_code}: {theirs.text[:300]}"
    for answer in (unknown, theirs):
        assert answer.status_code < 500, said
        assert SECRET not in answer.text, said
        assert not any(value in answer.text for value in ana.ids.values() if len(value) > 20), said
    assert unknown.status_code in REFUSED or access == "anyone", said
    if access == "signed in":
        assert theirs.status_code < 400, said
    elif access != "anyone":
        assert theirs.status_code in {"owner": {401, 404}, "nobody": REFUSED, "role": {403}}[access], said


def generated_requests_get_nothing(served: Served, ids: Mapping[str, str], folder: Path) -> None:
    """Let Schemathesis send odd requests that name ana's things, as a stranger: no server error and no leak."""
    named = "".join(f'"path.{name}" = "{value}"\n' for name, value in ids.items())
    (folder / "schemathesis.toml").write_text(f"[parameters]\n{named}", "utf-8")
    report = folder / "requests.yaml"
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        *("--config-file", str(folder / "schemathesis.toml"), "run", f"{served.url}/api/v1/openapi.json"),
        *("--header", "X-Forwarded-User: stranger", "--checks", "not_a_server_error", "--phases", "coverage,fuzzing"),
        *("--request-timeout", "120", "--suppress-health-check", "all", "--include-path-regex", "{"),
        *("--max-examples", "3", "--generation-deterministic", "--no-color", "--report-vcr-path", str(report)),
    ]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)
    assert run.returncode == 0, run.stdout
    sent = report.read_text("utf-8")
    assert all(f"/{ids[name]}" in sent for name in ("thread_id", "conversation_id", "turn_id", "document_id"))
    assert SECRET not in sent


def test_every_case_is_of_a_route_and_every_route_has_a_case(routes: AppRoutes) -> None:
    paths = {path for _, path in routes.operations}
    assert {path for _, path in CASES} <= paths
    assert all(map(case_of, routes.operations))


async def test_no_route_gives_or_changes_what_is_another_users(routes: AppRoutes, tmp_path: Path) -> None:
    operations = sorted(routes.operations)
    with serve(tmp_path / "data", loaded=False, **SETTINGS) as served:
        async with ana_of(served, tmp_path) as ana, as_user(served, None) as others:
            before = await ana.state()
            for number, operation in enumerate(operations):
                await is_kept_from_others(others, operation, ana, f"stranger-{number}")
            await asyncio.to_thread(generated_requests_get_nothing, served, ana.ids, tmp_path)
            assert await ana.state() == before
            ready = await others.get("/readyz")
            assert (ready.status_code, ready.json()["degraded"]) == (200, ["drugs"]), "guidelines alone can be asked"
            # The addresses are right: the owner gets an answer at each.
            for operation in sorted(operations, key=lambda one: (one[0] == "DELETE", one[1] == "/project/thread")):
                if case_of(operation).access == "owner":
                    answer = await call(ana.client, operation, ana.ids)
                    assert answer.status_code < 300, f"{operation}: {answer.text}"
            audra = {"X-Forwarded-User": "audra"}
            entries = await others.get("/api/v1/audit", params={"actor": "ana"}, headers=audra)
            assert {json.loads(line)["action"] for line in entries.text.splitlines()} >= RECORDED
            assert SECRET not in entries.text


def test_every_event_of_the_socket_has_a_case(routes: AppRoutes) -> None:
    """What each of them may do is in ``test_socket_owners``."""
    assert routes.events == NAMELESS | NAMING
