"""Words in small capitals, which PDFium takes for two, are whole again; words of one capital stay words."""

from __future__ import annotations

from pathlib import Path

from reportlab.pdfbase.pdfmetrics import stringWidth

from tests.support.pdf_pages import Drawn, Pages
from tools.language.folding import folded

LARGE, SMALL = 16.0, 12.0
INSIDE, BETWEEN = 5.0, 10.0
"""Points of white inside a word, behind its first letter, and between words."""
PROSE: list[Drawn] = [(72, 500 - 13 * at, "Overweight is common, and its prevalence rises.") for at in range(9)]


def small_capitals(y: float, words: str) -> list[Drawn]:
    """``words`` with each capital set large, and the letters that follow it as smaller capitals."""
    drawn: list[Drawn] = []
    x = 72.0
    for word in words.split():
        for text, size, white in ((word[0], LARGE, INSIDE), (word[1:].upper(), SMALL, 0.0)):
            if text:
                drawn.append((x, y, text, size, False))
                x += stringWidth(text, "Helvetica", size) + white
        x += BETWEEN - (INSIDE if len(word) == 1 else 0)
    return drawn


def first_words(tmp_path: Path, *lines: list[Drawn]) -> list[str]:
    extraction = Pages(tmp_path / "capitals.pdf").page(*(part for line in lines for part in line), *PROSE).read()
    return [block.text for block in extraction.pages[0].blocks if "Overweight is" not in block.text]


def test_a_heading_in_small_capitals_has_whole_words(tmp_path: Path) -> None:
    assert first_words(tmp_path, small_capitals(700, "Prevalence Of Overweight")) == ["PREVALENCE OF OVERWEIGHT"]


def test_a_capital_that_could_be_a_word_joins_only_what_stands_nearer_than_words_do(tmp_path: Path) -> None:
    assert first_words(tmp_path, small_capitals(700, "Annual Income")) == ["ANNUAL INCOME"]

    alone = [
        (72.0, 700.0, "A", LARGE, False),
        (72 + LARGE * 0.67 + 4, 700.0, "NEW DOSE", SMALL, False),
    ]
    assert first_words(tmp_path, alone) == ["A NEW DOSE"]


def test_capitals_of_one_size_are_words_of_their_own(tmp_path: Path) -> None:
    line: list[Drawn] = [(72, 700, "TYPE I DIET AND VITAMIN D DOSE", LARGE, False)]

    assert first_words(tmp_path, line) == ["TYPE I DIET AND VITAMIN D DOSE"]


def test_a_comma_stands_at_its_word_and_the_characters_stay_those_of_the_page(tmp_path: Path) -> None:
    line: list[Drawn] = [
        *small_capitals(700, "Evaluation"),
        (210, 700, ", AND TREATMENT", SMALL, False),
    ]

    (words,) = first_words(tmp_path, line)
    assert words == "EVALUATION, AND TREATMENT"
    assert folded(words) == folded("E VALUATION , AND TREATMENT")


def test_the_title_of_a_page_keeps_the_few_words_that_are_set_smaller(tmp_path: Path) -> None:
    cover = (
        Pages(tmp_path / "title.pdf")
        .page(
            (72, 700, "CLINICAL GUIDELINE", 20, False),
            (72, 670, "on the", 11, False),
            (72, 640, "TREATMENT OF ASTHMA", 20, False),
        )
        .page(*PROSE)
    )

    assert cover.read().title == "CLINICAL GUIDELINE on the TREATMENT OF ASTHMA"
