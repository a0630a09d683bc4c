"""The evaluation of citations finds what is wrong: each test shows an answer with one fault, or none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.answer_options import ConsultOptions
from chat_app.evaluation.citation_evaluation import CitationQuestion, CitationReport, evaluate_citations, read_questions
from chat_app.events import (
    AgentEvent,
    CitationAdded,
    Notice,
    Outcome,
    Reference,
    ReferencesReady,
    RunItemStreamEvent,
    TextDelta,
    ToolCallRunItem,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
)
from tools.errors import SourceRejected
from tools.guidelines import GuidelineLibrary
from tools.types import Function, FunctionOutput, Passage

ASPIRIN = "Give aspirin 300 mg at once to adults with a suspected acute coronary syndrome."
HEPARIN = "Heparin must not be given to patients with a history of heparin-induced thrombocytopenia."


class ScriptedAgent:
    """Plays ``events`` for every question; remembers what it was asked and which conversations were deleted."""

    def __init__(self, *events: AgentEvent) -> None:
        self._events = events
        self.asked: list[tuple[str, str | None]] = []
        self.deleted: list[str] = []
        self.chats = self

    async def consult(self, message: str, options: ConsultOptions) -> AsyncGenerator[AgentEvent, None]:
        conversation_id = options.conversation_id
        self.asked.append((message, conversation_id))
        yield TurnStarted(conversation_id=conversation_id or f"session_{uuid4().hex}", turn_id="t", model="m")
        for event in self._events:
            yield event
        if not any(isinstance(event, TurnEnded) for event in self._events):
            yield TurnEnded(outcome=Outcome(), answer="")

    async def delete(self, conversation_id: str, user_id: str) -> bool:
        assert user_id == "evaluation"
        self.deleted.append(conversation_id)
        return True


@pytest.fixture(scope="module")
def pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pdf") / "acs.pdf"
    canvas = Canvas(str(path), pagesize=A4)
    for line in (ASPIRIN, HEPARIN):
        canvas.drawString(40, 700, line)
        canvas.showPage()
    canvas.save()
    return path


@pytest.fixture(scope="module")
def filled(milvus_uri: str, tmp_path_factory: pytest.TempPathFactory, pdf: Path) -> tuple[Path, str]:
    """Return the folder and the collection of a library with one guideline."""
    folder, collection = tmp_path_factory.mktemp("library"), f"test_{uuid4().hex[:12]}"

    async def fill() -> None:
        library = GuidelineLibrary(milvus_uri, folder, collection=collection)
        await library.add(pdf)
        await library.aclose()

    asyncio.run(fill())
    return folder, collection


@pytest.fixture
async def library(milvus_uri: str, filled: tuple[Path, str]) -> AsyncIterator[GuidelineLibrary]:
    folder, collection = filled
    library = GuidelineLibrary(milvus_uri, folder, collection=collection)
    yield library
    await library.aclose()


@pytest.fixture
async def found(library: GuidelineLibrary) -> dict[int, Passage]:
    """The passages of the guideline by their page."""
    (document,) = await library.documents()
    passages = await library.passages_of(document.id, sha256=document.sha256)
    return {passage.page or 0: passage for passage in passages}


async def evaluate(library: GuidelineLibrary, *events: AgentEvent, kind: str = "") -> CitationReport:
    agent = cast("AsclepiusHealthcareAgent", ScriptedAgent(*events))
    return await evaluate_citations(agent, library, [CitationQuestion(question="What now?", kind=kind)])


def whats(report: CitationReport) -> list[str]:
    return [finding.what for finding in report.findings]


def answer(*references: Reference, text: str = ASPIRIN) -> Sequence[AgentEvent]:
    cited = [CitationAdded(number=reference.number, passage=reference.passage) for reference in references]
    return [TextDelta(text=f"- {text}"), *cited, ReferencesReady(references=references)]


async def test_an_answer_whose_quotes_and_numbers_are_right_is_clean(
    library: GuidelineLibrary, found: dict[int, Passage]
) -> None:
    report = await evaluate(library, *answer(Reference(number=1, passage=found[1], quotes=(ASPIRIN,))))
    assert report.clean
    assert (report.answered, report.references, report.quotes, report.citations) == (1, 1, 1, 1)
    assert report.quotes_verbatim == 1.0


async def test_a_quote_with_one_word_changed_is_found(library: GuidelineLibrary, found: dict[int, Passage]) -> None:
    changed = ASPIRIN.replace("300", "30")
    passage = found[1].model_copy(update={"text": changed})
    report = await evaluate(library, *answer(Reference(number=1, passage=passage, quotes=(changed,)), text=changed))
    assert "quote not on its page" in whats(report)
    assert report.quotes_verbatim == 0.0
    assert not report.clean


async def test_every_quote_of_a_reference_is_held_to_the_page(
    library: GuidelineLibrary, found: dict[int, Passage]
) -> None:
    quotes = ("Give aspirin 300 mg at once", "suspected acute coronary syndrome", "suspected pulmonary embolism")
    report = await evaluate(library, *answer(Reference(number=1, passage=found[1], quotes=quotes)))
    assert [finding.detail.partition(": ")[2] for finding in report.findings] == ["suspected pulmonary embolism"]
    assert (report.quotes, round(report.quotes_verbatim, 2)) == (3, 0.67)


async def test_a_quote_of_a_drug_record_is_held_to_the_record(library: GuidelineLibrary) -> None:
    record = Passage(id="drug:a:1", kind="drug_record", document_id="drug:a", title="Aspirin", text="Tablets of 81 mg.")
    for quote, whole in (("Tablets of 81 mg", True), ("Tablets of 325 mg", False)):
        reference = Reference(number=1, passage=record, quotes=(quote,))
        assert (await evaluate(library, *answer(reference, text="81 mg"))).clean is whole


async def test_what_only_accompanies_an_answer_is_not_judged(
    library: GuidelineLibrary, found: dict[int, Passage]
) -> None:
    call = ToolCallRunItem(function=Function(call_id="c", name="search_clinical_guidelines"))
    wait = Notice(code="waiting_for_provider", message="Trying again in 30 s.")
    good = answer(Reference(number=1, passage=found[1], quotes=(ASPIRIN,)))
    report = await evaluate(library, RunItemStreamEvent(name="agent.tool_call_start", item=call), wait, *good)
    assert (report.clean, report.answered) == (True, 1)


async def test_a_quote_from_another_page_than_the_cited_one_is_found(
    library: GuidelineLibrary, found: dict[int, Passage]
) -> None:
    moved = found[1].model_copy(update={"page": 2})
    report = await evaluate(library, *answer(Reference(number=1, passage=moved, quotes=(ASPIRIN,))))
    assert whats(report) == ["wrong number", "quote not on its page"]


async def test_a_number_whose_reference_is_another_passage_is_found(
    library: GuidelineLibrary, found: dict[int, Passage]
) -> None:
    report = await evaluate(
        library,
        TextDelta(text=ASPIRIN),
        CitationAdded(number=1, passage=found[1]),
        ReferencesReady(references=(Reference(number=1, passage=found[2]),)),
    )
    assert report.wrong_numbers == 1


async def test_numbers_out_of_the_order_of_first_use_are_found(
    library: GuidelineLibrary, found: dict[int, Passage]
) -> None:
    second, first = Reference(number=2, passage=found[2]), Reference(number=1, passage=found[1])
    report = await evaluate(
        library, *answer(second, text=HEPARIN), *answer(first), ReferencesReady(references=(first, second))
    )
    assert report.wrong_numbers == 2


async def test_a_reference_that_nothing_cites_is_found(library: GuidelineLibrary, found: dict[int, Passage]) -> None:
    cited, idle = Reference(number=1, passage=found[1]), Reference(number=2, passage=found[2])
    report = await evaluate(library, *answer(cited), ReferencesReady(references=(cited, idle)))
    assert [(f.what, f.number) for f in report.findings] == [("wrong number", 2)]


async def test_a_passage_that_does_not_open_is_found(library: GuidelineLibrary, found: dict[int, Passage]) -> None:
    lost = found[1].model_copy(update={"id": "guideline:acs@000000000000:0"})
    report = await evaluate(library, *answer(Reference(number=1, passage=lost)))
    assert [finding.detail for finding in report.findings] == ["its passage does not open"]


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("Give aspirin 45 mg at once.", ["45"]),
        ("Aspirin 300 mg, then 75 mg.", ["75"]),
        ("1. Give aspirin 300 mg at once.", []),
        ("| aspirin | 300 mg |", []),
    ],
)
async def test_a_figure_that_no_cited_source_holds_is_found(
    said: str, missing: list[str], library: GuidelineLibrary, found: dict[int, Passage]
) -> None:
    report = await evaluate(library, *answer(Reference(number=1, passage=found[1]), text=said))
    assert [f.detail for f in report.findings if f.what == "figure not in its source"] == missing


async def test_a_figure_may_stand_in_any_of_the_sources_cited_for_its_statement(library: GuidelineLibrary) -> None:
    record = Passage(id="drug:a:1", kind="drug_record", document_id="drug:a", title="Aspirin", text="Tablets of 81 mg.")
    other = record.model_copy(update={"id": "drug:b:1", "text": "Tablets of 1,000 mg."})
    both = (Reference(number=1, passage=record), Reference(number=2, passage=other))
    assert (await evaluate(library, *answer(*both, text="81 mg and 1000 mg."))).clean


async def test_an_answer_without_citations_abstains_and_one_that_broke_off_is_a_finding(
    library: GuidelineLibrary,
) -> None:
    silent = await evaluate(library, TextDelta(text="The guidelines do not tell."), kind="unanswerable")
    assert (silent.abstained, silent.unanswerable, silent.unanswerable_abstained, silent.clean) == (1, 1, 1, True)
    broken = TurnEnded(outcome=Outcome(kind="incomplete", reason="truncated"), answer="")
    report = await evaluate(library, TextDelta(text="Give"), broken)
    assert (report.failed, report.abstained, report.clean) == (1, 0, False)


async def test_an_answer_for_which_a_tool_failed_is_no_abstention(library: GuidelineLibrary) -> None:
    call = Function(call_id="c", name="search_drug_database")
    output = FunctionOutput(name=call.name, input=call, error="Milvus cannot be reached.")
    event = RunItemStreamEvent(name="agent.tool_call_complete", item=ToolOutputRunItem(function_output=output))
    report = await evaluate(library, event, TextDelta(text="The drug database failed."))
    assert (report.failed, report.abstained) == (1, 0)
    assert [finding.detail for finding in report.findings] == ["search_drug_database: Milvus cannot be reached."]


async def test_a_follow_up_is_asked_in_the_conversation_of_its_question_which_is_deleted_then(
    library: GuidelineLibrary,
) -> None:
    agent = ScriptedAgent(TextDelta(text="..."))
    questions = [CitationQuestion(question="And in pregnancy?", after=("What of ACE inhibitors?",))]
    asked = cast("AsclepiusHealthcareAgent", agent)
    progress: list[tuple[int, int]] = []
    await evaluate_citations(asked, library, questions, progress=lambda done, total: progress.append((done, total)))
    (first, none), (second, same) = agent.asked
    assert (first, none, second) == ("What of ACE inhibitors?", None, "And in pregnancy?")
    assert agent.deleted == [same]
    assert progress == [(1, 1)]


def test_the_demonstration_has_its_questions_and_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    assert len(read_questions(None)) > 80
    for content in ("[]", "{}", '[{"query": "x"}]', "not json"):
        (tmp_path / "q.json").write_text(content, encoding="utf-8")
        with pytest.raises(SourceRejected, match=r"q\.json"):
            read_questions(tmp_path / "q.json")
    (tmp_path / "q.json").write_text(json.dumps([{"question": "Why?"}]), encoding="utf-8")
    assert read_questions(tmp_path / "q.json") == [CitationQuestion(question="Why?")]


def test_blank_lines_of_a_question_file_are_no_rows_but_count(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "Why?"}\n  \n\n{"question": "When?"}\n', encoding="utf-8")
    assert [row.question for row in read_questions(file)] == ["Why?", "When?"]
    file.write_text('{"question": "Why?"}\n  \n\n{"query": "When?"}\n', encoding="utf-8")
    with pytest.raises(SourceRejected, match=r"q\.jsonl, row 4"):
        read_questions(file)
