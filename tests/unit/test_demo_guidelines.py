"""The six demonstration guidelines: PDFs that say what their sources say, and questions that they can answer."""

from __future__ import annotations

import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest

from scripts.demo_guidelines.source import DEMO_DIR, SLUGS, Heading, PipeTable, SourceError, Text, load, parse
from tools.types import DEMO_ISSUER

MARK = "Demonstration document - not for clinical care"
MAX_BYTES = 120_000

each_document = pytest.mark.parametrize("slug", SLUGS)
with_reportlab = pytest.mark.skipif(
    importlib.util.find_spec("reportlab") is None, reason="reportlab, which builds the PDFs, is not installed"
)


def _pdf(slug: str) -> Path:
    return DEMO_DIR / f"{slug}.pdf"


def _normal(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _page_texts(source: Path | bytes) -> tuple[str, ...]:
    document = pdfium.PdfDocument(source)
    try:
        return tuple(page.get_textpage().get_text_bounded() for page in document)
    finally:
        document.close()


@cache
def _committed_pages(slug: str) -> tuple[str, ...]:
    return _page_texts(_pdf(slug))


@cache
def _pages(slug: str) -> tuple[str, ...]:
    return tuple(_normal(text) for text in _committed_pages(slug))


def _without_furniture(slug: str) -> str:
    """The running text of a document: page heads and feet removed, so that a sentence may cross a page."""
    meta = load(slug).meta
    foot = re.escape(f"{meta.issuer} · version {meta.version} · {meta.date}") + r" Page \d+ of \d+"
    head = rf"^{re.escape(meta.title)}\s+{foot}\s+{re.escape(MARK)}\s*"
    return _normal(" ".join(re.sub(head, "", text) for text in _committed_pages(slug)))


def _metadata(slug: str) -> dict[str, str]:
    document = pdfium.PdfDocument(_pdf(slug))
    try:
        return dict(document.get_metadata_dict())
    finally:
        document.close()


def _outline(slug: str) -> list[tuple[int, str]]:
    document = pdfium.PdfDocument(_pdf(slug))
    try:
        return [(entry.level, entry.get_title()) for entry in document.get_toc()]
    finally:
        document.close()


@cache
def _questions() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads((DEMO_DIR / "questions.json").read_text(encoding="utf-8")))


@with_reportlab
@each_document
def test_a_committed_pdf_says_what_its_source_says(slug: str) -> None:
    from scripts.demo_guidelines.layout import render

    assert _page_texts(render(load(slug)).pdf) == _committed_pages(slug)


@with_reportlab
@each_document
def test_a_rebuild_gives_the_committed_bytes(slug: str) -> None:
    from scripts.demo_guidelines.layout import TOOLCHAIN, render

    built_with = _metadata(slug)["Producer"]
    if built_with != TOOLCHAIN:
        pytest.skip(f"the PDF was built with {built_with}, here is {TOOLCHAIN}: its bytes may differ")
    assert render(load(slug)).pdf == _pdf(slug).read_bytes()


@with_reportlab
def test_the_same_source_built_twice_gives_the_same_bytes() -> None:
    from scripts.demo_guidelines.layout import render

    assert render(load("asthma")).pdf == render(load("asthma")).pdf


@each_document
def test_a_document_has_four_to_ten_pages_and_stays_small(slug: str) -> None:
    assert 4 <= len(_pages(slug)) <= 10
    assert _pdf(slug).stat().st_size < MAX_BYTES


@each_document
def test_every_page_carries_the_mark_the_title_and_its_number(slug: str) -> None:
    pages = _pages(slug)
    for number, text in enumerate(pages, start=1):
        assert MARK in text
        assert text.startswith(load(slug).meta.title)
        assert f"Page {number} of {len(pages)}" in text


@each_document
def test_every_heading_stands_in_the_text_and_in_the_outline(slug: str) -> None:
    headings = [block for block in load(slug).blocks if isinstance(block, Heading)]
    lines = {line.strip() for text in _committed_pages(slug) for line in text.splitlines()}
    assert [heading.text for heading in headings if heading.text not in lines] == []
    assert _outline(slug) == [(heading.level - 1, heading.text) for heading in headings]


@each_document
def test_every_sentence_of_the_source_is_read_back_from_the_pdf(slug: str) -> None:
    text = _without_furniture(slug)
    blocks = [block.text.replace("**", "") for block in load(slug).blocks if isinstance(block, Text)]
    assert [block for block in blocks if _normal(block) not in text] == []


@each_document
def test_every_table_row_is_one_line_of_text(slug: str) -> None:
    lines = {_normal(line) for text in _committed_pages(slug) for line in text.splitlines()}
    tables = [block for block in load(slug).blocks if isinstance(block, PipeTable)]
    rows = [_normal(" ".join(row)) for table in tables for row in (table.header, *table.rows)]
    assert len(tables) >= 2
    assert [row for row in rows if row not in lines] == []


@each_document
def test_recommendations_and_tables_are_numbered_without_gaps(slug: str) -> None:
    blocks = load(slug).blocks
    numbers = [block.number for block in blocks if isinstance(block, Text) and block.kind == "numbered"]
    captions = [block.caption.split(".")[0] for block in blocks if isinstance(block, PipeTable)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert captions == [f"Table {number}" for number in range(1, len(captions) + 1)]


@each_document
def test_a_document_has_the_sections_a_clinician_looks_for(slug: str) -> None:
    headings = {block.text for block in load(slug).blocks if isinstance(block, Heading)}
    assert {"Contraindications and cautions", "Special populations", "Pregnancy", "Older adults"} <= headings
    assert any(heading.startswith("Monitoring") for heading in headings)


@each_document
def test_the_sources_are_listed_with_year_and_address(slug: str) -> None:
    meta, text = load(slug).meta, _without_furniture(slug)
    listed = text[text.rindex("Sources") :]
    for source in meta.sources:
        assert f"{source.title} ({source.year})." in listed
        assert str(source.url) in listed


@each_document
def test_the_pdf_metadata_names_title_author_and_purpose(slug: str) -> None:
    meta, found = load(slug).meta, _metadata(slug)
    assert (found["Title"], found["Author"]) == (meta.title, DEMO_ISSUER) == (meta.title, meta.issuer)
    assert MARK in found["Subject"]


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("no front matter", "line 1"),
        ("---\ntitle: T\n---\n\nText before the title\n", "title"),
        ("---\ntitle: T\nnonsense\n---\n# T\n## Sources\n", "line 3"),
        ("---\ntitle: T\n---\n# T\n* a star bullet\n## Sources\n", "line 5"),
        ("---\ntitle: T\n---\n# T\nTable 1. Caption\n| a | b |\n|---|---|\n| 1 |\n## Sources\n", "line 8"),
        ("---\ntitle: T\n---\n# T\nTable 1. Caption\n## Sources\n", "line 5"),
        ("---\ntitle: T\n---\n# T\nA last paragraph.\n", "Sources"),
    ],
)
def test_a_slip_in_a_source_is_refused_with_its_place(broken: str, complaint: str) -> None:
    with pytest.raises(SourceError, match=complaint):
        parse("broken", broken)


def test_the_question_set_is_large_enough_and_covers_every_document() -> None:
    kinds = [question["kind"] for question in _questions()]
    assert len(kinds) >= 60
    assert set(kinds) == {"fact", "table", "follow_up", "unanswerable"}
    assert kinds.count("unanswerable") >= 12
    assert kinds.count("follow_up") >= 8
    assert {question["document"] for question in _questions()} == {*SLUGS, None}


def test_a_question_names_facts_and_pages_or_is_unanswerable() -> None:
    for question in _questions():
        answerable = question["kind"] != "unanswerable"
        given = (question["document"] is not None, bool(question["pages"]), bool(question["must"]))
        assert given == (answerable,) * 3, question["question"]
        assert ("after" in question) == (question["kind"] == "follow_up"), question["question"]


def test_every_required_fact_of_a_question_stands_on_each_of_its_pages() -> None:
    for question in _questions():
        for number in question["pages"]:
            page = _pages(question["document"])[number - 1].casefold()
            missing = [fact for fact in question["must"] if _normal(fact).casefold() not in page]
            assert missing == [], f"{question['question']} (page {number})"


def test_no_forbidden_phrase_is_part_of_a_required_fact() -> None:
    for question in _questions():
        clash = [
            (wrong, fact)
            for wrong in question["must_not"]
            for fact in question["must"]
            if wrong.casefold() in fact.casefold()
        ]
        assert clash == [], question["question"]


def test_questions_are_not_asked_twice() -> None:
    asked = [(question.get("after"), question["question"]) for question in _questions()]
    assert len(set(asked)) == len(asked)
