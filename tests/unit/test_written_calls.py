"""Tool calls that a model wrote as text, however the text is cut, and calls whose ids contradict each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import process_time
from typing import Any

import pytest

from chat_app.generation.folding.call_reading import Piece, UnreadableCall, WrittenCall, declared_name
from chat_app.generation.folding.streamed_calls import StreamedCalls
from chat_app.generation.folding.written_calls import WrittenCalls
from chat_app.response_objects import FunctionCallItem

Json = dict[str, Any]
TOOLS: dict[str, Json] = {"find": {"properties": {"drug_name": {"type": "string"}, "limit": {"type": "integer"}}}}
CALL = WrittenCall("find", '{"drug_name": "x"}')
OTHER_CALL = WrittenCall("find", '{"drug_name": "y"}')
JSON = '{"name": "find", "arguments": {"drug_name": "x"}}'
PROSE = [
    *(
        f"The {tag} value, then 5 mg."
        for tag in (
            "<kidney_function>",
            "<kidneyFunction>",
            "<stool>",
            "[STOOL]",
            "[STOOL_TEST]",
            "[TOOLTIP]",
            "<ToolBar>",
            "<toolTip>",
            "<tool-kit>",
            "<|toolkit|>",
            "<functioné>",
            "<function-tests>",
            "<findings>",
            "<re:stool>",
            "<malfunction>",
            "[FUNCTIONAL]",
            "<|tooling|>",
            "<|actions|>",
        )
    ),
    "Doses:\nfind (1) the weight\nfind [2]\n  findings(x=1)",
    'Codes:\n\n```json\n{"type": "Bundle", "id": "find"}\n```\n{"name": "Metformin", "code": {}}\n{"id": 5, "x": [',
    "It [called 5 mg] a [Tool Call: x] and [called function f] safe; [1], x]<]mini ]<]minimax[> <a>[.",
    "So:\n\n- **Metformin**\n\n1. x\n\n| a | b |\n```\nf(x=1)\n```\nweight\n",
    "`find` ``find(x=1)`` {x} {'a': 1} [{5}] ``` ",
]


def read(text: str, size: int, tools: Mapping[str, Json] = TOOLS) -> list[Piece]:
    """Return what ``text`` means when it arrives in pieces of ``size``, with neighbouring text as one."""
    calls, found = WrittenCalls(tools), list[Piece]()
    pieces = [piece for at in range(0, len(text), size) for piece in calls.feed(text[at : at + size])]
    for piece in [*pieces, *calls.close()]:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    return found


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"<tool_call>\n{JSON}\n</tool_call>", [CALL]),
        (f"<tool_call>{JSON}", [CALL]),
        (f"<tool_call>{JSON}\n{JSON.replace('x', 'y')}</tool_call>", [CALL, WrittenCall("find", '{"drug_name": "y"}')]),
        (f"Let me look.<tool_call>{JSON}</tool_call> So.", ["Let me look.", CALL, " So."]),
        ('<function=find>{"drug_name": "x"}</function>', [CALL]),
        (
            "<function=find>\n<parameter=drug_name>\n5\n</parameter>\n<parameter=limit>\n5\n</parameter>\n</function>",
            [WrittenCall("find", '{"drug_name": "5", "limit": 5}')],
        ),
        (
            "<function=find>\n<parameter=limit>\nmany\n</parameter>\n</function>\n</tool_call>",
            [WrittenCall("find", '{"limit": "many"}')],
        ),
        ("<function=find></function>", [WrittenCall("find", "{}")]),
        ("<function=find>drug_name: x</function>", [UnreadableCall()]),
        ("<tool_call>find<arg_key>drug_name</arg_key><arg_value>x</arg_value></tool_call>", [CALL]),
        (f"[TOOL_CALLS] [{JSON}]", [CALL]),
        ('[TOOL_CALLS]find[CALL_ID]a1b2[ARGS]{"drug_name": "x"}', [CALL]),
        (f"<|tool_call|>[{JSON}]<|/tool_call|>", [CALL]),
        ('<|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{"drug_name": "x"}<|tool_call_end|>', [CALL]),
        (
            'Let me look.<invoke name="find">\n<parameter name="drug_name">x</parameter>\n</invoke>',
            ["Let me look.", CALL],
        ),
        ('<|channel|>commentary to=functions.find json{"drug_name": "x"}', [CALL]),
        ('[find(drug_name="x"), find(limit=5)]', [CALL, WrittenCall("find", '{"limit": 5}')]),
        ("find(drug_name='x')", [CALL]),
        ("See <toolbar>, <Functional> and [x].", ["See <toolbar>, <Functional> and [x]."]),
        ("find it", ["find it"]),
        ("<function=other></function>", [UnreadableCall()]),
        ('[TOOL_CALLS]find[ARGS]{"drug_name": "x"}', [CALL]),
        (f"\n {JSON}\n", [CALL]),
        (f"[{JSON}]", [CALL]),
        ('{"type": "function", "function": {"name": "find", "parameters": "{\\"drug_name\\": \\"x\\"}"}}', [CALL]),
        (f"```json\n{JSON}\n```\nSo.", [CALL, "\nSo."]),
        (f"```\n{JSON}", [CALL]),
        ('{"name": "find", "arguments": {"drug', [UnreadableCall()]),
        ('{"name": "find", "arguments": 5}', [UnreadableCall()]),
        (
            "<tool_calls><function=find><parameter=limit>5</parameter></function><function=find></function></tool_calls>",
            [WrittenCall("find", '{"limit": 5}'), WrittenCall("find", "{}")],
        ),
        ('print(default_api.find(drug_name="x"))', [CALL]),
        ("```tool_code\nfind(drug_name='x')\n```", [CALL]),
        ('{"find": {"drug_name": "x"}}', [CALL]),
        ("call:find{drug_name:<escape>x<escape>,limit:5}", [WrittenCall("find", '{"drug_name": "x", "limit": 5}')]),
        ("<find><drug_name>x</drug_name></find> So.", [CALL, " So."]),
        ('Now<find drug_name="x"/> So.', ["Now", CALL, " So."]),
        ("See `find` [TOOLTIP", ["See `find` [TOOLTIP"]),
        ("Functional: 5 <b>mg</b>", ["Functional: 5 <b>mg</b>"]),
        ('["find", "other"]', ['["find", "other"]']),
        ("<tool_call>???</tool_call>", [UnreadableCall()]),
        ('<tool_call>{"name": </tool_call>', [UnreadableCall()]),
        ("<tool_call>[5]</tool_call>", [UnreadableCall()]),
        ('{"name": "other", "arguments": {}}', ['{"name": "other", "arguments": {}}']),
        ("```json\n[1]\n```", ["```json\n[1]\n```"]),
        ("eGFR < 30 [4] <b", ["eGFR < 30 [4] <b"]),
        (' {"na', [' {"na']),
        ("  ", ["  "]),
        (f"Let me look.\n\n{JSON}", ["Let me look.", CALL]),
        (f"Let me look. {JSON} So.", ["Let me look. ", CALL, " So."]),
        (f"Let me look:\n```json\n{JSON}\n```\nSo.", ["Let me look:", CALL, "\nSo."]),
        (f"Let me look. ```json\n{JSON}\n{JSON.replace('x', 'y')}\n```", ["Let me look. ", CALL, OTHER_CALL]),
        ('{\n  "name" : "find",\n  "arguments" : {"drug_name": "x"}\n}', [CALL]),
        ('{"arguments": {"drug_name": "x"}, "name": "find"}', [CALL]),
        (f'{{\n  "tool_calls": [\n    {JSON}\n  ]\n}}', [CALL]),
        (f'{{"id": "a", "type": "function", "function": {JSON}}}', [CALL]),
        ('{"action": "find", "action_input": {"drug_name": "x"}}', [CALL]),
        ("Let me look.\n\nfind(drug_name='x')", ["Let me look.", CALL]),
        ("Let me look.\n```python\nfind(drug_name='x')\n```\nSo.", ["Let me look.", CALL, "\nSo."]),
        ("Let me look.\n<|start|>assistant to=functions.find json" + '{"drug_name": "x"}', ["Let me look.", CALL]),
        ('Let me look.\n{"arguments": {"drug_name": "x"}, "name": "find"', ["Let me look.", UnreadableCall()]),
        *((text, [text]) for text in PROSE),
    ],
)
def test_calls_are_told_from_text(text: str, meant: list[Piece], size: int) -> None:
    assert read(text, size) == meant


AGE = {"type": "object", "properties": {"value": {"type": "number"}}}
SCORE_TOOLS = {
    "score": {
        "properties": {
            "age": {"anyOf": [{"$ref": "#/$defs/Age"}, {"type": "null"}]},
            "sex": {"anyOf": [{"enum": ["female", "male"], "type": "string"}, {"type": "null"}]},
            "stroke": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            "names": {"type": "array", "items": {"type": "string"}},
            "any": True,
        },
        "$defs": {"Age": AGE},
    }
}
SCORE = {"age": {"value": 70}, "sex": "female", "stroke": True}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
@pytest.mark.parametrize(
    ("text", "arguments", "before", "after"),
    [
        (
            '<function=score><parameter=age>\n{"value": 70}\n</parameter><parameter=sex>female</parameter>'
            "<parameter=stroke>true</parameter></function>",
            SCORE,
            "",
            "",
        ),
        ("score(age={'value': 70}, sex='female', stroke=True)", SCORE, "", ""),
        ('score(age={"value": 70}, sex="female", stroke=true)\nSo.', SCORE, "", "\nSo."),
        ('score(names=["a", "b \\"c\\""])', {"names": ["a", 'b "c"']}, "", ""),
        ('{"name": "score", "names": ["a"]}', {"names": ["a"]}, "", ""),
        ('{"tool_name": "score", "tool_input": {"names": ["a"]}}', {"names": ["a"]}, "", ""),
        ('{"name": "score", "arguments": null}', {}, "", ""),
        ('{"name": "score", "arguments": ""}', {}, "", ""),
        ('{"recipient_name": "functions.score", "parameters": {"names": ["a"]}}', {"names": ["a"]}, "", ""),
        ('{"thought": "Hm.", "action": "score", "action_input": {"names": ["a"]}}', {"names": ["a"]}, "", ""),
        (
            '{"role": "assistant", "tool_calls": [{"function": {"name": "score", "arguments": {"names": ["a"]}}}]}',
            {"names": ["a"]},
            "",
            "",
        ),
        ('score {"names": ["a"]}', {"names": ["a"]}, "", ""),
        ('I look.\nscore\n{"names": ["a"]}', {"names": ["a"]}, "I look.", ""),
        ('result=score(names=["a"])', {"names": ["a"]}, "", ""),
        ('Action: score({"names": ["a"]})', {"names": ["a"]}, "", ""),
        ('Action: score\nAction Input: {"names": ["a"]}', {"names": ["a"]}, "", ""),
        ('~~~json\n{"name": "score", "arguments": {"names": ["a"]}}\n~~~\nSo.', {"names": ["a"]}, "", "\nSo."),
        (
            '[TOOL_CALLS][{"name": "score", "arguments": {"names": ["a"]}}]\n\nGive it.',
            {"names": ["a"]},
            "",
            "\n\nGive it.",
        ),
        (
            '<tool_call>{"name": "score", "arguments": {"names": ["a"]}}\n\nGive it.',
            {"names": ["a"]},
            "",
            "\n\nGive it.",
        ),
        ('<tool>{"name": "score", "arguments": {"names": ["a"]}}</tool>', {"names": ["a"]}, "", ""),
    ],
)
def test_arguments_of_any_type_are_read(text: str, arguments: Json, before: str, after: str, size: int) -> None:
    found = read(text, size, SCORE_TOOLS)
    (call,) = (piece for piece in found if not isinstance(piece, str))
    assert isinstance(call, WrittenCall)
    assert json.loads(call.arguments) == arguments
    assert found == [*filter(None, [before]), call, *filter(None, [after])]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<function=score><parameter=any>x</parameter></function>", WrittenCall("score", '{"any": "x"}')),
        ('score(sex="female", names={"a"})', UnreadableCall()),
        ('score(sex="female",', WrittenCall("score", '{"sex": "female"}')),
    ],
)
def test_arguments_that_are_neither_python_nor_json_are_read_one_by_one(text: str, meant: Piece) -> None:
    assert read(text, 1000, SCORE_TOOLS)[0] == meant


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "Give 500 mg [tools](https://x.example). Stop below 30.",
        "The [function] is unknown. Give `<function>` or `<tool_call>` tags.",
        "Renal <function> normal, liver <tool> kit.",
        '```json\n[{"name": "score", "description": "A score.", "parameters": {"type": "object"}}]\n```\nSo.',
        '{"id": 5}\n' * 40,
        'Send `{"name": "score", "arguments": {"names": ["a"]}}` to it.',
    ],
)
def test_what_only_speaks_of_tools_is_text(text: str, size: int) -> None:
    assert read(text, size, SCORE_TOOLS) == [text]


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 5}\n' * 4_000,
        "\n" + "to=" * 5_000,
        '```json\n{"id": [' + '{"a": 1}, ' * 4_000,
        "score(sex='female')\n" * 4_000,
        "score(sex='female') is one\n" * 4_000,
        "{'name': 'score', 'arguments': {}}\n" * 4_000,
        "score{sex:<escape>female<escape>}\n" * 4_000,
        "<score/> So. " * 4_000,
    ],
)
def test_a_long_text_is_read_in_time_linear_in_its_length(text: str) -> None:
    calls, started = WrittenCalls(SCORE_TOOLS), process_time()
    calls.feed(text)
    calls.close()
    pieces = WrittenCalls(SCORE_TOOLS)
    for place in range(0, len(text), 8):
        pieces.feed(text[place : place + 8])
    assert process_time() - started < 4


SIZES = [1, 2, 3, 4, 5, 6, 7, 1000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "text",
    [
        "You could write `find(drug_name='x')` to search for it.",
        "`find(drug_name='x')`",
        "So:\n`find(drug_name='x')`\nThen go on.",
        "For example: find(drug_name='x')",
        "So:\nExample: find(drug_name='x')",
        "Usage: find(drug_name='x')\n",
        "find(drug_name='x') searches the drugs.\nThen find(limit=5) lists them.",
        "find.call(drug_name='x') searches the drugs.",
        "Doses:\nresult = find(drug_name='x') gives them.",
        "find(drug_name=...) searches by name, and so does\nfind(limit=5) with less.",
        'find {"drug_name": "x"} is its JSON.',
        "```\nfind(drug_name='x') searches\n```\nSo.",
        "Use <b>find(drug_name='x')</b>.",
        "x = 5\ny = finding(drug_name='x')\nz = [",
        "````\n```json\n[1]\n```\n````\nSo.",
    ],
)
def test_a_call_that_is_an_example_is_text(text: str, size: int) -> None:
    assert read(text, size) == [text]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("x = find(drug_name='x')", [CALL]),
        ("Look.\nfound_1  =  find(drug_name='x')\nSo.", ["Look.", CALL, "\nSo."]),
        ("```python\nx = find(drug_name='x')\nprint(x)\n```\nSo.", [CALL, "\nSo."]),
        ("find(drug_name='x')\n\ny = find(drug_name='y')\nI find it.", [CALL, OTHER_CALL, "\nI find it."]),
        ("x = find(drug_name='x'); y = find(drug_name='y')", [CALL, OTHER_CALL]),
        ("find(drug_name='x')\nfind(drug_name='y') searches.", [CALL, "\nfind(drug_name='y') searches."]),
        ("find(drug_name='x')\nThen:\nfind(drug_name='y')", [CALL, "\nThen:", OTHER_CALL]),
        ("find(drug_name='x')  # the drug", [CALL, "  # the drug"]),
        ("find(drug_name='x')</s>", [CALL]),
        ("Look. \n\nfind (drug_name = 'x')", ["Look. ", CALL]),
        ("<|python_tag|>find.call(drug_name='x')<|eom_id|>", [CALL]),
        ("find.call(drug_name='x')", [CALL]),
        (
            "Look.\n<use_mcp_tool>\n<server_name>drugs</server_name>\n<tool_name>find</tool_name>\n<arguments>\n"
            '{\n  "drug_name": "x"\n}\n</arguments>\n</use_mcp_tool> So.',
            ["Look.", CALL, " So."],
        ),
        ("""<functioncall> {"name": "find", "arguments": '{"drug_name": "x"}'} <|endoftext|>""", [CALL]),
        ("<tool_call>\n{'arguments': {'drug_name': 'x'}, 'name': 'find'}\n</tool_call> So.", [CALL, " So."]),
        ("{'name': 'find', 'arguments': {'drug_name': 'x'}}\nSo.", [CALL, "\nSo."]),
        ("{'name': 'find', 'arguments': {'drug_name': {'x'}}}", [UnreadableCall()]),
        ("find(drug_name='x\\\\')", [WrittenCall("find", '{"drug_name": "x\\\\"}')]),
        (f"So:\n[<tool_call>{JSON}</tool_call>]", ["So:\n[", CALL, "]"]),
        ("[<functioncall>find(drug_name='x')", ["[", CALL]),
        (f"Use ````json\n{JSON}", ["Use ````json", CALL]),
        ('Look.\n[Called function "find" with args: {"drug_name":"x"}]', ["Look.", CALL]),
        ('[Tool Call: find (ID: find_17)] Arguments: {"drug_name": "x"}', [CALL]),
        (f"Look.<|message_sep|>\n\nfunction call<|role_sep|>\n{JSON}", ["Look.", CALL]),
        (
            'I look.]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="find">]<]minimax[>[<drug_name>x]<]minimax[>['
            "</drug_name>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>]<]minimax[>[ So.",
            ["I look.", CALL, " So."],
        ),
        ("<find/><find/>So.", [WrittenCall("find", "{}"), WrittenCall("find", "{}"), "So."]),
    ],
)
def test_calls_in_the_forms_of_other_models_are_read(text: str, meant: list[Piece], size: int) -> None:
    assert read(text, size) == meant


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "around",
    [
        '<tool_call>{{"name": "find", "arguments": {{"drug_name": "{}"}}}}</tool_call>',
        "<tool_call>{{'name': 'find', 'arguments': {{'drug_name': '{}'}}}}</tool_call>",
        '<function=find>{{"drug_name": "{}"}}</function>',
        '```json\n{{"name": "find", "arguments": {{"drug_name": "{}"}}}}\n```',
        "```python\nfind(drug_name='{}')\n```",
        '~~~\nfind(drug_name="{}")~~~',
    ],
)
@pytest.mark.parametrize("name", ["a </tool_call> b", "</function>", "a ``` b", "~~~ or ```", "it }) ```"])
def test_the_end_of_a_call_may_be_in_its_arguments(around: str, name: str, size: int) -> None:
    assert read(f"{around.format(name)} So.", size) == [WrittenCall("find", json.dumps({"drug_name": name})), " So."]


def test_a_string_that_nothing_closes_ends_with_its_line() -> None:
    text = '```json\n{"name": "find", "arguments": {"drug_name": "x}}\n```\nSo.'
    assert read(text, 1000) == [UnreadableCall(), "\nSo."]


def test_the_text_of_a_message_that_broke_off_is_shown_unless_it_begins_a_call() -> None:
    token, named, other = WrittenCalls(TOOLS), WrittenCalls(TOOLS), WrittenCalls(TOOLS)
    assert token.feed("<tool_call>") == named.feed('{"name": "find", ') == other.feed('{"id": 5, ') == []
    assert token.abandon() == named.abandon() == []
    assert other.abandon() == ['{"id": 5, ']


def test_what_is_held_back_comes_before_another_message_unless_it_is_a_call() -> None:
    text, begun = WrittenCalls(TOOLS), WrittenCalls(TOOLS)
    assert text.feed("Checked.") == begun.feed('{"name": "find", ') == []
    assert text.release() == ["Checked."]
    assert begun.release() == []


def test_a_word_is_shown_before_the_next_one_comes() -> None:
    calls = WrittenCalls(SCORE_TOOLS)
    assert calls.feed("Take ") == ["Take "]
    assert [*calls.feed("it.\n\n"), *calls.feed("Then ")] == ["it.", "\n\nThen "]


def test_text_after_an_empty_release_is_whole() -> None:
    calls = WrittenCalls(TOOLS)
    assert calls.release() == calls.close() == []
    assert [*calls.feed("Give it."), *calls.close(), *calls.feed(" Now"), *calls.close()] == ["Give it.", " Now"]


def test_calls_of_one_id_and_a_call_of_a_response_that_began_again() -> None:
    calls = StreamedCalls({"find": {}})
    (first,) = calls.done(call("a", "0"), 0)
    (second,) = calls.done(call("b", "0", '{"drug_name": "y"}'), 1)
    assert first.call_id == "0" != second.call_id
    assert calls.terminal([call("a", "0"), call("b", "0", '{"drug_name": "y"}')]) == []
    calls.added(call("c", "2", ""), 2)
    calls.void()
    assert calls.close() == calls.done(call("d", "3"), 0) == []
    assert calls.any_unknown


@pytest.mark.parametrize("arguments", ['{"drug_name": "x"}{"drug_name": "x"}', '{} {"drug_name": "x"}'])
def test_arguments_that_a_bridge_joined_are_read_once(arguments: str) -> None:
    assert [item.arguments for item in StreamedCalls().done(call("a", "1", arguments))] == [CALL.arguments]


@pytest.mark.parametrize("closing", ["}", "\n</tool_call>", "<|call|>", " </tool_call>\n<|im_end|>"])
def test_what_closes_a_call_is_no_part_of_its_arguments(closing: str) -> None:
    """openvinotoolkit/model_server#3838."""
    assert StreamedCalls().done(call("a", "1", CALL.arguments + closing))[0].arguments == CALL.arguments


def test_gemmas_quotes_are_no_part_of_a_value() -> None:
    """vllm-project/vllm#38946."""
    quoted = '{"drug_name": "<|\\"|>x<|\\"|>"}'
    assert StreamedCalls().done(call("a", "1", quoted))[0].arguments == CALL.arguments


@pytest.mark.parametrize("behind", ['</a>{"drug_name": "y"}', "} and", "<b"])
def test_arguments_with_more_than_closing_signs_stay_as_they_are(behind: str) -> None:
    assert StreamedCalls().done(call("a", "1", CALL.arguments + behind))[0].arguments == CALL.arguments + behind


def test_a_call_that_the_server_has_run_is_not_ready_before_or_after_its_output() -> None:
    calls = StreamedCalls()
    assert calls.done(call("a", "1"))
    other = calls.done(call("b", "2", OTHER_CALL.arguments))
    calls.answered("1")
    calls.answered("3")
    assert calls.ready == other
    assert calls.done(call("c", "3", '{"drug_name": "z"}')) == []
    assert calls.ready == other


@pytest.mark.parametrize(
    ("name", "meant"),
    [("findfind", "find"), (" find ", "find"), ("find <|x|>", "find"), ("findfindfind", "findfindfind"), ("", "")],
)
def test_a_name_that_a_server_doubled_or_padded_is_the_tools(name: str, meant: str) -> None:
    """NousResearch/hermes-agent#8089."""
    assert declared_name(name, TOOLS) == meant


def test_arguments_that_are_given_as_one_are_those_of_the_tool() -> None:
    """BlockRunAI/ClawRouter#193."""
    assert read('find(parameters={"drug_name": "x"})', 3) == [CALL]
    assert read('find(input="x")', 3) == [WrittenCall("find", '{"input": "x"}')]
    assert read('take(input={"name": "x"})', 3, {"take": {"properties": {"input": {}, "name": {}}}}) == [
        WrittenCall("take", '{"input": {"name": "x"}}')
    ]


def call(item_id: str, call_id: str, arguments: str = CALL.arguments) -> FunctionCallItem:
    return FunctionCallItem(id=item_id, call_id=call_id, name="find", arguments=arguments)


def test_a_call_under_other_ids_is_ready_once() -> None:
    calls = StreamedCalls()
    calls.added(call("a", "1", ""), 0)
    calls.added(call("a", "1", ""), 0)
    calls.arguments_done("x", None, CALL.arguments)
    assert [item.call_id for item in calls.done(call("b", "2", ""), 0)] == ["2"]
    for again in (call("b", "2"), call("a", "3"), call("c", "1")):
        assert calls.done(again) == []
    calls.delta("nothing", None, "is open")
    calls.arguments_done("nothing", None, "is open")
    assert [item.arguments for item in calls.ready] == [CALL.arguments]


def test_a_call_that_is_written_and_sent_runs_once() -> None:
    first, second = StreamedCalls(), StreamedCalls()
    assert len(first.written(CALL)) == 1
    assert first.done(call("a", "1")) == []
    assert len(first.done(call("b", "2"))) == 1, "a second equal call was meant"
    assert first.any_unknown
    assert len(second.done(call("a", "1"))) == 1
    assert second.written(CALL) == []
    assert not second.any_unknown


def test_arguments_that_are_no_json_are_compared_as_text() -> None:
    calls = StreamedCalls()
    calls.done(call("a", "1", "{"))
    assert calls.terminal([call("b", "2", "{")]) == []
    assert json.loads(calls.terminal([call("b", "2")])[0].arguments) == {"drug_name": "x"}
