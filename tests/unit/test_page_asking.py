"""Questions to several models that come with files: the files are taken in once, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from chat_app.agent.turn_queue import TurnQueue
from chat_app.audit import AuditLog
from chat_app.events import AgentEvent, Notice, TextDelta, TurnEnded
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.conversation.uploads import Upload
from chat_app.interface.keeping.followed_turns import FollowedTurns
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.page.question_events import question_events
from chat_app.interface.security.identity import Identity
from chat_app.interface.security.user_limits import TooManyQuestions
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.settings import Settings
from tests.support.fake_agent import FakeAgent, FakeApp
from tests.support.waiting import until


class Running:
    """What a question needs of a runtime. ``refused``: turns that are not admitted."""

    def __init__(self, settings: Settings, refused: int) -> None:
        self.turns = LiveTurns()
        self.loading = None
        self.settings = settings
        self.identity = Identity(settings)
        self.history = SimpleNamespace(metadata_of=self._nothing, save_turn=self._claimed, owner_of=self._owner)
        self.app = FakeApp(settings, FakeAgent())
        self.audit = AuditLog()
        self.keeper = SimpleNamespace(record_question=self._recorded)
        self.elsewhere = FollowedTurns(lambda: None, self.turns)
        self.gate = SimpleNamespace(admit=self._admit)
        self._refused = refused
        self.read: list[str] = []

    async def _admit(self, user: str, *, besides: object) -> None:
        self._refused -= 1
        if self._refused >= 0:
            raise TooManyQuestions("Wait.", retry_after=1, code="too_many_per_minute", params={"most": 1, "seconds": 1})

    async def ready(self) -> FakeApp:
        return self.app

    async def _recorded(self, _question: object, _turn: object) -> None:
        return None

    async def _nothing(self, thread: str) -> dict[str, Any]:
        self.read.append(thread)
        return {}

    async def _claimed(self, _thread: str, *, owner: str) -> None:
        return None

    async def _owner(self, _kind: str, _thread: str) -> str:
        return "demo"


def asked(tmp_path: Path) -> PageQuestion:
    file = tmp_path / "upload.pdf"
    file.write_bytes(b"%PDF-1.7")
    return PageQuestion(
        owner="demo",
        thread_id=str(uuid4()),
        message_id="q",
        text="say: done",
        run_id="r",
        options=PageOptions(),
        models=["a", "b"],
        uploads=[Upload("New.pdf", file)],
        may_share=True,
    )


async def answers(question: PageQuestion, running: Running) -> list[list[AgentEvent]]:
    """All events of each model's turn, run side by side."""
    for model, turn in question.turns.items():
        running.turns.start(turn, turn.run(question_events(cast("Any", running), question, model)))

    async def read(model: str) -> list[AgentEvent]:
        async with aclosing(cast("Any", question.turns[model].events())) as batches:
            return [event async for batch in batches for event in batch]

    async with asyncio.timeout(60):
        return list(await asyncio.gather(*map(read, question.turns)))


@pytest.mark.parametrize("refused", [0, 1])
async def test_a_file_is_taken_in_by_the_first_turn_alone_and_the_others_go_on_when_it_cannot(
    refused: int, tmp_path: Path
) -> None:
    settings = Settings(storage={"data_dir": tmp_path})
    first, second = await answers(asked(tmp_path), Running(settings, refused))
    said = ["".join(e.text for e in events if isinstance(e, TextDelta)) for events in (first, second)]
    taken_in = "“New” can now be searched: 3 pages, only in this conversation for now."
    assert said[0].startswith(taken_in) is not bool(refused)
    assert said[0].endswith("done") is not bool(refused)
    assert said[1] == "done"


async def test_a_question_waits_in_the_queue_before_its_history_is_read(tmp_path: Path) -> None:
    running, question = Running(Settings(storage={"data_dir": tmp_path}), 0), asked(tmp_path)
    queue = running.app.agent.queue = TurnQueue(1, tell_seconds=0.001)
    question.uploads, question.models = (), ["a"]
    question.turns.pop("b")
    turn = question.turns["a"]
    async with queue.place(turn.asked_at - 1, "another") as notices:
        assert [notice async for notice in notices] == []
        reading = asyncio.create_task(answers(question, running))
        await until(lambda: bool(turn.log.events), what="the notice")
        assert running.read == []
    [events] = await asyncio.wait_for(reading, 60)
    assert running.read == [question.thread_id]
    told = [(event.code, event.params) for event in events if isinstance(event, Notice)]
    assert told == [("queued", {"ahead": 1}), ("queue_left", {})]
    assert isinstance(events[-1], TurnEnded)
    assert queue.length == 0


async def test_a_question_that_is_stopped_while_it_waits_leaves_the_queue(tmp_path: Path) -> None:
    running, question = Running(Settings(storage={"data_dir": tmp_path}), 0), asked(tmp_path)
    queue = running.app.agent.queue = TurnQueue(1, tell_seconds=60)
    question.uploads = ()
    async with queue.place(0.0, "another"):
        reading = asyncio.create_task(answers(question, running))
        await until(lambda: queue.length == 2, what="both turns")
        await running.turns.end_all()
        await asyncio.wait_for(reading, 60)
        assert queue.length == 0
    assert running.app.agent.asked == running.read == []
