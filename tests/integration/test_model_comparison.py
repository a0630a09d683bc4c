"""One question to several models side by side: real Redis, a Responses server on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from chat_app.agent.comparison import ModelEvent, compare, interleave
from chat_app.answer_options import ConsultOptions
from chat_app.cli.running_app import RunningApp
from chat_app.errors import InputRejected, SessionBusy
from chat_app.events import AgentEvent, TextDelta, TextReplaced, TurnEnded, TurnStarted
from tests.support.api_server import api
from tests.support.engine import clinic, ended, text_of
from tests.support.scripted_server import Request, ScriptedServer, Status, Step, Turn, WaitFor, text_reply


def by_model(plays: dict[str, Sequence[Step]]) -> Callable[[Request], Turn]:
    """A server whose answer depends on the model that is asked."""
    return lambda request: Turn(plays[request.json["model"]])


def of(events: list[ModelEvent], model: str) -> list[AgentEvent]:
    return [event.event for event in events if event.model == model]


async def test_each_model_gives_a_whole_turn_of_its_own(redis_url: str) -> None:
    plays = {"small": text_reply("Once ", "daily."), "large": text_reply("Twice ", "daily.")}
    async with ScriptedServer([by_model(plays)], repeat=True) as server, clinic(server, redis_url) as agent:
        events = [event async for event in compare(agent, "How often?", ["small", "large"], ConsultOptions())]

    conversations = set()
    for model, text in (("small", "Once daily."), ("large", "Twice daily.")):
        turn = of(events, model)
        assert isinstance(turn[0], TurnStarted)
        assert turn[0].model == model
        conversations.add(turn[0].conversation_id)
        assert ended(turn).answer == text_of(turn) == text
    assert len(conversations) == 2


async def test_the_models_answer_at_the_same_time(redis_url: str) -> None:
    """Each waits for the other to have begun: one after the other they would never end."""
    begun = {"small": asyncio.Event(), "large": asyncio.Event()}
    other = {"small": "large", "large": "small"}

    def play(request: Request) -> Turn:
        model = request.json["model"]
        begun[model].set()
        return Turn([WaitFor(begun[other[model]]), *text_reply("Yes.")])

    async with ScriptedServer([play], repeat=True) as server, clinic(server, redis_url) as agent:
        async with asyncio.timeout(60):
            events = [event async for event in compare(agent, "How often?", ["small", "large"], ConsultOptions())]
    assert [text_of(of(events, model)) for model in other] == ["Yes.", "Yes."]


async def test_a_model_that_fails_does_not_stop_the_others(redis_url: str) -> None:
    plays = {
        "good": text_reply("Once daily."),
        "none": [Status(404, body={"error": {"message": "no such model", "code": "model_not_found"}})],
    }
    async with ScriptedServer([by_model(plays)], repeat=True) as server, clinic(server, redis_url) as agent:
        events = [event async for event in compare(agent, "How often?", ["none", "good"], ConsultOptions())]
    assert ended(of(events, "none")).outcome.kind == "failed"
    assert ended(of(events, "good")).outcome.kind == "completed"


async def test_stop_closes_the_connections_of_all_models(redis_url: str) -> None:
    never = asyncio.Event()
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(never)]
    async with ScriptedServer([turn], repeat=True) as server, clinic(server, redis_url) as agent:
        async with aclosing(compare(agent, "How?", ["small", "large"], ConsultOptions())) as events:
            texts: set[str] = set()
            async for event in events:
                if isinstance(event.event, TextDelta):
                    texts.add(event.model)
                if len(texts) == 2:
                    break
        async with asyncio.timeout(60):
            await asyncio.gather(*(request.left.wait() for request in server.requests))
    assert len(server.requests) == 2


async def test_a_model_named_twice_is_asked_once(redis_url: str) -> None:
    async with ScriptedServer([text_reply("Yes.")]) as server, clinic(server, redis_url) as agent:
        events = [event async for event in compare(agent, "How?", ["small", "small"], ConsultOptions())]
    assert ended([event.event for event in events]).answer == "Yes."
    assert (len(server.requests), server.unexpected) == (1, 0)


async def test_a_message_that_cannot_be_taken_asks_no_model(redis_url: str) -> None:
    async with ScriptedServer([]) as server, clinic(server, redis_url) as agent:
        with pytest.raises(InputRejected):
            await anext(compare(agent, "  ", ["small", "large"], ConsultOptions()))
    assert server.requests == []


class Broken:
    """An agent whose second model breaks off with an error that quotes the question."""

    def check_message(self, message: str) -> None:
        """Takes everything."""

    async def consult(self, message: str, options: ConsultOptions) -> AsyncGenerator[AgentEvent, None]:
        yield TextDelta(text="Tkae ")
        yield TextReplaced()
        yield TextDelta(text="Take ")
        if options.model == "broken":
            raise ZeroDivisionError(message)
        yield TurnEnded(outcome=ended_well, answer="Take ")


ended_well = TurnEnded.model_validate({"outcome": {}, "answer": ""}).outcome


async def test_an_unforeseen_error_ends_its_own_model_without_repeating_the_question(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events = [event async for event in compare(Broken(), "Patient Jane Roe", ["broken", "good"], ConsultOptions())]
    broken = ended(of(events, "broken"))
    assert (broken.outcome.kind, broken.answer) == ("failed", "Take ")
    assert ended(of(events, "good")).outcome.kind == "completed"
    assert "Jane" not in caplog.text + broken.outcome.message


class Busy:
    """An agent whose conversation is held by another question."""

    def check_message(self, message: str) -> None:
        """Takes everything."""

    async def consult(self, message: str, options: ConsultOptions) -> AsyncGenerator[AgentEvent, None]:
        yield TextDelta(text=options.model or "")
        raise SessionBusy("Another question is being answered. Wait for it.")


async def test_an_error_of_ours_ends_its_model_in_its_own_words() -> None:
    events = [event async for event in compare(Busy(), "How?", ["small"], ConsultOptions())]
    end = ended(of(events, "small"))
    assert (end.outcome.kind, end.outcome.retryable, end.answer) == ("failed", True, "small")
    assert end.outcome.message == "Another question is being answered. Wait for it."


async def test_what_one_stream_raises_is_raised_to_the_reader_and_closes_the_others() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[int, None]:
        try:
            while True:
                yield 0
        finally:
            closed.set()

    async def breaking() -> AsyncGenerator[int, None]:
        yield 1
        raise ZeroDivisionError

    seen: list[int] = []

    async def read() -> None:
        async for _, number in interleave({"endless": endless(), "breaking": breaking()}):
            seen.append(number)

    with pytest.raises(ZeroDivisionError):
        await read()
    assert 1 in seen, "what came before is not lost"
    assert closed.is_set()


async def test_a_slow_reader_holds_the_streams_back() -> None:
    made = 0

    async def numbers() -> AsyncGenerator[int, None]:
        nonlocal made
        for number in range(1_000):
            made += 1
            yield number

    async with aclosing(interleave({"a": numbers(), "b": numbers()})) as items:
        seen = [await anext(items) for _ in range(10)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert made <= 10 + 2 + 2
    for key in "ab":
        got = [number for k, number in seen if k == key]
        assert got == list(range(len(got)))


async def test_line_separators_in_an_answer_reach_the_shell_whole(redis_url: str, tmp_path: Path) -> None:
    text = "Not\u2028with\u2029alcohol\u0085or\u000bwine\u001c."
    async with (
        ScriptedServer([text_reply(text)], repeat=True) as server,
        clinic(server, redis_url) as agent,
        api(agent, tmp_path / "data", auth="demo") as running,
    ):
        shell = RunningApp(running.url)
        assert text_of([event async for event in shell.consult("With wine?", ConsultOptions())]) == text
        compared = [event async for event in shell.compare("With wine?", ["a", "b"], ConsultOptions())]
    assert [text_of(of(compared, model)) for model in "ab"] == [text, text]


async def test_leaving_at_the_shell_stops_the_turn(redis_url: str, tmp_path: Path) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    async with (
        ScriptedServer([turn], repeat=True) as server,
        clinic(server, redis_url) as agent,
        api(agent, tmp_path / "data", auth="demo") as running,
    ):
        async with aclosing(RunningApp(running.url).compare("How?", ["a", "b"], ConsultOptions())) as events:
            async for event in events:
                if isinstance(event.event, TextDelta) and len(server.requests) == 2:
                    break
        async with asyncio.timeout(60):
            await asyncio.gather(*(request.left.wait() for request in server.requests))
