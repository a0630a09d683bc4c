"""However a stream is cut, ordered or damaged: the same words, the same calls, and errors of our own tree only."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chat_app.agent.event_channel import MAX_CHARS, EventChannel
from chat_app.agent.run_state import RunState
from chat_app.agent.run_types import RunRequest
from chat_app.errors import AsclepiusError
from chat_app.events import LLMResponseItem, RunItemStreamEvent, TextDelta
from chat_app.generation.response_fold import ResponseFold
from chat_app.generation.sse import SSEDecoder
from chat_app.generation.stream_reader import ReadPace, read_events
from chat_app.generation.updates import ReasoningUpdate, TextReplacement, TextUpdate, ToolCallReady
from chat_app.response_events import parse_event
from tests.support.scripted_server import Json, response_body

thorough = settings(max_examples=300, deadline=None)
varied = settings(max_examples=100, deadline=None)
"""For tests that try each example in several ways: drawing one takes longer than trying it."""
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
"""Any text that UTF-8 can carry, line separators and white space included."""
NEWLINES = ("\n", "\r", "\r\n")


chances = st.integers(0, 2**32).map(random.Random)
"""A seed is one draw; drawing each choice takes most of a test's time."""


# --- streams -----------------------------------------------------------------------------------------------------


def message_events(item_id: str, pieces: Sequence[str]) -> list[Json]:
    where = {"item_id": item_id, "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    item = {"type": "message", "id": item_id, "role": "assistant", "content": [part]}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **where, "delta": piece} for piece in pieces),
        {"type": "response.output_text.done", **where, "text": part["text"]},
        {"type": "response.content_part.done", **where, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]


def call_events(call_id: str, pieces: Sequence[str]) -> list[Json]:
    arguments = "".join(pieces)
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "find", "arguments": arguments}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
        *(
            {"type": "response.function_call_arguments.delta", "item_id": f"fc_{call_id}", "delta": piece}
            for piece in pieces
        ),
        {"type": "response.function_call_arguments.done", "item_id": f"fc_{call_id}", "arguments": arguments},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]


def reasoning_events(item_id: str, pieces: Sequence[str]) -> list[Json]:
    item = {"type": "reasoning", "id": item_id, "summary": [{"type": "summary_text", "text": "".join(pieces)}]}
    return [
        *({"type": "response.reasoning_summary_text.delta", "item_id": item_id, "delta": piece} for piece in pieces),
        {"type": "response.output_item.done", "item": item},
    ]


def enclosed(bodies: Sequence[Json]) -> list[Json]:
    framed = [
        {"type": "response.created", "response": response_body("resp_1", "in_progress")},
        *bodies,
        {"type": "response.completed", "response": response_body("resp_1", "completed")},
    ]
    return [{**body, "sequence_number": number} for number, body in enumerate(framed)]


pieces = st.lists(words, max_size=6)
kinds = st.sampled_from([message_events, call_events, reasoning_events])
items = st.lists(st.tuples(kinds, pieces), min_size=1, max_size=5).map(
    # Each text begins with its number: a message whose text is that of another one is shown once.
    lambda chosen: [(make, [f"{number} ", *said]) for number, (make, said) in enumerate(chosen)]
)


def item_streams(chosen: Sequence[tuple[Any, Sequence[str]]]) -> list[list[Json]]:
    return [make(f"item_{number}", said) for number, (make, said) in enumerate(chosen)]


def folded(bodies: Sequence[Json]) -> ResponseFold:
    fold = ResponseFold()
    for body in bodies:
        fold.apply(parse_event(body))
    return fold


def texts_of(fold: ResponseFold) -> list[str]:
    """Return the text of each message, without the white space around it."""
    return [text for message in fold._messages if (text := message.text.strip())]


def frame(body: Json, newline: str, *, comment: bool, named: bool, spread: bool) -> bytes:
    lines = [": keep-alive"] if comment else []
    if named:
        lines.append(f"event: {body['type']}")
    text = json.dumps(body, ensure_ascii=False, indent=1 if spread else None)
    lines += [f"data: {line}" for line in text.split("\n")]
    return (newline.join(lines) + newline * 2).encode()


def cut(data: bytes, chance: random.Random, most: int) -> list[bytes]:
    places = sorted({0, len(data), *(chance.randint(0, len(data)) for _ in range(chance.randint(0, most)))})
    return [data[start:end] for start, end in itertools.pairwise(places)]


# --- slicing -----------------------------------------------------------------------------------------------------


@varied
@given(st.lists(st.binary(max_size=40), max_size=12), chances)
def test_the_decoder_gives_the_same_data_however_bytes_are_cut(blocks: list[bytes], chance: random.Random) -> None:
    """Row 9: for any bytes at all."""
    data = b"\n\n".join(blocks) + b"\r\n\r\n"
    expected = list(SSEDecoder().feed(data))
    for most in (1, 5, 40, len(data)):
        sliced = SSEDecoder()
        assert [found for piece in cut(data, chance, most) for found in sliced.feed(piece)] == expected
    single = SSEDecoder()
    assert [found for byte in data for found in single.feed(bytes([byte]))] == expected


@varied
@given(items, chances, st.booleans(), st.booleans())
async def test_any_slicing_of_a_stream_gives_the_same_events_and_the_same_text(
    chosen: list[tuple[Any, list[str]]], chance: random.Random, comment: bool, named: bool
) -> None:
    """Row 9."""
    bodies = enclosed([body for stream in item_streams(chosen) for body in stream])
    expected = [parse_event(body) for body in bodies]

    async def chunks(data: bytes) -> AsyncIterator[bytes]:
        for piece in cut(data, chance, 60):
            yield piece

    for newline, spread in itertools.product(NEWLINES, (False, True)):
        data = b"".join(frame(body, newline, comment=comment, named=named, spread=spread) for body in bodies)
        until = asyncio.get_running_loop().time() + 60
        read = read_events(chunks(data), idle=60, until=until, pace=PACE)
        assert [event async for batch in read for event in batch] == expected
    fold = ResponseFold()
    for event in expected:
        fold.apply(event)
    assert fold.text == "".join("".join(said) for make, said in chosen if make is message_events)
    assert fold.outcome.kind == "completed"


PACE = ReadPace(busy=lambda: 0.0)
"""That of an idle process."""


# --- order -------------------------------------------------------------------------------------------------------


def interleaved(streams: Sequence[Sequence[Json]], chance: random.Random) -> list[Json]:
    """Any order in which each stream keeps its own."""
    turns = [number for number, stream in enumerate(streams) for _ in stream]
    chance.shuffle(turns)
    sources = [iter(stream) for stream in streams]
    return [next(sources[turn]) for turn in turns]


@varied
@given(items, chances, st.booleans())
def test_any_legal_order_of_items_gives_the_same_calls_texts_and_outcome(
    chosen: list[tuple[Any, list[str]]], chance: random.Random, numbered: bool
) -> None:
    streams = item_streams(chosen)
    straight = folded(enclosed([body for stream in streams for body in stream]))
    for _ in range(3):
        mixed = enclosed(interleaved(streams, chance))
        if not numbered:
            mixed = [{k: v for k, v in body.items() if k != "sequence_number"} for body in mixed]
        fold = ResponseFold()
        said: dict[str, str] = {}
        ready: list[str] = []
        thought = ""
        for body in mixed:
            for update in fold.apply(parse_event(body)):
                if isinstance(update, TextUpdate):
                    said[update.item_id] = said.get(update.item_id, "") + update.text
                elif isinstance(update, TextReplacement):
                    said[update.item_id] = update.text
                elif isinstance(update, ToolCallReady):
                    ready.append(update.item.call_id)
                elif isinstance(update, ReasoningUpdate):
                    thought += update.text
        expected = {f"item_{n}": "".join(p) for n, (make, p) in enumerate(chosen) if make is message_events}
        assert said == {item_id: text for item_id, text in expected.items() if text}
        assert sorted(ready) == sorted(call.call_id for call in straight.calls)
        assert {c.call_id: c.arguments for c in fold.calls} == {c.call_id: c.arguments for c in straight.calls}
        assert fold.outcome == straight.outcome
        assert thought == fold.thinking


@varied
@given(items, st.booleans())
def test_a_stream_that_lost_an_event_is_never_complete_with_other_words(
    chosen: list[tuple[Any, list[str]]], numbered: bool
) -> None:
    """Row 8: with or without numbers, what is called complete is complete, up to the white space around a message."""
    bodies = enclosed([body for stream in item_streams(chosen) for body in stream])
    texts = texts_of(folded(bodies))
    if not numbered:
        bodies = [{k: v for k, v in body.items() if k != "sequence_number"} for body in bodies]
    for lost in range(1, len(bodies) - 1):
        fold = folded([*bodies[:lost], *bodies[lost + 1 :]])
        assert fold.outcome.kind == "completed"
        assert texts_of(fold) == texts


# --- ids ---------------------------------------------------------------------------------------------------------


def with_ids(body: Json, item_id: str | None) -> Json:
    """Return the event with another item id, or none."""
    if "item" in body:
        item = {key: value for key, value in body["item"].items() if key != "id"}
        return {**body, "item": item if item_id is None else {**item, "id": item_id}}
    kept = {key: value for key, value in body.items() if key != "item_id"}
    return kept if item_id is None else {**kept, "item_id": item_id}


def shown_answer(bodies: Sequence[Json]) -> tuple[str, list[str]]:
    """Return the answer and the calls of a run, as they are passed on."""
    fold, state = ResponseFold(), RunState(RunRequest(items=()))
    answer, calls = "", []
    for body in bodies:
        for update in fold.apply(parse_event(body)):
            if isinstance(update, TextUpdate):
                answer += state.add_text(update.item_id, update.text)
            elif isinstance(update, ToolCallReady):
                calls.append(update.item.arguments)
            elif isinstance(update, TextReplacement):
                answer = "".join(
                    e.text for e in state.replace_text(update.item_id, update.text) if e.type == "text_delta"
                )
    assert answer == state.answer
    assert fold.outcome.kind == "completed"
    return answer, calls


@varied
@given(items, chances, st.booleans())
def test_other_missing_and_repeated_ids_change_no_word_and_no_call(
    chosen: list[tuple[Any, list[str]]], chance: random.Random, indexed: bool
) -> None:
    """Row 54: in a stream whose items have their own output index."""
    names = [f"item_{number}" for number in range(len(chosen))]
    streams = item_streams(chosen)
    valid = [{**body, "output_index": n} for n, stream in enumerate(streams) for body in stream]
    expected = shown_answer(enclosed(valid))
    # Without an index, the id of another message says that an event belongs to it.
    wrong = ["keep", "drop", "unknown", *(names if indexed else ())]
    for _ in range(3):
        changed: list[Json] = []
        for number, body in enumerate(valid):
            choice = chance.choice(wrong)
            new = (
                body
                if choice == "keep"
                else with_ids(body, {"drop": None, "unknown": f"id_{number}"}.get(choice, choice))
            )
            changed.append(new if indexed else {key: value for key, value in new.items() if key != "output_index"})
        assert shown_answer(enclosed(changed)) == expected


# --- garbage -----------------------------------------------------------------------------------------------------

TYPES = [
    "response.created",
    "response.in_progress",
    "response.queued",
    "response.completed",
    "response.failed",
    "response.incomplete",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.output_text.annotation.added",
    "response.refusal.delta",
    "response.refusal.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.file_search_call.in_progress",
    "response.file_search_call.completed",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.done",
    "response.reasoning_summary_part.added",
    "error",
    "response.hologram",
    "",
]
FIELDS = [
    "item_id",
    "output_index",
    "content_index",
    "sequence_number",
    "delta",
    "text",
    "item",
    "part",
    "annotation",
    "response",
    "arguments",
    "refusal",
    "id",
    "type",
    "content",
    "annotations",
    "call_id",
    "name",
    "output",
    "usage",
    "error",
    "incomplete_details",
    "results",
    "summary",
    "code",
    "message",
]
ITEM_TYPES = ["message", "function_call", "file_search_call", "reasoning", "output_text", "refusal", "file_citation"]
SCALARS = [None, True, False, -1, 0, 1, 2**70, 0.5, math.inf, math.nan, "words", "\u2028", *TYPES, *ITEM_TYPES]


def anything(chance: random.Random, depth: int = 3) -> Any:
    kind = chance.random()
    if depth == 0 or kind < 0.5:
        return chance.choice(SCALARS)
    if kind < 0.7:
        return [anything(chance, depth - 1) for _ in range(chance.randrange(4))]
    return fields(chance, 5, depth - 1)


def fields(chance: random.Random, most: int, depth: int = 3) -> Json:
    return {chance.choice(FIELDS): anything(chance, depth) for _ in range(chance.randrange(most + 1))}


def shaped(chance: random.Random) -> Json:
    return {**fields(chance, 8), "type": chance.choice(TYPES)}


@varied
@given(chances)
def test_no_event_raises_anything_but_our_own_errors(chance: random.Random) -> None:
    """Row 4: in twenty streams of up to eight events."""
    for _ in range(20):
        fold = ResponseFold()
        for _ in range(chance.randrange(9)):
            body = chance.choice((anything, shaped))(chance)
            try:
                fold.apply(parse_event(body))
            except AsclepiusError:
                continue
        assert isinstance(fold.text, str)


@thorough
@given(
    st.binary(max_size=400)
    | chances.map(
        lambda chance: b"".join(
            b"data: " + json.dumps(shaped(chance)).encode() + b"\n\n" for _ in range(chance.randrange(5))
        )
    )
)
async def test_no_bytes_raise_anything_but_our_own_errors(data: bytes) -> None:
    """Rows 2 and 4."""

    async def chunks() -> AsyncIterator[bytes]:
        yield data
        yield b"\n\n"

    fold = ResponseFold()
    try:
        async for batch in read_events(chunks(), idle=60, until=asyncio.get_running_loop().time() + 60, pace=PACE):
            for event in batch:
                fold.apply(event)
    except AsclepiusError:
        pass
    assert fold.outcome.kind in {"completed", "incomplete", "failed", "refused"}


@varied
@given(items, chances)
def test_a_damaged_field_gives_an_error_or_an_answer_but_no_crash(
    chosen: list[tuple[Any, list[str]]], chance: random.Random
) -> None:
    bodies = enclosed([body for stream in item_streams(chosen) for body in stream])
    for _ in range(10):
        victim = chance.randrange(len(bodies))
        body = {**bodies[victim], chance.choice(sorted(bodies[victim])): anything(chance)}
        with suppress(AsclepiusError):
            folded([*bodies[:victim], body, *bodies[victim + 1 :]])


# --- delivery ----------------------------------------------------------------------------------------------------


@thorough
@given(
    st.lists(st.lists(st.text(max_size=3_000) | st.none(), max_size=30), min_size=1, max_size=3),
    chances,
)
async def test_a_slow_reader_gets_everything_in_order(producers: list[list[str | None]], chance: random.Random) -> None:
    """Row 20: ``None`` stands for an event that is no text, and may not be overtaken by text."""
    channel: EventChannel[TextDelta | RunItemStreamEvent] = EventChannel(max_events=8)
    marks = itertools.count()
    sent: list[str | int] = []

    async def produce(said: list[str | None]) -> None:
        for text in said:
            if text is None:
                mark = next(marks)
                item = LLMResponseItem(step=mark, response_id=None, text="")
                await channel.put(RunItemStreamEvent(name="agent.llm_response", item=item))
                sent.append(mark)
            else:
                await channel.put(TextDelta(text=text))
                sent.append(text)
            if chance.random() < 0.3:
                await asyncio.sleep(0)

    async def produce_all() -> None:
        await asyncio.gather(*(produce(said) for said in producers))
        channel.end()

    producing = asyncio.create_task(produce_all())
    got: list[str | int] = []
    async for event in read_slowly(channel, chance):
        if isinstance(event, TextDelta):
            assert len(event.text) <= MAX_CHARS
            got.append(event.text)
        else:
            assert isinstance(event.item, LLMResponseItem)
            got.append(event.item.step)
    await producing
    assert joined(got) == joined(sent)


async def read_slowly(
    channel: EventChannel[TextDelta | RunItemStreamEvent], chance: random.Random
) -> AsyncIterator[TextDelta | RunItemStreamEvent]:
    async for event in channel:
        yield event
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)


def joined(parts: Sequence[str | int]) -> list[str | int]:
    """Neighbouring text as one."""
    found: list[str | int] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return found
