"""Written calls and the text around them are the same however the text is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.test_written_calls import JSON, read

FRAGMENTS = [
    *(
        "find",
        "find(",
        "drug_name='x'",
        ")",
        "(",
        "[",
        "]",
        "{",
        "}",
        "<",
        "</",
        "<find",
        "`",
        "``",
        "```",
        "'",
        '"',
        "\\",
    ),
    *(
        " ",
        "\n",
        "\n\n",
        "x",
        "x = ",
        "X = ",
        " =",
        "= ",
        ", ",
        "; ",
        ":",
        ".",
        "# ",
        "- ",
        "1. ",
        "**",
        "it's ",
        "ä",
        "_a",
    ),
    *("```json\n", "```python\n", "\n```", "~~~", JSON, "{'name': 'find', 'arguments': {'drug_name': 'y'}}"),
    *("<tool_call>", "</tool_call>", "<functioncall>", "<|python_tag|>", "<|eom_id|>", '<find drug_name="x"/>'),
    *(
        "<use_mcp_tool>",
        "</use_mcp_tool>",
        "<tool_name>find</tool_name>",
        '<arguments>{"a": "</tool_call>"}</arguments>',
    ),
    *(
        "find(drug_name='x')",
        "find.call(limit=5)",
        "find (limit = 5)",
        "find\n(",
        'find {"limit": 5}',
        "print(",
        "tools.",
    ),
    *('Action: find\nAction Input: {"limit": 5}', "Action: ", "Input:", 'call:find{drug_name:<|"|>x<|"|>}'),
    *('<|channel|>commentary to=functions.find json{"limit": 5}', " searches.", " Take it.", "take ", "Example: "),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=9).map("".join), st.integers(1, 7))
def test_every_cut_of_a_text_gives_the_same_text_and_calls(text: str, size: int) -> None:
    assert read(text, size) == read(text, len(text) + 1)
