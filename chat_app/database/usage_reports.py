"""What operators read from the history: rated answers with their questions, and usage per day."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from chat_app.database.database_engine import named_statements, rows_of
from tools.types import Frozen

_SQL: Final = named_statements(Path(__file__).with_suffix(".sql"))


class RatedAnswer(Frozen):
    """A rating with its question, the answer and the quotes of its references."""

    at: str
    user: str
    conversation: str
    helpful: bool
    comment: str = ""
    question: str = ""
    answer: str = ""
    quotes: tuple[str, ...] = ()

    def evaluation_case(self) -> dict[str, Any]:
        """Return the question for `asclepius eval answers`; quotes of helpful answers become required facts."""
        return {
            "question": self.question,
            "must": list(self.quotes) if self.helpful else [],
            "any": self.helpful,
            "answerable": True,
            "comment": self.comment,
        }


class UsageOfDay(Frozen):
    """Counts of one day, in UTC."""

    day: str
    questions: int
    users: int
    conversations: int
    helpful: int = 0
    unhelpful: int = 0


async def rated_answers(engine: AsyncEngine, *, latest: int = 0) -> list[RatedAnswer]:
    """Return all ratings, or the ``latest`` ones, oldest first."""
    async with engine.connect() as connection:
        given = await rows_of(connection, _SQL["feedback"])
        return [await _rated(connection, row) for row in given[-latest:]]


async def usage(engine: AsyncEngine, *, since: str = "") -> list[UsageOfDay]:
    """Return the days with questions from the date ``since`` (ISO 8601) on."""
    async with engine.connect() as connection:
        days = await rows_of(connection, _SQL["questions"], since=since)
        ratings = {row["day"]: row for row in await rows_of(connection, _SQL["ratings"], since=since)}
    found: list[UsageOfDay] = []
    for day in days:
        rating = ratings.get(day["day"], {"helpful": 0, "rated": 0})
        helpful = int(rating["helpful"])
        found.append(UsageOfDay(**day, helpful=helpful, unhelpful=int(rating["rated"]) - helpful))
    return found


async def _rated(connection: AsyncConnection, given: Mapping[str, Any]) -> RatedAnswer:
    answers = await rows_of(connection, _SQL["answers"], thread=given["threadId"], rated=given["forId"])
    # The end of each answer knows its question, its whole text and its references.
    ends = [json.loads(answer["props"] or "{}") for answer in answers]
    return RatedAnswer(
        at=given["createdAt"],
        user=given["userIdentifier"] or "",
        conversation=given["threadId"],
        helpful=bool(given["value"]),
        comment=given["comment"] or "",
        question=next((str(end["question"]) for end in ends if end.get("question")), ""),
        answer="".join(str(end.get("plain", "")) for end in ends),
        quotes=tuple(quote for end in ends for one in end.get("references", ()) for quote in one.get("quotes", ())),
    )
