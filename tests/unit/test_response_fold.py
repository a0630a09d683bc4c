# pyright: reportPrivateUsage=false
"""One response's events become text, calls, citations and one outcome, each once."""

from __future__ import annotations

from typing import Any

import pytest

from chat_app.agent.run_state import RunState
from chat_app.agent.run_types import RunRequest
from chat_app.errors import ProtocolViolation
from chat_app.events import RawResponsesStreamEvent, TextDelta, agent_event_adapter, event_json
from chat_app.generation.response_fold import ResponseFold
from chat_app.generation.text_buffer import TextBuffer
from chat_app.generation.updates import (
    CitationUpdate,
    FileSearchDone,
    FileSearchStarted,
    ReasoningUpdate,
    TextReplacement,
    TextUpdate,
    ToolCallReady,
    Update,
)
from chat_app.response_events import OutputTextDelta, ResponseTerminalEvent, UnknownEvent, parse_event
from chat_app.response_objects import FileCitation, MessageItem, OutputText, Usage
from tests.support.engine import body
from tests.support.scripted_server import Json, calls_reply, response_body, text_reply


def feed(*bodies: Json) -> tuple[list[Update], ResponseFold]:
    """Fold one event after the other; folded together they must give the same."""
    fold, together = ResponseFold(), ResponseFold()
    updates = [update for event in bodies for update in fold.apply(parse_event(event))]
    at_once = together.apply_all([parse_event(event) for event in bodies])
    assert (together.text, together.outcome, together.calls) == (fold.text, fold.outcome, fold.calls)
    assert [u for u in at_once if not isinstance(u, TextUpdate)] == [
        u for u in updates if not isinstance(u, TextUpdate)
    ]
    return updates, fold


def delta(text: str, item_id: str = "m", **fields: Any) -> Json:
    return {"type": "response.output_text.delta", "item_id": item_id, "delta": text, **fields}


def done(text: str, item_id: str = "m") -> Json:
    return {"type": "response.output_text.done", "item_id": item_id, "text": text}


def completed(*output: Json) -> Json:
    return {"type": "response.completed", "response": response_body("r", "completed", output)}


def message(text: str, *annotations: Json, item_id: str = "m") -> Json:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "id": item_id, "content": [part]}


def item_done(item: Json) -> Json:
    return {"type": "response.output_item.done", "item": item}


def texts(updates: list[Update]) -> list[tuple[str, str]]:
    return [(update.item_id, update.text) for update in updates if isinstance(update, TextUpdate)]


def citation(index: int, file_id: str = "f") -> Json:
    return {"type": "file_citation", "file_id": file_id, "filename": "a.pdf", "index": index}


def test_a_whole_answer_is_folded_once() -> None:
    updates, fold = feed(*(body(step) for step in text_reply("Take ", "it.")))
    assert texts(updates) == [("msg_resp_1", "Take "), ("msg_resp_1", "it.")]
    assert (fold.text, fold.response_id, fold.is_complete, fold.ended) == ("Take it.", "resp_1", True, True)
    assert fold.usage is not None
    assert fold.usage.total_tokens == 15


def test_the_deltas_of_one_read_are_few_updates_however_many_they_are() -> None:
    fold = ResponseFold()
    events = [parse_event(delta("a" * 8, sequence_number=number)) for number in range(100)]
    updates = fold.apply_all([*events[:50], events[49], *events[50:], parse_event(delta("b", "n"))])
    assert texts(updates) == [("m", "a" * 512), ("m", "a" * 288), ("n", "b")]
    assert fold.text == "a" * 800 + "b"


def test_nothing_counts_after_the_end() -> None:
    updates, fold = feed(delta("a"), completed(), delta("b"))
    assert texts(updates) == [("m", "a")]
    assert fold.text == "a"


def test_the_end_of_a_text_that_came_only_with_its_finished_form_is_added() -> None:
    updates, _ = feed(delta("Do not "), done("Do not give it."), item_done(message("Do not give it.")))
    assert texts(updates) == [("m", "Do not "), ("m", "give it.")]


def test_a_finished_text_that_contradicts_what_was_streamed_replaces_it() -> None:
    updates, fold = feed(delta("Do give"), done("Do not give it."), completed())
    assert updates[1:] == [TextReplacement("m", "Do not give it.")]
    assert (fold.text, fold.outcome.kind) == ("Do not give it.", "completed")


def test_a_message_sent_again_under_its_id_is_shown_once() -> None:
    again = [delta("One", "m"), delta(" two", "m"), done("One two", "m")]
    updates, fold = feed(*again, *again, *again)
    assert fold.text == "One two"
    assert len(texts(updates)) == 2


def test_another_message_under_the_same_id_is_shown_whole() -> None:
    _, fold = feed(delta("One"), done("One"), delta("On"), delta("ly two"), done("Only two"), completed())
    assert fold.text == "OneOnly two"


def test_a_message_that_is_announced_again_after_its_end_is_another_one() -> None:
    announced = {"type": "response.output_item.added", "item": message("")}
    end = {"type": "response.output_item.done", "item": message("One")}
    updates, fold = feed(announced, announced, delta("One"), done("One"), end, announced, delta("On"), delta("to"))
    assert texts(updates) == [("m", "One"), ("m#2", "Onto")]
    assert fold.text == "OneOnto"


def test_a_message_that_goes_on_after_its_end_is_one_message() -> None:
    updates, fold = feed(delta("One"), done("One"), delta(" two"), delta(" three"), done("One two three"), completed())
    assert texts(updates) == [("m", "One"), ("m", " two"), ("m", " three")]
    assert fold.text == "One two three"


def test_a_shorter_message_that_begins_like_the_last_one_is_shown_whole() -> None:
    updates, fold = feed(delta("One two"), done("One two"), delta("One"), done("One three"))
    assert fold.text == "One twoOne three"
    assert texts(updates)[-1] == ("m#2", "One three")


def test_a_finished_text_of_the_last_piece_alone_loses_nothing() -> None:
    _, fold = feed(delta("Give "), delta("metformin"), delta(" 500 mg."), done("500 mg."))
    assert fold.text == "Give metformin 500 mg."
    _, fold = feed(delta("Give"), delta("Give it"), done("Give it"))
    assert fold.text == "Give it", "the pieces were copies that grew"
    _, fold = feed(delta("Never give it."), done("give it."))
    assert fold.text == "Never give it."
    _, fold = feed(delta("Do not give this to him."), done("give this to him."))
    assert fold.text == "give this to him.", "the server has replaced it"


def test_the_ends_of_parts_without_a_place_belong_to_the_parts_with_their_texts() -> None:
    ends = [{"type": "response.output_text.done", "item_id": "m", "text": text} for text in ("One ", "two")]
    _, fold = feed(delta("One ", content_index=0), delta("two", content_index=1), *ends)
    assert fold.text == "One two"


def test_an_end_at_another_place_belongs_to_the_open_message_of_its_id() -> None:
    end = {"type": "response.output_text.done", "item_id": "m", "output_index": 1, "text": "Give [NAME]"}
    _, fold = feed(delta("Give John", output_index=0), end)
    assert fold.text == "Give [NAME]"


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_a_message_of_the_question_is_no_answer(role: str) -> None:
    asked = {"type": "message", "id": "u", "role": role, "content": [{"type": "output_text", "text": "How much?"}]}
    done_item = {"type": "response.output_item.done", "output_index": 0, "item": asked}
    own = {**asked, "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Give it."}]}
    end = {"type": "response.completed", "response": {"status": "completed", "output": [asked, own]}}
    _, fold = feed(done_item, delta("Give it."), end)
    assert fold.text == "Give it."


def test_parts_of_a_message_are_told_apart() -> None:
    _, fold = feed(
        delta("a", content_index=0),
        delta("b", content_index=1),
        {
            "type": "response.content_part.added",
            "item_id": "m",
            "content_index": 0,
            "part": {"type": "output_text", "text": ""},
        },
        {
            "type": "response.content_part.done",
            "item_id": "m",
            "content_index": 1,
            "part": {"type": "output_text", "text": "b!", "annotations": [citation(1)]},
        },
        {"type": "response.content_part.done", "item_id": "m", "content_index": 2, "part": {"type": "hologram"}},
        completed(),
    )
    assert fold.text == "ab!"


def test_a_citation_repeated_in_later_events_counts_once_and_knows_its_statement() -> None:
    text = "First line.\nSecond statement. Third."
    added = {"type": "response.output_text.annotation.added", "item_id": "m", "annotation": citation(29)}
    updates, _ = feed(
        delta(text), added, added, item_done(message(text, citation(29), citation(len(text)))), completed()
    )
    found = [update for update in updates if isinstance(update, CitationUpdate)]
    assert [(update.citation.index, update.statement) for update in found] == [
        (29, "Second statement."),
        (len(text), ""),
    ]


def test_an_annotation_of_another_kind_is_no_citation() -> None:
    other = {"type": "url_citation", "url": "https://example.org"}
    updates, _ = feed({"type": "response.output_text.annotation.added", "item_id": "m", "annotation": other})
    assert updates == []


def test_calls_are_ready_at_their_end_with_the_arguments_however_they_came() -> None:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": ""}
    added = {"type": "response.output_item.added", "item": item}
    piece = {"type": "response.function_call_arguments.delta", "item_id": "fc", "delta": '{"a":'}
    rest = {**piece, "delta": "1}"}
    whole = {"type": "response.function_call_arguments.done", "item_id": "fc", "arguments": '{"a":1}'}
    ways: list[list[Json]] = [[added, piece, rest], [added, whole], [added, piece, rest, whole]]
    for bodies in ways:
        updates, fold = feed(*bodies, item_done(item), item_done(item), completed(item))
        assert [u.item.arguments for u in updates if isinstance(u, ToolCallReady)] == ['{"a":1}']
        assert fold.calls[0].call_id == "c"


@pytest.mark.parametrize(("of_start", "of_end"), [("fc_1", "c_2"), ("fc_0", "fc_0"), ("c_0", "c_0")])
@pytest.mark.parametrize("indexed_ends", [True, False], ids=["index", "no index"])
def test_equal_calls_at_their_own_indexes_are_all_ready_whatever_their_item_ids(
    of_start: str, of_end: str, indexed_ends: bool
) -> None:
    wrong = {1: (of_start, of_end)}
    bodies: list[Json] = []
    calls: list[Json] = [
        {"type": "function_call", "id": f"fc_{n}", "call_id": f"c_{n}", "name": "f", "arguments": "{}"}
        for n in range(3)
    ]
    for n, call in enumerate(calls):
        start, end = wrong.get(n, (call["id"], call["id"]))
        at_end = {"output_index": n} if indexed_ends else {}
        bodies += [
            {"type": "response.output_item.added", "output_index": n, "item": {**call, "id": start}},
            {**item_done({**call, "id": end}), **at_end},
        ]
    updates, _ = feed(*bodies, completed(*calls))
    assert [u.item.call_id for u in updates if isinstance(u, ToolCallReady)] == ["c_0", "c_1", "c_2"]


def test_an_unfinished_call_of_a_failed_response_is_not_run() -> None:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": ""}
    failed = {"type": "response.failed", "response": response_body("r", "failed")}
    updates, fold = feed({"type": "response.output_item.added", "item": item}, failed)
    assert updates == []
    assert fold.outcome.kind == "failed"


def test_a_file_search_begins_and_ends_once() -> None:
    item = {"type": "file_search_call", "id": "fs", "queries": ["q"], "results": [{"file_id": "f", "text": "t"}]}
    progress = {"type": "response.file_search_call.searching", "item_id": "fs"}
    updates, _ = feed(
        {"type": "response.output_item.added", "item": item},
        progress,
        item_done(item),
        item_done(item),
        completed(item),
    )
    assert [type(update) for update in updates] == [FileSearchStarted, FileSearchDone]
    alone, _ = feed(completed(item))
    assert [type(update) for update in alone] == [FileSearchStarted, FileSearchDone]


def test_reasoning_is_kept_apart_from_the_answer() -> None:
    summary = {"type": "reasoning", "id": "rs", "summary": [{"text": "First."}, {"text": "Second."}]}
    updates, fold = feed(item_done(summary), completed(summary))
    assert [update.text for update in updates if isinstance(update, ReasoningUpdate)] == ["First.\n\nSecond."]
    assert (fold.thinking, fold.text) == ("First.\n\nSecond.", "")
    _, streamed = feed(
        {"type": "response.reasoning_summary_text.delta", "item_id": "rs", "delta": "Hm"},
        {"type": "response.reasoning_summary_text.done", "item_id": "rs", "text": "Hm"},
        {"type": "response.reasoning_text.done", "item_id": "rs", "text": "More."},
        item_done(summary),
    )
    assert streamed.thinking == "HmMore."


def test_a_refusal_in_any_event_is_shown_once() -> None:
    part = {"type": "refusal", "refusal": "No."}
    item = {"type": "message", "id": "m", "content": [part]}
    events: list[Json] = [
        {"type": "response.refusal.delta", "item_id": "m", "delta": "N"},
        {"type": "response.refusal.done", "item_id": "m", "refusal": "No."},
        {"type": "response.content_part.done", "item_id": "m", "part": part},
        item_done(item),
        completed(item),
    ]
    for start in range(5):
        updates, fold = feed(*events[start:])
        assert "".join(text for _, text in texts(updates)) == "No."
        assert (fold.refusal, fold.text, fold.outcome.kind) == ("No.", "", "refused")


def test_a_message_named_anew_is_found_among_several_and_other_parts_are_passed_by() -> None:
    other = message("Two.", citation(2), item_id="new")
    other["content"].append({"type": "hologram"})
    updates, fold = feed(delta("One.", "a"), delta("Two.", "b"), completed(other, message("Three.", item_id="c")))
    assert [update.item_id for update in updates if isinstance(update, CitationUpdate)] == ["b"]
    assert fold.text == "One.Two.Three."
    _, fold = feed(item_done({"type": "message", "id": "m", "content": [{"type": "hologram"}]}), completed())
    assert fold.text == ""


def test_items_of_other_kinds_pass_by() -> None:
    search = {"type": "web_search_call", "id": "ws"}
    updates, fold = feed(item_done(search), {"type": "response.new", "x": 1}, completed())
    assert updates == []
    assert (fold.text, fold.calls) == ("", [])
    assert fold.unknown_events == 1


def test_the_parts_of_a_reasoning_summary_are_known_and_add_nothing_to_its_text() -> None:
    part = {"item_id": "r", "summary_index": 0, "part": {"type": "summary_text", "text": "Searching."}}
    updates, fold = feed(
        {"type": "response.reasoning_summary_part.added", **part},
        {"type": "response.reasoning_summary_text.delta", "item_id": "r", "delta": "Searching."},
        {"type": "response.reasoning_summary_part.done", **part},
        completed(),
    )
    assert (len(updates), fold.thinking, fold.unknown_events) == (1, "Searching.", 0)


def test_numbers_that_run_backwards_are_not_relied_on() -> None:
    first, again = delta("a", sequence_number=5), delta("b", sequence_number=5)
    _, fold = feed(first, again, delta("c", sequence_number=9), completed())
    assert fold.text == "abc"


def test_a_gap_matters_where_no_finished_text_covers_it() -> None:
    events = [delta("a", sequence_number=5), delta("b", sequence_number=7)]
    end = {**completed(), "sequence_number": 8}
    _, fold = feed(*events, end)
    assert (fold.text, fold.outcome.kind, fold.outcome.reason) == ("ab", "incomplete", "protocol_violation")
    _, fold = feed(*events, {**done("ab"), "sequence_number": 8}, {**end, "sequence_number": 9})
    assert fold.outcome.kind == "completed"
    _, fold = feed(delta("\r", sequence_number=5), {**done("\r"), "sequence_number": 7}, end)
    assert fold.outcome.kind == "completed", "white space that no finished text repeats"


def test_a_delta_without_its_text_matters_where_no_finished_text_covers_it() -> None:
    lost = {"type": "response.output_text.delta", "item_id": "m"}
    _, open_ended = feed(delta("Give "), lost, delta("it."), completed())
    _, covered = feed(delta("Give "), lost, delta("it."), done("Give 5 mg of it."), completed())
    assert (open_ended.outcome.kind, covered.outcome.kind, covered.text) == (
        "incomplete",
        "completed",
        "Give 5 mg of it.",
    )


def test_numbers_on_some_events_only_are_not_relied_on() -> None:
    _, fold = feed(delta("a"), delta("b", sequence_number=16), delta("c", sequence_number=18), delta("d"), completed())
    assert (fold.text, fold.outcome.kind) == ("abcd", "completed")


def test_an_unknown_event_keeps_its_body() -> None:
    event = parse_event({"type": "response.new", "sequence_number": 3, "x": [1]})
    assert isinstance(event, UnknownEvent)
    assert (event.raw, event.sequence_number) == ({"type": "response.new", "sequence_number": 3, "x": [1]}, 3)
    assert parse_event({"type": "x", "sequence_number": "3"}).sequence_number is None


def test_typed_events_can_be_read_again_from_their_own_json() -> None:
    for step in (*text_reply("a"), *calls_reply(("c", "f", "{}"))):
        event = parse_event(body(step))
        assert parse_event(RawResponsesStreamEvent.of(event).data.model_dump()) == event


def test_text_is_taken_in_every_shape_that_its_model_allows() -> None:
    given = {"type": "response.output_text.delta", "delta": "a", "logprobs": [1]}
    for item_id, index in (("m", 1), (None, "1"), (None, 1.0)):
        event = parse_event({**given, "item_id": item_id, "output_index": index})
        assert isinstance(event, OutputTextDelta)
        assert event[:5] == (None, item_id or "", 1, None, "a")
        assert RawResponsesStreamEvent.of(event).model_dump()["data"]["logprobs"] == [1]
    assert parse_event({**given, "output_index": "one", "item_id": "m"})[1:3] == ("m", None)  # type: ignore[index]
    for parts in ({"text": "ab"}, {"type": "text", "text": "ab"}, ["a", {"text": "b"}]):
        assert parse_event({**given, "item_id": "m", "delta": parts})[4] == "ab"  # type: ignore[index]
    for other in ({"words": "a"}, [1], []):
        with pytest.raises(ProtocolViolation, match=r"malformed response.output_text.delta event \(fields: delta\)"):
            parse_event({**given, "delta": other})


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"type": None},
        {"type": "response.output_text.delta"},
        {"type": "response.output_item.done", "item": None},
        {"type": "response.output_item.done", "item": [1]},
        {"type": "response.output_item.added", "item": {"no": "type"}},
        {"type": "response.output_text.annotation.added", "annotation": {"type": "file_citation"}},
        {"type": "response.output_text.annotation.added", "annotation": 5},
        {"type": "response.content_part.done", "part": None},
        {"type": "response.content_part.done", "part": {"type": "output_text"}},
    ],
)
def test_an_event_about_nothing_is_an_unknown_one(wrong: dict[str, Any]) -> None:
    assert isinstance(parse_event(wrong), UnknownEvent)


def test_what_has_a_wrong_shape_and_no_text_is_left_out() -> None:
    annotations = [{"type": "file_citation"}, {"type": "file_citation", "file_id": "f", "index": None}, {"x": 1}, None]
    part = {"type": "text", "text": "a", "annotations": annotations}
    usage = {"input_tokens": 1.5, "output_tokens": 2, "input_tokens_details": []}
    response = {
        "id": 5,
        "output": [{"type": "message", "role": 7, "content": [part, {"type": "text"}]}],
        "usage": usage,
    }
    event = parse_event({"type": "response.completed", "response": response})
    assert isinstance(event, ResponseTerminalEvent)
    assert (event.response.id, event.response.usage) == ("", Usage(output_tokens=2))
    (message,) = event.response.output
    assert isinstance(message, MessageItem)
    (text,) = message.content
    assert isinstance(text, OutputText)
    assert (text.text, [a.type for a in text.annotations]) == ("a", ["file_citation"])
    for lost in ({"output": [{"about": [part]}]}, {"output": [{"type": "function_call", "arguments": [1]}]}):
        with pytest.raises(ProtocolViolation, match="malformed"):
            parse_event({"type": "response.completed", "response": lost})


@pytest.mark.parametrize(
    "content",
    [
        [{"text": "Give it."}],
        [{"type": None, "text": "Give it."}],
        [{"type": "output", "text": "Give it."}],
        [{"type": "text", "content": "Give it."}],
        [{"type": "text", "text": {"value": "Give it."}}],
        {"type": "output_text", "text": "Give it."},
        ["Give ", "it."],
    ],
)
def test_texts_in_the_shapes_of_other_protocols_are_shown_once(content: object) -> None:
    item = {"type": "message", "id": "m", "role": "model", "content": content}
    for bodies in ([item_done(item)], [delta("Give "), delta("it."), item_done(item)], []):
        _, fold = feed(*bodies, completed(item))
        assert (fold.text, fold.outcome.kind) == ("Give it.", "completed")


@pytest.mark.parametrize(
    "piece", [{"text": "it."}, {"delta": {"content": "it."}}, {"delta": {"text": {"value": "it."}}}]
)
def test_a_delta_in_another_shape_is_shown(piece: Json) -> None:
    _, fold = feed(delta("Give "), {"type": "response.output_text.delta", "item_id": "m", **piece}, completed())
    assert fold.text == "Give it."


@pytest.mark.parametrize("said", [None, [], 7, "alive"])
def test_an_event_that_is_no_object_is_unknown_only_under_another_name(said: object) -> None:
    assert isinstance(parse_event(said, b"event: ping"), UnknownEvent)
    for line in (b"", b"event: message", b"event: response.output_text.delta"):
        with pytest.raises(ProtocolViolation, match="not a JSON object"):
            parse_event(said, line)


def test_another_name_of_a_text_delta_is_known() -> None:
    named = {"item_id": "m", "output_index": 0, "content_index": 0}
    pieces = [{"type": f"response.{kind}.delta", **named, "delta": "no "} for kind in ("content_part", "text")]
    _, fold = feed(*pieces, completed())
    assert fold.text == "no no "


@pytest.mark.parametrize("read", [1, 2, 3, 9])
def test_deltas_that_each_repeat_the_text_so_far_are_shown_once(read: int) -> None:
    fold, updates = ResponseFold(), list[Update]()
    pieces = ["He", "Hello", "Hello wor", "Hello wor", "Hello world", "", "Hello world <b", "Hello world <b>."]
    events = [parse_event(delta(piece)) for piece in pieces]
    for start in range(0, len(events), read):
        updates += fold.apply_all(events[start : start + read])
    fold.apply(parse_event(completed()))
    assert fold.text == "Hello world <b>."
    assert sum(isinstance(update, TextReplacement) for update in updates) == 1


@pytest.mark.parametrize(
    "pieces",
    [
        ["no ", "no ", "no "],
        ["He", "Hello"],
        ["He", "Hello", "lo"],
        ["`", "``", "```"],
        ["1", "10", "100"],
        ["a", "ab", "b", "abc", "abcd", "abcde"],
    ],
)
def test_pieces_that_only_look_like_copies_are_all_shown(pieces: list[str]) -> None:
    _, fold = feed(*map(delta, pieces), completed())
    assert fold.text == "".join(pieces)


def test_a_call_in_copies_of_the_text_is_run_once() -> None:
    call = '<tool_call>{"name": "find", "arguments": {}}</tool_call>'
    fold = ResponseFold({"find": {}})
    for end in (5, 10, 20, 30, len(call)):
        fold.apply(parse_event(delta("So " + call[:end])))
    fold.apply(parse_event(completed()))
    assert ([one.name for one in fold.calls], fold.outcome.kind) == (["find"], "completed")


def announced(*texts: str, **more: str) -> Json:
    parts = [{"type": "output_text", "text": text} for text in texts]
    item = {"type": "message", "id": "m", "role": "assistant", "content": parts, **more}
    return {"type": "response.output_item.added", "output_index": 0, "item": item}


def part_added(part: Json) -> Json:
    return {"type": "response.content_part.added", "item_id": "m", "output_index": 0, "content_index": 0, "part": part}


@pytest.mark.parametrize(
    ("bodies", "text"),
    [
        ([announced("Give it.")], "Give it."),
        ([announced("Give ", "it.")], "Give it."),
        ([announced("Give it.", role="user")], ""),
        ([part_added({"type": "output_text", "text": "Give it."})], "Give it."),
        ([announced("Give "), delta("it.")], "Give it."),
        ([announced("Give "), delta("Give "), delta("it.")], "Give it."),
        (
            [announced("Give it."), part_added({"type": "output_text", "text": "Give it."}), delta("Give it.")],
            "Give it.",
        ),
        ([announced("Give it."), delta("Give "), delta("it."), announced("Give ")], "Give it."),
    ],
)
def test_text_that_is_announced_is_shown_once(bodies: list[Json], text: str) -> None:
    _, fold = feed(*bodies, completed())
    assert fold.text == text


def test_a_refusal_that_is_announced_is_a_refusal() -> None:
    _, fold = feed(announced(), part_added({"type": "refusal", "refusal": "No."}), completed())
    assert (fold.refusal, fold.outcome.kind) == ("No.", "refused")


@pytest.mark.parametrize(
    "output",
    [
        "Give it.",
        {"type": "message", "role": "assistant", "content": "Give it."},
        [{"type": "output_text", "text": "Give it."}],
        [{"type": "text", "text": "Give it."}],
        [{"type": "agent_message", "text": "Give it."}],
    ],
)
def test_an_output_in_other_shapes_is_shown(output: object) -> None:
    _, fold = feed({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}})
    assert fold.text == "Give it."


def reasoning(text: str = "") -> Json:
    parts = [{"type": "reasoning_text", "text": text}] if text else []
    return {"type": "reasoning", "id": "m", "summary": [], "content": parts}


@pytest.mark.parametrize(
    ("bodies", "output", "text"),
    [
        ([delta("Hm. Ok."), item_done(reasoning("Hm. Ok.")), delta("Give it.", "n", output_index=1)], [], "Give it."),
        ([delta("Hm."), item_done(reasoning())], [message("Give it.", item_id="n")], "Give it."),
        ([delta("Give it."), item_done(reasoning("Hm."))], [message("Give it.", item_id="n")], "Give it."),
        ([delta("Look. "), item_done(reasoning()), delta("Give it.", "n", output_index=1)], [], "Look. Give it."),
        ([delta("Give it."), item_done(reasoning("Give it."))], [], "Give it."),
        (
            [
                delta("Give it.", output_index=1),
                {**item_done(reasoning()), "output_index": 0},
                delta("Look.", "n", output_index=2),
            ],
            [message("Look.", item_id="n")],
            "Give it.Look.",
        ),
    ],
)
def test_text_under_the_id_of_reasoning_is_the_answer_unless_it_is_the_reasoning(
    bodies: list[Json], output: list[Json], text: str
) -> None:
    _, fold = feed(*bodies, completed(*output))
    assert fold.text == text


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
def test_a_limit_that_is_only_a_reason_to_stop_is_told(reason: str) -> None:
    _, fold = feed(delta("Give"), {**completed(), "response": {"status": "completed", "stop_reason": reason}})
    assert (fold.outcome.kind, fold.outcome.code) == ("incomplete", "length_limit")
    _, fold = feed(delta("Give"), {**completed(), "response": {"status": "completed", "finish_reason": "stop"}})
    assert fold.outcome.kind == "completed"


def test_arguments_that_cannot_be_text_are_a_violation() -> None:
    with pytest.raises(ProtocolViolation, match=r"item\.arguments"):
        parse_event({"type": "response.output_item.done", "item": {"type": "function_call", "arguments": {"n": 2**70}}})


@pytest.mark.parametrize("text", ["", 'a "b" \\ c', "µ ⇒ 𝛼\n\t\x00\x7f\u2028"])
def test_text_has_the_json_of_its_model(text: str) -> None:
    assert event_json(TextDelta(text=text)) == agent_event_adapter.dump_json(TextDelta(text=text))


def test_a_buffer_joins_what_it_holds() -> None:
    buffer = TextBuffer("a")
    for number in range(1_000):
        buffer.append(str(number % 10))
    buffer.append("")
    assert str(buffer) == "a" + "0123456789" * 100
    assert buffer
    assert not TextBuffer()
    assert len(buffer._pieces) <= 64


def test_a_finished_text_without_the_white_space_around_it_changes_nothing() -> None:
    updates, fold = feed(delta("Give it. \n"), done("Give it."), completed())
    assert texts(updates) == [("m", "Give it. \n")]
    assert fold.text == "Give it. \n"


def test_a_citation_before_any_text_is_not_shown_again_with_corrected_text() -> None:
    state = RunState(RunRequest(items=()))
    state.add_citation(CitationUpdate("m", FileCitation(file_id="f")))
    state.add_text("m", "Do give it.")
    again = list(state.replace_text("m", "Do not give it."))
    assert [event.type for event in again] == ["text_replaced", "text_delta"]
    assert state.answer == "Do not give it."


def test_pieces_that_a_server_names_apart_are_joined_by_the_finished_text_and_paragraphs_are_not() -> None:
    pieces = [delta("Give ", "a"), delta("metformin ", "b"), delta("500 mg.", "c")]
    _, fold = feed(*pieces, completed(message("Give metformin 500 mg.", item_id="whole")))
    assert fold.text == "Give metformin 500 mg."

    paragraphs = [delta("Give metformin.", "a"), delta("Check the kidneys.", "b")]
    updates, fold = feed(*paragraphs, completed(message("Give metformin.\n\nCheck the kidneys.", item_id="whole")))
    assert "".join(fold.text.split()) == "Givemetformin.Checkthekidneys."
    assert not [update for update in updates if isinstance(update, TextReplacement) and not update.text]


def test_a_call_that_the_server_answers_itself_is_none_of_ours() -> None:
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "find", "arguments": "{}"}
    output = {"type": "function_call_output", "id": "o", "call_id": "c", "output": "500 mg"}
    done = [
        {"type": "response.output_item.done", "output_index": at, "item": one} for at, one in enumerate((call, output))
    ]
    _, fold = feed(done[0])
    assert [one.call_id for one in fold.calls] == ["c"]
    _, fold = feed(*done, delta("500 mg"))
    assert fold.calls == []


def test_an_error_without_content_is_none() -> None:
    end = completed(message("Yes."))
    _, fold = feed({**end, "response": {**end["response"], "error": {"code": "", "message": ""}}})
    assert fold.outcome.kind == "completed"
