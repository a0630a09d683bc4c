"""Prompt, client and processors: three levels of an answer, and errors by the stage at which they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from chat_app.errors import ConfigurationError
from chat_app.events import Notice, RawResponsesStreamEvent
from chat_app.generation.generator import Generator
from chat_app.generation.observers import GeneratorCall
from chat_app.generation.output import GeneratorOutput, PydanticProcessor
from chat_app.generation.prompt import Prompt
from tests.support.engine import adapter
from tests.support.scripted_server import (
    Disconnect,
    Event,
    ScriptedServer,
    ScriptedTurn,
    Status,
    Step,
    calls_reply,
    response_body,
    text_reply,
)

ITEMS = ({"role": "user", "content": "How much?"},)


class Dose(BaseModel):
    drug: str
    mg: int


def generator(server: ScriptedServer, *processors: Any, **options: Any) -> Generator[Any]:
    prompt = options.pop("prompt", Prompt("Answer in {{ language }}.", preset={"language": "English"}))
    return Generator(
        adapter(server),
        prompt=prompt,
        model_kwargs={"model": "m", "max_output_tokens": 50},
        output_processors=processors,
        **options,
    )


async def test_the_levels_of_a_whole_answer() -> None:
    async with ScriptedServer([text_reply("Take ", "500 mg.")]) as server:
        output = await generator(server).acall(items=ITEMS)
    assert output.api_response is not None
    assert (output.api_response.id, output.raw_response, output.data) == ("resp_1", "Take 500 mg.", "Take 500 mg.")
    assert (output.error, output.thinking, output.tool_use, output.outcome.kind) == (None, None, (), "completed")
    assert output.usage is not None
    assert output.usage.output_tokens == 5
    sent = server.requests[0].json
    assert (sent["instructions"], sent["model"], sent["max_output_tokens"]) == ("Answer in English.", "m", 50)
    assert sent["stream"] is True


async def test_text_is_processed_into_a_typed_value_that_the_server_was_asked_for() -> None:
    def lines(text: str) -> str:
        return text.strip()

    async with ScriptedServer([text_reply(' {"drug": "metformin", ', '"mg": 500} ')]) as server:
        output = await generator(server, lines, PydanticProcessor(Dose)).acall(items=ITEMS)
    assert output.data == Dose(drug="metformin", mg=500)
    form = server.requests[0].json["text"]["format"]
    assert (form["type"], form["name"], form["schema"]["required"]) == ("json_schema", "Dose", ["drug", "mg"])


async def test_an_api_error_leaves_nothing_but_its_sentence() -> None:
    async with ScriptedServer([[Status(401)]]) as server:
        output = await generator(server, max_retries=0).acall(items=ITEMS)
    assert output.error is not None
    assert output.error.stage == "api"
    assert (output.api_response, output.raw_response, output.data, output.outcome.kind) == (None, None, None, "failed")


async def test_a_broken_stream_keeps_the_text_that_came() -> None:
    async with ScriptedServer([[*text_reply("Do not ", "give")[:6], Disconnect()]]) as server:
        output = await generator(server).acall(items=ITEMS)
    assert output.error is not None
    assert (output.error.stage, output.raw_response, output.data) == ("api", "Do not give", None)
    assert output.outcome.reason == "truncated"


async def test_an_answer_that_was_cut_short_is_an_error_of_processing() -> None:
    details = {"reason": "max_output_tokens"}
    steps: list[Step] = [
        *text_reply("Half")[:5],
        Event(
            {
                "type": "response.incomplete",
                "sequence_number": 5,
                "response": response_body("resp_1", "incomplete", incomplete_details=details),
            }
        ),
    ]
    async with ScriptedServer([steps]) as server:
        output = await generator(server).acall(items=ITEMS)
    assert output.error is not None
    assert (output.error.stage, output.raw_response, output.data) == ("processing", "Half", None)
    assert output.api_response is not None


async def test_text_of_the_wrong_shape_is_an_error_of_parsing_that_keeps_the_text() -> None:
    async with ScriptedServer([text_reply('{"drug": "secret", "mg": "many"}'), text_reply("no json")]) as server:
        wrong = await generator(server, PydanticProcessor(Dose)).acall(items=ITEMS)
        nothing = await generator(server, PydanticProcessor(Dose)).acall(items=ITEMS)
    assert wrong.error is not None
    assert (wrong.error.stage, wrong.raw_response, wrong.data) == ("parsing", '{"drug": "secret", "mg": "many"}', None)
    assert wrong.error.message == "The model's output does not have the shape of Dose (mg)."
    assert nothing.error is not None
    assert "json_invalid" in nothing.error.message


async def test_calls_and_thoughts_are_levels_too() -> None:
    thought = {"type": "response.reasoning_summary_text.delta", "item_id": "rs", "delta": "Hm."}
    steps = [
        Event(thought),
        *(
            Event({k: v for k, v in step.body.items() if k != "sequence_number"})
            for step in calls_reply(("c1", "find", ""))
            if isinstance(step, Event) and isinstance(step.body, dict)
        ),
    ]
    async with ScriptedServer([steps]) as server:
        output = await generator(server).acall(items=ITEMS)
    assert output.thinking == "Hm."
    assert [(call.call_id, call.name, call.arguments) for call in output.tool_use] == [("c1", "find", "{}")]
    assert (output.raw_response, output.data) == ("", None)


async def test_streaming_gives_raw_events_and_can_be_done_once() -> None:
    turns: list[ScriptedTurn] = [[Status(503, {"Retry-After": "0"})], text_reply("a", "b")]
    async with ScriptedServer(turns) as server:
        output = generator(server).astream(items=ITEMS)
        events = [event async for event in output.stream_events()]
        with pytest.raises(RuntimeError, match="streamed already"):
            await anext(output.stream_events())
    assert isinstance(events[0], Notice)
    assert all(isinstance(event, RawResponsesStreamEvent) for event in events[1:])
    assert len(events) == 11


async def test_a_wait_on_the_way_is_no_part_of_the_answer() -> None:
    async with ScriptedServer([[Status(503, {"Retry-After": "0"})], text_reply("a")]) as server:
        assert (await generator(server).acall(items=ITEMS)).data == "a"


async def test_nothing_is_sent_until_the_stream_is_read() -> None:
    async with ScriptedServer([text_reply("a")]) as server:
        output = generator(server).astream(items=ITEMS)
        assert server.requests == []
        assert len([event async for event in output.stream_events()]) > 0


async def test_a_stream_that_fails_says_so_in_its_output() -> None:
    async with ScriptedServer([[Status(500)]]) as server:
        output = generator(server, max_retries=0).astream(items=ITEMS)
        assert [event async for event in output.stream_events()] == []
    assert (output.error and output.error.stage, output.outcome.code) == ("api", "model_server_unreachable")


def test_without_an_event_loop_it_is_called_the_same_way_again_and_again() -> None:
    import asyncio
    import threading

    ready, ended = threading.Event(), threading.Event()
    address: list[str] = []

    async def serve() -> None:
        async with ScriptedServer([text_reply("a"), text_reply("b")]) as server:
            address.append(server.base_url)
            ready.set()
            await asyncio.to_thread(ended.wait, 20)

    serving = threading.Thread(target=lambda: asyncio.run(serve()))
    serving.start()
    ready.wait(60)
    asked: Generator[str] = Generator(adapter(address[0]), prompt=Prompt(""), model_kwargs={"model": "m"})
    assert [asked.call(items=ITEMS).data for _ in range(2)] == ["a", "b"]
    ended.set()
    serving.join()


def test_a_prompt_knows_its_variables_and_refuses_to_leave_one_out(tmp_path: Path) -> None:
    file = tmp_path / "greet.jinja"
    file.write_text("{% if formal %}\nGood day, {{ name }}.\n{% endif %}\n", encoding="utf-8")
    prompt = Prompt.from_file(file, preset={"formal": True})
    assert (prompt.name, prompt.variables) == ("greet", ("formal", "name"))
    assert prompt.render(name="<Dr> {{ Who }}") == "Good day, <Dr> {{ Who }}.\n"
    assert prompt.render(name="Ann") == "Good day, Ann.\n"
    assert prompt.render(name="Ann", formal=False) == ""
    with pytest.raises(ConfigurationError, match="greet lacks a value: 'name'"):
        prompt.render()


async def test_an_exception_of_a_processor_is_the_outputs_error() -> None:
    def lookup(text: str) -> str:
        return {"known": "value"}[text]

    async with ScriptedServer([text_reply("unknown")], repeat=True) as server:
        output = await generator(server, lookup).acall(items=ITEMS)
        streamed = generator(server, lookup).astream(items=ITEMS)
        assert [event async for event in streamed.stream_events()]
    for failed in (output, streamed):
        assert failed.error is not None
        assert (failed.error.stage, failed.error.message) == ("parsing", "KeyError: 'unknown'")
        assert (failed.data, failed.raw_response, failed.outcome.kind) == (None, "unknown", "completed")


async def test_a_streamed_output_is_complete_at_its_end() -> None:
    async with ScriptedServer([text_reply('{"drug": "metformin", "mg": 500}')]) as server:
        output = generator(server, PydanticProcessor(Dose)).astream(items=ITEMS)
        assert (output.data, output.outcome.reason) == (None, "truncated")
        assert [event async for event in output.stream_events()]
    assert (output.data, output.outcome.kind) == (Dose(drug="metformin", mg=500), "completed")
    assert output.usage is not None
    assert output.api_response is not None


async def test_a_message_is_the_input_and_a_prompt_alone_is_the_message() -> None:
    async with ScriptedServer([text_reply("a")], repeat=True) as server:
        await generator(server).acall("How much?")
        await generator(server).acall(prompt_kwargs={"language": "German"})
    asked, alone = (request.json for request in server.requests)
    assert (asked["instructions"], asked["input"][0]["content"][0]["text"]) == ("Answer in English.", "How much?")
    assert ("instructions" in alone, alone["input"][0]["content"][0]["text"]) == (False, "Answer in German.")


class Observer:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def call_started(self, call: GeneratorCall) -> None:
        self.seen.append(f"started {call.model_kwargs['model']}")

    def call_ended(self, call: GeneratorCall, output: GeneratorOutput[Any] | None) -> None:
        self.seen.append(f"ended {output.data if output else call.error_type}")


async def test_observers_see_every_call() -> None:
    observer = Observer()
    async with ScriptedServer([text_reply("a")], repeat=True) as server:
        observed = generator(server, prompt=Prompt("{{ who }}"))
        observed.add_observer(observer)
        await observed.acall(items=ITEMS, prompt_kwargs={"who": "Ann"})
        with pytest.raises(ConfigurationError):
            observed.astream(items=ITEMS)
    assert observer.seen == ["started m", "ended a", "started m", "ended ConfigurationError"]


def test_an_output_without_a_call_is_one_that_broke_off() -> None:
    output: GeneratorOutput[str] = GeneratorOutput()
    output.settle()
    assert output.error is not None
    assert (output.error.stage, output.outcome.reason) == ("api", "truncated")
