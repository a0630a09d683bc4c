"""Questions asked over the API and their turns: one turn, or one per compared model.

Every event has an id, after which a client can resume while the question is answered and for some minutes after.
Resuming neither misses nor repeats an event.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from typing import Final
from uuid import uuid4

from chat_app.events import AgentEvent
from chat_app.interface.security.identity import NotOwner, require_owner
from chat_app.interface.turns.live_turn import LiveTurn, news_of
from chat_app.interface.turns.turn_log import Cursor

KEPT_QUESTIONS: Final = 200
KEPT_SECONDS: Final = 300.0
_POINT: Final = re.compile(r"(\d{1,9})\.(\d{1,9})")

Cursors = dict[str, Cursor]
"""How far each model's turn was read."""


@dataclass(eq=False)
class AskedQuestion:
    """A question of ``owner`` and the turn of each model; events of ``compared`` turns name their model."""

    owner: str
    turns: Mapping[str, LiveTurn]
    compared: bool = False
    id: str = field(default_factory=lambda: str(uuid4()))

    @property
    def ended(self) -> bool:
        return all(turn.log.ended is not None for turn in self.turns.values())

    def stop(self) -> None:
        for turn in self.turns.values():
            turn.stop()

    async def events(self) -> AsyncGenerator[tuple[str, AgentEvent], None]:
        """Yield all events to the end of the last turn, each with its model."""
        cursors = dict.fromkeys(self.turns, Cursor())
        async with aclosing(news_of([*self.turns.values()], lambda: self.has_more(cursors))) as news:
            async for _ in news:
                for found in self.unread(cursors):
                    yield found

    def unread(self, cursors: Cursors) -> Iterator[tuple[str, AgentEvent]]:
        """Yield the events after ``cursors``, each with its model, and move ``cursors`` behind it."""
        for model, turn in self.turns.items():
            for event, cursor in turn.log.read_each(cursors[model]):
                cursors[model] = cursor
                yield model, event

    def event_id(self, cursors: Cursors) -> str:
        """Return the event id for the point at which each turn was read up to its cursor."""
        return ".".join([self.id, *(f"{at.entry}.{at.offset}" for at in map(cursors.__getitem__, self.turns))])

    def cursors(self, event_id: str | None) -> Cursors | None:
        """Return the cursors after ``event_id``, or of the beginning for None; None for an unknown id."""
        if event_id is None:
            return dict.fromkeys(self.turns, Cursor())
        head, _, places = event_id.partition(".")
        points = [Cursor(int(entry), int(offset)) for entry, offset in _POINT.findall(places)]
        found = dict(zip(self.turns, points, strict=False))
        if head != self.id or len(points) != len(self.turns) or self.event_id(found) != event_id:
            return None
        return found if all(turn.log.holds(found[model]) for model, turn in self.turns.items()) else None

    def has_more(self, cursors: Cursors) -> bool:
        return any(turn.has_more(cursors[model]) for model, turn in self.turns.items())


class RecentQuestions:
    """Running and recent questions by their ids and their turns' ids."""

    def __init__(self) -> None:
        self._questions: dict[str, AskedQuestion] = {}

    def add(self, question: AskedQuestion) -> None:
        self._questions[question.id] = question
        for model, turn in question.turns.items():
            self._questions.setdefault(turn.id, AskedQuestion(question.owner, {model: turn}, id=turn.id))
        for key in list(islice(self._questions, max(0, len(self._questions) - KEPT_QUESTIONS))):
            if self._questions[key].ended:
                del self._questions[key]

    def keep_a_while(self, turn: LiveTurn) -> None:
        """Forget the ended ``turn``, and a question that it ended, once readers had their time."""
        over = [key for key, known in self._questions.items() if turn in known.turns.values() and known.ended]
        asyncio.get_running_loop().call_later(KEPT_SECONDS, self._forget, over)

    def _forget(self, keys: list[str]) -> None:
        for key in keys:
            self._questions.pop(key, None)

    def get(self, question_id: str, owner: str) -> AskedQuestion:
        """Return the question; raise ``NotOwner`` when ``owner`` has no such question."""
        if (question := self._questions.get(question_id)) is None:
            raise NotOwner
        require_owner(owner, question.owner)
        return question
