"""Headings of PDF pages: whole where they take several lines, and told from sentences that begin in bold type."""

from __future__ import annotations

from pathlib import Path

from tests.support.pdf_pages import Drawn, Pages


def prose(top: float) -> list[Drawn]:
    return [(72, top - 13 * at, "The page goes on here with prose on long-acting drugs.") for at in range(12)]


def blocks(tmp_path: Path, *lines: Drawn) -> list[tuple[str, str]]:
    (page,) = Pages(tmp_path / "page.pdf").page(*lines, *prose(500)).read().pages
    return [(block.kind, block.text) for block in page.blocks[:-1]]


def test_a_sentence_that_begins_with_a_line_in_bold_is_read_whole(tmp_path: Path) -> None:
    assert blocks(
        tmp_path,
        (72, 700, "In two randomized trials the drug greatly", 10, True),
        (72, 688, "reduced infections in all groups.", 10, False),
    ) == [("text", "In two randomized trials the drug greatly reduced infections in all groups.")]


def test_a_summary_in_larger_type_does_not_go_on_from_the_imprint_above_it(tmp_path: Path) -> None:
    assert blocks(
        tmp_path,
        (72, 700, "Example Society, version 1.0, 2026-10-01, licence CC0", 8, False),
        (72, 683, "Treatment of asthma in adults and children, condensed from published guidance.", 9.4, False),
    ) == [
        ("text", "Example Society, version 1.0, 2026-10-01, licence CC0"),
        ("text", "Treatment of asthma in adults and children, condensed from published guidance."),
    ]


def test_a_heading_over_words_in_lower_case_stays_a_heading(tmp_path: Path) -> None:
    assert blocks(
        tmp_path,
        (72, 700, "Contraindications", 10, True),
        (72, 688, "pregnancy", 10, False),
        (72, 640, "Reasons to stop the treatment early", 10, True),
        (72, 628, "angioedema, which may be late and which a patient has to know of before", 10, False),
    ) == [
        ("heading", "Contraindications"),
        ("text", "pregnancy"),
        ("heading", "Reasons to stop the treatment early"),
        ("text", "angioedema, which may be late and which a patient has to know of before"),
    ]


def test_a_heading_whose_lines_differ_in_weight_is_one(tmp_path: Path) -> None:
    assert blocks(
        tmp_path, (72, 700, "Rationale and supporting", 20, True), (72, 676, "evidence for prevention", 20, False)
    ) == [("heading", "Rationale and supporting evidence for prevention")]


def test_a_heading_with_a_hyphen_at_its_line_end_is_one(tmp_path: Path) -> None:
    assert blocks(tmp_path, (72, 700, "Testing for the long-", 20, True), (72, 676, "acting injection", 20, True)) == [
        ("heading", "Testing for the long-acting injection")
    ]


def test_two_headings_under_each_other_stay_two(tmp_path: Path) -> None:
    assert blocks(tmp_path, (72, 700, "Rationale and evidence", 20, True), (72, 676, "Prevention", 20, False)) == [
        ("heading", "Rationale and evidence"),
        ("heading", "Prevention"),
    ]
