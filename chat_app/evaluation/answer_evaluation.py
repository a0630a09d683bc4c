"""Measures whether answers hold the fact that was asked for, cite it, and are honest where there is none."""

import math
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import AliasChoices, Field, model_validator

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.evaluation.observed_answer import EvaluationQuestion, ObservedAnswer, ask_all
from chat_app.evaluation.question_files import read_rows
from chat_app.offline.phrases import is_unclear
from tools.guidelines import GuidelineLibrary
from tools.language.folding import fold, folded
from tools.language.quotable_units import term_set, units
from tools.types import Frozen, Passage

_HEADING = 0.5
"""Of the weight of a term that only the section or the heading holds."""
_FIGURE = 0.05
_RANK = 0.02
_UNCLEAR = re.compile(r"\bno clear\b|\bclosest passages?\b|\bkeine klare\b|\bnothing (?:was )?found\b", re.IGNORECASE)
"""Words of the instructions by which an answer says that it has no clear answer."""
_CUT_NUMBER = re.compile(r"\d[.,]?\|[.,]?\d")
_TABLE = re.compile(r"-{3,}|(?<!\\)[|*`]|\\(?=[\[\]|])")


class AnswerQuestion(EvaluationQuestion, frozen=True, populate_by_name=True):
    """A question with the facts that its answer must hold.

    ``must`` are exact words of the sources, all of them needed, or one with ``any``; ``answer`` is another name for a
    single one. ``answerable`` is False where the sources hold no answer.
    """

    must: tuple[str, ...] = Field((), validation_alias=AliasChoices("must", "answers"))
    answer: str | None = None
    any_of: bool = Field(False, alias="any")
    answerable: bool = True

    @model_validator(mode="after")
    def _facts_of_an_answerable_question(self) -> Self:
        if self.answerable and not self.facts:
            raise ValueError
        return self

    @property
    def facts(self) -> tuple[str, ...]:
        """Return the texts an answer must hold."""
        return self.must or ((self.answer,) if self.answer else ())

    def held_by(self, text: str) -> bool:
        """Return whether ``text`` holds the facts, white space, hyphens and case aside; 2.5 mg does not hold 5 mg."""
        check = any if self.any_of else all
        return check(_holds(text, fact) for fact in self.facts)


class AnswerMiss(Frozen):
    """A question whose answer lacks the fact, denies it, or claims one where there is none."""

    question: str
    what: str
    answer: str


class AnswersReport(Frozen):
    """Shares of the answerable, or of the unanswerable questions; None where there is none of them."""

    answerable: int
    fact_in_answer: float | None
    fact_in_cited_passage: float | None
    naive_ranker: float | None
    """Share whose fact is in the five best sentences of a naive ranking of the same passages."""
    said_unclear: float | None
    """Share answered with the closest passages, said to be no clear answer."""
    falsely_denied: float | None
    """Share answered without any source."""
    unanswerable: int
    unanswerable_handled: float | None
    """Share answered without a claim: nothing cited, or said to be no clear answer."""
    median_words: float
    failed: int
    """Turns that did not complete; they count as answers without the fact."""
    seconds: float
    misses: tuple[AnswerMiss, ...] = ()


@dataclass(slots=True)
class _Judged:
    question: AnswerQuestion
    answer: ObservedAnswer
    in_answer: bool = False
    in_cited: bool = False
    naive: bool = False

    @property
    def plain(self) -> str:
        return " ".join(_TABLE.sub(" ", self.answer.text).split())

    @property
    def unclear(self) -> bool:
        text = self.answer.text
        return not self.answer.references or _UNCLEAR.search(text) is not None or is_unclear(text)


def read_answer_questions(file: Path) -> list[AnswerQuestion]:
    """Read questions, one JSON object a line or one JSON list. Raises ``SourceRejected``."""
    needs = '"question", and "must" with the facts that answer it or "answerable": false'
    return read_rows(file, AnswerQuestion, needs)


async def evaluate_answers(
    agent: AsclepiusHealthcareAgent,
    library: GuidelineLibrary,
    questions: Sequence[AnswerQuestion],
    *,
    parallel: int = 4,
    model: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> AnswersReport:
    """Ask every question, ``parallel`` at a time, and judge each answer."""
    started = time.monotonic()

    answers = await ask_all(agent, questions, parallel=parallel, model=model, progress=progress)
    judged = [await _judge(question, answer, library) for question, answer in zip(questions, answers, strict=True)]
    return _report(judged, time.monotonic() - started)


async def _judge(question: AnswerQuestion, answer: ObservedAnswer, library: GuidelineLibrary) -> _Judged:
    judged = _Judged(question, answer)
    if question.answerable:
        cited = (f"{each.passage.section}\n{each.passage.text}" for each in answer.references)
        found = await library.search(question.question)
        judged.in_answer = question.held_by(judged.plain)
        judged.in_cited = question.held_by("\n".join(cited))
        judged.naive = question.held_by("\n".join(naive_quotes(question.question, found.passages)))
    return judged


def _report(judged: Sequence[_Judged], seconds: float) -> AnswersReport:
    answerable = [each for each in judged if each.question.answerable]
    unanswerable = [each for each in judged if not each.question.answerable]
    return AnswersReport(
        answerable=len(answerable),
        fact_in_answer=_share(each.in_answer for each in answerable),
        fact_in_cited_passage=_share(each.in_cited for each in answerable),
        naive_ranker=_share(each.naive for each in answerable),
        said_unclear=_share(bool(each.answer.references) and each.unclear for each in answerable),
        falsely_denied=_share(not each.answer.references for each in answerable),
        unanswerable=len(unanswerable),
        unanswerable_handled=_share(each.unclear for each in unanswerable),
        median_words=statistics.median(len(each.plain.split()) for each in judged),
        failed=sum(not each.answer.whole for each in judged),
        seconds=round(seconds, 1),
        misses=tuple(miss for each in judged if (miss := _miss(each)) is not None),
    )


def _holds(text: str, fact: str) -> bool:
    """Return whether ``text`` holds ``fact`` with no number cut where the fact begins or ends."""
    words = fold(text, ignore_case=True)
    found = re.finditer(re.escape(folded(fact, ignore_case=True)), words.text)
    return any(not any(_cuts_number(text, at) for at in words.source_span(*one.span())) for one in found)


def _cuts_number(text: str, at: int) -> bool:
    return _CUT_NUMBER.search(f"{text[max(at - 2, 0) : at]}|{text[at : at + 2]}") is not None


def _miss(each: _Judged) -> AnswerMiss | None:
    if each.question.answerable:
        what = "" if each.in_answer else "fact not in the answer" if each.answer.references else "denied"
    else:
        what = "" if each.unclear else "claimed an answer"
    return AnswerMiss(question=each.question.question, what=what, answer=each.plain) if what else None


def _share(values: Iterable[bool]) -> float | None:
    held = list(values)
    return sum(held) / len(held) if held else None


def naive_quotes(question: str, passages: Sequence[Passage], most: int = 5) -> list[str]:
    """Return the ``most`` best sentences or rows of ``passages``, by the rarity of the question's terms they hold."""
    asked = term_set(question)
    found = [(rank, passage, unit) for rank, passage in enumerate(passages) for unit in units(passage.text)]
    counts = Counter(term for _, _, unit in found for term in asked & term_set(unit.text))
    rarity = {term: math.log(1 + len(found) / (1 + counts[term])) for term in asked}
    total = sum(rarity.values())

    def score(rank: int, passage: Passage, text: str, heading: str) -> float:
        own = asked & term_set(text)
        above = (asked - own) & term_set(f"{passage.section} {heading}")
        held = sum(rarity[term] for term in own) + _HEADING * sum(rarity[term] for term in above)
        return held + total * (_FIGURE * any(map(str.isdigit, text)) - _RANK * rank)

    ranked = sorted(found, key=lambda each: -score(each[0], each[1], each[2].text, each[2].heading))
    return list(dict.fromkeys(unit.text for _, _, unit in ranked))[:most]
