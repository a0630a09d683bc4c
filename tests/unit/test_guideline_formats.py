"""What is read from Markdown, HTML, Word and text files, and from the pages of PDF files."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from tests.support.pdf_pages import Pages
from tools.documents.docx_format import read_docx
from tools.documents.layout.ocr import paragraphs
from tools.documents.models import Block, Extraction
from tools.documents.page_image import render_page
from tools.documents.text_formats import decode, read_html, read_markdown, read_plain
from tools.errors import SourceRejected

MARKDOWN = """---
title: Sepsis in adults
issuer: Example Society
version: 2.1
date: 2025-03-01
licence: CC0-1.0
---

# Sepsis in adults

## First hour

Give **antibiotics** within 1 hour, see [the trial](https://example.org/x).

- Take blood cultures
  before the first dose.
- Measure lactate.

Table 1. Doses

| Drug | Dose |
|------|-----:|
| Ceftriaxone | 2 g |
| Meropenem | 1 g |
"""


def kinds(extraction: Extraction) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for page in extraction.pages for block in page.blocks]


def test_markdown_keeps_its_facts_headings_lists_and_tables() -> None:
    extraction = read_markdown(MARKDOWN)

    assert (extraction.title, extraction.issuer, extraction.version, extraction.date, extraction.licence) == (
        "Sepsis in adults",
        "Example Society",
        "2.1",
        "2025-03-01",
        "CC0-1.0",
    )
    assert kinds(extraction) == [
        ("heading", "Sepsis in adults"),
        ("heading", "First hour"),
        ("text", "Give antibiotics within 1 hour, see the trial."),
        ("item", "- Take blood cultures before the first dose."),
        ("item", "- Measure lactate."),
        ("table", "Table 1. Doses\nDrug\tDose\nCeftriaxone\t2 g\nMeropenem\t1 g"),
    ]


def test_bullets_of_word_processors_are_items_in_markdown() -> None:
    assert kinds(read_markdown("Avoid:\n• one\n• two\n")) == [("text", "Avoid:"), ("item", "- one"), ("item", "- two")]


def test_signs_that_mark_nothing_in_markdown_are_kept() -> None:
    assert kinds(read_markdown("Give `_dose` 2 \\* *daily*.")) == [("text", "Give _dose 2 * daily.")]


def test_html_is_read_without_its_navigation_and_scripts() -> None:
    extraction = read_html(
        "<html lang='en'><head><title>Sepsis care</title><meta name='author' content='Example Society'>"
        "<style>p {color: red}</style></head><body><nav><a>Home</a></nav><h1>Sepsis</h1>"
        "<p>Give <b>antibiotics</b> within<br>1 hour &amp; fluids.<ul><li>Cultures<li>Lactate</ul>"
        "<table><caption>Table 1. Doses</caption><tr><th>Drug<th>Dose</tr><tr><td>Ceftriaxone<td>2 g</tr></table>"
        "<script>steal()</script></body></html>"
    )

    assert (extraction.title, extraction.issuer, extraction.language) == ("Sepsis care", "Example Society", "en")
    assert kinds(extraction) == [
        ("heading", "Sepsis"),
        ("text", "Give antibiotics within 1 hour & fluids."),
        ("item", "• Cultures"),
        ("item", "• Lactate"),
        ("table", "Table 1. Doses\nDrug\tDose\nCeftriaxone\t2 g"),
    ]


@pytest.mark.parametrize(
    ("markup", "blocks"),
    [
        (
            "<tr><td><p>Drug</p></td><td><p>Dose</p></td></tr><tr><td><p>A</p></td><td><div>5 mg</div></td></tr>",
            [("table", "Drug\tDose\nA\t5 mg")],
        ),
        (
            "<tr><td>A</td><td>Adults:<ul><li>Give 5 mg</li><li>Not in pregnancy</li></ul></td><td>No</td></tr>",
            [("table", "A\tAdults: • Give 5 mg • Not in pregnancy\tNo")],
        ),
        (
            "<tr><td>Outer words.<table><tr><th>Drug</th><th>Dose</th></tr><tr><td>A</td><td>5 mg</td></tr></table>"
            "</table></td></tr>",
            [("text", "Outer words."), ("table", "Drug\tDose\nA\t5 mg")],
        ),
        ("<tr><td><p>Give A.</p><p>Do not give B.</p></td></tr>", [("text", "Give A. Do not give B.")]),
        (
            "<caption><p>Table 1. Doses</p></caption><tr><td>A</td><td>5 mg</td></tr>",
            [("table", "Table 1. Doses\nA\t5 mg")],
        ),
        (
            "<tr><td><h1>Sepsis</h1><p>Give A.</p><p>Do not give B.</p></td></tr>",
            [("heading", "Sepsis"), ("text", "Give A."), ("text", "Do not give B.")],
        ),
    ],
)
def test_blocks_in_the_cells_of_an_html_table_stay_in_their_row(markup: str, blocks: list[tuple[str, str]]) -> None:
    assert kinds(read_html(f"<table>{markup}</table>")) == blocks


@given(st.text(alphabet="<>/abptdrhl123 \"'=&;!-\n", max_size=300))
def test_any_html_is_read_without_a_crash(text: str) -> None:
    read_html(text)


@given(st.text(alphabet="#|-*>` \nabc1.[]()", max_size=300))
def test_any_markdown_is_read_without_a_crash(text: str) -> None:
    read_markdown(text)


def test_plain_text_has_paragraphs_and_headings() -> None:
    assert kinds(read_plain("Sepsis in adults\n\nGive antibiotics\nat once.\n\n- Lactate\n")) == [
        ("heading", "Sepsis in adults"),
        ("text", "Give antibiotics at once."),
        ("item", "- Lactate"),
    ]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (
            "Treatment:\n- Give A\n  5 mg\n- Do not give B\n- Give C.",
            [
                ("text", "Treatment:"),
                ("item", "- Give A 5 mg"),
                ("item", "- Do not give B"),
                ("item", "- Give C."),
            ],
        ),
        ("• Give A\n• Do not give B", [("item", "• Give A"), ("item", "• Do not give B")]),
        ("1. Give A\n  - at once\n2) Not B", [("item", "1. Give A - at once"), ("item", "2) Not B")]),
        ("Give a dose of\n2.5 mg, as in\n2019. The dose of\n5) mg.", [("text", None)]),
        ("Give aspirin after a dose of\n10. The next\n- if any -\n30. day.", [("text", None)]),
    ],
)
def test_the_items_of_a_list_in_plain_text_are_apart(text: str, blocks: list[tuple[str, str | None]]) -> None:
    whole = text.replace("\n", " ")
    assert kinds(read_plain(text)) == [(kind, words or whole) for kind, words in blocks]


def test_text_of_old_code_pages_is_read_and_binary_data_refused() -> None:
    assert decode("Über 5 µg".encode("cp1252")) == "Über 5 µg"
    assert decode("Über 5 µg".encode("utf-16")) == "Über 5 µg"
    with pytest.raises(SourceRejected, match="binary"):
        decode(b"abc\0def")


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def write_docx(path: Path, body: str, start: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/document.xml", f"{start}<w:document {W}><w:body>{body}</w:body></w:document>")
        package.writestr(
            "docProps/core.xml",
            '<cp:coreProperties xmlns:cp="c" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            "<dc:title>Sepsis care</dc:title></cp:coreProperties>",
        )
    return path


def test_an_or_between_two_columns_stays_below_their_headers() -> None:
    pressures = (
        "| Stage | Systolic | | Diastolic |\n|---|---|---|---|\n| 2 | ≥ 140 | or | ≥ 90 |\n| 0 | < 120 | and | < 80 |"
    )
    assert kinds(read_markdown(f"# Pressure\n\n{pressures}\n"))[-1] == (
        "table",
        "Stage\tSystolic\tDiastolic\n2\t≥ 140 or\t≥ 90\n0\t< 120 and\t< 80",
    )
    doses = "| Drug | Dose | | Note |\n|---|---|---|---|\n| A | 5 mg | 10 mg | Slowly |"
    assert kinds(read_markdown(f"# Doses\n\n{doses}\n"))[-1][1].endswith("A\t5 mg\t10 mg\tSlowly")


def test_a_word_document_keeps_headings_lists_and_tables(tmp_path: Path) -> None:
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>First hour</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>Give </w:t></w:r><w:r><w:t>antibiotics.</w:t></w:r></w:p>"
        "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>Lactate</w:t></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Drug</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Dose</w:t></w:r></w:p>"
        "</w:tc></w:tr><w:tr><w:tc><w:p><w:r><w:t>Ceftriaxone</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>2 g</w:t>"
        "</w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    extraction = read_docx(write_docx(tmp_path / "sepsis.docx", body))

    assert extraction.title == "Sepsis care"
    assert kinds(extraction) == [
        ("heading", "First hour"),
        ("text", "Give antibiotics."),
        ("item", "• Lactate"),
        ("table", "Drug\tDose\nCeftriaxone\t2 g"),
    ]


def test_what_is_in_content_controls_of_a_word_document_is_read(tmp_path: Path) -> None:
    def control(content: str, gallery: str = "") -> str:
        kind = f'<w:docPartObj><w:docPartGallery w:val="{gallery}"/></w:docPartObj>' if gallery else ""
        return f"<w:sdt><w:sdtPr>{kind}</w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"

    def paragraph(text: str) -> str:
        return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"

    def cell(text: str) -> str:
        return f"<w:tc>{paragraph(text)}</w:tc>"

    rows = f"<w:tr>{cell('Drug')}{cell('Dose')}</w:tr>" + control(f"<w:tr>{cell('A')}{control(cell('5 mg'))}</w:tr>")
    body = (
        control(paragraph("Introduction 1"), "Table of Contents")
        + control(control(paragraph("Do not give in pregnancy.")), "Quick Parts")
        + control(f"<w:tbl>{rows}</w:tbl>")
    )
    assert kinds(read_docx(write_docx(tmp_path / "sepsis.docx", body))) == [
        ("text", "Do not give in pregnancy."),
        ("table", "Drug\tDose\nA\t5 mg"),
    ]


def test_a_caption_of_a_word_document_belongs_to_the_table_below_it(tmp_path: Path) -> None:
    def caption(text: str) -> str:
        return f'<w:p><w:pPr><w:pStyle w:val="Caption"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'

    row = "<w:tr><w:tc><w:p><w:r><w:t>Ceftriaxone</w:t></w:r></w:p></w:tc></w:tr>"
    body = f"{caption('Figure 1')}{caption('Table 1')}<w:p/><w:tbl>{row}</w:tbl>{caption('Figure 2')}"
    assert kinds(read_docx(write_docx(tmp_path / "sepsis.docx", body))) == [
        ("caption", "Figure 1"),
        ("table", "Table 1\nCeftriaxone"),
        ("caption", "Figure 2"),
    ]


def test_quotes_are_marked_on_their_words_on_a_rotated_page_too(tmp_path: Path) -> None:
    def yellow(rotation: int) -> tuple[range, range]:
        canvas = Canvas(str(tmp_path / "page.pdf"), pagesize=(200, 300))
        canvas.setPageRotation(rotation)
        canvas.drawString(20, 150, "Give aspirin at once.")
        canvas.save()
        page = render_page(tmp_path / "page.pdf", 1, highlight=["Give aspirin at once."], scale=1.0).png
        width, data = struct.unpack(">I", page[16:20])[0], page[page.index(b"IDAT") + 4 :]
        rows = zlib.decompressobj().decompress(data)
        places = [divmod(at, 3 * width + 1) for at in range(len(rows)) if rows[at : at + 3] == b"\xff\xe8\x5c"]
        down, across = [y for y, _ in places], [(x - 1) // 3 for _, x in places]
        return range(min(across), max(across)), range(min(down), max(down))

    across, down = yellow(0)
    assert 18 <= across.start <= 22
    assert 145 in down
    # The writing runs down the page, and its baseline is on the left.
    across, down = yellow(90)
    assert 18 <= down.start <= 22
    assert 155 in across


def test_a_word_document_with_entities_or_a_bomb_inside_is_refused(tmp_path: Path) -> None:
    """Row 38 of the fault list."""
    entity = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'
    with pytest.raises(SourceRejected, match="document type or entities"):
        read_docx(write_docx(tmp_path / "entity.docx", "", entity))
    with pytest.raises(SourceRejected, match="holds more XML"):
        read_docx(write_docx(tmp_path / "bomb.docx", " " * 60_000_000))
    (tmp_path / "broken.docx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(SourceRejected, match="damaged"):
        read_docx(tmp_path / "broken.docx")


def texts(blocks: tuple[Block, ...]) -> list[str]:
    return [block.text for block in blocks]


def test_running_heads_and_page_numbers_are_dropped_and_the_printed_number_kept(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "heads.pdf")
    for number in range(1, 5):
        pages.page(
            (72, 810, "The Example Guideline"),
            (72, 700, f"Sentence {number} stays in the text of the page."),
            (300, 30, f"Page {number + 6} of 20"),
        )
    extraction = pages.read()

    assert [texts(page.blocks) for page in extraction.pages] == [
        [f"Sentence {number} stays in the text of the page."] for number in range(1, 5)
    ]
    assert [page.label for page in extraction.pages] == ["7", "8", "9", "10"]


def test_the_name_of_a_chapter_beside_the_page_number_is_a_running_head_also_on_one_page(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "heads.pdf")
    chapters = ["Introduction", "Methods", "Screening", "Treatment"]
    for number, chapter in enumerate(chapters, start=1):
        # Text is drawn between them, so that the number is a line of its own.
        pages.page((500, 30, str(number)), (72, 700, f"Sentence {number} stays in the text."), (380, 30, chapter))

    assert [texts(page.blocks) for page in pages.read().pages] == [
        [f"Sentence {number} stays in the text."] for number in range(1, 5)
    ]


def test_a_word_parted_at_the_line_end_is_made_whole_and_a_compound_keeps_its_hyphen(tmp_path: Path) -> None:
    extraction = (
        Pages(tmp_path / "hyphens.pdf")
        .page(
            (72, 700, "Lower the blood pressure of patients with hyper-"),
            (72, 688, "tension slowly. Long-term care and long-"),
            (72, 676, "term control of hypertension matter."),
        )
        .read()
    )

    assert texts(extraction.pages[0].blocks) == [
        "Lower the blood pressure of patients with hypertension slowly. Long-term care and long-term control of "
        "hypertension matter."
    ]


def test_a_sentence_goes_on_behind_a_line_that_begins_in_small_capitals(tmp_path: Path) -> None:
    extraction = (
        Pages(tmp_path / "small.pdf")
        .page(
            *((72, 760 - 14 * at, "Weight loss therapy is continued for long.", 12, False) for at in range(12)),
            (72, 560, "RECOMMENDATION: ", 9, False),
            (164, 560, "A weight mainte-", 12, False),
            (72, 546, "nance program should be a priority.", 12, False),
        )
        .read()
    )

    assert "RECOMMENDATION: A weight maintenance program should be a priority." in texts(extraction.pages[0].blocks)


@pytest.mark.parametrize("others", [0, 12])
def test_an_item_goes_on_behind_a_bullet_in_larger_type(tmp_path: Path, others: int) -> None:
    extraction = (
        Pages(tmp_path / "items.pdf")
        .page(
            (72, 760, "• ", 12, False),
            (84, 760, "ACE inhibitors are contraindicated in pregnancy;", 9, False),
            (84, 746, "they must be stopped, and any of them harms the fetus, the more so after", 9, False),
            (84, 732, "Week 20.", 9, False),
            (72, 716, "❏ ", 12, False),
            (84, 716, "Tick what applies", 9, False),
            *((72, 680 - 14 * at, "Weight loss therapy is continued for long.", 9, False) for at in range(others)),
        )
        .read()
    )

    assert kinds(extraction)[:2] == [
        (
            "item",
            "• ACE inhibitors are contraindicated in pregnancy; they must be stopped, and any of them harms the "
            "fetus, the more so after Week 20.",
        ),
        ("item", "❏ Tick what applies"),
    ]


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    left = [(72.0, 700.0 - 12 * at, f"left line {at} of the first column goes") for at in range(6)]
    right = [(320.0, 700.0 - 12 * at, f"right line {at} of the second column goes") for at in range(6)]
    extraction = Pages(tmp_path / "columns.pdf").page(*left, *right).read()

    words = " ".join(texts(extraction.pages[0].blocks))
    assert words.index("left line 5") < words.index("right line 0")


def test_recognised_text_is_cut_into_paragraphs() -> None:
    assert [block.text for block in paragraphs("Current con-\ntrol rates\n\n|\n\nare low.\f")] == [
        "Current control rates",
        "are low.",
    ]
