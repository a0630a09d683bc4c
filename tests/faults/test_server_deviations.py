"""What Responses servers that people really use do otherwise than the protocol says; the answer is right all the same.

Each test plays one server's habits, as they were seen on the wire. The servers themselves, where they can be installed,
are driven in ``tests/peers``.
"""

from __future__ import annotations

import json

import pytest

from chat_app.events import CitationAdded, Notice, ReferencesReady, TurnStarted
from tests.support.engine import (
    body,
    chained,
    clinic,
    consult,
    drain,
    ended,
    names,
    outputs_sent,
    question,
    runner,
    text_of,
)
from tests.support.scripted_server import (
    Event,
    Json,
    ScriptedServer,
    ScriptedTurn,
    Status,
    Step,
    calls_reply,
    response_body,
    text_reply,
)
from tools.function_tool import FunctionTool

GONE = [Status(404, body={"error": {"message": "not found"}})]


async def first(a: str) -> str:
    """First."""
    return f"first {a}"


async def second(a: str) -> str:
    """Second."""
    return f"second {a}"


TOOLS = [FunctionTool(first), FunctionTool(second)]


def bare(*bodies: Json) -> list[Step]:
    """Events without an ``event:`` line and without numbers."""
    return [Event({k: v for k, v in b.items() if k != "sequence_number"}, name=None) for b in bodies]


def call_item(call_id: str, name: str, **fields: object) -> Json:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, **fields}


def message_item(item_id: str, text: str, *annotations: Json) -> Json:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}


def delta(item_id: str, text: str, **fields: object) -> Json:
    return {"type": "response.output_text.delta", "item_id": item_id, "delta": text, **fields}


async def test_ogx_parallel_calls_that_share_an_output_index_after_a_message_without_an_end() -> None:
    """OGX: both calls have ``output_index`` 0, and the message before them gets no ``output_item.done``."""
    a, b = call_item("c1", "first", arguments='{"a": "x"}'), call_item("c2", "second", arguments='{"a": "y"}')
    message = message_item("msg_1", "Let me look.")
    steps = bare(
        {"type": "response.created", "response": response_body("resp_1", "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}},
        delta("msg_1", "Let me ", output_index=0, content_index=0),
        delta("msg_1", "look.", output_index=0, content_index=0),
        {"type": "response.output_item.added", "output_index": 0, "item": {**a, "arguments": ""}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**b, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_c2", "output_index": 0, "delta": '{"a": '},
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "fc_c1",
            "output_index": 0,
            "delta": '{"a": "x"}',
        },
        {"type": "response.function_call_arguments.delta", "item_id": "fc_c2", "output_index": 0, "delta": '"y"}'},
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_c1",
            "output_index": 0,
            "arguments": '{"a": "x"}',
        },
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_c2",
            "output_index": 0,
            "arguments": '{"a": "y"}',
        },
        {"type": "response.output_item.done", "output_index": 0, "item": a},
        {"type": "response.output_item.done", "output_index": 0, "item": b},
        {"type": "response.completed", "response": response_body("resp_1", "completed", [message, a, b])},
    )
    async with ScriptedServer([steps, chained(text_reply("Done.", response_id="resp_2"))]) as server:
        events, result = await drain(runner(server, TOOLS))
    assert result.outcome.kind == "completed"
    assert result.answer == text_of(events) == "Let me look.\n\nDone."
    assert outputs_sent(server.requests[1]) == {"c1": '"first x"', "c2": '"second y"'}


def ogx_search() -> list[Step]:
    """OGX: the search emits argument deltas; a citation comes only with the finished part, and names a document id."""
    annotation = {"type": "file_citation", "file_id": "doc-77", "filename": "gout.pdf", "index": 33}
    text = "Allopurinol is started at 100 mg. Then it is raised."
    result = {
        "file_id": "file-1",
        "filename": "gout.pdf",
        "score": 0.9,
        "attributes": {"document_id": "doc-77"},
        "text": "Allopurinol is started at 100 mg daily.",
    }
    other = {**result, "text": "Colchicine is an alternative.", "score": 0.95}
    search = {
        "type": "file_search_call",
        "id": "fs_1",
        "status": "completed",
        "queries": ["gout"],
        "results": [other, result],
    }
    message = message_item("msg_1", text, annotation)
    return bare(
        {"type": "response.created", "response": response_body("resp_1", "in_progress")},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**search, "status": "in_progress", "results": None},
        },
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "fs_1",
            "output_index": 0,
            "delta": '{"query": "gout"}',
        },
        {"type": "response.file_search_call.in_progress", "item_id": "fs_1", "output_index": 0},
        {"type": "response.file_search_call.searching", "item_id": "fs_1", "output_index": 0},
        {"type": "response.file_search_call.completed", "item_id": "fs_1", "output_index": 0},
        {"type": "response.output_item.done", "output_index": 0, "item": search},
        {"type": "response.output_item.added", "output_index": 1, "item": {**message, "content": []}},
        delta("msg_1", text[:40], output_index=1, content_index=0),
        delta("msg_1", text[40:], output_index=1, content_index=0),
        {
            "type": "response.content_part.done",
            "item_id": "msg_1",
            "output_index": 1,
            "content_index": 0,
            "part": message["content"][0],
        },
        {"type": "response.output_item.done", "output_index": 1, "item": message},
        {"type": "response.completed", "response": response_body("resp_1", "completed", [search, message])},
    )


async def test_ogx_citations_name_a_document_and_come_late(redis_url: str) -> None:
    async with ScriptedServer([ogx_search()]) as server, clinic(server, redis_url) as agent:
        events = await consult(agent, vector_store_id="vs_1")
    assert ended(events).outcome.kind == "completed"
    assert ended(events).answer == "Allopurinol is started at 100 mg. Then it is raised."
    cited = [event for event in events if isinstance(event, CitationAdded)]
    assert [event.passage.text for event in cited] == ["Allopurinol is started at 100 mg daily."]
    assert names(events)[:2] == ["agent.tool_call_start", "agent.tool_call_complete"]
    assert server.requests[0].json["include"] == ["file_search_call.results"]
    assert {"type": "file_search", "vector_store_ids": ["vs_1"]} in server.requests[0].json["tools"]


async def test_transformers_serve_ignores_the_chain_and_repeats_the_message_after_a_call(redis_url: str) -> None:
    """transformers serve: no argument deltas, the message again under the same id, no memory at all."""
    call = call_item("c1", "search_clinical_guidelines", arguments='{"a": "x"}')
    message = message_item("msg_0", "Let me look.")
    repeated = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}},
        delta("msg_0", "Let me ", content_index=0),
        delta("msg_0", "look.", content_index=0),
        {"type": "response.output_text.done", "item_id": "msg_0", "content_index": 0, "text": "Let me look."},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
    ]
    steps = bare(
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
        *repeated,
        {"type": "response.output_item.added", "output_index": 1, "item": call},
        {"type": "response.output_item.done", "output_index": 1, "item": call},
        *repeated[1:],
        {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [message, call]}},
    )

    def answer(number: int) -> list[Step]:
        return bare(
            {"type": "response.created", "response": {"id": f"resp_{number}", "status": "in_progress", "output": []}},
            delta("msg_0", f"Answer {number}.", content_index=0),
            {"type": "response.completed", "response": {"id": f"resp_{number}", "status": "completed", "output": []}},
        )

    tool = FunctionTool(first, name="search_clinical_guidelines")
    turns: list[ScriptedTurn] = [steps, answer(2), GONE, answer(3), answer(4)]
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [tool]) as agent:
        events = await consult(agent, "One?")
        assert isinstance(events[0], TurnStarted)
        follow_up = await consult(agent, "Two?", conversation_id=events[0].conversation_id)

    assert ended(events).outcome.kind == "completed"
    assert ended(events).answer == text_of(events) == "Let me look.\n\nAnswer 3."
    assert [event.code for event in events if isinstance(event, Notice)] == ["transcript_always_replayed"]
    replayed = server.requests[3].json["input"]
    assert [item["type"] for item in replayed] == ["message", "message", "function_call", "function_call_output"]
    assert [item["type"] for item in server.requests[4].json["input"]] == ["message", "message", "message"]
    assert ended(follow_up).answer == "Answer 4."


async def test_transformers_serve_sends_error_and_failed_both(redis_url: str) -> None:
    steps = bare(
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
        delta("msg_0", "Half an"),
        {"type": "error", "message": "CUDA out of memory", "code": None, "param": None},
        {
            "type": "response.failed",
            "response": {
                "id": "resp_1",
                "status": "failed",
                "output": [],
                "error": {"code": "server_error", "message": "CUDA"},
            },
        },
    )
    async with ScriptedServer([steps]) as server, clinic(server, redis_url) as agent:
        end = ended(await consult(agent))
    assert (end.outcome.kind, end.answer) == ("failed", "Half an")
    assert "CUDA" not in end.outcome.message


async def test_llama_server_numbers_nothing_and_ends_its_items_together(redis_url: str) -> None:
    """llama-server: no numbers or indexes, no ``arguments.done``, every ``item.done`` at the end, no chaining."""
    message = message_item("msg_1", "Looking.")
    a = call_item("c1", "search_clinical_guidelines", arguments='{"a": "x"}')
    b = call_item("c2", "search_drug_database", arguments='{"a": "y"}')
    steps = bare(
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
        {"type": "response.in_progress", "response": {"id": "resp_1", "status": "in_progress"}},
        {"type": "response.output_item.added", "item": {**message, "content": []}},
        {"type": "response.content_part.added", "item_id": "msg_1", "part": {"type": "output_text", "text": ""}},
        delta("msg_1", "Look"),
        delta("msg_1", "ing."),
        {"type": "response.output_item.added", "item": {**a, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_c1", "delta": '{"a": "x"}'},
        {"type": "response.output_item.added", "item": {**b, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_c2", "delta": '{"a": "y"}'},
        {"type": "response.output_text.done", "item_id": "msg_1", "text": "Looking."},
        {"type": "response.content_part.done", "item_id": "msg_1", "part": message["content"][0]},
        {"type": "response.output_item.done", "item": message},
        {"type": "response.output_item.done", "item": a},
        {"type": "response.output_item.done", "item": b},
        {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [message, a, b]}},
    )
    refused = [
        Status(
            400,
            body={
                "error": {
                    "code": 400,
                    "type": "invalid_request_error",
                    "message": "llama.cpp does not support 'previous_response_id'.",
                }
            },
        )
    ]
    answer = bare(
        {"type": "response.created", "response": {"id": "resp_2", "status": "in_progress"}},
        delta("msg_2", "Done."),
        {"type": "response.completed", "response": {"id": "resp_2", "status": "completed", "output": []}},
    )
    tools = [FunctionTool(first, name="search_clinical_guidelines"), FunctionTool(second, name="search_drug_database")]
    async with (
        ScriptedServer([steps, refused, answer, answer, answer]) as server,
        clinic(server, redis_url, tools) as agent,
    ):
        events = await consult(agent, "One?")
        assert isinstance(events[0], TurnStarted)
        again = await consult(agent, "Two?", conversation_id=events[0].conversation_id)
        await consult(agent, "Other?")
    assert ended(events).outcome.kind == "completed"
    assert ended(events).answer == "Looking.\n\nDone."
    assert outputs_sent(server.requests[2]) == {"c1": '"first x"', "c2": '"second y"'}
    notices = [event.message for event in events if isinstance(event, Notice)]
    assert len(notices) == 1
    assert "keeps no conversations" in notices[0]
    assert not any(isinstance(event, Notice) for event in again), "said once, then simply done"
    assert len(server.requests) == 5, "no further request fails first"


async def test_servers_that_number_nothing_lose_nothing() -> None:
    """aimock and the LiteLLM proxy: no ``sequence_number``; the rest is as the protocol says."""
    steps = [
        Event({k: v for k, v in body(step).items() if k != "sequence_number"})
        for step in calls_reply(("c1", "first", '{"a": "x"}'))
    ]
    answer = [
        Event({k: v for k, v in body(step).items() if k != "sequence_number"})
        for step in text_reply("A ", "", "\n", "B.", response_id="resp_2")
    ]
    async with ScriptedServer([steps, chained(answer)]) as server:
        events, result = await drain(runner(server, TOOLS))
    assert (result.outcome.kind, result.answer) == ("completed", "A \nB.")
    assert text_of(events) == result.answer


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "incomplete"}, "other"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens"),
        ({"incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "cancelled"}, "other"),
    ],
)
async def test_aimock_calls_a_response_completed_whose_status_is_incomplete(fields: Json, reason: str) -> None:
    *steps, last = text_reply("Do not give more than 20 m")
    end = body(last)
    steps.append(Event({**end, "response": {**end["response"], **fields}}))
    async with ScriptedServer([steps]) as server:
        _, result = await drain(runner(server))
    assert (result.outcome.kind, result.outcome.reason) == ("incomplete", reason)
    assert result.response_id is None, "nothing may chain to half an answer"


async def test_a_response_that_failed_is_not_completed_by_its_events_name() -> None:
    *steps, last = text_reply("Half")
    end = body(last)
    steps.append(Event({**end, "response": {**end["response"], "status": "failed"}}))
    async with ScriptedServer([steps]) as server:
        _, result = await drain(runner(server))
    assert (result.outcome.kind, result.answer) == ("failed", "Half")


@pytest.mark.parametrize("asked", [GONE, [Status(500)]])
async def test_aimock_rejects_a_tools_output_that_comes_without_its_question(asked: list[Step]) -> None:
    """aimock, and others without a memory: the follow-up is rejected for what it lacks, with no word of a chain."""
    rejected = [Status(404, body={"error": {"message": "No fixture matched", "code": "no_fixture_match"}})]
    turns = [calls_reply(("c1", "first", '{"a": "x"}')), rejected, asked, text_reply("Done.", response_id="resp_2")]
    async with ScriptedServer(turns) as server:
        _, result = await drain(runner(server, TOOLS))
    assert (result.outcome.kind, result.answer) == ("completed", "Done.")
    assert [item["type"] for item in server.requests[3].json["input"]] == [
        "message",
        "function_call",
        "function_call_output",
    ]


async def test_a_rejection_by_a_server_that_has_the_chain_is_what_it_says() -> None:
    rejected = [Status(400, body={"error": {"message": "no such model"}})]
    kept = [Status(200, body=response_body("resp_1", "completed"))]
    async with ScriptedServer([calls_reply(("c1", "first", '{"a": "x"}')), rejected, kept]) as server:
        _, result = await drain(runner(server, TOOLS))
    assert (result.outcome.kind, result.outcome.retryable) == ("failed", False)
    assert (len(server.requests), server.unexpected) == (3, 0)


async def test_litellm_numbers_a_few_events_and_ends_its_items_out_of_order() -> None:
    """LiteLLM's bridge to chat completions: only ``item.done`` is numbered, with gaps, and the message ends last."""
    call = call_item("c1", "first", arguments='{"a": "x"}')
    message = message_item("msg_1", "Looking.")
    steps: list[Step] = [
        Event({"type": "response.created", "response": {"id": "resp_1"}}, name=None),
        Event({"type": "response.output_item.added", "item": {**message, "content": []}}, name=None),
        Event(delta("msg_1", "Looking."), name=None),
        Event({"type": "response.output_item.added", "item": {**call, "arguments": ""}}, name=None),
        Event({"type": "response.function_call_arguments.delta", "item_id": "fc_c1", "delta": '{"a": "x"}'}, name=None),
        Event({"type": "response.output_item.done", "sequence_number": 16, "item": call}, name=None),
        Event({"type": "response.output_text.done", "item_id": "msg_1", "text": "Looking."}, name=None),
        Event({"type": "response.output_item.done", "sequence_number": 1, "item": message}, name=None),
        Event({"type": "response.completed", "response": response_body("resp_1", "completed", [message, call])}, None),
    ]
    async with ScriptedServer([steps, chained(text_reply("Done.", response_id="resp_2"))]) as server:
        _, result = await drain(runner(server, TOOLS))
    assert (result.answer, result.outcome.kind) == ("Looking.\n\nDone.", "completed")


async def test_a_terminal_event_without_output_keeps_what_the_items_brought() -> None:
    call = call_item("c1", "first", arguments='{"a": "x"}')
    steps = bare(
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "item": call},
        {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": []}},
    )
    async with ScriptedServer([steps, chained(text_reply("Done.", response_id="resp_2"))]) as server:
        _, result = await drain(runner(server, TOOLS))
    assert result.answer == "Done."


async def test_an_answer_that_stands_only_in_the_terminal_event_is_shown() -> None:
    message = message_item("msg_1", "All at once.")
    steps = bare({"type": "response.completed", "response": response_body("resp_1", "completed", [message])})
    async with ScriptedServer([steps]) as server:
        events, result = await drain(runner(server))
    assert (result.answer, text_of(events), result.outcome.kind) == ("All at once.", "All at once.", "completed")


async def test_a_message_that_the_terminal_event_names_anew_is_shown_once() -> None:
    annotation = {"type": "file_citation", "file_id": "f1", "filename": "a.pdf", "index": 3}
    steps = bare(
        delta("msg_a", "Once only."),
        {
            "type": "response.completed",
            "response": response_body("resp_1", "completed", [message_item("msg_b", "Once only. ", annotation)]),
        },
    )
    async with ScriptedServer([steps]) as server:
        events, result = await drain(runner(server))
    assert result.answer.strip() == "Once only."
    assert [event.type for event in events if event.type == "citation_received"] == ["citation_received"]


async def test_a_call_without_arguments_or_an_end_is_still_run() -> None:
    async def today() -> str:
        """Today."""
        return "Friday"

    steps = bare(
        {"type": "response.output_item.added", "item": call_item("c1", "today", arguments="")},
        {"type": "response.completed", "response": response_body("resp_1", "completed")},
    )
    async with ScriptedServer([steps, chained(text_reply("Friday.", response_id="resp_2"))]) as server:
        _, result = await drain(runner(server, [FunctionTool(today)]))
    assert outputs_sent(server.requests[1]) == {"c1": '"Friday"'}
    assert result.answer == "Friday."


async def test_a_finished_text_that_is_not_what_was_streamed_replaces_it(redis_url: str) -> None:
    """Row 8: with what was said and cited before, on which the correction has no bearing."""
    annotation = {"type": "file_citation", "file_id": "f1", "filename": "a.pdf", "index": 9}
    steps = bare(
        delta("msg_0", "Looked up.", output_index=0),
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": message_item("msg_0", "Looked up.", annotation),
        },
        delta("msg_1", "Do give it.", output_index=1),
        {"type": "response.output_text.done", "item_id": "msg_1", "output_index": 1, "text": "Do not give it."},
        {"type": "response.completed", "response": response_body("resp_1", "completed")},
    )
    async with ScriptedServer([steps, steps]) as server:
        events, result = await drain(runner(server))
        async with clinic(server, redis_url) as agent:
            end = ended(await consult(agent))
    assert result.outcome.kind == "completed"
    kinds = [event.type for event in events if event.type != "run_item_stream_event"]
    again = kinds.index("text_replaced")
    assert kinds[again:] == ["text_replaced", "text_delta", "citation_received", "text_delta"]
    assert text_of(events[again:]) == result.answer == end.answer == "Looked up.\n\nDo not give it."


async def test_a_server_without_chaining_is_told_everything_each_time(redis_url: str) -> None:
    """With ASCLEPIUS_CHAINING=replay nothing is asked of the server but to answer."""
    call = calls_reply(("c1", "search_clinical_guidelines", '{"a": "x"}'), response_id="resp_1")
    turns = [call, text_reply("One.", response_id="resp_2"), text_reply("Two.", response_id="resp_3")]
    tool = FunctionTool(first, name="search_clinical_guidelines")
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [tool], chaining=False) as agent:
        events = await consult(agent, "What is metformin?")
        assert isinstance(events[0], TurnStarted)
        follow_up = await consult(agent, "And its dose?", conversation_id=events[0].conversation_id)
    assert not any(isinstance(event, Notice) for event in (*events, *follow_up))
    assert all("previous_response_id" not in request.json for request in server.requests)
    assert [item["type"] for item in server.requests[1].json["input"]] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    assert json.loads(server.requests[1].json["input"][1]["arguments"]) == {"a": "x"}
    assert [item["content"][0]["text"] for item in server.requests[2].json["input"]] == [
        "What is metformin?",
        "One.",
        "And its dose?",
    ]


async def test_a_hosted_search_without_results_cannot_be_cited(redis_url: str) -> None:
    """A server that does not honour ``include`` leaves nothing to check a citation against."""
    steps = [
        Event({**b, "item": {**b["item"], "results": None}}, name=None)
        if (b := body(step)).get("item", {}).get("type") == "file_search_call"
        else step
        for step in ogx_search()[:-1]
    ]
    steps.append(Event({"type": "response.completed", "response": response_body("resp_1", "completed")}))
    async with ScriptedServer([steps]) as server, clinic(server, redis_url) as agent:
        events = await consult(agent, vector_store_id="vs_1")
    references = next(event for event in events if isinstance(event, ReferencesReady))
    assert (references.references, references.dropped) == ((), 1)


async def test_a_run_without_tools_sends_none() -> None:
    async with ScriptedServer([text_reply("Hi.")]) as server:
        await drain(runner(server), question(include_raw=False))
    assert not {"tools", "tool_choice", "parallel_tool_calls", "include"} & set(server.requests[0].json)


async def test_after_a_call_that_was_only_text_the_conversation_is_sent_whole() -> None:
    """Row 54: a server that chains knows no such call, so it would refuse its output."""
    call = '<tool_call>{"name": "first", "arguments": {"a": "x"}}</tool_call>'
    async with ScriptedServer([text_reply("Let me look.", call), text_reply("Done.", response_id="resp_2")]) as server:
        _, result = await drain(runner(server, TOOLS))
    assert (result.answer, result.outcome.kind, result.response_id) == ("Let me look.\n\nDone.", "completed", "resp_2")
    second = server.requests[1].json
    assert "previous_response_id" not in second
    assert [item["type"] for item in second["input"]] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]


async def test_chaining_is_learned_for_each_model(redis_url: str) -> None:
    """LiteLLM: one model of a server chains, the bridged one does not."""
    turns: list[ScriptedTurn] = [
        text_reply("One."),
        chained(text_reply("Two.", response_id="resp_2")),
        text_reply("Three.", response_id="resp_3"),
        text_reply("Ignored.", response_id="resp_4"),
        GONE,
        text_reply("Four.", response_id="resp_5"),
        calls_reply(("c1", "first", '{"a": "x"}'), response_id="resp_6"),
        text_reply("Five.", response_id="resp_7"),
    ]
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [FunctionTool(first)]) as agent:
        for model in ("native", "bridged"):
            events = await consult(agent, "What is metformin?", model=model)
            assert isinstance(events[0], TurnStarted)
            follow_up = await consult(agent, "And its dose?", model=model, conversation_id=events[0].conversation_id)
        conversation = events[0].conversation_id
        called = await consult(agent, "And its price?", model="bridged", conversation_id=conversation)
    assert [ended(follow_up).answer, ended(called).answer, server.unexpected] == ["Four.", "Five.", 0]
    assert [event.code for event in follow_up if isinstance(event, Notice)] == ["transcript_always_replayed"]
    asked, answered = (request.json for request in server.requests[-2:])
    assert "previous_response_id" not in asked | answered
    assert [item["type"] for item in asked["input"]] == ["message"] * 5
    assert answered["input"][5:] == [
        {"type": "function_call", "call_id": "c1", "name": "first", "arguments": '{"a": "x"}'},
        {"type": "function_call_output", "call_id": "c1", "output": '"first x"'},
    ]
    assert not [event for event in called if isinstance(event, Notice)], "it is known already"
