"""Checks the cited statements of a finished answer, by ``support`` and, if one is set, by a second model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import orjson

from chat_app.agent.statements.cited_sources import Ingredients
from chat_app.agent.statements.support import unsupported
from chat_app.events import StatementsChecked, SupportReason, UnsupportedStatement
from chat_app.generation.generator import Generator
from chat_app.generation.model_client import ModelClient
from chat_app.generation.output import PydanticProcessor
from chat_app.generation.prompt import Prompt
from tools.types import Frozen, Passage

logger = logging.getLogger(__name__)

_INSTRUCTIONS: Final = Prompt.from_file(Path(__file__).with_name("verifier.jinja"))
_MOST_CLAIMS: Final = 40
"""Maximum number of statements of an answer that the second model reads."""


@dataclass(slots=True)
class Claim:
    """A statement of the answer, and the passages that it cites, by the numbers that the reader sees."""

    text: str
    cited: dict[int, Passage] = field(default_factory=dict[int, Passage])


class _Verdict(Frozen):
    statement: int
    supported: bool


class _Verdicts(Frozen):
    verdicts: tuple[_Verdict, ...]


class StatementVerifier:
    """A second model that compares statements with their passages."""

    def __init__(self, client: ModelClient, model: str) -> None:
        self.model = model
        self._generator: Generator[_Verdicts] = Generator(
            client,
            prompt=_INSTRUCTIONS,
            model_kwargs={"model": model},
            output_processors=(PydanticProcessor(_Verdicts),),
        )

    async def unsupported(self, claims: Sequence[Claim]) -> frozenset[int] | None:
        """Return the positions of the claims that the model finds unsupported; None if its answer is not usable."""
        asked = [
            {"statement": position, "text": claim.text, "passages": [passage.text for passage in claim.cited.values()]}
            for position, claim in enumerate(claims[:_MOST_CLAIMS])
        ]
        output = await self._generator.acall(orjson.dumps(asked).decode())
        if output.data is None:
            reason = output.error.stage if output.error else "no answer"
            logger.warning("The verifier model gave no verdict: %s", reason)
            return None
        return frozenset(
            verdict.statement
            for verdict in output.data.verdicts
            if not verdict.supported and 0 <= verdict.statement < len(asked)
        )


class StatementCheck:
    """Checks claims without any state between answers."""

    def __init__(self, ingredients: Ingredients | None = None, verifier: StatementVerifier | None = None) -> None:
        self._ingredients = ingredients
        self._verifier = verifier

    async def check(self, claims: Sequence[Claim]) -> StatementsChecked:
        """Return which of ``claims`` are not found in their passages."""
        found = {position: self._problems(claim) for position, claim in enumerate(claims)}
        doubted = await self._verifier.unsupported(claims) if self._verifier and claims else None
        model: dict[int, tuple[SupportReason]] = dict.fromkeys(doubted or (), ("model",))
        marked = [
            UnsupportedStatement(
                text=claim.text,
                numbers=tuple(claim.cited),
                reasons=(*dict.fromkeys(reason for reason, _ in found[position]), *model.get(position, ())),
                details=tuple(dict.fromkeys(detail for _, detail in found[position] if detail)),
            )
            for position, claim in enumerate(claims)
            if found[position] or position in model
        ]
        verifier = self._verifier.model if self._verifier and doubted is not None else ""
        return StatementsChecked(checked=len(claims), unsupported=tuple(marked), verifier=verifier)

    def _problems(self, claim: Claim) -> list[tuple[SupportReason, str]]:
        problems = unsupported(claim.text, tuple(claim.cited.values()), self._ingredients)
        # For a negation or the wording as a whole, the detail is the statement itself, which is shown anyway.
        return [(reason, detail if detail != claim.text else "") for reason, detail in problems]
