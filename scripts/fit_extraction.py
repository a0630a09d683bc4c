"""Fits the weights by which the offline model scores sentences and rows, and checks them by cross-validation.

Run it with the questions and the guidelines or passages that answer them, as ``asclepius eval answers`` takes them:

    python -m scripts.fit_extraction QUESTIONS=GUIDELINES [QUESTIONS=GUIDELINES …]

The weights maximise the probability of the units that hold the fact (softmax over all units of the retrieved passages,
ridge penalty). Each set of questions counts alike. Cross-validation leaves out one fifth of the retrieved documents'
questions at a time and counts the answers that hold the fact. Guidelines alone are searched: the shipped weights of
``label``, ``section`` and ``aside`` were fitted by the same function on stored searches of guidelines and drug records.

The room of an answer is the one of a grid that puts the fact into most answers while the median of each set keeps
within ``MEDIAN_WORDS``; it is chosen for the shipped weights, and checked on the same folds.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from chat_app.content import open_content
from chat_app.evaluation.answer_evaluation import AnswerQuestion, read_answer_questions
from chat_app.evaluation.question_files import guideline_folder
from chat_app.offline.extraction import scoring
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.selection import ROOM, Room, chosen_of, select
from chat_app.offline.reading.evidence import EvidencePassage, WeightedTerm
from chat_app.settings import Settings
from tools.guidelines import GuidelineLibrary

Array = NDArray[np.float64]
FOLDS = 5
RIDGE = 0.002
STEPS = 250
RATE = 0.15
ROOMS = tuple(Room(*each) for each in product((2.0, 2.25, 2.5, 3.0), (50, 60, 65, 70, 75, 80, 90)))
MEDIAN_WORDS = 50
"""Of the quotes from guidelines; with those of drug records, headings and table headers an answer has up to 90."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its passages, the features of every unit, and which of the units hold a fact."""

    asked: AnswerQuestion
    question: Question
    passages: tuple[EvidencePassage, ...]
    features: Array
    holds: NDArray[np.bool_]
    units: tuple[scoring.Scored, ...] = ()
    """The units with the scores of the shipped weights."""

    @property
    def fold(self) -> int:
        """Return the fold of the cross-validation, the same for all questions on a document."""
        first = self.passages[0].document if self.passages else ""
        return zlib.crc32(first.encode() or self.asked.question.encode()) % FOLDS


async def examples(library: GuidelineLibrary, questions: Sequence[AnswerQuestion]) -> list[Example]:
    """Search for every answerable question and compute the features of what is found."""
    found: list[Example] = []
    for asked in questions:
        if not asked.answerable:
            continue
        result = await library.search(asked.question)
        known = [WeightedTerm(term.term, term.weight, term.also, term.related) for term in result.terms]
        question = read_question(asked.question, known)
        passages = tuple(
            EvidencePassage(each.text, document=each.title, section=each.section, rank=rank)
            for rank, each in enumerate(result.passages)
        )
        units = scoring.scored(question, passages)
        features = np.array([unit.features for unit in units], dtype=float).reshape(len(units), -1)
        partly = asked.model_copy(update={"any_of": True})
        holds = np.array([partly.held_by(_shown(unit)) for unit in units], dtype=bool)
        found.append(Example(asked, question, passages, features, holds, tuple(units)))
    return found


def _shown(each: scoring.Scored) -> str:
    table = each.unit.table
    return f"{table.caption} {' '.join(table.header)} {each.unit.text}" if table else each.unit.text


def fitted(data: Sequence[Example], shares: Sequence[float]) -> Array:
    """Return the weights that fit ``data`` best, each example counted by its share; Adam on the log-likelihood."""
    used = [
        (each, share) for each, share in zip(data, shares, strict=True) if each.holds.any() and not each.holds.all()
    ]
    total = sum(share for _, share in used)
    weights = np.zeros(len(scoring.Features._fields))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = -RIDGE * weights
        for each, share in used:
            scores = each.features @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            right = chance * each.holds
            slope += (share / total) * (each.features.T @ (right / right.sum() - chance))
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights += RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def in_answers(data: Sequence[Example], weights: Array) -> float:
    """Return the share of ``data`` whose answer holds the fact when units are scored with ``weights``."""
    used = scoring.Features(*map(float, weights))
    quotes = [(each, select(each.question, each.passages, weights=used).quotes) for each in data]
    right = [each.asked.held_by("\n".join(map(_shown, chosen))) for each, chosen in quotes]
    return sum(right) / len(right) if right else 0.0


@dataclass(frozen=True, slots=True)
class Shown:
    """Whether the answer to a question holds the fact, and its number of words."""

    fold: int
    holds: bool
    words: int


def shown(data: Sequence[Example], room: Room) -> list[Shown]:
    """Answer each of ``data`` with the shipped weights within ``room``."""
    found: list[Shown] = []
    for each in data:
        quotes = chosen_of(each.question, each.units, room).quotes
        text = "\n".join(map(_shown, quotes))
        found.append(Shown(each.fold, each.asked.held_by(text), sum(quote.unit.words for quote in quotes)))
    return found


def best_room(sets: Sequence[Mapping[Room, Sequence[Shown]]], left_out: int | None = None) -> Room:
    """Return the room with most facts in the answers of all sets; of equal ones the one with the fewest words."""

    def rank(room: Room) -> tuple[bool, float, float]:
        parts = [[one for one in each[room] if one.fold != left_out] for each in sets]
        medians = [statistics.median(one.words for one in part) for part in parts if part]
        shares = [sum(one.holds for one in part) / len(part) for part in parts if part]
        return (max(medians) <= MEDIAN_WORDS, round(sum(shares), 6), -sum(medians))

    return max(sets[0], key=rank)


def _print_room(sets: Mapping[str, Sequence[Example]]) -> None:
    answers = {file: {room: shown(part, room) for room in {*ROOMS, ROOM}} for file, part in sets.items()}
    found = best_room(list(answers.values()))
    print("room", found)
    left = {fold: best_room(list(answers.values()), fold) for fold in range(FOLDS)}
    for file, each in answers.items():
        held_out = [one.holds for fold, room in left.items() for one in each[room] if one.fold == fold]
        medians = {room: statistics.median(one.words for one in each[room]) for room in (found, ROOM)}
        shares = {room: statistics.mean(one.holds for one in each[room]) for room in (found, ROOM)}
        print(
            f"{file}: fitted room {shares[found]:.3f} ({medians[found]} words), held out "
            f"{statistics.mean(held_out):.3f}, shipped {shares[ROOM]:.3f} ({medians[ROOM]} words)"
        )


async def main(pairs: Sequence[str]) -> None:
    """Load each set into an empty data directory, fit on all of them, and print weights and shares."""
    sets: dict[str, list[Example]] = {}
    for pair in pairs:
        file, _, guidelines = pair.partition("=")
        with TemporaryDirectory(prefix="asclepius-") as folder:
            os.environ["ASCLEPIUS_DATA_DIR"] = f"{folder}/data"
            async with open_content(Settings()) as content:
                await content.guidelines.add_folder(guideline_folder(Path(guidelines), Path(folder)))
                sets[file] = await examples(content.guidelines, read_answer_questions(Path(file)))
    _print_room(sets)
    data = [each for part in sets.values() for each in part]
    shares = [1 / len(part) for part in sets.values() for _ in part]
    weights = fitted(data, shares)
    print("weights", dict(zip(scoring.Features._fields, weights.round(2).tolist(), strict=True)))
    held_out = dict.fromkeys(sets, 0.0)
    for fold in range(FOLDS):
        kept = [(each, share) for each, share in zip(data, shares, strict=True) if each.fold != fold]
        others = fitted([each for each, _ in kept], [share for _, share in kept])
        for file, part in sets.items():
            tested = [each for each in part if each.fold == fold]
            held_out[file] += in_answers(tested, others) * len(tested) / len(part)
    for file, part in sets.items():
        shipped = in_answers(part, np.array(scoring.WEIGHTS))
        print(f"{file}: {len(part)} questions, fitted {in_answers(part, weights):.3f}, "
              f"held out {held_out[file]:.3f}, shipped weights {shipped:.3f}")  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
