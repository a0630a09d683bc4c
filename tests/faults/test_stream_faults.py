"""What a broken, hostile or busy model server does to a turn: one visible outcome, the words kept, the chain safe."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from chat_app.agent.event_channel import MAX_EVENTS
from chat_app.errors import ProtocolViolation
from chat_app.events import AgentEvent, Notice, TextDelta, TextReplaced, TurnEnded, TurnStarted
from chat_app.generation.sse import MAX_EVENT_BYTES, SSEDecoder
from tests.support.engine import (
    KEY,
    body,
    chained,
    clinic,
    consult,
    ended,
    question,
    renumbered,
    runner,
    text_of,
    without,
)
from tests.support.scripted_server import (
    Disconnect,
    Event,
    Raw,
    Reset,
    ScriptedServer,
    ScriptedTurn,
    Status,
    Step,
    Turn,
    Wait,
    WaitFor,
    calls_reply,
    response_body,
    text_reply,
)
from tools.function_tool import FunctionTool

CANARY = "How much metformin for Mrs Quillfeather, 71?"
WHOLE = text_reply("Do not ", "give it.")
BEGUN = WHOLE[:6]
"""Everything up to the last delta."""
FOREVER = Wait(3600)


def conversation(events: list[AgentEvent]) -> str:
    assert isinstance(events[0], TurnStarted)
    return events[0].conversation_id


async def ask(redis_url: str, *turns: ScriptedTurn, **how: Any) -> tuple[list[AgentEvent], TurnEnded, ScriptedServer]:
    async with ScriptedServer(turns) as server, clinic(server, redis_url, **how) as agent:
        events = await consult(agent, CANARY)
    return events, ended(events), server


async def lookup(name: str) -> str:
    """Look up."""
    return name


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param([], id="a clean end"),
        pytest.param([Raw(b'event: response.completed\ndata: {"type": "resp')], id="half a frame"),
        pytest.param([Disconnect()], id="a cut connection"),
        pytest.param([Wait(0.05), Reset()], id="a reset connection"),
    ],
)
async def test_a_stream_that_ends_before_its_terminal_event_is_truncated(redis_url: str, ending: list[Step]) -> None:
    """Row 1."""
    turns: list[ScriptedTurn] = [
        text_reply("Before.", response_id="resp_0"),
        chained([*BEGUN, *ending]),
        chained(WHOLE),
    ]
    async with ScriptedServer(turns) as server, clinic(server, redis_url) as agent:
        first = await consult(agent)
        events = await consult(agent, "Second?", conversation_id=conversation(first))
        await consult(agent, "Third?", conversation_id=conversation(first))

    end = ended(events)
    assert (end.outcome.kind, end.outcome.reason, end.outcome.retryable) == ("incomplete", "truncated", True)
    assert end.answer == text_of(events) == "Do not give it."
    third = server.requests[2].json
    assert third["previous_response_id"] == "resp_0"
    said = [item["content"][0]["text"] for item in third["input"]]
    assert said == ["Second?", "Do not give it.", "Third?"], "the model is told what the chain lacks"


@pytest.mark.parametrize("last", ["\n\nmetformin", '\n```json\n{"id": [5, {"a": 1}'])
@pytest.mark.parametrize("ending", [[Disconnect()], [Event({"type": "error", "message": "x"})]], ids=["cut", "error"])
async def test_what_was_held_back_is_shown_when_the_stream_breaks(
    redis_url: str, ending: list[Step], last: str
) -> None:
    """Row 1: words at a line's beginning wait until they cannot be a call."""
    begun = text_reply("Take 5 mg.", last)[:6]
    turns: list[ScriptedTurn] = [[*begun, *ending]]
    tool = FunctionTool(lookup)
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [tool], max_retries=0) as agent:
        events = await consult(agent)
    assert ended(events).outcome.kind in {"incomplete", "failed"}
    assert ended(events).answer == text_of(events) == f"Take 5 mg.{last}"


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(b'data: {"type": "response.output_text.delta", \n\n', id="half an object"),
        pytest.param(b"data: " + CANARY.encode() + b"\n\n", id="no JSON"),
    ],
)
async def test_a_stream_that_cannot_be_decoded_is_a_protocol_violation(
    redis_url: str, broken: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 2."""
    caplog.set_level(logging.DEBUG)
    events, end, _ = await ask(redis_url, [*BEGUN, Raw(broken), *WHOLE[6:]])
    assert (end.outcome.kind, end.outcome.reason) == ("incomplete", "protocol_violation")
    assert end.answer == text_of(events) == "Do not give it."
    ours = (record for record in caplog.records if record.name.startswith(("chat_app", "tools")))
    logged = "\n".join(record.getMessage() for record in ours)
    assert CANARY not in logged + end.outcome.message
    assert "Quillfeather" not in logged


async def test_an_event_of_an_unknown_type_is_ignored_and_counted(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 3."""
    caplog.set_level(logging.INFO, "chat_app")
    new = Event({"type": "response.hologram.delta", "delta": CANARY})
    _, end, _ = await ask(redis_url, renumbered(*WHOLE[:5], new, new, *WHOLE[5:]))
    assert (end.outcome.kind, end.answer) == ("completed", "Do not give it.")
    assert "2 events of unknown types" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        7,
        "text",
        {"type": 5},
        {"type": "response.output_text.done", "item_id": "m", "text": ["a"]},
        {"type": "response.completed", "response": None},
    ],
)
async def test_an_event_of_the_wrong_shape_is_a_protocol_violation(redis_url: str, wrong: Any) -> None:
    """Row 4."""
    events, end, _ = await ask(redis_url, [*BEGUN, Event(wrong, name=None)])
    assert (end.outcome.kind, end.outcome.reason) == ("incomplete", "protocol_violation")
    assert text_of(events) == "Do not give it."


@pytest.mark.parametrize("ending", [{}, {"response": None}])
async def test_an_end_without_its_response_completes_a_finished_text(redis_url: str, ending: dict[str, Any]) -> None:
    """Row 4."""
    _, end, _ = await ask(redis_url, [*WHOLE[:-1], Event({"type": "response.completed", **ending}, name=None)])
    assert (end.outcome.kind, end.answer) == ("completed", "Do not give it.")


async def test_a_web_page_instead_of_a_stream_is_said_to_be_one(redis_url: str) -> None:
    """Row 5."""
    page = Turn([Raw(b"<html><body>Welcome to the proxy</body></html>")], headers={"Content-Type": "text/html"})
    _, end, _ = await ask(redis_url, page, max_retries=0)
    assert end.outcome.kind == "failed"
    assert "OPENAI_BASE_URL" in end.outcome.message
    assert "Welcome" not in end.outcome.message


def refusal() -> list[Step]:
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "refusal", "refusal": "I cannot help with that."}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return renumbered(
        WHOLE[0],
        Event({"type": "response.refusal.delta", **where, "delta": "I cannot help "}),
        Event({"type": "response.refusal.delta", **where, "delta": "with that."}),
        Event({"type": "response.refusal.done", **where, "refusal": "I cannot help with that."}),
        Event({"type": "response.content_part.done", **where, "part": part}),
        Event({"type": "response.output_item.done", "output_index": 0, "item": item}),
        Event({"type": "response.completed", "response": response_body("resp_1", "completed", [item])}),
    )


def terminal(kind: str, **fields: Any) -> Event:
    return Event({"type": f"response.{kind}", "response": response_body("resp_1", kind, [], **fields)})


@pytest.mark.parametrize(
    ("steps", "kind", "reason", "message"),
    [
        pytest.param(
            [*BEGUN, terminal("failed", error={"code": "server_error", "message": CANARY})],
            "failed",
            None,
            "server_error",
            id="failed",
        ),
        pytest.param(
            [*BEGUN, Event({"type": "error", "code": "overloaded", "message": CANARY})],
            "failed",
            None,
            "overloaded",
            id="error",
        ),
        pytest.param(
            [*BEGUN, Event({"type": "error", "message": CANARY}), terminal("failed")],
            "failed",
            None,
            "error",
            id="error and failed",
        ),
        pytest.param(
            [*BEGUN, terminal("incomplete", incomplete_details={"reason": "max_output_tokens"})],
            "incomplete",
            "max_output_tokens",
            "length limit",
            id="max tokens",
        ),
        pytest.param(
            [*BEGUN, terminal("incomplete", incomplete_details={"reason": "content_filter"})],
            "incomplete",
            "content_filter",
            "filter",
            id="content filter",
        ),
        pytest.param([*BEGUN, terminal("incomplete")], "incomplete", "other", "ended the answer early", id="no reason"),
        pytest.param(refusal(), "refused", None, "declined", id="refusal"),
    ],
)
async def test_every_way_not_to_complete_is_an_outcome_of_its_own(
    redis_url: str, steps: list[Step], kind: str, reason: str | None, message: str
) -> None:
    """Row 6."""
    events, end, _ = await ask(redis_url, renumbered(*steps))
    assert (end.outcome.kind, end.outcome.reason) == (kind, reason)
    assert message in end.outcome.message
    assert CANARY not in end.outcome.message
    assert text_of(events) == end.answer
    assert end.answer == ("I cannot help with that." if kind == "refused" else "Do not give it.")


async def test_an_answer_without_a_word_is_not_called_complete(redis_url: str) -> None:
    """Row 6."""
    _, end, _ = await ask(redis_url, [WHOLE[0], terminal("completed")])
    assert (end.outcome.kind, end.outcome.retryable) == ("incomplete", True)
    assert end.answer == ""


async def test_deltas_of_white_space_are_part_of_the_answer(redis_url: str) -> None:
    """Row 7."""
    pieces = [" ", "1.", " ", "\n", "\n\n", "\t", "  a", "\u00a0", "b ", "\r\n", " "]
    events, end, _ = await ask(redis_url, text_reply(*pieces))
    assert end.answer == text_of(events) == "".join(pieces)
    assert end.outcome.kind == "completed"


@pytest.mark.parametrize("numbered", [True, False])
async def test_a_word_that_was_lost_is_in_the_finished_text(
    redis_url: str, caplog: pytest.LogCaptureFixture, numbered: bool
) -> None:
    """Row 8."""
    steps = [*WHOLE[:4], *WHOLE[5:]]
    events, end, _ = await ask(redis_url, steps if numbered else without(steps, "sequence_number"))
    replaced = next(number for number, event in enumerate(events) if isinstance(event, TextReplaced))
    assert text_of(events[:replaced]) == "give it."
    assert text_of(events[replaced:]) == end.answer == "Do not give it."
    assert end.outcome.kind == "completed"
    assert ("skipped 1 sequence numbers" in caplog.text) == numbered


async def test_a_word_that_no_finished_text_brings_back_leaves_the_answer_incomplete(redis_url: str) -> None:
    """Row 8."""
    numbered = renumbered(*WHOLE[:6], terminal("completed"))
    _, end, _ = await ask(redis_url, [*numbered[:4], *numbered[5:]])
    assert (end.outcome.kind, end.outcome.reason, end.answer) == ("incomplete", "protocol_violation", "give it.")


async def test_an_event_delivered_twice_counts_once(redis_url: str) -> None:
    """Row 8."""
    events, end, _ = await ask(redis_url, [step for step in WHOLE for _ in range(2)])
    assert end.answer == text_of(events) == "Do not give it."
    assert end.outcome.kind == "completed"


async def test_events_out_of_order_are_put_right_by_the_finished_text(redis_url: str) -> None:
    """Row 8."""
    _, end, _ = await ask(redis_url, [*WHOLE[:4], WHOLE[5], WHOLE[4], *WHOLE[6:]])
    assert (end.outcome.kind, end.answer) == ("completed", "Do not give it.")


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("size", [None, 1, 3])
async def test_line_ends_and_slices_do_not_matter(redis_url: str, newline: str, size: int | None) -> None:
    """Row 9; every slicing is tried in tests/properties."""
    steps = text_reply("a\u2028b", "\u2029c\x0b\x0c\x1c\x85d", "é€😀")
    shaped = [Event(body(step), newline=newline) for step in steps]
    events, end, _ = await ask(redis_url, Turn(shaped, slice_bytes=size))
    assert end.answer == text_of(events) == "a\u2028b\u2029c\x0b\x0c\x1c\x85dé€😀"
    assert end.outcome.kind == "completed"


async def test_an_endless_line_is_given_up(redis_url: str) -> None:
    """Row 10."""
    block = Raw(b"x" * (1024 * 1024))
    endless = [*BEGUN, Raw(b"data: "), *[block] * (MAX_EVENT_BYTES // (1024 * 1024) + 8), FOREVER]
    async with asyncio.timeout(60):
        _, end, _ = await ask(redis_url, endless)
    assert (end.outcome.kind, end.outcome.reason) == ("incomplete", "protocol_violation")


def test_endless_data_lines_are_given_up() -> None:
    """Row 10."""
    decoder = SSEDecoder(max_event_bytes=1000)
    with pytest.raises(ProtocolViolation, match="more than 1000 bytes"):
        list(decoder.feed(b"data\n" * 2000))


@pytest.mark.parametrize("comments", [False, True])
async def test_a_stream_that_goes_silent_has_stalled_whether_or_not_it_pings(redis_url: str, comments: bool) -> None:
    """Row 11."""
    silence: list[Step] = [Wait(0.05), Raw(b": ping\n\n")] * 100 if comments else [FOREVER]
    async with asyncio.timeout(60):
        events, end, server = await ask(redis_url, [*BEGUN, *silence], limits={"idle_timeout": 2.0})
        await asyncio.wait_for(server.requests[0].closed.wait(), 60)
    assert (end.outcome.kind, end.outcome.reason, end.outcome.retryable) == ("incomplete", "stalled", True)
    assert end.answer == text_of(events) == "Do not give it."


async def test_a_stream_that_never_ends_is_ended_by_the_total_deadline(redis_url: str) -> None:
    """Row 11."""
    drip: list[Step] = []
    for _ in range(200):
        drip += [Wait(0.05), Event({"type": "response.output_text.delta", "item_id": "m", "delta": "x"})]
    limits = {"idle_timeout": 60.0, "total_timeout": 3.0}
    async with asyncio.timeout(60):
        _, end, _ = await ask(redis_url, drip, limits=limits)
    assert (end.outcome.kind, end.outcome.reason) == ("incomplete", "stalled")
    assert set(end.answer) == {"x"}


async def test_a_server_that_takes_the_question_and_never_answers_is_unavailable(redis_url: str) -> None:
    """Row 11."""

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(hold, "127.0.0.1", 0) as silent:
        address = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/v1"
        async with (
            asyncio.timeout(60),
            clinic(address, redis_url, limits={"idle_timeout": 0.2}, max_retries=0) as agent,
        ):
            end = ended(await consult(agent))
    assert (end.outcome.kind, end.outcome.retryable) == ("failed", True)
    assert "did not answer in time" in end.outcome.message


async def test_a_slow_reader_is_no_stalled_server() -> None:
    """Row 11 and 20: the rest is sent when the reader has taken longer than both limits for what came before."""
    read, words = asyncio.Event(), ["word "] * 120
    steps = text_reply(*words, "last")
    limits = {"idle_timeout": 2.0, "total_timeout": 2.0}
    async with ScriptedServer([[*steps[:124], WaitFor(read), *steps[124:]]]) as server:
        events: list[object] = []
        running = runner(server, limits=limits).astream(question(include_raw=True))
        async for event in running.stream_events():
            events.append(event)
            if text_of(events) == "".join(words):
                read.set()
            elif len(events) < 2 * len(words) - MAX_EVENTS:
                # All but what the channel holds: the rest is read at once, because meanwhile the server is waited for.
                await asyncio.sleep(0.02)
    assert running.result.outcome.kind == "completed"


@pytest.mark.parametrize(
    "refusals",
    [
        [Status(429, {"Retry-After": "0.05"})],
        [Status(503, {"retry-after-ms": "50"})],
        [Status(500, {"Retry-After": "0"}), Status(502, {"Retry-After": "0"})],
        [Status(429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})],
    ],
)
async def test_a_busy_server_is_asked_again_as_it_wishes_and_the_reader_sees_the_wait(
    redis_url: str, refusals: list[Step]
) -> None:
    """Row 12."""
    events, end, server = await ask(redis_url, *[[step] for step in refusals], WHOLE)
    assert end.outcome.kind == "completed"
    assert len(server.requests) == len(refusals) + 1
    notices = [event for event in events if isinstance(event, Notice)]
    assert [notice.code for notice in notices] == ["waiting_for_provider"] * len(refusals)
    assert "Trying again in 1 s (1 of 2)" in notices[0].message


async def test_without_a_wish_of_the_server_each_wait_is_announced(redis_url: str) -> None:
    """Row 12."""
    events, end, server = await ask(redis_url, [Status(503)], [Status(503)], WHOLE)
    assert end.outcome.kind == "completed"
    assert len(server.requests) == 3
    notices = [event for event in events if isinstance(event, Notice)]
    assert [notice.params["attempt"] for notice in notices] == [1, 2]


async def test_retries_end_and_too_long_a_wait_is_not_waited(redis_url: str) -> None:
    """Row 12."""
    _, end, server = await ask(redis_url, *[[Status(503, {"Retry-After": "0"})]] * 5)
    assert (end.outcome.kind, end.outcome.retryable, len(server.requests)) == ("failed", True, 3)
    _, end, server = await ask(redis_url, [Status(429, {"Retry-After": "3600"})])
    assert (end.outcome.kind, len(server.requests)) == ("failed", 1)
    assert "60 minutes" in end.outcome.message


@pytest.mark.parametrize("announced", range(5))
@pytest.mark.parametrize("breaking", [[Disconnect()], []], ids=["a cut connection", "a clean end"])
async def test_a_connection_that_breaks_before_the_first_word_is_opened_again(
    redis_url: str, announced: int, breaking: list[Step]
) -> None:
    """Row 1 and 12: nothing was said yet, so nothing is said twice."""
    events, end, server = await ask(redis_url, [*WHOLE[:announced], *breaking], text_reply("Do not ", "give it."))
    assert (end.outcome.kind, end.answer, text_of(events)) == ("completed", "Do not give it.", "Do not give it.")
    assert [request.method for request in server.requests] == ["POST", "POST"]
    (notice,) = (event for event in events if isinstance(event, Notice))
    assert "broke off. Trying again" in notice.message


async def test_a_gap_in_an_answer_that_was_asked_for_again_counts_all_the_same(redis_url: str) -> None:
    """Row 8 and 12: its numbers restart, and still count."""
    whole = text_reply("Do ", "not ", "give it.", response_id="resp_2")
    end_only = renumbered(*whole[:7], terminal("completed"))
    _, end, _ = await ask(redis_url, [*WHOLE[:3], Disconnect()], [*end_only[:5], *end_only[6:]])
    assert (end.outcome.kind, end.outcome.reason, end.answer) == ("incomplete", "protocol_violation", "Do give it.")


async def test_nothing_is_sent_again_after_the_first_delta(redis_url: str) -> None:
    """Row 12."""
    _, end, server = await ask(redis_url, [*WHOLE[:5], Disconnect()], WHOLE)
    assert (end.outcome.kind, end.outcome.reason, end.answer) == ("incomplete", "truncated", "Do not ")
    assert len(server.requests) == 1


async def test_a_call_that_was_begun_is_not_asked_for_again(redis_url: str) -> None:
    """Row 12: what the model was about to do might be done twice."""
    begun = calls_reply(("call_1", "search_clinical_guidelines", "{}"))[:3]
    _, end, server = await ask(redis_url, [*begun, Disconnect()], WHOLE)
    assert (end.outcome.kind, end.outcome.reason) == ("incomplete", "truncated")
    assert len(server.requests) == 1


async def test_a_server_that_announces_an_answer_and_falls_silent_is_not_asked_again(redis_url: str) -> None:
    """Row 11: where a server is slow, more requests make it slower."""
    _, end, server = await ask(redis_url, [*WHOLE[:3], FOREVER], WHOLE, limits={"idle_timeout": 2.0})
    assert (end.outcome.kind, end.outcome.reason, end.answer) == ("incomplete", "stalled", "")
    assert len(server.requests) == 1


async def test_a_server_that_is_not_there_is_said_to_be_unreachable(redis_url: str) -> None:
    """Row 12."""
    async with ScriptedServer([]) as server:
        base = server.base_url
    async with clinic(base, redis_url, max_retries=0) as agent:
        end = ended(await consult(agent))
    assert (end.outcome.kind, end.outcome.retryable) == ("failed", True)
    assert "cannot be reached" in end.outcome.message


@pytest.mark.parametrize(
    ("code", "error", "setting"),
    [
        (400, {"code": "invalid_value", "message": CANARY}, "ASCLEPIUS_MODEL"),
        (401, {"message": f"Incorrect API key provided: {KEY}"}, "OPENAI_API_KEY"),
        (403, {"message": CANARY}, "OPENAI_API_KEY"),
        (404, {"message": CANARY}, "ASCLEPIUS_MODEL"),
        (422, {"message": CANARY}, "ASCLEPIUS_MODEL"),
        (429, {"code": "insufficient_quota", "message": CANARY}, "OPENAI_API_KEY"),
    ],
)
async def test_a_refused_request_is_not_repeated_and_says_which_setting_to_mend(
    redis_url: str, code: int, error: dict[str, str], setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 13."""
    caplog.set_level(logging.INFO)
    _, end, server = await ask(redis_url, [Status(code, {"Retry-After": "0"}, {"error": error})])
    assert (end.outcome.kind, end.outcome.retryable, len(server.requests)) == ("failed", False, 1)
    assert setting in end.outcome.message
    shown = end.outcome.message + caplog.text
    assert CANARY not in shown
    assert KEY not in shown


GONE = {"error": {"code": "previous_response_not_found", "param": "previous_response_id", "message": "gone"}}


async def test_a_chain_that_is_gone_is_replayed_from_the_transcript_with_a_notice(redis_url: str) -> None:
    """Row 14."""
    turns: list[ScriptedTurn] = [
        text_reply("First answer.", response_id="resp_1"),
        [Status(400, body=GONE)],
        text_reply("Second answer.", response_id="resp_2"),
        chained(text_reply("Third answer.", response_id="resp_3")),
    ]
    async with ScriptedServer(turns) as server, clinic(server, redis_url) as agent:
        first = await consult(agent, "One?")
        second = await consult(agent, "Two?", conversation_id=conversation(first))
        third = await consult(agent, "Three?", conversation_id=conversation(first))

    assert [ended(events).answer for events in (first, second, third)] == [
        "First answer.",
        "Second answer.",
        "Third answer.",
    ]
    assert [event.code for event in second if isinstance(event, Notice)] == ["transcript_replayed"]
    assert not any(isinstance(event, Notice) for event in third)
    replayed = server.requests[2].json
    assert "previous_response_id" not in replayed
    assert [(i["role"], i["content"][0]["text"]) for i in replayed["input"]] == [
        ("user", "One?"),
        ("assistant", "First answer."),
        ("user", "Two?"),
    ]
    assert server.requests[3].json["previous_response_id"] == "resp_2"


async def test_a_server_that_silently_forgets_is_noticed_and_told_everything_from_then_on(redis_url: str) -> None:
    """Row 14: it answers as if there were no conversation, and does not know its own last response."""
    turns: list[ScriptedTurn] = [
        text_reply("First.", response_id="resp_1"),
        text_reply("WRONG: without the conversation.", response_id="resp_2"),
        [Status(404)],
        text_reply("Second.", response_id="resp_3"),
        text_reply("Third.", response_id="resp_4"),
    ]
    async with ScriptedServer(turns) as server, clinic(server, redis_url) as agent:
        first = await consult(agent, "One?")
        second = await consult(agent, "Two?", conversation_id=conversation(first))
        third = await consult(agent, "Three?", conversation_id=conversation(first))

    assert [ended(events).answer for events in (second, third)] == ["Second.", "Third."]
    assert text_of(second) == "Second."
    assert [event.code for event in second if isinstance(event, Notice)] == ["transcript_always_replayed"]
    assert [event.code for event in third if isinstance(event, Notice)] == [], "said once is enough"
    assert server.requests[2].path.endswith("/responses/resp_1")
    assert len(server.requests[4].json["input"]) == 5
    assert "previous_response_id" not in server.requests[4].json


async def test_a_server_that_chains_without_saying_so_is_asked_once(redis_url: str) -> None:
    """Row 14: other servers keep the conversation and just do not name what they follow."""
    kept = [Status(200, {"Content-Type": "application/json"}, response_body("resp_1", "completed"))]
    turns: list[ScriptedTurn] = [
        text_reply("First.", response_id="resp_1"),
        text_reply("Second.", response_id="resp_2"),
        kept,
        text_reply("Third.", response_id="resp_3"),
    ]
    async with ScriptedServer(turns) as server, clinic(server, redis_url) as agent:
        first = await consult(agent, "One?")
        second = await consult(agent, "Two?", conversation_id=conversation(first))
        third = await consult(agent, "Three?", conversation_id=conversation(first))

    assert [ended(events).answer for events in (second, third)] == ["Second.", "Third."]
    assert not any(isinstance(event, Notice) for event in (*second, *third))
    assert len(server.requests) == 4


BACKGROUND = {"model_kwargs": {"background": True}}


@pytest.mark.parametrize("breaking", [[Disconnect()], [Wait(0.02), Reset()], []])
async def test_a_background_answer_is_picked_up_where_its_connection_broke(
    redis_url: str, breaking: list[Step]
) -> None:
    """Row 1 and 12: what the server keeps is not lost."""
    whole = text_reply("Do ", "not ", "give ", "it.")
    # The server repeats two events that were seen: they count once.
    turns: list[ScriptedTurn] = [[*whole[:5], *breaking], [Status(503, {"Retry-After": "0"})], whole[3:]]
    events, end, server = await ask(redis_url, *turns, **BACKGROUND)
    assert (end.outcome.kind, end.answer) == ("completed", "Do not give it.")
    assert text_of(events) == "Do not give it."
    assert server.requests[0].json["background"] is True
    assert server.requests[1].method == "GET"
    assert server.requests[2].path.endswith("/responses/resp_1?starting_after=4&stream=true")
    codes = [event.code for event in events if isinstance(event, Notice)]
    assert codes == ["answer_resumed", "answer_resumed"]


async def test_a_background_answer_over_whose_connection_nothing_comes_any_more_is_picked_up(redis_url: str) -> None:
    """Row 11: a connection that a firewall has forgotten never breaks, and the server works on behind it."""
    whole = text_reply("Do ", "not ", "give ", "it.")
    turns: list[ScriptedTurn] = [[*whole[:5], FOREVER], whole[5:]]
    events, end, server = await ask(redis_url, *turns, limits={"idle_timeout": 2.0}, **BACKGROUND)
    assert (end.outcome.kind, end.answer, text_of(events)) == ("completed", "Do not give it.", "Do not give it.")
    assert server.requests[1].path.endswith("/responses/resp_1?starting_after=4&stream=true")
    (notice,) = (event for event in events if isinstance(event, Notice))
    assert "stopped sending" in notice.message


async def test_a_background_answer_that_cannot_be_found_again_is_not_asked_for_twice(redis_url: str) -> None:
    """Row 12: without numbers there is no place to go on from, and the first response goes on at the server."""
    begun = without(WHOLE[:2], "sequence_number")
    _, end, server = await ask(redis_url, [*begun, Disconnect()], [Status(200)], **BACKGROUND)
    assert (end.outcome.kind, end.outcome.reason) == ("incomplete", "truncated")
    assert [request.path.rpartition("/")[2] for request in server.requests] == ["responses", "cancel"]


async def test_a_background_answer_that_stays_silent_has_stalled_and_is_cancelled(redis_url: str) -> None:
    """Row 11."""
    silent: list[ScriptedTurn] = [[*BEGUN, FOREVER], [FOREVER], [FOREVER], [Status(200)]]
    _, end, server = await ask(redis_url, *silent, limits={"idle_timeout": 2.0}, **BACKGROUND)
    assert (end.outcome.kind, end.outcome.reason, end.answer) == ("incomplete", "stalled", "Do not give it.")
    assert server.requests[3].path.endswith("/cancel")


async def test_a_background_answer_whose_whole_time_is_up_is_not_picked_up(redis_url: str) -> None:
    """Row 11."""
    limits = {"idle_timeout": 60.0, "total_timeout": 3.0}
    _, end, server = await ask(redis_url, [*BEGUN, FOREVER], [Status(200)], limits=limits, **BACKGROUND)
    assert (end.outcome.reason, end.answer) == ("stalled", "Do not give it.")
    assert [request.path.rpartition("/")[2] for request in server.requests] == ["responses", "cancel"]


async def test_a_background_answer_that_cannot_be_picked_up_is_truncated(redis_url: str) -> None:
    """Row 1."""
    _, end, server = await ask(redis_url, [*BEGUN, Disconnect()], [Status(404)], [Status(200)], **BACKGROUND)
    assert (end.outcome.kind, end.outcome.reason, end.answer) == ("incomplete", "truncated", "Do not give it.")
    assert server.requests[2].path.endswith("/cancel")


async def test_a_background_answer_whose_server_stays_away_keeps_its_words(redis_url: str) -> None:
    """Row 1 and 12."""
    away = [Status(503, {"Retry-After": "0"})]
    events, end, server = await ask(redis_url, [*BEGUN, Disconnect()], away, away, [Status(200)], **BACKGROUND)
    assert (end.outcome.kind, end.outcome.reason, end.answer) == ("incomplete", "truncated", "Do not give it.")
    assert "HTTP 503" in end.outcome.message
    assert len([event for event in events if isinstance(event, Notice)]) == 2
    assert server.requests[3].path.endswith("/cancel")


async def test_words_are_shown_as_they_come_and_not_at_the_end(redis_url: str) -> None:
    """Row 7: nothing holds the first word back while the rest is written."""
    gate = asyncio.Event()
    async with (
        ScriptedServer([[*WHOLE[:5], WaitFor(gate), *WHOLE[5:]]]) as server,
        clinic(server, redis_url) as agent,
    ):
        seen: list[str] = []
        async for event in agent.consult("q"):
            if isinstance(event, TextDelta):
                seen.append(event.text)
                gate.set()
    assert seen[0] == "Do not "
