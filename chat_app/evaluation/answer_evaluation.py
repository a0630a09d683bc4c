"""Measures whether answers hold the fact that was asked for, cite it, and are honest where there is none."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.answer_options import ConsultOptions
from chat_app.evaluation.naive_ranker import naive_quotes
from chat_app.evaluation.parallel_questions import ask_in_parallel
from chat_app.events import ReferencesReady, TextDelta, TextReplaced, TurnEnded, TurnStarted
from tools.errors import SourceRejected
from tools.guidelines import GuidelineLibrary
from tools.language.folding import folded
from tools.types import Frozen

USER = "evaluation"
_UNCLEAR = re.compile(
    r"\bno (?:sentence |passage )?clear(?:ly)?\b|\bclosest passages?\b|\bkeine klare\b|\bnothing (?:was )?found\b",
    re.IGNORECASE,
)
"""The words by which an answer says that it has no clear answer; the offline model's, and those of the instructions."""
_TABLE = re.compile(r"-{3,}|(?<!\\)[|*`]|\\(?=[\[\]|])")


class AnswerQuestion(BaseModel):
    """A question with the facts that its answer must hold.

    ``must`` are exact words of the sources, all of them needed, or one with ``any``; ``answer`` is another name for a
    single one. ``answerable`` is False where the sources hold no answer. ``after`` is asked before the question, in
    the same conversation.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    question: str
    must: tuple[str, ...] = Field((), validation_alias=AliasChoices("must", "answers"))
    answer: str | None = None
    any_of: bool = Field(False, alias="any")
    answerable: bool = True
    after: str | None = None

    @property
    def facts(self) -> tuple[str, ...]:
        """Return the texts an answer must hold."""
        return self.must or ((self.answer,) if self.answer else ())

    def held_by(self, text: str) -> bool:
        """Return whether ``text`` holds the facts, white space, hyphens and case aside."""
        words = folded(text, ignore_case=True)
        check = any if self.any_of else all
        return check(folded(fact, ignore_case=True) in words for fact in self.facts)


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
class _Answer:
    text: str = ""
    cited: list[str] = field(default_factory=list[str])
    outcome: str = "failed"
    conversation_id: str = ""

    @property
    def plain(self) -> str:
        return " ".join(_TABLE.sub(" ", self.text).split())

    @property
    def unclear(self) -> bool:
        return not self.cited or _UNCLEAR.search(self.text) is not None


@dataclass(slots=True)
class _Judged:
    question: AnswerQuestion
    answer: _Answer
    in_answer: bool
    in_cited: bool
    naive: bool


def read_answer_questions(file: Path) -> list[AnswerQuestion]:
    """Read questions, one JSON object a line or one JSON list. Raises ``SourceRejected``."""
    try:
        text = file.read_bytes()
        rows = orjson.loads(text) if text.lstrip()[:1] == b"[" else [orjson.loads(line) for line in _lines(text)]
        found = TypeAdapter(list[AnswerQuestion]).validate_python(rows)
    except (OSError, ValueError, ValidationError):
        reason = f'{file.name} has no questions: each line needs "question", "must", "answerable".'
        raise SourceRejected(reason) from None
    lacking = next((each.question for each in found if each.answerable and not each.facts), None)
    if lacking is not None or not found:
        raise SourceRejected(f'{file.name}: an answerable question needs the facts that answer it in "must".')
    return found


def _lines(text: bytes) -> Iterable[bytes]:
    return filter(bytes.strip, text.splitlines())


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

    async def judge(question: AnswerQuestion) -> _Judged:
        return await _judge(question, await _ask(agent, question, model), library)

    judged = await ask_in_parallel(questions, judge, parallel=parallel, progress=progress)
    return _report(judged, time.monotonic() - started)


async def _ask(agent: AsclepiusHealthcareAgent, question: AnswerQuestion, model: str | None) -> _Answer:
    answer = _Answer()
    for text in filter(None, (question.after, question.question)):
        conversation = answer.conversation_id or None
        answer = _Answer()
        turn = agent.consult(text, ConsultOptions(conversation_id=conversation, user_id=USER, model=model))
        async with aclosing(turn) as events:
            async for event in events:
                match event:
                    case TurnStarted():
                        answer.conversation_id = event.conversation_id
                    case TextDelta():
                        answer.text += event.text
                    case TextReplaced():
                        answer.text = ""
                    case ReferencesReady():
                        answer.cited = [f"{each.passage.section}\n{each.passage.text}" for each in event.references]
                    case TurnEnded():
                        answer.outcome = event.outcome.kind
                    case _:
                        continue
    await agent.chats.delete(answer.conversation_id, USER)
    return answer


async def _judge(question: AnswerQuestion, answer: _Answer, library: GuidelineLibrary) -> _Judged:
    if not question.answerable:
        return _Judged(question, answer, in_answer=False, in_cited=False, naive=False)
    found = await library.search(question.question, limit=6)
    naive = "\n".join(naive_quotes(question.question, found.passages))
    return _Judged(
        question,
        answer,
        in_answer=question.held_by(answer.plain),
        in_cited=question.held_by("\n".join(answer.cited)),
        naive=question.held_by(naive),
    )


def _report(judged: Sequence[_Judged], seconds: float) -> AnswersReport:
    answerable = [each for each in judged if each.question.answerable]
    unanswerable = [each for each in judged if not each.question.answerable]
    return AnswersReport(
        answerable=len(answerable),
        fact_in_answer=_share(each.in_answer for each in answerable),
        fact_in_cited_passage=_share(each.in_cited for each in answerable),
        naive_ranker=_share(each.naive for each in answerable),
        said_unclear=_share(bool(each.answer.cited) and each.answer.unclear for each in answerable),
        falsely_denied=_share(not each.answer.cited for each in answerable),
        unanswerable=len(unanswerable),
        unanswerable_handled=_share(each.answer.unclear for each in unanswerable),
        median_words=statistics.median(len(each.answer.plain.split()) for each in judged),
        failed=sum(each.answer.outcome not in {"completed", "refused"} for each in judged),
        seconds=round(seconds, 1),
        misses=tuple(miss for each in judged if (miss := _miss(each)) is not None),
    )


def _miss(each: _Judged) -> AnswerMiss | None:
    if each.question.answerable:
        what = "" if each.in_answer else "fact not in the answer" if each.answer.cited else "denied"
    else:
        what = "" if each.answer.unclear else "claimed an answer"
    return AnswerMiss(question=each.question.question, what=what, answer=each.answer.plain) if what else None


def _share(values: Iterable[bool]) -> float | None:
    held = list(values)
    return sum(held) / len(held) if held else None
