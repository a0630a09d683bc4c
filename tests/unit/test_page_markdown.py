"""Text that Markdown would swallow or change is escaped; markup the writer meant stays markup."""

from __future__ import annotations

import pytest

from chat_app.interface.markdown.markdown_fold import MarkdownFold
from chat_app.interface.markdown.markdown_text import code_block, literal, table


def fold(text: str) -> str:
    whole = MarkdownFold()
    return whole.feed(text) + whole.close()


@pytest.mark.parametrize(
    ("sent", "written"),
    [
        ("HER2:negative", r"HER2\:negative"),
        ("NM_007294.4:c.68_69delAG", r"NM_007294.4\:c.68_69delAG"),
        ("at 12:30", "at 12:30"),
        ("https://x.org/a:b then a:b", r"https://x.org/a:b then a\:b"),
        ("5*3*2", r"5\*3\*2"),
        ("HLA-B*57:01 or HLA-B*58:01", r"HLA-B\*57:01 or HLA-B\*58:01"),
        ("5~10 or 20~30", r"5\~10 or 20\~30"),
        ("<script>", r"\<script>"),
        ("AT&amp;T", r"AT\&amp;T"),
        ("[x]: y", r"\[x]: y"),
        ("![x](https://evil.example/y)", r"!\[x](https://evil.example/y)"),
        (r"\frac{a}{b} \(x\)", r"\\frac{a}{b} \\(x\\)"),
        ("> 65 years", r"\> 65 years"),
        ("- >65 years", r"- \>65 years"),
        ("a\n=====", "a\n\\====="),
        ("a\n---\nb", "a\n\n---\nb"),
        ("1) a", r"1\) a"),
        ("+ positive", r"\+ positive"),
        ("    four spaces", "\u2060\u00a0\u00a0\u00a0\u00a0four spaces"),
        ("a  \nb", "a &#32;\nb"),
        ("`open:code", r"\`open\:code"),
        (":::info\nx\n:::", "\u2060::\\:info\nx\n\u2060:::"),
        ("``` HER2:neg positive\nx", "\\`\\`\\` HER2\\:neg positive\nx"),
        ("```", "\\`\\`\\`"),
        ("- ", "\\- "),
        ("a\u200bb", "a\u2060b"),
    ],
)
def test_what_markdown_would_swallow_is_escaped(sent: str, written: str) -> None:
    assert fold(sent) == written


@pytest.mark.parametrize(
    "markup",
    [
        "**bold** and *italic* and `HER2:negative`",
        "# Heading\n\ntext",
        "- one\n- two\n  - three",
        "1. one\n2. two\n   - three\n3. four",
        "| a | b |\n|---|:-:|\n| c | d |",
        "```python\nx: int = 5*3*2  # <b>\n```\n",
        "> quoted words",
        r"a \* b \_ c",
        "a ≥ 5 mg/kg, then 10–20 %",
    ],
)
def test_markup_that_the_writer_meant_is_kept(markup: str) -> None:
    assert fold(markup) == markup


def test_a_number_that_a_list_would_not_show_is_text() -> None:
    assert fold("1. a\n3. b\n4. c") == "1. a\n\n   3\\. b\n\n   4\\. c"
    assert fold("1. a\n\ntext\n\n1. b") == "1. a\n\ntext\n\n1. b"


def test_cells_beyond_the_header_join_the_last_cell() -> None:
    assert fold("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n") == "| a | b |\n|---|---|\n| 1 | 2 \\| 3 |\n"


def test_a_bar_in_code_does_not_split_its_cell() -> None:
    assert fold("| a | b |\n|---|---|\n| `x|y:z` | 2 |\n") == "| a | b |\n|---|---|\n| `x\\|y:z` | 2 |\n"


def test_the_first_words_are_not_held_back() -> None:
    assert MarkdownFold().feed("Give") == "Give"
    assert MarkdownFold().feed("**Give") == "**Give"


def test_only_what_the_next_character_decides_is_held_back() -> None:
    whole = MarkdownFold()
    assert whole.feed("HER2:") == "HER2"
    assert whole.feed("n") == r"\:n"
    assert whole.feed(" `co") == ""
    assert whole.feed("de`") == ""
    assert whole.feed(" x") == " `code` x"


def test_a_citation_stays_on_the_line_of_the_word_before_it() -> None:
    one, other = MarkdownFold(), MarkdownFold()
    assert one.feed("Give it ") + one.cite("[1]") == "Give it\u00a0[1]"
    assert other.feed("Give it") + other.feed(" ") + other.cite("[1]") + other.close() == "Give it\u00a0[1]"


def test_a_citation_stands_where_it_was_made() -> None:
    whole = MarkdownFold()
    written = whole.feed("A fact:") + whole.cite("[1]") + whole.feed(" and more.") + whole.close()
    assert written == "A fact:[1] and more."


def test_a_citation_inside_code_waits_for_its_end() -> None:
    span, block = MarkdownFold(), MarkdownFold()
    assert span.feed("`a") + span.cite("[1]") + span.feed("b` c") + span.close() == "`ab`[1] c"
    written = block.feed("```\na\n") + block.cite("[1]") + block.feed("b\n```\nc") + block.close()
    assert written == "```\na\nb\n```\n[1]\nc"


def test_plain_text_shows_as_it_is() -> None:
    assert literal("a*b | <c> [d](e)\nf") == r"a\*b \| \<c\> \[d\]\(e\) f"
    assert table("en", ("A", "B"), [("1|2", "")]) == "| A |\n| --- |\n| 1\\|2 |"
    assert table("en", ("A",), []) == ""


def test_a_code_block_cannot_be_closed_by_what_it_holds() -> None:
    assert code_block("a\n```\nb", "json") == "````json\na\n```\nb\n````"
