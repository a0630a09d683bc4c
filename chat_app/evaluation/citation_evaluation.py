"""Check the answers' quotes, citation numbers and figures against their sources.

A quote must be on the page that its reference names, in the original file. A citation number must open the passage
cited with it, and numbers must follow the order of first use. A figure (a dose, a threshold, a date) of a cited
statement must be in one of the sources cited for it.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.agent.citations.passage_choice import STORED
from chat_app.evaluation.observed_answer import EvaluationQuestion, ObservedAnswer, ask_all
from chat_app.evaluation.question_files import read_rows
from tools.documents.page_words import is_on_page, page_texts
from tools.documents.row_places import row_is_on_page
from tools.guidelines import GuidelineLibrary
from tools.guidelines.library import DEMO_FOLDER
from tools.language.measurement_units import fold_figures
from tools.types import Frozen, Passage

Kind = Literal[
    "quote not on its page",
    "wrong number",
    "figure not in its source",
    "statement not in its source",
    "no answer",
    "a tool failed",
]
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_LIST_MARK = re.compile(r"^\s*(?:[-*+|>]\s*)*(?:\d{1,3}[.)]\s+)?")


class CitationQuestion(EvaluationQuestion, frozen=True):
    """A question. The right answer to one of the ``kind`` ``unanswerable`` has no citations."""

    kind: str = ""


class Finding(Frozen):
    """A fault of an answer. ``number`` is the citation's, 0 where the fault concerns none."""

    what: Kind
    question: str
    number: int = 0
    detail: str = ""


class CitationReport(Frozen):
    """The outcome over all questions. Shares are between 0 and 1; 1 also where there was nothing to get wrong."""

    questions: int
    answered: int
    """With at least one citation."""
    abstained: int
    """Without any citation: the answer says that it found nothing clear."""
    failed: int
    """Without a whole answer, or answered although a tool failed."""
    unanswerable: int
    unanswerable_abstained: int
    references: int
    references_with_quote: int
    references_without_page: int
    """To text that a model server retrieved and no stored passage holds. Drug records do not count."""
    citations: int
    quotes: int
    quotes_verbatim: float
    """Share of the quotes that are on the page they are cited with."""
    wrong_numbers: int
    unsupported_figures: int
    """Figures of cited statements that are in none of the sources cited for them."""
    unsupported_statements: int
    """Cited statements whose figures, units, negations or names are not in their sources, as the reader is told."""
    dropped_citations: int
    seconds: float
    findings: tuple[Finding, ...] = ()

    @property
    def clean(self) -> bool:
        """Return whether there are no findings."""
        return not self.findings


def read_questions(file: Path | None) -> list[CitationQuestion]:
    """Read questions, by default the demonstration's. Raises ``SourceRejected``."""
    return read_rows(file or DEMO_FOLDER / "questions.json", CitationQuestion, 'a "question"')


async def evaluate_citations(
    agent: AsclepiusHealthcareAgent,
    library: GuidelineLibrary,
    questions: Sequence[CitationQuestion],
    *,
    parallel: int = 4,
    model: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CitationReport:
    """Ask every question, ``parallel`` at a time, and check what a reader would see of each answer."""
    started = time.monotonic()
    sources = _Sources(library)

    answers = await ask_all(agent, questions, parallel=parallel, model=model, progress=progress)
    checked = [await _check(question, answer, sources) for question, answer in zip(questions, answers, strict=True)]
    return _report(questions, checked, time.monotonic() - started)


@dataclass(slots=True)
class _Checked:
    answer: ObservedAnswer
    quotes: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def failed(self) -> bool:
        return any(finding.what in {"no answer", "a tool failed"} for finding in self.findings)


class _Sources:
    """The original files' pages, each file read once."""

    def __init__(self, library: GuidelineLibrary) -> None:
        self._library = library
        self._texts: dict[str, list[str]] = {}

    async def opens(self, passage: Passage) -> bool:
        """Return whether the passage's id opens the same words on the same page; texts without pages always do."""
        if not passage.id.startswith(STORED):
            return True
        stored = await self._library.passage(passage.id)
        return stored is not None and (stored.text, stored.page) == (passage.text, passage.page)

    async def holds(self, passage: Passage, quote: str) -> bool:
        """Return whether ``quote`` is on the passage's page, or in the text of a source without pages."""
        if not passage.id.startswith(STORED):
            return is_on_page(quote, 1, [passage.text])
        path = self._library.original(passage.document_id)
        if passage.document_id not in self._texts:
            self._texts[passage.document_id] = await asyncio.to_thread(page_texts, path)
        if is_on_page(quote, passage.page or 1, self._texts[passage.document_id]):
            return True
        is_row = "\t" in quote and path.suffix == ".pdf"
        return is_row and await asyncio.to_thread(row_is_on_page, path, passage.page or 1, quote)


async def _check(question: CitationQuestion, answer: ObservedAnswer, sources: _Sources) -> _Checked:
    checked = _Checked(answer)

    def found(what: Kind, number: int = 0, detail: str = "") -> None:
        checked.findings.append(Finding(what=what, question=question.question, number=number, detail=detail))

    if not answer.whole:
        found("no answer", detail=answer.outcome.kind)
    for output in answer.tool_outputs:
        if output.error is not None:
            found("a tool failed", detail=f"{output.name}: {output.error}")
    for number, detail in _wrong_numbers(answer):
        found("wrong number", number, detail)
    for number, figure in _unsupported_figures(answer):
        found("figure not in its source", number, figure)
    for statement in answer.unsupported:
        reasons = ", ".join((*statement.reasons, *statement.details))
        found("statement not in its source", statement.numbers[0], f"{statement.text} ({reasons})")
    for reference in answer.references:
        if not await sources.opens(reference.passage):
            found("wrong number", reference.number, "its passage does not open")
        for quote in reference.quotes:
            checked.quotes += 1
            if not await sources.holds(reference.passage, quote):
                where = f"{reference.passage.document_id}, page {reference.passage.page}"
                found("quote not on its page", reference.number, f"{where}: {quote}")
    return checked


def _wrong_numbers(answer: ObservedAnswer) -> list[tuple[int, str]]:
    """Return numbers that open another passage or are out of order, and references that nothing cites."""
    listed = {reference.number: reference.passage.id for reference in answer.references}
    first_uses = list(dict.fromkeys(citation.number for citation in answer.citations))
    wrong = [
        (citation.number, "the reference of this number is another passage")
        for citation in answer.citations
        if listed.get(citation.number) != citation.passage.id
    ]
    wrong += [
        (number, f"first used as number {place}") for place, number in enumerate(first_uses, start=1) if number != place
    ]
    numbers = [reference.number for reference in answer.references]
    wrong += [(number, "listed twice") for number in set(numbers) if numbers.count(number) > 1]
    wrong += [(number, "listed and never cited") for number in listed if number not in first_uses]
    return wrong


def _unsupported_figures(answer: ObservedAnswer) -> list[tuple[int, str]]:
    wrong: list[tuple[int, str]] = []
    for part in answer.parts:
        if part.cited:
            passages = [citation.passage for citation in part.cited]
            known = {figure for p in passages for figure in _figures(f"{p.title} {p.version} {p.section} {p.text}")}
            said = _figures(_LIST_MARK.sub("", part.text))
            wrong += [(part.cited[0].number, figure) for figure in said if figure not in known]
    return wrong


def _figures(text: str) -> list[str]:
    return _FIGURE.findall(fold_figures(text))


def _report(questions: Sequence[CitationQuestion], checked: Sequence[_Checked], seconds: float) -> CitationReport:
    quotes = sum(each.quotes for each in checked)
    findings = tuple(finding for each in checked for finding in each.findings)
    faults = Counter(finding.what for finding in findings)
    answers = [each.answer for each in checked]
    references = [reference for answer in answers for reference in answer.references]
    guidelines = [reference.passage for reference in references if reference.passage.kind == "guideline"]
    silent = [
        question
        for question, each in zip(questions, checked, strict=True)
        if not each.answer.citations and not each.failed
    ]
    return CitationReport(
        questions=len(questions),
        answered=sum(bool(answer.citations) for answer in answers),
        abstained=len(silent),
        failed=sum(each.failed for each in checked),
        unanswerable=sum(question.kind == "unanswerable" for question in questions),
        unanswerable_abstained=sum(question.kind == "unanswerable" for question in silent),
        references=len(references),
        references_with_quote=sum(bool(reference.quotes) for reference in references),
        references_without_page=sum(not passage.id.startswith(STORED) for passage in guidelines),
        citations=sum(len(answer.citations) for answer in answers),
        quotes=quotes,
        quotes_verbatim=(quotes - faults["quote not on its page"]) / quotes if quotes else 1.0,
        wrong_numbers=faults["wrong number"],
        unsupported_figures=faults["figure not in its source"],
        unsupported_statements=faults["statement not in its source"],
        dropped_citations=sum(answer.dropped for answer in answers),
        seconds=round(seconds, 1),
        findings=findings,
    )
