"""How many documented interactions are found: by the checker, and by questions in ordinary words.

The file holds one label a line: ``label`` (brand), ``generic``, ``text``, and ``pairs`` of the label with other
medicines (``other``, ``type``) and the sentences that document them. The labels are loaded into a scratch database.
A sentence counts as quoted when it is inside a quote, or a quote holds the greater part of it.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.evaluation.observed_answer import EvaluationQuestion, ask_all
from chat_app.evaluation.question_files import read_rows
from tools.drug_database import DrugDatabase
from tools.drug_database.labels.interaction_output import interaction_result
from tools.drug_database.records.queries import DrugQuery
from tools.language.folding import fold_name
from tools.types import Frozen

PHRASINGS: Final = (
    "Does {a} interact with {b}?",
    "Is it ok to give {b} to a patient on {a}?",
    "Can I take {a} and {b} together?",
    "My patient takes {a}. May I add {b}?",
    "{a} with {b}: anything to watch?",
    "What happens when {b} is started in someone who is already taking {a}?",
    "Should the dose change when {a} is combined with {b}?",
    "{b} + {a} safe?",
)
KINDS: Final = ("Drug", "Substance")
_TOOL: Final = "check_drug_interactions"
_ENOUGH: Final = 0.6
"""Share of a sentence that a shorter quote must hold."""
_HEADINGS: Final = (
    ("boxed_warning", re.compile(r"boxed warning|^warning:")),
    ("contraindications", re.compile(r"contra ?indications")),
    ("interactions", re.compile(r"drug interactions")),
    ("overdosage", re.compile(r"overdos")),
    ("warnings", re.compile(r"warnings|precautions")),
    ("dosage", re.compile(r"dosage")),
    ("indications", re.compile(r"indications")),
)
_NUMBER = re.compile(r"^[\d.\s]+")
_LONGEST_HEADING: Final = 80
Progress = Callable[[str, int, int | None], None]


class DocumentedPair(Frozen):
    """Another medicine in a label's text, and the sentences about it."""

    other: str
    type: str
    sentences: tuple[str, ...]


class AnnotatedLabel(Frozen):
    """One line of the file."""

    label: str
    generic: str
    text: str
    pairs: tuple[DocumentedPair, ...]


class InteractionMiss(Frozen):
    """A sentence that was not among the quotes."""

    label: str
    other: str
    asked: str
    """The question, or the name of the tool."""
    sentence: str


class InteractionReport(Frozen):
    """Shares of pairs and questions; a pair's sentences are quoted when all of them are."""

    labels: int
    pairs: int
    called_found: float
    called_quoted: float
    questions: int = 0
    asked_called: float = 0.0
    asked_found: float = 0.0
    asked_quoted: float = 0.0
    misses: tuple[InteractionMiss, ...] = ()


Case = tuple[AnnotatedLabel, DocumentedPair]


def read_labels(file: Path) -> list[AnnotatedLabel]:
    """Read the annotated labels of a JSON-lines file. Raises ``SourceRejected``."""
    return read_rows(file, AnnotatedLabel, '"label", "generic", "text" and "pairs"')


def cases_of(labels: Sequence[AnnotatedLabel], kinds: Sequence[str] = KINDS) -> list[Case]:
    """Return the documented pairs of the wanted kinds."""
    return [(label, pair) for label in labels for pair in label.pairs if pair.type in kinds]


def write_formulary(labels: Sequence[AnnotatedLabel], cases: Sequence[Case], folder: Path) -> Path:
    """Write the labels, and a record without a label for each other medicine, as a formulary to import."""
    records: list[dict[str, object]] = []
    for number, label in enumerate(labels):
        parts = re.split(r",|/| and ", label.generic.lower())
        records.append(
            {
                "code": f"label-{number}",
                "generic_name": label.generic.lower(),
                "ingredients": [part.strip() for part in parts if part.strip()],
                "brand_names": [label.label],
                **sections_of(label.text),
            }
        )
    others = dict.fromkeys(pair.other.lower() for _, pair in cases)
    records.extend({"code": f"other-{name}", "generic_name": name} for name in others)
    file = folder / "interaction-labels.json"
    file.write_text(json.dumps({"formulary": "Annotated labels", "records": records}), encoding="utf-8")
    return file


def sections_of(text: str) -> dict[str, str]:
    """Return a label's plain text by section; text under a heading that is no section of ours is a warning."""
    found: dict[str, list[str]] = {}
    section = "warnings"
    for line in text.splitlines():
        heading = _NUMBER.sub("", line.strip())
        if len(heading) <= _LONGEST_HEADING and heading == heading.upper() and re.search("[A-Z]{4}", heading):
            section = next((name for name, wording in _HEADINGS if wording.search(heading.lower())), "warnings")
        else:
            found.setdefault(section, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


async def evaluate_called(
    drugs: DrugDatabase, labels: Sequence[AnnotatedLabel], cases: Sequence[Case], progress: Progress
) -> InteractionReport:
    """Call the checker with the names of each pair."""
    found = quoted = 0
    misses: list[InteractionMiss] = []
    for number, (label, pair) in enumerate(cases, start=1):
        names = (label.label, pair.other)
        result = interaction_result([await drugs.search(DrugQuery(name=name, limit=1)) for name in names])
        quotes = _quotes(result.data)
        missed = _missed(pair.sentences, quotes)
        found += bool(quotes)
        quoted += not missed
        misses += [_miss(label, pair, _TOOL, sentence) for sentence in missed]
        progress("pairs called", number, len(cases))
    count = max(1, len(cases))
    return InteractionReport(
        labels=len(labels),
        pairs=len(cases),
        called_found=found / count,
        called_quoted=quoted / count,
        misses=tuple(misses),
    )


async def evaluate_asked(
    agent: AsclepiusHealthcareAgent, cases: Sequence[Case], called: InteractionReport, progress: Progress
) -> InteractionReport:
    """Ask about each pair in eight phrasings, and add the figures to those of ``called``."""
    checked = found = quoted = done = 0
    misses: list[InteractionMiss] = []
    total = len(cases) * len(PHRASINGS)
    for label, pair in cases:
        questions = [EvaluationQuestion(question=text.format(a=label.label, b=pair.other)) for text in PHRASINGS]
        answers = await ask_all(agent, questions, parallel=len(questions))
        for question, answer in zip(questions, answers, strict=True):
            missed = _missed(pair.sentences, [answer.text])
            was_called = any(output.name == _TOOL and output.error is None for output in answer.tool_outputs)
            checked += was_called
            found += was_called and len(missed) < len(pair.sentences)
            quoted += not missed
            misses += [_miss(label, pair, question.question, sentence) for sentence in missed]
            done += 1
        progress("questions asked", done, total)
    count = max(1, total)
    return called.model_copy(
        update={
            "questions": total,
            "asked_called": checked / count,
            "asked_found": found / count,
            "asked_quoted": quoted / count,
            "misses": (*called.misses, *misses),
        }
    )


def _quotes(data: object) -> list[str]:
    rows = data.get("results", ()) if isinstance(data, dict) else ()
    return [quote for row in rows for section in row["label"].values() for quote in section]


def _missed(sentences: Iterable[str], quotes: Sequence[str]) -> list[str]:
    folded = [fold_name(quote) for quote in quotes]
    return [sentence for sentence in sentences if not any(_holds(quote, fold_name(sentence)) for quote in folded)]


def _holds(quote: str, sentence: str) -> bool:
    return sentence in quote or (quote in sentence and len(quote) >= _ENOUGH * len(sentence))


def _miss(label: AnnotatedLabel, pair: DocumentedPair, asked: str, sentence: str) -> InteractionMiss:
    return InteractionMiss(label=label.label, other=pair.other, asked=asked, sentence=sentence)
