"""Tables of PDF pages: found by caption, by rules, by alignment; and where the words of a row stand on their page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pypdfium2
import pytest

from tests.support.pdf_pages import Drawn, Pages
from tools.documents.extract import extract
from tools.documents.models import Extraction, TableRows
from tools.documents.page_image import quote_spans
from tools.documents.passages import passages
from tools.documents.row_places import row_is_on_page
from tools.guidelines.library import DEMO_FOLDER
from tools.language.folding import CELL_BREAK

DOSES = [
    ("Drug", "Dose", "Times a day"),
    ("Lisinopril", "10-40 mg", "1"),
    ("Captopril", "25-100 mg", "2"),
    ("Enalapril", "5-40 mg", "2"),
    ("Ramipril", "2.5-20 mg", "1"),
]
COLUMNS = (72.0, 200.0, 320.0)
PROSE = "The text of the page goes on here with a line of prose under it"


def row_by_row(rows: Sequence[Sequence[str]], *, top: float = 680, leading: float = 16) -> list[Drawn]:
    return [
        (x, top - leading * at, cell, 9, at == 0)
        for at, row in enumerate(rows)
        for x, cell in zip(COLUMNS, row, strict=False)
        if cell
    ]


def column_by_column(rows: Sequence[Sequence[str]], *, top: float = 680, leading: float = 16) -> list[Drawn]:
    return sorted(row_by_row(rows, top=top, leading=leading), key=lambda line: line[0])


def prose(top: float, x: float = 72) -> list[Drawn]:
    return [(x, top - 13 * at, PROSE) for at in range(9)]


def tables(extraction: Extraction) -> list[TableRows]:
    return [block.table for page in extraction.pages for block in page.blocks if block.table is not None]


def headings(extraction: Extraction) -> list[str]:
    return [block.text for page in extraction.pages for block in page.blocks if block.kind == "heading"]


def test_a_captioned_table_drawn_column_by_column_gets_its_rows_back(tmp_path: Path) -> None:
    caption: Drawn = (72, 700, "Table 1. Usual doses", 10, True)
    pages = Pages(tmp_path / "table.pdf").page(caption, *column_by_column(DOSES), *prose(560))

    (table,) = tables(pages.read())
    assert (table.caption, table.header, table.rows) == ("Table 1. Usual doses", DOSES[0], tuple(DOSES[1:]))


def test_an_item_right_under_a_table_is_no_row_of_it(tmp_path: Path) -> None:
    caption: Drawn = (72, 700, "Table 1. Usual doses", 10, True)
    item = "Give every drug once a day where its label allows that, and at bedtime."
    below: list[Drawn] = [(72, 590, "23.", 9, False), (180, 590, item, 9, False)]
    read = Pages(tmp_path / "item.pdf").page(caption, *row_by_row(DOSES), *below).read()

    (table,) = tables(read)
    assert (table.header, table.rows) == (DOSES[0], tuple(DOSES[1:]))
    assert any(item in block.text for page in read.pages for block in page.blocks if block.kind == "item")


def test_a_numbered_row_stays_in_its_table(tmp_path: Path) -> None:
    rows = [("Step", "Drug", "Dose"), ("1.", "Lisinopril", "10 mg"), ("2.", "Captopril", "25 mg")]
    caption: Drawn = (72, 700, "Table 1. Steps", 10, True)
    (table,) = tables(Pages(tmp_path / "steps.pdf").page(caption, *row_by_row(rows), *prose(560)).read())
    assert table.rows == tuple(rows[1:])


@pytest.mark.parametrize("markdown", sorted(DEMO_FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_each_row_of_the_demonstration_is_read_from_its_pdf(markdown: Path) -> None:
    written, printed = (
        tables(extract(path, path.suffix, progress=lambda done, total: None))
        for path in (markdown, markdown.with_suffix(".pdf"))
    )
    found = {
        (table.caption, *(cell.removeprefix(CELL_BREAK) for cell in row)) for table in printed for row in table.rows
    }
    assert [row for table in written for row in table.rows if (table.caption, *row) not in found] == []


def test_an_appendix_numbers_its_tables_in_parts(tmp_path: Path) -> None:
    caption: Drawn = (72, 700, "TABLE III.A.2.c: USUAL DOSES", 10, True)

    (table,) = tables(Pages(tmp_path / "table.pdf").page(caption, *row_by_row(DOSES), *prose(560)).read())
    assert table.caption == "TABLE III.A.2.c: USUAL DOSES"


def test_a_table_without_a_caption_is_found_by_its_alignment_and_each_row_is_a_passage(tmp_path: Path) -> None:
    extraction = Pages(tmp_path / "table.pdf").page(*prose(830), *row_by_row(DOSES), *prose(560)).read()

    (table,) = tables(extraction)
    assert (table.caption, table.header, table.rows) == ("", DOSES[0], tuple(DOSES[1:]))
    rows = [passage.text for passage in passages(extraction) if passage.kind == "table_row"]
    assert rows[0] == "Drug\tDose\tTimes a day\nLisinopril\t10-40 mg\t1"


def test_a_wrapped_cell_of_an_aligned_table_is_joined_and_the_name_of_a_group_is_not(tmp_path: Path) -> None:
    lines: list[Drawn] = [
        (72, 680, "Drug", 9, True),
        (200, 680, "Dose", 9, True),
        (72, 664, "ACE inhibitors", 9, False),
        (82, 648, "Lisinopril", 9, False),
        (200, 648, "10 to 40 mg,", 9, False),
        (200, 638, "less with age", 9, False),
        (82, 622, "Captopril", 9, False),
        (200, 622, "25 mg", 9, False),
        (82, 606, "Enalapril", 9, False),
        (200, 606, "5 mg", 9, False),
        (92, 596, "with food", 9, False),
        (82, 580, "Ramipril", 9, False),
        (200, 580, "2.5 mg", 9, False),
    ]

    (table,) = tables(Pages(tmp_path / "table.pdf").page(*lines, *prose(560)).read())
    assert table.rows == (
        ("ACE inhibitors", ""),
        ("Lisinopril", "10 to 40 mg, less with age"),
        ("Captopril", "25 mg"),
        ("Enalapril with food", "5 mg"),
        ("Ramipril", "2.5 mg"),
    )


def test_what_may_belong_to_the_row_above_or_below_makes_no_table(tmp_path: Path) -> None:
    rows = [
        ("Drug", "Dose"),
        ("Lisinopril", "10 mg"),
        ("Hydrochlorothiazide", ""),
        ("with captopril", "25 mg"),
        ("Enalapril", "5 mg"),
    ]

    assert tables(Pages(tmp_path / "table.pdf").page(*row_by_row(rows, leading=11), *prose(560)).read()) == []


def two_columns() -> list[Drawn]:
    return [
        line
        for at in range(9)
        for line in (
            (72.0, 700.0 - 12 * at, f"left line {at} goes on"),
            (400.0, 700.0 - 12 * at, f"right line {at} goes on"),
        )
    ]


def in_rows(first: Sequence[str], second: Sequence[str], left: float = 72, right: float = 140) -> list[Drawn]:
    return [
        line
        for at, (one, other) in enumerate(zip(first, second, strict=True))
        for line in ((left, 700.0 - 14 * at, one), (right, 700.0 - 14 * at, other))
    ]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(two_columns(), id="prose in two columns, drawn line by line"),
        pytest.param(sorted(two_columns(), key=lambda line: line[0]), id="prose in two columns"),
        pytest.param(
            in_rows(
                ["1.", "2.", "3.", "4."], ["Smith A. A trial. 2003.", "Jones B. More.", "Lee C. Less.", "Roe D. All."]
            ),
            id="references",
        ),
        pytest.param(in_rows(["-", "-", "-", "-"], ["Weigh", "Measure", "Treat", "Ask"]), id="a list"),
        pytest.param(
            in_rows(["Foreword", "1 Methods", "2 Results", "3 Doses"], ["iv", "1", "12", "19"], right=400),
            id="contents",
        ),
        pytest.param(
            in_rows(["1", "2", "3"], ["Data of the third survey, weighted to the whole population"] * 3), id="notes"
        ),
        pytest.param(
            [
                *in_rows(["Milk", "Bread", "Rice", "Juice"], ["1 cup", "1 slice", "2 cups", "3"]),
                (143, 644, "\u20444 cup"),
            ],
            id="a fraction in two lines",
        ),
        pytest.param(
            [
                (72, 700, "Low"),
                (210, 700, "9 mg"),
                (79, 686, "Mild"),
                (222, 686, "77 mg"),
                (77, 672, "High"),
                (231, 672, "8 mg"),
                (89, 658, "All"),
                (202, 658, "123456 mg"),
            ],
            id="labels of a figure",
        ),
        pytest.param(
            [
                *in_rows(["Milk"] * 6, ["1 cup"] * 6),
                (72, 616, "Usual portion for adults"),
                (220, 616, "cups"),
                (300, 616, "pints"),
                (72, 602, "Rice"),
                (140, 602, "2 cups"),
            ],
            id="a row across the columns",
        ),
        pytest.param(
            sorted(
                in_rows(["Ann Lee", "Geneva", "Bo Roe", "Lyon"], ["Cy Poe", "Paris", "Di Fox", "Rome"], right=320),
                key=lambda line: line[0],
            ),
            id="names in two columns",
        ),
    ],
)
def test_what_only_looks_like_a_table_stays_text(lines: list[Drawn], tmp_path: Path) -> None:
    extraction = Pages(tmp_path / "text.pdf").page(*lines, *prose(560)).read()

    assert tables(extraction) == []


WRAPPED: list[Drawn] = [
    (72, 690, "Name", 9, True),
    (200, 690, "Conflicts and", 9, True),
    (200, 679, "interests", 9, True),
    (320, 690, "Plan", 9, True),
    (72, 660, "Ann Lee (University", 9, False),
    (72, 649, "of Geneva)", 9, False),
    (200, 660, "-", 9, False),
    (320, 660, "Full", 9, False),
    (320, 649, "participation", 9, False),
    (72, 630, "Bo Roe", 9, False),
    (200, 630, "Advised a maker", 9, False),
    (200, 619, "of vaccines", 9, False),
    (200, 608, "until 2023", 9, False),
    (320, 630, "Declare", 9, False),
    (72, 590, "Cy Poe", 9, False),
    (200, 590, "-", 9, False),
    (320, 590, "Declare", 9, False),
]


@pytest.mark.parametrize("joints", [(), (196.0, 316.0)])
def test_rules_tell_which_lines_are_one_row_however_its_cells_are_wrapped(
    tmp_path: Path, joints: tuple[float, ...]
) -> None:
    pages = Pages(tmp_path / "ruled.pdf").rules(68, 420, 702, 672, 642, 602, 580, joints=joints)
    extraction = pages.page(*WRAPPED, *prose(560)).read()

    (table,) = tables(extraction)
    assert table.header == ("Name", "Conflicts and interests", "Plan")
    assert table.rows == (
        ("Ann Lee (University of Geneva)", "-", "Full participation"),
        ("Bo Roe", "Advised a maker of vaccines until 2023", "Declare"),
        ("Cy Poe", "-", "Declare"),
    )
    assert headings(extraction) == []


def test_rules_tell_the_rows_below_a_caption_and_hold_the_column_on_the_other_half_of_the_page(tmp_path: Path) -> None:
    lines: list[Drawn] = [
        (72, 720, "Table 2. Strength of a recommendation", 10, True),
        *((x, 690, name, 10, True) for x, name in ((72, "For"), (200, "Strong"), (380, "Conditional"))),
        *(
            (x, 660, text)
            for x, text in ((72, "Patients"), (200, "Most would want it,"), (380, "Most would want it, but many"))
        ),
        *((x, 648, text) for x, text in ((200, "all in all."), (380, "others would not."))),
        *(
            (x, 620, text)
            for x, text in ((72, "Doctors"), (200, "All should get it."), (380, "Help each one to arrive at a"))
        ),
        (380, 608, "decision of their own."),
    ]
    pages = Pages(tmp_path / "ruled.pdf").rules(68, 530, 710, 680, 640, 600)
    extraction = pages.page(*lines, *prose(570)).read()

    (table,) = tables(extraction)
    assert table.caption == "Table 2. Strength of a recommendation"
    assert table.header == ("For", "Strong", "Conditional")
    assert table.rows == (
        ("Patients", "Most would want it, all in all.", "Most would want it, but many others would not."),
        ("Doctors", "All should get it.", "Help each one to arrive at a decision of their own."),
    )


def test_a_header_that_stands_at_the_top_of_each_page_is_no_running_head(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "ruled.pdf")
    high: list[Drawn] = [(x, y + 120, text, 9, y > 670) for x, y, text, *_ in WRAPPED]
    for number in range(1, 9):
        foot = (300, 30, f"Page {number} of 8")
        if number < 4:
            pages.rules(68, 420, 822, 792, 762, 722, 700).page(*high, foot)
        else:
            pages.page((72, 700, f"Sentence {number} of the text."), foot)

    assert [table.header[0] for table in tables(pages.read())] == ["Name"] * 3


def test_two_tables_of_one_width_with_the_same_header_are_two(tmp_path: Path) -> None:
    header, row, title = (("Name", "Plan"), True), (("Ann Lee", "Full participation"), False), (("Observers",), True)
    bands = enumerate([header, row, row, title, header, row, row])
    lines: list[Drawn] = [
        (x, 700.0 - 20 * at, cell, 9, bold)
        for at, (cells, bold) in bands
        for x, cell in zip(COLUMNS, cells, strict=False)
    ]
    pages = Pages(tmp_path / "ruled.pdf").rules(68, 420, *(714.0 - 20 * at for at in range(8)))

    assert [len(table.rows) for table in tables(pages.page(*lines, *prose(530)).read())] == [2, 2]


def test_a_box_of_text_between_rules_is_no_table(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "box.pdf").rules(68, 420, 712, 680, 640)
    lines: list[Drawn] = [(72, 690, PROSE), (72, 660, PROSE), (72, 648, PROSE)]

    assert tables(pages.page(*lines, *prose(600)).read()) == []


def test_the_second_line_of_a_tables_header_is_no_heading(tmp_path: Path) -> None:
    lines: list[Drawn] = [
        (72, 700, "Recommendations", 10, True),
        (400, 700, "Strength of recommendation", 10, True),
        (400, 688, "and certainty of evidence", 10, True),
        (72, 660, "Sex workers", 10, True),
    ]

    assert headings(Pages(tmp_path / "header.pdf").page(*lines, *prose(640)).read()) == ["Sex workers"]


def test_a_row_of_cells_that_do_not_stand_beside_each_other_is_kept_from_being_quoted(tmp_path: Path) -> None:
    caption: Drawn = (72, 700, "Table 1. Usual doses", 10, True)
    rows = [("Drug", "Dose"), ("Lisinopril", "10-40 mg"), ("Captopril", "25-100 mg"), ("Hypertensive", "")]
    drawn = column_by_column(rows, leading=11)

    (table,) = tables(Pages(tmp_path / "table.pdf").page(caption, *drawn, *prose(560)).read())
    assert table.rows == (("Lisinopril", "10-40 mg"), ("Captopril Hypertensive", f"{CELL_BREAK}25-100 mg"))


@pytest.fixture
def wrapped(tmp_path: Path) -> Path:
    """A page whose rows are drawn column by column, and whose figures stand in several rows."""
    pages = Pages(tmp_path / "wrapped.pdf")
    drawn = sorted(WRAPPED, key=lambda line: line[0])
    pages.page(*drawn, (72, 400, "Declare 120 Plans"), (72, 380, "Bo Roe")).read()
    return pages.path


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("Bo Roe\tAdvised a maker of vaccines until 2023\tDeclare", True),
        ("Ann Lee (University of Geneva)\tFull participation", True),
        ("maker of vaccines until 2023\tDeclare", True),
        ("Bo Roe\tAdvised a maker of vaccines until 2023\tFull participation", False),
        ("Bo Roe\tAdvised a maker of vaccines until 2024\tDeclare", False),
        ("Bo Roe\tAdvised a maker until 2023\tDeclare", False),
        ("Cy Poe\tDecl", False),
        ("Declare\tCy Poe", False),
        ("", False),
    ],
)
def test_a_row_stands_on_its_page_where_its_cells_stand_beside_each_other(
    wrapped: Path, quote: str, stands: bool
) -> None:
    assert row_is_on_page(wrapped, 1, quote) is stands
    assert not row_is_on_page(wrapped, 2, quote)


def test_the_words_of_a_row_are_marked_in_that_row_and_nowhere_else(wrapped: Path) -> None:
    document = pypdfium2.PdfDocument(wrapped)
    text_page = document[0].get_textpage()
    text = text_page.get_text_range()

    spans = quote_spans(text_page, "Cy Poe\tDeclare")
    assert [text[start:end] for start, end in spans] == ["Cy Poe", "Declare"]
    heights = {round(text_page.get_charbox(start)[1]) for start, _ in spans}
    assert max(heights) - min(heights) <= 2
    assert quote_spans(text_page, "Cy Poe\tFull participation") == []
