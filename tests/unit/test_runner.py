"""The one loop, below conversations: steps, tools beside the stream, and a result whatever happens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from pydantic import BaseModel

from chat_app.agent.run_types import RunRequest
from chat_app.agent.runner import Runner
from chat_app.events import (
    FinalOutputItem,
    LLMResponseItem,
    RunItemStreamEvent,
    StepRunItem,
    TextDelta,
    ToolProgressRunItem,
)
from chat_app.generation.generator import Generator
from chat_app.generation.output import PydanticProcessor
from chat_app.generation.prompt import Prompt
from tests.support.engine import adapter, body, chained, drain, names, outputs_sent, question, runner, text_of, using
from tests.support.scripted_server import (
    Event,
    ScriptedServer,
    ScriptedTurn,
    Status,
    WaitFor,
    calls_reply,
    response_body,
    text_reply,
)
from tools.function_tool import FunctionTool

CALL = ("c1", "find", '{"name": "a"}')


async def find(name: str) -> dict[str, str]:
    """Find."""
    return {"found": name}


async def test_a_run_tells_its_steps_and_ends_in_one_result() -> None:
    turns: list[ScriptedTurn] = [
        calls_reply(CALL, ("c2", "find", '{"name": "b"}')),
        chained(text_reply("Both.", response_id="resp_2")),
    ]
    async with ScriptedServer(turns) as server:
        events, result = await drain(runner(server, [FunctionTool(find)]))
    assert [(s.step, s.response_id, s.text, len(s.functions)) for s in result.step_history] == [
        (1, "resp_1", "", 2),
        (2, "resp_2", "Both.", 0),
    ]
    assert [o.output for o in result.step_history[0].observations] == [{"found": "a"}, {"found": "b"}]
    assert (result.answer, result.final_output, result.response_id) == ("Both.", "Both.", "resp_2")
    assert list(outputs_sent(server.requests[1])) == ["c1", "c2"]
    items = [event.item for event in events if isinstance(event, RunItemStreamEvent)]
    assert [item.step for item in items if isinstance(item, LLMResponseItem)] == [1, 2]
    assert [item.step_output for item in items if isinstance(item, StepRunItem)] == list(result.step_history)
    ends = [item for item in items if isinstance(item, FinalOutputItem)]
    assert [item.runner_response for item in ends] == [result, result]
    assert names(events)[-2:] == ["agent.final_output", "agent.execution_complete"]


async def test_tools_start_while_the_response_still_streams() -> None:
    """The response waits for the tool here: were the tool to wait for the response, nothing would ever end."""
    gate = asyncio.Event()

    async def find(name: str) -> str:
        """Find."""
        gate.set()
        return name

    steps = calls_reply(CALL)
    turns: list[ScriptedTurn] = [
        [*steps[:-1], WaitFor(gate), steps[-1]],
        chained(text_reply("Done.", response_id="resp_2")),
    ]
    search = ({"type": "file_search", "vector_store_ids": ["vs_1"]},)
    async with ScriptedServer(turns) as server, asyncio.timeout(60):
        _, result = await drain(runner(server, [FunctionTool(find)]), question(include_raw=False, hosted_tools=search))
    assert result.answer == "Done."


async def test_two_tools_run_side_by_side_while_the_response_still_streams() -> None:
    """The response ends only after both tools have begun, and each tool needs the other to have begun."""
    first_begun, second_begun = threading.Event(), threading.Event()
    release = asyncio.Event()

    def first(name: str) -> str:
        """First."""
        first_begun.set()
        assert second_begun.wait(60)
        return name

    async def second(name: str) -> str:
        """Second."""
        assert await asyncio.to_thread(first_begun.wait, 30)
        second_begun.set()
        release.set()
        return name

    steps = calls_reply(("c1", "first", '{"name": "a"}'), ("c2", "second", '{"name": "b"}'))
    turns: list[ScriptedTurn] = [
        [*steps[:-1], WaitFor(release), steps[-1]],
        chained(text_reply("Done.", response_id="resp_2")),
    ]
    async with ScriptedServer(turns) as server, asyncio.timeout(60):
        _, result = await drain(runner(server, [FunctionTool(first), FunctionTool(second)]))
    assert result.answer == "Done."


async def test_progress_of_a_generator_tool_comes_between_the_words() -> None:
    went_on = asyncio.Event()

    async def find(name: str) -> AsyncIterator[str]:
        """Find in steps."""
        yield "looking"
        yield "reading"
        await went_on.wait()
        yield name

    steps = calls_reply(CALL)[:-1]
    steps += [
        Event({"type": "response.output_text.delta", "item_id": "m", "delta": "Wait.", "sequence_number": len(steps)}),
        WaitFor(went_on),
        Event(
            {
                "type": "response.completed",
                "sequence_number": len(steps) + 1,
                "response": response_body("resp_1", "completed"),
            }
        ),
    ]
    turns: list[ScriptedTurn] = [steps, chained(text_reply("Done.", response_id="resp_2"))]
    progress: list[object] = []
    async with ScriptedServer(turns) as server, asyncio.timeout(60):
        running = runner(server, [FunctionTool(find)]).astream(question(include_raw=False))
        async for event in running.stream_events():
            if isinstance(event, RunItemStreamEvent) and isinstance(event.item, ToolProgressRunItem):
                progress.append(event.item.progress.item)
                went_on.set()
    assert progress == ["looking", "reading"]
    assert running.result.answer == "Wait.\n\nDone."


async def test_two_runs_on_one_object_do_not_disturb_each_other() -> None:
    def answer(request: object) -> list[Event]:
        text = request.json["input"][0]["content"][0]["text"]  # type: ignore[attr-defined]
        return text_reply(*[f"{text} "] * 50)  # type: ignore[return-value]

    async with ScriptedServer([answer], repeat=True) as server:
        engine = runner(server)
        results = await asyncio.gather(*(engine.acall(question(f"q{n}")) for n in range(20)))
    assert [result.answer for result in results] == [f"q{n} " * 50 for n in range(20)]


async def test_before_its_end_a_result_is_what_there_is_so_far() -> None:
    forever = WaitFor(asyncio.Event())
    async with ScriptedServer([[*text_reply("So ", "far.")[:6], forever]]) as server:
        running = runner(server).astream(question(include_raw=False))
        assert (running.result.answer, running.result.outcome.reason) == ("", "stopped")
        async with aclosing(running.stream_events()) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
    assert running.result.answer.startswith("So ")
    assert (running.result.outcome.kind, running.result.outcome.reason) == ("incomplete", "stopped")
    assert running.result.response_id is None


async def test_a_structured_answer_is_the_final_output() -> None:
    class Dose(BaseModel):
        drug: str
        mg: int

    async with ScriptedServer([text_reply('{"drug": "metformin", "mg": 500}')]) as server:
        _, result = await drain(runner(server, output_processors=[PydanticProcessor(Dose)]))
    assert result.final_output == {"drug": "metformin", "mg": 500}
    assert result.answer == '{"drug": "metformin", "mg": 500}'


async def test_text_of_several_messages_is_kept_in_paragraphs() -> None:
    def message(number: int, text: str) -> Event:
        return Event({"type": "response.output_text.delta", "item_id": f"m{number}", "delta": text})

    said = ["One.", "Two.\n", "Three.\n\n", "Four."]
    steps = [
        *(message(n, text) for n, text in enumerate(said)),
        Event({"type": "response.completed", "response": response_body("r", "completed")}),
    ]
    async with ScriptedServer([steps]) as server:
        events, result = await drain(runner(server))
    assert result.answer == text_of(events) == "One.\n\nTwo.\n\nThree.\n\nFour."


async def test_usage_is_that_of_all_steps_or_of_those_that_told() -> None:
    silent = text_reply("Done.", response_id="resp_2")
    silent[-1] = Event({**dict(silent[-1].body), "response": response_body("resp_2", "completed", usage=None)})  # type: ignore[union-attr, arg-type]
    async with ScriptedServer([calls_reply(CALL), silent]) as server:
        _, result = await drain(runner(server, [FunctionTool(find)]))
    assert result.usage is not None
    assert result.usage.total_tokens == 15


async def test_the_cached_and_the_reasoning_tokens_of_all_steps_are_counted() -> None:
    cached, thought = {"cached_tokens": 4}, {"reasoning_tokens": 3}
    first, second = (calls_reply((f"c{n}", "find", '{"name": "a"}'), response_id=f"resp_{n}") for n in (1, 2))
    turns: list[ScriptedTurn] = [
        using(first, input_tokens_details=cached),
        chained(using(second, input_tokens_details=cached, output_tokens_details=thought)),
        chained(text_reply("Done.", response_id="resp_3")),
    ]
    async with ScriptedServer(turns) as server:
        _, result = await drain(runner(server, [FunctionTool(find)]))
    assert result.usage is not None
    assert result.usage.input_tokens_details is not None
    assert result.usage.output_tokens_details is not None
    found = (result.usage.input_tokens_details.cached_tokens, result.usage.output_tokens_details.reasoning_tokens)
    assert found == (8, 3)


async def test_a_call_that_the_next_response_lists_again_runs_once() -> None:
    asked: list[str] = []

    def find(name: str) -> str:
        """Find it."""
        asked.append(name)
        return name

    first, reply = calls_reply(CALL), text_reply("Done.", response_id="resp_2")
    end = body(reply[-1])
    listed = [*body(first[-1])["response"]["output"], *end["response"]["output"]]
    reply[-1] = Event({**end, "response": {**end["response"], "output": listed}})
    async with ScriptedServer([first, chained(reply)]) as server:
        _, result = await drain(runner(server, [FunctionTool(find)]))
    assert (result.answer, asked) == ("Done.", ["a"])
    again = calls_reply(CALL, response_id="resp_2")
    async with ScriptedServer([first, chained(again), chained(text_reply("Done.", response_id="resp_3"))]) as server:
        _, result = await drain(runner(server, [FunctionTool(find)]))
    assert (result.answer, asked) == ("Done.", ["a", "a", "a"]), "alone it is a call of its own: ids may begin anew"


async def test_a_chain_that_is_gone_is_replayed_in_the_middle_of_a_run_too() -> None:
    gone = [Status(404, body={"error": {"code": "previous_response_not_found", "message": "?"}})]
    turns: list[ScriptedTurn] = [chained(calls_reply(CALL)), gone, text_reply("Done.", response_id="resp_2")]
    earlier = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Before?"}]}
    async with ScriptedServer(turns) as server:
        engine = runner(server, [FunctionTool(find)])
        request = question(include_raw=False, previous_response_id="resp_0", transcript=(earlier,))
        events, result = await drain(engine, request)
        server.add(text_reply("Again."))
        again, _ = await drain(engine, request)
    assert result.answer == "Done."
    assert [event.type for event in events].count("notice") == 1
    replayed = server.requests[2].json["input"]
    assert [item["type"] for item in replayed] == ["message", "message", "function_call", "function_call_output"]
    assert not any(event.type == "notice" for event in again), "a server that forgets its own answer keeps none"
    assert "previous_response_id" not in server.requests[3].json


async def test_reasoning_is_one_item_before_what_it_led_to_and_no_part_of_the_answer() -> None:
    def thought(text: str, item: str = "rs") -> Event:
        return Event({"type": "response.reasoning_summary_text.delta", "item_id": item, "delta": text})

    def said(text: str) -> Event:
        return Event({"type": "response.output_text.delta", "item_id": "m", "delta": text})

    end = Event({"type": "response.completed", "response": response_body("r", "completed")})
    answer = [said("Well. "), thought("First "), thought("the dose."), said("Yes."), thought(" \n", "x"), said(" No.")]
    async with ScriptedServer([[*answer, thought("Done.", "y"), end]]) as server:
        events, result = await drain(runner(server), question(include_raw=False))
    shown = [e.text if e.type == "text_delta" else getattr(e.item, "text", "") for e in events]
    assert "".join(shown[:2]) == "Well. First the dose."
    reasoning = [e.item.text for e in events if e.type == "run_item_stream_event" and e.item.type == "reasoning"]
    assert reasoning == ["First the dose.", "Done."]
    assert result.answer == "Well. Yes. No."


async def test_reasoning_reaches_those_who_follow_raw_events() -> None:
    thought = Event({"type": "response.reasoning_summary_text.delta", "item_id": "rs", "delta": "Hm."})
    end = Event({"type": "response.completed", "response": response_body("r", "completed")})
    answer = Event({"type": "response.output_text.delta", "item_id": "m", "delta": "Yes."})
    async with ScriptedServer([[thought, answer, end]]) as server:
        events, result = await drain(runner(server), question(include_raw=True))
    assert [e.data.model_dump()["type"] for e in events if e.type == "raw_response_event"] == [
        "response.reasoning_summary_text.delta",
        "response.output_text.delta",
        "response.completed",
    ]
    assert result.answer == "Yes."


def test_without_an_event_loop_a_run_is_a_call() -> None:
    ready, ended = threading.Event(), threading.Event()
    address: list[str] = []

    async def serve() -> None:
        async with ScriptedServer([text_reply("a"), calls_reply(CALL), chained(text_reply("b"))]) as server:
            address.append(server.base_url)
            ready.set()
            await asyncio.to_thread(ended.wait, 20)

    serving = threading.Thread(target=lambda: asyncio.run(serve()))
    serving.start()
    ready.wait(60)
    engine = runner(address[0], [FunctionTool(find)])
    assert [engine.call(question()).answer for _ in range(2)] == ["a", "b"]
    ended.set()
    serving.join()


async def test_a_call_inside_an_event_loop_is_refused() -> None:
    with pytest.raises(RuntimeError, match="asynchronous form"):
        runner("http://127.0.0.1:9/v1").call(question())


async def test_an_output_that_cannot_be_rendered_ends_the_run_with_its_error() -> None:
    async def broken(output: object) -> str:
        raise ArithmeticError

    async with ScriptedServer([calls_reply(CALL)]) as server:
        plain = runner(server, [FunctionTool(find)])
        engine = Runner(plain.generator, plain.tool_manager, render_output=broken)
        with pytest.raises(ArithmeticError):
            await engine.acall(RunRequest(items=question().items))


async def test_a_prompt_and_its_values_are_a_whole_request() -> None:
    async with ScriptedServer([text_reply("a")], repeat=True) as server:
        prompt = Prompt("Help {{ who }}.")
        generator = Generator[str](adapter(server), prompt=prompt, model_kwargs={"model": "m"})
        engine = Runner(generator)
        assert (await engine.acall({"who": "Ann"})).answer == "a"
        assert (await engine.acall(prompt="How?", prompt_kwargs={"who": "Ann"})).answer == "a"
    alone, with_message = (request.json for request in server.requests)
    assert [item["content"][0]["text"] for item in alone["input"]] == ["Help Ann."]
    assert "instructions" not in alone
    assert [item["content"][0]["text"] for item in with_message["input"]] == ["How?"]
    assert with_message["instructions"] == "Help Ann."


async def test_leaving_the_events_early_stops_the_run() -> None:
    turn = [*text_reply("b", "c")[:5], WaitFor(asyncio.Event())]
    async with ScriptedServer([turn]) as server:
        running = runner(server).astream(question(include_raw=False))
        async with running.started() as events:
            assert text_of([await anext(aiter(events))]) == "b"
    assert (running.result.answer, running.result.outcome.reason) == ("b", "stopped")
