"""The questions by which citations are evaluated, and what an evaluation found."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from chat_app.evaluation.question_files import read_rows
from tools.guidelines.library import DEMO_FOLDER
from tools.types import Frozen

Kind = Literal[
    "quote not on its page",
    "wrong number",
    "figure not in its source",
    "statement not in its source",
    "no answer",
    "a tool failed",
]


class CitationQuestion(BaseModel):
    """A question; ``after`` is asked before it in the same conversation.

    The right answer to a question of the ``kind`` ``unanswerable`` has no citations.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    question: str
    after: str | None = None
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
