"""Ask an agent the questions of an evaluation, and keep each answer as its reader saw it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.answer_options import ConsultOptions
from chat_app.events import CitationAdded, Outcome
from chat_app.turn_facts import TurnFacts

USER = "evaluation"
Before = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda given: (given,) if isinstance(given, str) else given or ()),
]
"""The questions that are asked first. A file may give a single one as a string."""


class EvaluationQuestion(BaseModel, frozen=True):
    """A question; ``after``, one question or several, is asked before it in the same conversation."""

    question: str
    after: Before = ()


@dataclass(slots=True)
class CitedText:
    """A part of the answer and the citations that follow it."""

    text: str = ""
    cited: list[CitationAdded] = field(default_factory=list[CitationAdded])


@dataclass
class ObservedAnswer(TurnFacts):
    """One turn as the reader saw it."""

    outcome: Outcome = field(default_factory=lambda: Outcome(kind="failed"))

    @property
    def text(self) -> str:
        """Return the whole text."""
        return "".join(one for one in self.said if isinstance(one, str))

    @property
    def whole(self) -> bool:
        """Return whether the turn came to its end."""
        return self.outcome.kind in {"completed", "refused"}

    @property
    def citations(self) -> list[CitationAdded]:
        """Return the citations in the order of the text."""
        return [one for one in self.said if isinstance(one, CitationAdded)]

    @property
    def parts(self) -> list[CitedText]:
        """Return the lines of the text; a line is also divided behind its citations."""
        parts = [CitedText()]
        for one in self.said:
            if isinstance(one, CitationAdded):
                parts[-1].cited.append(one)
                continue
            for line in one.splitlines(keepends=True):
                if parts[-1].text.endswith("\n") or (parts[-1].cited and line.strip(" .,;:|\n")):
                    parts.append(CitedText())
                parts[-1].text += line
        return parts


async def ask_all(
    agent: AsclepiusHealthcareAgent,
    questions: Sequence[EvaluationQuestion],
    *,
    parallel: int,
    model: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[ObservedAnswer]:
    """Ask the questions, ``parallel`` at a time, and return their answers in the same order."""
    limit = asyncio.Semaphore(parallel)
    done = 0

    async def observed(asked: EvaluationQuestion) -> ObservedAnswer:
        nonlocal done
        async with limit:
            answer = await _ask(agent, asked, model)
        done += 1
        if progress is not None:
            progress(done, len(questions))
        return answer

    return await asyncio.gather(*map(observed, questions))


async def _ask(agent: AsclepiusHealthcareAgent, asked: EvaluationQuestion, model: str | None) -> ObservedAnswer:
    """Ask one question after those before it, and delete the conversation."""
    answer = ObservedAnswer()
    for text in (*asked.after, asked.question):
        options = ConsultOptions(conversation_id=answer.conversation_id or None, user_id=USER, model=model)
        answer = ObservedAnswer()
        async with aclosing(agent.consult(text, options)) as events:
            async for event in events:
                answer.collect(event)
    await agent.chats.delete(answer.conversation_id, USER)
    return answer
