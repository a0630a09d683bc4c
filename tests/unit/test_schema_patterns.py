"""Patterns of schemas: those that OpenAI accepts are matched as JSON Schema means them, the others refused."""

from __future__ import annotations

import re
import warnings

import pytest

from chat_app.offline.schema_filling.schemas import emptiest
from chat_app.offline.wire.patterns import matcher, pattern_size

PATTERNS = [
    r"^[\w.-]{1,255}$",
    r"^[^\W\d_]+\s\S\D$",
    "^{a}{2}$",
    "^a{,x}{$",
    r"^\{[a-z]+\}$",
    "^[(?x]+$",
    r"^\(?xx\)?$",
    r"^[[\]{}|&&~~@#-]{4}$",
    r"^[a\-z/<>\\]+\/\<\>\_$",
    r"^[\b\t\n\0]\x41\u00e9$",
    r"\Aa|b\Z",
    r"^(?P<year>\d{4})-(?:0[1-9]|1[0-2])$",
    r"(?i)^(?:mg|ml)$",
    r"^(?i:A)b(?s:.)(?-i:c)$",
    r"(?m)^a$",
    r"^a\b-\B$",
    r"^a*?b+?c??d{2,}?e{3}$",
    "^[^x]$",
    "^[^é]é$",
    "^(?:|a)$",
]
TEXTS = [
    *("", "a", "b", "ab", "aab", "a-", "a!", "é", "éé", "xé", "a.b-c_9", "a" * 255, "a" * 256, "b1 x!", "xy ..", "MG"),
    *("Ab\nc", "AbXc", "abxC", "x\na\ny", "bcddeee", "aabbdddeee", "{a}}", "{a}{{", "a{,x}{", "a,x{", "{abc}", "{a}"),
    *("(?x", "(xx)", "xx", "x", "a xx", "[]{}", "&&~~", "|@#-", "a/<>\\/<>_", "\bAé", "\0Aé", "2024-07", "2024-13"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_python_reads_in_it(pattern: str) -> None:
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        python = re.compile(pattern, re.ASCII)
    assert [matcher(pattern).isinstance_python(text) for text in TEXTS] == [bool(python.search(text)) for text in TEXTS]
    assert any(map(python.search, TEXTS))
    assert matcher(pattern).isinstance_python(emptiest(pattern))
    assert pattern_size(pattern) < 6_000


def test_letters_and_digits_are_ascii_and_the_end_is_the_end() -> None:
    assert not matcher(r"\w").isinstance_python("é")
    assert not matcher(r"\d").isinstance_python("٣")
    assert matcher(r"^\W\D$").isinstance_python("é٣")
    assert matcher(r"^\s$").isinstance_python("\u00a0")
    assert not matcher("^a$").isinstance_python("a\n")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (
            r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
            "lookaround",
        ),
        ("(?<=a)b", "lookaround"),
        (r"(a)\1", "back-references"),
        ("(a)?(?(1)b|c)", "conditions"),
        ("a++", "possessive"),
        ("(?x: a)", "free spacing"),
        (r"^\p{L}$", "not a regex"),
        ("(", "not a regex"),
        ("a{99999999999}", "not a regex"),
        (r"\ud800", "too large"),
        ("a" * 2_001, "too large"),
        ("(" * 300 + "a" + ")" * 300, "too large"),
        ("(" * 900 + "a" + ")" * 900, "too large"),
    ],
)
def test_other_patterns_are_refused_in_words_that_say_why(pattern: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        matcher(pattern)


def test_the_size_grows_with_repeats_and_characters_beyond_ascii() -> None:
    empty = pattern_size("")
    sizes = {
        pattern: pattern_size(pattern) - empty for pattern in ("a", "a{9}", "(?:a{9}){9}", "a{9,}", "a{2,9}", "(?:){9}")
    }
    assert sizes == {"a": 1, "a{9}": 9, "(?:a{9}){9}": 81, "a{9,}": 10, "a{2,9}": 9, "(?:){9}": 9}
    assert pattern_size("[à-ž]") > pattern_size("[a-z]")
    for folded in ("(?i)[à-ž]", "(?i:[à-ž])", "(?i:([à-ž]))"):
        assert pattern_size(folded) - pattern_size("[à-ž]") > 1_000
