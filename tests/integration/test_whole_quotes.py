"""Every quote is a verbatim and whole part of its passage: no sentence is cut at an abbreviation or inside a line."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tools.guidelines import GuidelineLibrary
from tools.language.quotable_units import Unit, units

PROJECT = Path(__file__).resolve().parents[2]
DEMO_QUESTIONS = json.loads((PROJECT / "tools/guidelines/demo/questions.json").read_text(encoding="utf-8"))
_END = re.compile(r"[.!?:;”\"')\]]\d{0,2}$")
_ABBREVIATION = re.compile(r"\b(?:approx|e\.g|i\.e|vs|dr|fig|incl|resp|max|min|no)\.$", re.IGNORECASE)
_MARK = " -\N{BULLET}\N{EN DASH}\N{EM DASH}*■0123456789.)"


def cut(unit: Unit, passage: str) -> str:
    """Return how ``unit`` differs from a whole sentence, list item or row of ``passage``; empty when it does not."""
    text = " ".join(passage.split())
    if unit.table is not None:
        return "" if all(cell in text for cell in unit.cells) else "cells are not in the passage"
    start = text.find(unit.text)
    if start < 0:
        return "not verbatim"
    lines = [" ".join(line.split()) for line in passage.split("\n")]
    before, after = text[:start].rstrip(), text[start + len(unit.text) :].lstrip()
    opens_line = any(line.lstrip(_MARK).startswith(unit.text[:30].lstrip(_MARK)) for line in lines)
    ends_line = any(line.endswith(unit.text[-30:]) for line in lines)
    if before and not opens_line and (_ABBREVIATION.search(before) or not _END.search(before)):
        return "begins inside a sentence"
    goes_on = _ABBREVIATION.search(unit.text) or not _END.search(unit.text)
    if after and not ends_line and (after[0].islower() or goes_on):
        return "ends inside a sentence"
    return ""


def faults(passages: list[str]) -> list[tuple[str, str]]:
    return [(unit.text, why) for text in passages for unit in units(text) if (why := cut(unit, text))]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ("5 mg of bisoprolol once daily.", "begins inside a sentence"),
        ("Do not start with approx.", "ends inside a sentence"),
        ("Start with 5 mg of bisoprolol.", "not verbatim"),
        ("Do not start with approx. 5 mg of bisoprolol once daily.", ""),
    ],
)
def test_a_cut_sentence_is_recognised(part: str, why: str) -> None:
    assert cut(Unit(part), "Measure first. Do not start with approx. 5 mg of bisoprolol once daily. Then wait.") == why


@pytest.fixture
async def library(milvus_uri: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GuidelineLibrary]:
    found = GuidelineLibrary(milvus_uri, tmp_path_factory.mktemp("guidelines"))
    await found.load_demo()
    yield found
    await found.aclose()


async def test_every_quote_of_the_demonstration_is_whole(library: GuidelineLibrary) -> None:
    found = [await library.search(question["question"]) for question in DEMO_QUESTIONS]
    passages = sorted({passage.text for result in found for passage in result.passages})
    assert len(passages) > 100
    assert faults(passages) == []


def test_every_quote_of_a_real_guideline_is_whole(shared: Path) -> None:
    passages: list[str] = json.loads((shared / "data/answers/cpgqa_dev_passages.json").read_bytes())
    assert sum(len(units(text)) for text in passages) > 400
    assert faults(passages) == []
