# pyright: reportPrivateUsage=false
"""The one file that knows the SDK: what goes over the wire, and which of our errors each failure becomes."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from chat_app.errors import (
    PreviousResponseNotFound,
    ProtocolViolation,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
    StreamTruncated,
)
from chat_app.generation.model_client import ResponseRequest
from chat_app.generation.outcomes import exception_outcome
from chat_app.generation.response_api_adapter import ResponseAPIAdapter, _provider_error
from chat_app.generation.response_body import arriving
from chat_app.generation.stream_reader import (
    LONGEST_PAUSE,
    OVERLOAD_PAUSE,
    TICK,
    ReadPace,
    occupied_seconds,
    read_events,
)
from chat_app.response_events import ErrorEvent, ResponseEvent, ResponseTerminalEvent
from tests.support.certificates import server_certificate
from tests.support.engine import KEY, adapter
from tests.support.scripted_server import (
    Disconnect,
    Event,
    Raw,
    ScriptedServer,
    Status,
    Turn,
    WaitFor,
    response_body,
    text_reply,
)

ITEM: dict[str, Any] = {"role": "user", "content": "q"}


async def read(server: ScriptedServer, **fields: Any) -> list[ResponseEvent]:
    client = adapter(server)
    try:
        async with client.stream(ResponseRequest(model="m", input=(ITEM,), **fields)) as events:
            return [event async for batch in events for event in batch]
    finally:
        await client.aclose()


async def failure(status: Status, **fields: Any) -> ProviderError:
    async with ScriptedServer([[status]]) as server:
        with pytest.raises(ProviderError) as caught:
            await read(server, **fields)
    assert len(server.requests) == 1, "retrying is the generator's"
    assert caught.value.__cause__ is None
    return caught.value


async def test_the_request_is_what_was_asked_and_nothing_else() -> None:
    tool = {"type": "function", "name": "f", "parameters": {}, "strict": True, "description": "d"}
    async with ScriptedServer([text_reply("a")]) as server:
        await read(
            server,
            instructions="Be exact.",
            tools=(tool,),
            tool_choice="none",
            parallel_tool_calls=True,
            previous_response_id="resp_0",
            include=("file_search_call.results",),
            safety_identifier="abc",
            extra={"top_k": 5, "model": "other"},
        )
    request = server.requests[0]
    assert request.json == {
        "model": "other",
        "input": [ITEM],
        "instructions": "Be exact.",
        "tools": [tool],
        "tool_choice": "none",
        "parallel_tool_calls": True,
        "previous_response_id": "resp_0",
        "include": ["file_search_call.results"],
        "safety_identifier": "abc",
        "stream": True,
        "top_k": 5,
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_without_tools_nothing_is_said_about_them() -> None:
    request = ResponseRequest(model="m", input=(), tool_choice="none", parallel_tool_calls=True, extra={"a": 1})
    assert request.payload() == {"model": "m", "input": (), "a": 1}


async def test_events_come_typed_and_end_with_the_terminal_one() -> None:
    late = Event({"type": "response.output_text.delta", "item_id": "m", "delta": "after the end"})
    async with ScriptedServer([[*text_reply("a"), Raw(b"data: [DONE]\n\n"), late]]) as server:
        events = await read(server)
    assert [type(event).__name__ for event in events] == [
        "ResponseLifecycleEvent",
        "ResponseLifecycleEvent",
        "OutputItemEvent",
        "ContentPartEvent",
        "OutputTextDelta",
        "OutputTextDone",
        "ContentPartEvent",
        "OutputItemEvent",
        "ResponseTerminalEvent",
    ]


async def test_done_marks_and_streams_without_a_content_type_are_taken() -> None:
    steps = [Raw(b"\xef\xbb\xbfdata: [DONE]\n\n"), Raw(b"data: {\n\n"), *text_reply("a")]
    async with ScriptedServer([Turn(steps[:1] + steps[2:], headers={})]) as server:
        assert len(await read(server)) == 9
    async with ScriptedServer([steps[1:]]) as server:
        with pytest.raises(ProtocolViolation, match="not valid JSON"):
            await read(server)


async def test_a_server_that_keeps_the_connection_open_after_the_end_does_not_hold_the_turn_up() -> None:
    turns = [[*text_reply("a"), WaitFor(asyncio.Event())], [*text_reply("a"), Disconnect()]]
    async with ScriptedServer(turns) as server, asyncio.timeout(60):
        assert len(await read(server)) == 9
        assert len(await read(server)) == 9


async def test_a_connection_cut_in_the_middle_is_truncated() -> None:
    async with ScriptedServer([[*text_reply("a")[:4], Disconnect()]]) as server:
        with pytest.raises(StreamTruncated):
            await read(server)


SECRET = "Mrs Quillfeather"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (Status(400), ProviderRejected),
        (Status(401), ProviderRejected),
        (Status(403), ProviderRejected),
        (Status(404), ProviderRejected),
        (Status(422), ProviderRejected),
        (Status(413), ProviderRejected),
        (Status(408), ProviderUnavailable),
        (Status(409), ProviderUnavailable),
        (Status(500), ProviderUnavailable),
        (Status(503), ProviderUnavailable),
        (Status(429), RateLimited),
        (Status(429, body={"error": {"code": "insufficient_quota"}}), ProviderRejected),
        (Status(400, body={"error": {"code": "context_length_exceeded", "message": SECRET}}), ProviderRejected),
        (Status(400, body={"error": {"code": SECRET, "message": SECRET}}), ProviderRejected),
        (Status(400, body={"detail": SECRET}), ProviderRejected),
        (Status(400, body=SECRET.encode()), ProviderRejected),
        (Status(500, body=b"<html>" + SECRET.encode()), ProviderUnavailable),
    ],
)
async def test_a_refusal_becomes_our_error_and_its_text_stays_out(
    status: Status, kind: type[ProviderError], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    error = await failure(status)
    assert type(error) is kind
    assert SECRET not in str(error) + caplog.text
    assert isinstance(error, ProviderRejected) != exception_outcome(error, any_text=False).retryable


async def test_a_short_code_of_the_server_is_worth_showing() -> None:
    error = await failure(Status(400, body={"error": {"code": "context_length_exceeded"}}))
    assert "(HTTP 400, context_length_exceeded)" in str(error)


@pytest.mark.parametrize(
    ("body", "supported"),
    [
        ({"error": {"code": "previous_response_not_found", "message": "Response 'x' not found."}}, True),
        ({"error": {"param": "previous_response_id", "message": "?"}}, True),
        ({"error": {"message": "llama.cpp does not support 'previous_response_id'."}}, False),
        ({"error": {"message": "Unsupported parameter: previous_response_id"}}, False),
        ({"detail": "previous_response_id is not implemented"}, False),
    ],
)
async def test_a_chain_that_cannot_be_followed_is_told_from_one_that_never_can(body: Any, supported: bool) -> None:
    error = await failure(Status(400, body=body), previous_response_id="resp_0")
    assert isinstance(error, PreviousResponseNotFound)
    assert error.supported is supported
    assert isinstance(await failure(Status(400, body=body)), ProviderRejected), "only where there was a chain"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "Retry-After": "7"}, 0.25),
        ({"retry-after-ms": "soon", "Retry-After": "7"}, 7.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
async def test_the_wait_a_server_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert (await failure(Status(429, headers))).retry_after == seconds


async def test_a_wait_until_a_date_is_counted_from_now() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    wait = (await failure(Status(503, {"Retry-After": until}))).retry_after
    assert wait is not None
    assert 20 < wait <= 30


async def test_an_answer_that_is_no_stream_is_no_responses_server() -> None:
    page = Turn([Raw(b"{}")], headers={"Content-Type": "application/json"})
    async with ScriptedServer([page]) as server:
        with pytest.raises(ProviderUnavailable, match="application/json"):
            await read(server)


def test_an_error_that_only_the_sdk_knows_is_no_answer_that_can_be_read() -> None:
    error = _provider_error(openai.OpenAIError(SECRET), chained=False)
    assert isinstance(error, ProviderUnavailable)
    assert SECRET not in str(error)


async def test_whether_a_server_keeps_a_response_is_yes_no_or_unknown() -> None:
    kept = Status(200, {"Content-Type": "application/json"}, response_body("resp_0", "completed"))
    statuses = [kept, Status(404), Status(405), Status(400), Status(501), Status(500), Status(401)]
    async with ScriptedServer([[status] for status in statuses]) as server:
        client = adapter(server)
        answers = [await client.keeps("resp_0") for _ in statuses]
    assert answers == [True, False, False, False, False, None, None]
    assert await client.keeps("resp_0") is None, "nobody there"
    await client.cancel("resp_0")
    await client.aclose()


async def test_ping_is_content_with_any_server_that_answers() -> None:
    statuses = [Status(200, {"Content-Type": "application/json"}, {"data": []}), Status(404), Status(401)]
    async with ScriptedServer([[status] for status in statuses]) as server:
        client = adapter(server)
        await client.ping()
        await client.ping()
        with pytest.raises(ProviderRejected, match="OPENAI_API_KEY"):
            await client.ping()
    await client.aclose()


@pytest.mark.parametrize("kind", ["text/html", "application/json"])
async def test_a_sign_in_page_is_no_server_and_keeps_no_response(kind: str) -> None:
    page = Status(200, {"Content-Type": kind}, b"<html>Sign in</html>")
    async with ScriptedServer([[page]], repeat=True) as server:
        client = adapter(server)
        with pytest.raises(ProviderUnavailable, match="not a Responses server"):
            await client.ping()
        with pytest.raises(ProviderUnavailable, match="not a Responses server"):
            await read(server)
        assert await client.keeps("resp_0") is None
        await client.aclose()


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("left_out", ["", "object"])
async def test_a_response_that_is_not_streamed_is_the_event_of_its_end(kind: str, left_out: str) -> None:
    """NousResearch/hermes-agent#9684: the server ignores that a stream was asked for."""
    body = {key: value for key, value in response_body("resp_1", "completed").items() if key != left_out}
    async with ScriptedServer([[Status(200, {"Content-Type": kind}, body)]]) as server:
        (event,) = await read(server)
    assert isinstance(event, ResponseTerminalEvent)
    assert (event.type, event.response.id) == ("response.completed", "resp_1")


@pytest.mark.parametrize("body", [{"object": "list", "data": []}, [], "response"])
async def test_other_json_is_no_response(body: Any) -> None:
    async with ScriptedServer([[Status(200, body=body)]]) as server:
        with pytest.raises(ProviderUnavailable, match="not a Responses server"):
            await read(server)


@pytest.mark.parametrize("kind", ["text/plain; charset=utf-8", "application/json", "application/octet-stream"])
@pytest.mark.parametrize("size", [1, None], ids=["byte by byte", "whole"])
async def test_a_stream_is_known_by_its_beginning(kind: str, size: int | None) -> None:
    """Wei-Shaw/sub2api#2826, ding113/claude-code-hub#1458: gateways send streams under another content type."""
    for begun in ([], [Raw(b": wait\n\n")], [Raw(b"\n\n")]):
        turn = Turn([*begun, *text_reply("a")], slice_bytes=size, headers={"Content-Type": kind})
        async with ScriptedServer([turn]) as server:
            assert len(await read(server)) == 9


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_error_as_json_with_status_200_is_an_error(kind: str) -> None:
    """MiXaiLL76/auto_ai_router#149, tingly-dev/tingly-box#1317: the status of the response tells of no error."""
    body = b'{\n  "error": {\n    "message": "no quota",\n    "code": "insufficient_quota"\n  }\n}\n'
    async with ScriptedServer([[Status(200, {"Content-Type": kind}, body)]]) as server:
        (event,) = await read(server)
    assert isinstance(event, ErrorEvent)
    assert event.code == "insufficient_quota"


async def test_a_client_that_was_closed_opens_again() -> None:
    async with ScriptedServer([text_reply("a"), text_reply("b")]) as server:
        client = adapter(server)
        for _ in range(2):
            async with client.stream(ResponseRequest(model="m", input=(ITEM,))) as events:
                assert len([event async for batch in events for event in batch]) == 9
            await client.aclose()
            await client.aclose()


async def test_a_ping_without_data_and_a_missing_last_blank_line_lose_nothing() -> None:
    steps = text_reply("a", "b")
    last = steps[-1]
    assert isinstance(last, Event)
    async with ScriptedServer(
        [[Raw(b"event: ping\ndata:\n\n"), *steps[:-1], Raw(last.encode().rstrip(b"\n"))]]
    ) as server:
        events = await read(server)
    assert len(events) == len(steps)
    assert isinstance(events[-1], ResponseTerminalEvent)


@pytest.mark.parametrize("status", [200, 404, 405, 501])
async def test_a_response_is_deleted_or_was_never_kept(status: int) -> None:
    async with ScriptedServer(
        [[Status(status, body={"id": "resp_1", "object": "response", "deleted": True})]]
    ) as server:
        client = adapter(server)
        await client.delete("resp_1")
        await client.aclose()
    assert [(request.method, request.path) for request in server.requests] == [("DELETE", "/v1/responses/resp_1")]


async def test_a_response_that_cannot_be_deleted_is_an_error() -> None:
    async with ScriptedServer([[Status(401)], [Disconnect()]]) as server:
        client = adapter(server)
        with pytest.raises(ProviderRejected):
            await client.delete("resp_1")
        with pytest.raises(ProviderUnavailable):
            await client.delete("resp_1")
        await client.aclose()


async def test_compressed_streams_are_read_through_the_environments_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    body = gzip.compress(b"".join(step.encode() for step in text_reply("a", "b") if isinstance(step, Event)))
    turn = Turn([Raw(body)], headers={"Content-Type": "text/event-stream", "Content-Encoding": "gzip"})
    async with ScriptedServer([turn, [*text_reply("a")[:4], Disconnect()], [Status(503)]]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        client = ResponseAPIAdapter(api_key=KEY, base_url="http://model.invalid/v1")
        proxy.closing.append(client.aclose)
        request = ResponseRequest(model="m", input=(ITEM,))
        async with client.stream(request) as events:
            assert len([event async for batch in events for event in batch]) == 10
        with pytest.raises(StreamTruncated):
            async with client.stream(request) as events:
                assert len([event async for batch in events for event in batch]) == 4
        with pytest.raises(ProviderUnavailable):
            async with client.stream(request):
                pass
    assert {request.path for request in proxy.requests} == {"http://model.invalid/v1/responses"}


async def test_a_stream_is_read_over_tls_and_a_tunnel_when_the_certificate_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tunnelled: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tunnelled.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        far_reader, far_writer = await asyncio.open_connection(
            "127.0.0.1", int(server.base_url.split(":")[2].partition("/")[0])
        )
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))

    tls, authority = server_certificate("model.test", tmp_path)
    async with (
        ScriptedServer([text_reply("a")], tls=tls) as server,
        await asyncio.start_server(tunnel, "127.0.0.1", 0) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        for trusted in (False, True):
            if trusted:
                monkeypatch.setenv("SSL_CERT_FILE", str(authority))
            client = ResponseAPIAdapter(api_key=KEY, base_url="https://model.test/v1")
            server.closing.append(client.aclose)
            with nullcontext() if trusted else pytest.raises(ProviderUnavailable):
                async with client.stream(ResponseRequest(model="m", input=(ITEM,))) as events:
                    assert len([event async for batch in events for event in batch]) == len(text_reply("a"))
            assert len(server.requests) == trusted
            assert tunnelled == [b"CONNECT model.test:443 HTTP/1.1"] * (1 + trusted)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
    writer.close()


def pauses(*loads: float, seconds: float = 0.125) -> list[float]:
    """Return the pause after each time in which the thread computed for that share; between ticks none is shorter."""
    at = itertools.count(0.0, seconds)
    busy = itertools.accumulate((load * seconds for load in loads), initial=0.0)
    pace = ReadPace(at.__next__, busy.__next__)
    return [pace.pause() for _ in loads]


def test_reads_pause_by_how_busy_the_thread_is() -> None:
    assert pauses(0.05, 0.05, 0.1) == [0, 0, 0]
    assert pauses(*[0.2] * 9)[-1] == pytest.approx(LONGEST_PAUSE / 2, abs=TICK + 0.001)
    assert pauses(*[0.8] * 9)[-1] == pytest.approx(LONGEST_PAUSE, abs=TICK + 0.001)
    assert pauses(*[1.0] * 20)[-1] == pytest.approx(OVERLOAD_PAUSE, abs=TICK + 0.001)
    assert pauses(*[1.0] * 20, 0.0, seconds=1.0)[-1] == 0, "at once, after a time without streams"
    ends = [number / 8 + pause for number, pause in enumerate(pauses(*[0.2, 0.3, 0.6, 1.0] * 3), 1) if pause]
    assert [round(end / TICK) * TICK for end in ends] == pytest.approx(ends), "together with those of other streams"


@pytest.mark.parametrize("streams", [60, 200, 400, 700])
def test_pauses_settle_where_the_process_can_do_its_work(streams: int) -> None:
    now, computed, found = 0.0, 0.0, [0.02]
    pace = ReadPace(lambda: now, lambda: computed)
    for _ in range(100):
        # A pass takes 300 µs, and each stream has one for each pause, or one for each delta.
        computed += 0.125 * min(1.0, streams * 0.0003 / max(0.02, found[-1]))
        now += 0.125
        found.append(pace.pause())
    assert max(found[-30:]) - min(found[-30:]) < 2 * TICK
    assert streams * 0.0003 / (found[-1] + TICK / 2) < 0.9


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long a thread waited for a processor")
def test_reads_pause_longest_when_other_programs_take_the_processor() -> None:
    def longest() -> float:
        core = min(os.sched_getaffinity(0))
        # Of this thread alone, and inherited by the programs.
        os.sched_setaffinity(0, {core})
        with ExitStack() as stack:
            for _ in range(5):
                spin = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
                program = stack.enter_context(subprocess.Popen(spin, stdout=subprocess.PIPE))
                stack.callback(program.kill)
                assert program.stdout is not None and program.stdout.readline()
            pace, since = ReadPace(), time.thread_time()
            found = 0.0
            while time.thread_time() - since < 1 and found <= LONGEST_PAUSE:
                found = pace.pause()
            return found

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(longest).result() > LONGEST_PAUSE


def test_where_the_system_does_not_tell_waiting_only_computing_counts(tmp_path: Path) -> None:
    waits = tmp_path / "schedstat"
    computed = time.thread_time()
    assert computed <= occupied_seconds(waits) <= time.thread_time()
    waits.write_text("1 90000000000 2\n")
    assert occupied_seconds(waits) >= computed + 90


async def test_a_busy_process_handles_the_deltas_of_a_pause_together() -> None:
    gate, seconds = asyncio.Event(), itertools.count()

    def computed() -> float:
        if (count := next(seconds)) > 0:
            gate.set()
        return count

    steps = text_reply(*"abcd")
    async with ScriptedServer([[*steps[:5], WaitFor(gate), *steps[5:]]]) as server:
        client = adapter(server)
        client._pace = ReadPace(itertools.count().__next__, computed)
        async with client.stream(ResponseRequest(model="m", input=(ITEM,))) as events:
            sizes = [len(batch) async for batch in events]
    assert sum(sizes) == len(steps)
    assert len(sizes) < len(steps) - 5, "one batch for what came meanwhile"


async def test_a_body_that_is_not_aiohttps_is_read_by_its_own_iterator() -> None:
    chunks, transport = arriving(httpx2.Response(200, content=b"text"))
    assert ([chunk async for chunk in chunks], transport) == ([b"text"], None)


async def test_the_readers_own_time_counts_against_neither_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, passed = asyncio.get_running_loop(), 0.0
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + passed)
    steps = [step.encode() for step in text_reply("a") if isinstance(step, Event)]

    async def chunks() -> AsyncIterator[bytes]:
        for step in steps[:2]:
            yield step
        # A limit that has passed ends the stream at the next turn of the event loop.
        for _ in range(3):
            await asyncio.sleep(0)
        yield b"".join(steps[2:])

    sizes: list[int] = []
    async for batch in read_events(chunks(), idle=60, until=loop.time() + 60, pace=ReadPace()):
        sizes.append(len(batch))
        if len(sizes) == 2:
            passed += 100.0
    assert sizes == [1, 1, len(steps) - 2]


async def test_a_body_is_read_to_its_end_so_that_its_connection_can_be_reused() -> None:
    ended: list[bool] = []

    async def chunks() -> AsyncIterator[bytes]:
        yield b"".join(step.encode() for step in text_reply("a") if isinstance(step, Event))
        yield b"data: [DONE]\n\n"
        ended.append(True)

    until = asyncio.get_running_loop().time() + 60
    batches = [batch async for batch in read_events(chunks(), idle=60, until=until, pace=ReadPace())]
    assert len(batches) == 1
    assert ended
