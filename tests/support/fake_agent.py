"""A stand-in for the opened app: an agent that plays scripted answers through the real events.

``fake_app()`` has the signature of ``bootstrap.open_app``. What is asked chooses the script, so that a test in a
browser says what it wants by asking for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, JsonValue

from chat_app.agent.turn_queue import TurnQueue
from chat_app.answer_options import ConsultOptions
from chat_app.errors import InputRejected, ProviderUnavailable
from chat_app.events import (
    AgentEvent,
    CitationAdded,
    Outcome,
    Reference,
    ReferencesReady,
    RunItemStreamEvent,
    StatementsChecked,
    TextDelta,
    ToolCallRunItem,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
    UnsupportedStatement,
)
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.settings import Settings
from chat_app.tracing import GeneratorTrace
from tests.support.engine import clinic, guideline_tool
from tests.support.stamped import asked_for, stamped_tokens
from tools.documents.models import PageImage
from tools.drug_database.drug_tools import SEARCH
from tools.drug_database.records.reports import SourceStats
from tools.errors import SourceRejected
from tools.guidelines.models import Document, IngestProgress
from tools.guidelines.storage.scopes import Scope, own_id
from tools.search_presentation import GUIDELINE_SEARCH, passage_count
from tools.types import Function, FunctionOutput, Passage, Phrase

GUIDELINE = Passage(
    id="htn:1:7",
    kind="guideline",
    document_id="hypertension",
    title="Hypertension in adults",
    text="ACE inhibitors are contraindicated in pregnancy. They are also contraindicated\nin patients with a history "
    "of angioedema. Monitor potassium.",
    issuer="Demonstration",
    version="2024",
    section="4 Drugs › 4.2 ACE inhibitors",
    page=3,
    page_label="5",
)
SUPERSEDED = GUIDELINE.model_copy(update={"id": "dm:1:2", "document_id": "diabetes@v1", "text": "Is <b>5</b> > 3?"})
DRUG = Passage(
    id="drug:metformin:1",
    kind="drug_record",
    document_id="metformin",
    title="Metformin",
    text="metformin\nBrand names: Glucophage, Riomet\n"
    "Product: tablet (oral): 500 mg, 850 mg, 1000 mg; brands Glucophage\n"
    "Product: solution (oral): 500 mg/5 mL; brands Riomet\n"
    "Boxed warning:\nMetformin carries a warning for lactic acidosis.\n"
    "Source: Metformin, FDA, 2015-12",
    issuer="FDA",
    version="2015-12",
    section="metformin",
    url="https://www.accessdata.fda.gov/",
)


_CHOSEN = {
    "conversation_id",
    "documents",
    "language",
    "length",
    "model",
    "scope",
    "use_clinical_guidelines",
    "use_drug_database",
}
PRESENTATIONS = {"search_clinical_guidelines": GUIDELINE_SEARCH, "search_drug_database": SEARCH}


class FakeDocument(BaseModel):
    id: str
    title: str
    issuer: str = ""
    version: str = "2024"
    date: str = ""
    pages: int = 6
    unsearchable_pages: tuple[int, ...] = ()
    recognised_pages: tuple[int, ...] = ()
    superseded: tuple[str, ...] = ()


class FakeStats(BaseModel):
    drugs: int = 150
    records: int = 150
    sources: tuple[SourceStats, ...] = ()


@dataclass
class FakeGuidelines:
    pdf: Path | None = None
    gates: Path = Path("gates")
    own: dict[Scope, list[Document]] = field(default_factory=dict)

    async def documents(self) -> list[FakeDocument]:
        return [
            FakeDocument(id="hypertension", title="Hypertension in adults", date="2015-12-01"),
            FakeDocument(id="diabetes", title="Type 2 diabetes", unsearchable_pages=(2, 3, 5), superseded=("v1",)),
        ]

    async def damaged(self) -> tuple[str, ...]:
        return ("gout",)

    def ingesting(self) -> list[IngestProgress]:
        return [IngestProgress(file_name="asthma.pdf", stage="reading", done=3, total=40)]

    async def own_documents(self, scope: Scope) -> list[Document]:
        return self.own.get(scope, [])

    async def passage(self, passage_id: str, *, scope: Scope | None = None) -> Passage | None:
        return next((known for known in (GUIDELINE, SUPERSEDED) if known.id == passage_id), None)

    async def page_image(
        self,
        document_id: str,
        page: int,
        *,
        highlight: Sequence[str] = (),
        scale: float = 2.0,
        scope: Scope | None = None,
    ) -> PageImage:
        if document_id != "hypertension" or page > 6:
            raise SourceRejected("There is no such page.")
        return PageImage(png=_png(page), pages=6, marked_at=(0.1, 0.9) if highlight else None)

    def original(self, document_id: str, *, scope: Scope | None = None) -> Path:
        if self.pdf is None:
            raise SourceRejected("There is no such guideline in the library.")
        return self.pdf

    async def check_index(self) -> list[str]:
        return []

    async def erase(self, scope: Scope) -> bool:
        return self.own.pop(scope, None) is not None

    async def remove(self, document_id: str, *, scope: Scope | None = None) -> bool:
        known = self.own.get(scope, []) if scope else []
        self.own |= {scope: [document for document in known if document.id != document_id]} if scope else {}
        return any(document.id == document_id for document in known)

    async def share(self, document_id: str, scope: Scope) -> Document | None:
        known = next((document for document in self.own.get(scope, []) if document.id == document_id), None)
        return known.model_copy(update={"id": "new"}) if known else None

    async def add(
        self, path: Path, *, scope: Scope, progress: Callable[[IngestProgress], None] | None = None
    ) -> Document:
        """Takes any PDF but one whose name says that it is encrypted.

        One called ``gated … NAME`` stops after its second page until ``gates/NAME`` exists.
        """
        if "encrypted" in path.name:
            raise SourceRejected(f"{path.name}: the file is encrypted; remove its password and add it again.")
        for page in range(1, 4):
            await asyncio.sleep(0.05)
            while page == 3 and path.stem.startswith("gated") and not (self.gates / path.stem.split()[-1]).exists():
                await asyncio.sleep(0.02)
            if progress:
                progress(IngestProgress(file_name=path.name, stage="reading", done=page, total=3))
        added = Document(
            id=own_id(scope, path.name),
            title=path.stem,
            file_name=path.name,
            sha256="0" * 64,
            pages=3,
            passages=9,
            added_at=datetime.now(UTC),
        )
        self.own.setdefault(scope, []).append(added)
        return added


class FakeDrugs:
    async def stats(self) -> FakeStats:
        return FakeStats()

    async def check(self) -> list[str]:
        return []


class FakeSessions:
    """No conversations, and a journal whose Redis is down."""

    journal = RedisSessionStore("unix:///nonexistent/redis.sock").journal
    tallies = ended_logins = held_files = None

    async def ping(self) -> None:
        return None

    async def get(self, session_id: str, user_id: str) -> None:
        return None

    def compact(self) -> None:
        return None

    async def delete(self, session_id: str, user_id: str) -> bool:
        return False


class FakeModel:
    async def delete(self, response_id: str) -> None:
        return None

    async def ping(self) -> None:
        return None


@dataclass
class FakeAgent:
    """``consult`` as the agent's; remembers what it was asked and whether its streams were closed early."""

    asked: list[dict[str, Any]] = field(default_factory=list)
    closed_early: int = 0
    delay: float = 0.01
    gates: Path | None = None
    """A folder: a gated script goes on when a file of its name is there."""
    queue: TurnQueue = field(default_factory=lambda: TurnQueue(99))

    def check_message(self, message: str) -> None:
        """Accepts any message, as the API asks first."""

    async def consult(self, message: str, options: ConsultOptions) -> AsyncIterator[AgentEvent]:
        if not message.strip():
            raise InputRejected("The message is empty. Type a question.")
        self.asked.append({"message": message, **asdict(options)})
        conversation = options.conversation_id or f"session_{uuid4().hex}"
        ended = False
        try:
            yield TurnStarted(conversation_id=conversation, turn_id=uuid4().hex, model=options.model or "fake")
            async for event in self._script(message.replace("{model}", options.model or "fake")):
                ended = isinstance(event, TurnEnded)
                yield event
        finally:
            self.closed_early += not ended

    async def aclose(self) -> None:
        return None

    def _script(self, message: str) -> AsyncIterator[AgentEvent]:
        scripts: dict[str, Callable[[str], AsyncIterator[AgentEvent]]] = {
            "gated": self._gated,
            "count to": self._count,
            "say:": self._say,
            "fail": self._fail,
            "break": self._break,
            "truncated": self._truncated,
            "metformin": self._metformin,
            "slow": self._slow,
            "nothing on": self._nothing,
            "options": self._options,
            "stamped": self._stamped,
            "changed dose": self._changed_dose,
        }
        chosen = next((script for start, script in scripts.items() if start in message.lower()), self._ace)
        return chosen(message)

    async def _ace(self, message: str) -> AsyncIterator[AgentEvent]:
        call = Function(
            call_id=uuid4().hex,
            name="search_clinical_guidelines",
            arguments='{"question": "contraindications of ACE inhibitors"}',
        )
        yield RunItemStreamEvent(
            name="agent.tool_call_start", item=ToolCallRunItem(function=call, presentation=PRESENTATIONS[call.name])
        )
        await asyncio.sleep(self.delay * 20)
        output: dict[str, JsonValue] = {
            "question": "contraindications of ACE inhibitors",
            "match": "strong",
            "passages": [
                {
                    "cite": "[1]",
                    "document": GUIDELINE.title,
                    "section": GUIDELINE.section,
                    "page": "5",
                    "text": GUIDELINE.text,
                }
            ],
            "note": "",
        }
        yield RunItemStreamEvent(
            name="agent.tool_call_complete",
            item=ToolOutputRunItem(
                function_output=FunctionOutput(
                    name=call.name,
                    input=call,
                    output=output,
                    passages=(GUIDELINE,),
                    summary="1 passage",
                    summary_phrase=passage_count(1),
                    duration_ms=38,
                )
            ),
        )
        first = "ACE inhibitors are contraindicated in pregnancy."
        for word in ("From the guidelines:\n\n", *first.replace(" ", " |").split("|")):
            await asyncio.sleep(self.delay)
            yield TextDelta(text=word)
        yield CitationAdded(number=1, passage=GUIDELINE, marker="[1]")
        rest = "\n\n| Sign | Meaning |\n|---|---|\n| HER2:negative | `5*3*2` |\n| <script> | **bold** |\n"
        for part in rest.replace(" ", " ~").split("~"):
            await asyncio.sleep(self.delay)
            yield TextDelta(text=part)
        yield ReferencesReady(references=(Reference(number=1, passage=GUIDELINE, quotes=(first,)),))
        yield TurnEnded(outcome=Outcome(), answer=f"From the guidelines:\n\n{first}{rest}")

    async def _changed_dose(self, message: str) -> AsyncIterator[AgentEvent]:
        """``changed dose``: a cited statement with a figure that its passage does not have."""
        text = "Tablets of 2000 mg are available."
        yield TextDelta(text=text)
        yield CitationAdded(number=1, passage=DRUG, marker="[1]")
        wrong = UnsupportedStatement(text=text, numbers=(1,), reasons=("number",), details=("2000 mg",))
        yield StatementsChecked(checked=1, unsupported=(wrong,))
        yield ReferencesReady(references=(Reference(number=1, passage=DRUG),))
        yield TurnEnded(outcome=Outcome(), answer=text)

    async def _nothing(self, message: str) -> AsyncIterator[AgentEvent]:
        """``nothing on X``: passages come near, and none answers; a drug of another spelling is proposed."""
        near = GUIDELINE.model_copy(update={"id": "htn:1:9", "section": "5 Follow-up"})
        searched = Function(call_id=uuid4().hex, name="search_clinical_guidelines", arguments='{"question": "x"}')
        looked_up = Function(call_id=uuid4().hex, name="search_drug_database", arguments='{"drug_name": "metfromin"}')
        outputs = (
            FunctionOutput(
                name=searched.name,
                input=searched,
                passages=(near,),
                summary="1 passage, no clear answer",
                summary_phrase=passage_count(1, answerable=False),
                output={"match": "none", "passages": []},
            ),
            FunctionOutput(
                name=looked_up.name,
                input=looked_up,
                summary="no match",
                output={"query": {"name": "metfromin"}, "results": [], "did_you_mean": ["metformin"]},
            ),
        )
        for output in outputs:
            yield RunItemStreamEvent(
                name="agent.tool_call_start",
                item=ToolCallRunItem(function=output.input, presentation=PRESENTATIONS[output.name]),
            )
            item = ToolOutputRunItem(function_output=output)
            yield RunItemStreamEvent(name="agent.tool_call_complete", item=item)
        text = "The loaded sources do not answer this."
        yield TextDelta(text=text)
        yield TurnEnded(outcome=Outcome(), answer=text)

    async def _metformin(self, message: str) -> AsyncIterator[AgentEvent]:
        """``metformin icon X``: the step has that icon."""
        call = Function(
            call_id=uuid4().hex, name="search_drug_database", arguments='{"drug_name": "metformin", "limit": 5}'
        )
        icon = re.search(r" icon (\S+)", message)
        presentation = SEARCH.model_copy(update={"icon": icon[1]}) if icon else SEARCH
        yield RunItemStreamEvent(
            name="agent.tool_call_start", item=ToolCallRunItem(function=call, presentation=presentation)
        )
        await asyncio.sleep(self.delay * 10)
        products: list[JsonValue] = [
            {
                "dosage_form": "tablet",
                "routes": ["oral"],
                "strengths": ["500 mg", "850 mg"],
                "brand_names": ["Glucophage"],
                "labelers": ["Demo"],
            }
        ]
        output: dict[str, JsonValue] = {
            "query": {},
            "results": [{"cite": "[1]", "generic_name": "metformin", "products": products}],
            "did_you_mean": [],
            "note": "",
        }
        yield RunItemStreamEvent(
            name="agent.tool_call_complete",
            item=ToolOutputRunItem(
                function_output=FunctionOutput(
                    name=call.name,
                    input=call,
                    output=output,
                    passages=(DRUG,),
                    summary="5 products",
                    duration_ms=40,
                    summary_phrase=Phrase(text="{count} products", singular="{count} product", values={"count": 5}),
                )
            ),
        )
        text = "Metformin is available as tablets of 500 mg, 850 mg and 1000 mg."
        yield TextDelta(text=text)
        yield CitationAdded(number=1, passage=DRUG, marker="[1]")
        yield ReferencesReady(references=(Reference(number=1, passage=DRUG),))
        yield TurnEnded(outcome=Outcome(), answer=text)

    async def _count(self, message: str) -> AsyncIterator[AgentEvent]:
        """``count to 500``: one number per delta."""
        last = int("".join(c for c in message if c.isdigit()))
        written = []
        for number in range(1, last + 1):
            await asyncio.sleep(self.delay)
            written.append(f"n{number} ")
            yield TextDelta(text=written[-1])
        yield TurnEnded(outcome=Outcome(), answer="".join(written))

    async def _gated(self, message: str) -> AsyncIterator[AgentEvent]:
        """``gated 40 of 100 NAME``: stops after 40 numbers until ``gates/NAME`` exists.

        ``gated 40 and 60 of 100 NAME`` stops again after 60, until ``gates/NAME-again`` exists.
        """
        found = re.search(r"gated (\d+)(?: and (\d+))? of (\d+) (\w+)", message)
        assert found is not None and self.gates is not None
        first, again, last, gate = found.groups()
        stops = {int(first): self.gates / gate, int(again or last): self.gates / f"{gate}-again"}
        written = []
        for number in range(1, int(last) + 1):
            while number - 1 in stops and not stops[number - 1].exists():
                await asyncio.sleep(0.02)
            await asyncio.sleep(self.delay / 10)
            written.append(f"n{number} ")
            yield TextDelta(text=written[-1])
        yield TurnEnded(outcome=Outcome(), answer="".join(written))

    async def _stamped(self, message: str) -> AsyncIterator[AgentEvent]:
        """``stamped 3000 every 5``: tokens that say when they were sent, and citations."""
        wanted = asked_for(message)
        assert wanted is not None
        cited: list[int] = []
        async for token in stamped_tokens(*wanted):
            if isinstance(token, str):
                yield TextDelta(text=token)
            else:
                cited.append(token)
                yield CitationAdded(number=token, passage=GUIDELINE, marker=f"[{token}]")
        yield ReferencesReady(references=tuple(Reference(number=n, passage=GUIDELINE) for n in cited))
        yield TurnEnded(outcome=Outcome(), answer="")

    async def _say(self, message: str) -> AsyncIterator[AgentEvent]:
        """``say: X`` answers X, a character at a time."""
        text = message.partition("say:")[2].removeprefix(" ")
        for character in text:
            yield TextDelta(text=character)
        yield TurnEnded(outcome=Outcome(), answer=text)

    async def _fail(self, message: str) -> AsyncIterator[AgentEvent]:
        raise ProviderUnavailable("The model server cannot be reached. Check OPENAI_BASE_URL.")
        yield

    async def _break(self, message: str) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="Half a sen")
        raise ZeroDivisionError(message)

    async def _truncated(self, message: str) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="Give 5 mg, but not")
        outcome = Outcome(kind="incomplete", reason="truncated", message="The stream ended early.", retryable=True)
        yield TurnEnded(outcome=outcome, answer="Give 5 mg, but not")

    async def _options(self, message: str) -> AsyncIterator[AgentEvent]:
        """Says what it was asked with."""
        asked = self.asked[-1]
        text = ", ".join(f"{key}={asked[key]}" for key in sorted(asked) if key in _CHOSEN)
        yield TextDelta(text=f"`{text}`")
        yield TurnEnded(outcome=Outcome(), answer=text)

    async def _slow(self, message: str) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="Wait")
        await asyncio.sleep(3600)
        yield TurnEnded(outcome=Outcome(), answer="Wait")


class FakeTools:
    def names(self) -> tuple[str, ...]:
        return tuple(PRESENTATIONS)


class FakeServices:
    def restarts(self) -> dict[str, int]:
        return {"redis": 0, "milvus": 2}


@dataclass
class FakeApp:
    settings: Settings
    agent: Any
    guidelines: FakeGuidelines = field(default_factory=FakeGuidelines)
    load_problems: list[str] = field(default_factory=list)
    drugs: FakeDrugs = field(default_factory=FakeDrugs)
    sessions: Any = field(default_factory=FakeSessions)
    model: FakeModel = field(default_factory=FakeModel)
    tools: FakeTools = field(default_factory=FakeTools)
    services: FakeServices = field(default_factory=FakeServices)
    trace: GeneratorTrace = field(default_factory=GeneratorTrace)
    loading: str | None = None
    tools_only_read: bool = True

    async def warm_up(self) -> None:
        return None


def fake_app(agent: FakeAgent | None = None, pdf: Path | None = None) -> Any:
    """A stand-in for ``open_app``."""

    @asynccontextmanager
    async def open_app(settings: Settings, **_: Any) -> AsyncGenerator[FakeApp]:
        played = agent or FakeAgent()
        app = FakeApp(settings, played, FakeGuidelines(pdf, gates=played.gates or Path("gates")))
        if settings.storage.redis_url is None:
            yield app
            return
        app.sessions = RedisSessionStore(settings.storage.redis_url.get_secret_value())
        yield app
        await app.sessions.aclose()

    return open_app


def engine_app(model_server: str) -> Any:
    """A stand-in for ``open_app`` whose agent is the real one, with one tool and background responses."""

    @asynccontextmanager
    async def open_app(settings: Settings, **_: Any) -> AsyncGenerator[FakeApp]:
        assert settings.storage.redis_url is not None
        redis_url = settings.storage.redis_url.get_secret_value()
        sessions = RedisSessionStore(redis_url)
        asked = {"background": True}
        async with clinic(model_server, redis_url, [guideline_tool()], model_kwargs=asked, store=sessions) as agent:
            yield FakeApp(settings, agent, sessions=sessions)

    return open_app


def _png(page: int) -> bytes:
    import struct
    import zlib

    width, height, grey = 300, 420, 255 - page * 20
    rows = b"".join(b"\0" + bytes([grey]) * width for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
