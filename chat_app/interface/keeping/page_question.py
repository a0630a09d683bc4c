"""A question of the page, the API or the shell: its user, conversation, options and one turn per model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from chat_app.bootstrap import App
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.conversation.uploads import Upload
from chat_app.interface.history.branches import branch, went_on_in
from chat_app.interface.i18n.translation import Language
from chat_app.interface.rendering.chainlit_renderer import TurnRenderer
from chat_app.interface.rendering.turn_steps import StepDict, TurnIds, run_step
from chat_app.interface.turns.live_turn import LiveTurn
from tools.types import Frozen

if TYPE_CHECKING:
    from chat_app.interface.history.history_layer import History


class TurnHeader(Frozen):
    """A turn without its events."""

    owner: str
    question_id: str
    question: StepDict
    ids: TurnIds
    options: PageOptions
    titles: dict[str, str] = Field(default_factory=dict)
    extracts: bool = False
    model: str = ""
    compared: bool = False
    first: bool = True

    def renderer(self) -> TurnRenderer:
        return TurnRenderer(self.ids, extracts=self.extracts, options=self.options, titles=self.titles)

    def metadata(self, conversation_id: str | None) -> dict[str, Any]:
        """Return the metadata of the conversation after this turn."""
        if conversation_id is None:
            return {}
        return went_on_in(self.model, conversation_id, compared=self.compared, first=self.first)


@dataclass(eq=False)
class PageQuestion:
    """One question. ``turns`` holds one turn per model, in the order of the columns."""

    owner: str
    thread_id: str
    message_id: str
    text: str
    run_id: str
    options: PageOptions
    models: Sequence[str]
    uploads: Sequence[Upload] = ()
    author: str = "Asclepius"
    language: Language = "en"
    turns: dict[str, LiveTurn] = field(init=False)
    ingested: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the files of the question are ingested or refused."""
    titles: dict[str, str] = field(default_factory=dict)
    """Titles of the guidelines to choose from by id, once they are known."""
    added: Sequence[str] = ()
    """The ids of the documents that those files are."""
    extracts: bool = False
    """True when the offline model answers."""
    continues: str = ""
    """The agent's conversation that the question was asked to continue, where the history does not know it."""
    may_share: bool = False
    """True when the user may add the question's files to the library."""
    _started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _branching: asyncio.Lock = field(default_factory=asyncio.Lock)
    _branches: Mapping[str, str | None] | None = None

    def __post_init__(self) -> None:
        self.turns = {
            model: LiveTurn(self.owner, self.thread_id, self.message_id, continues=self.continues)
            for model in self.models
        }

    def options_now(self) -> PageOptions:
        """Return the options, with added files among the selected guidelines."""
        return self.options.with_documents(self.added)

    @property
    def first(self) -> LiveTurn:
        return next(iter(self.turns.values()))

    @property
    def compared(self) -> bool:
        return len(self.turns) > 1

    def ids_of(self, turn: LiveTurn) -> TurnIds:
        place = list(self.turns.values()).index(turn)
        column = self.model_of(turn) if self.compared else ""
        return TurnIds(
            turn.id, self.thread_id, self.run_id, self._started_at, self.author, self.text, self.language, column, place
        )

    def model_of(self, turn: LiveTurn) -> str:
        return next(model for model, known in self.turns.items() if known is turn)

    async def conversation_of(self, model: str, history: History, app: App) -> str | None:
        """Return the agent conversation that ``model`` continues, once earlier questions have been saved."""
        async with self._branching:
            if self._branches is None:
                self._branches = await branch(history, app.sessions, self.thread_id, self.owner, list(self.turns))
        return self._branches[model]

    @property
    def step(self) -> StepDict:
        """The question's message, as the page and the history have it."""
        step = run_step(self.ids_of(self.first), self.message_id)
        kept = {"id": self.message_id, "name": self.owner, "type": "user_message", "output": self.text}
        return {**step, **kept, "parentId": None, "end": step["start"]}

    def header_of(self, turn: LiveTurn) -> TurnHeader:
        """Return what another process needs to render the turn and to store it."""
        return TurnHeader(
            owner=self.owner,
            question_id=self.message_id,
            question=self.step,
            ids=self.ids_of(turn),
            options=self.options,
            titles=dict(self.titles),
            extracts=self.extracts,
            model=self.model_of(turn),
            compared=self.compared,
            first=turn is self.first,
        )
