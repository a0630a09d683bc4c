"""What a PDF glues, cuts at its pages or says wrongly of itself is read as it was meant; quotes stay verbatim."""

from __future__ import annotations

from pathlib import Path

import pypdfium2
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from tests.support.pdf_pages import Pages
from tools.documents.extract import extract
from tools.documents.models import Extraction
from tools.documents.page_image import quote_spans
from tools.documents.page_words import is_on_page, page_texts
from tools.documents.passages import passages
from tools.documents.pdf.false_spaces import takes_number
from tools.language.quotes import quotes_in
from tools.language.sentences import sentences

PROSE = [
    "The panel recommends screening for diabetes in asymptomatic adults who are 45 years or older, and in",
    "younger adults who are overweight. The benefit of this is moderate, and the harms of it are small.",
    "Screening in asymptomatic adults may be done every year. It should be stopped when life is short.",
    "An antihypertensive drug with a pharmacologic effect on the overall instrumentation is given then.",
]
GLUED = "Screening asymptomaticadults45yearsorolder has a moderate benefit. It was atherosclerotic."


def text_of(extraction: Extraction) -> str:
    return "\n".join(block.text for page in extraction.pages for block in page.blocks)


def written(path: Path, *lines: str, **facts: str) -> Extraction:
    """A PDF of one page with the document properties ``facts``."""
    canvas = Canvas(str(path), pagesize=A4, lang=facts.get("language"))
    canvas.setTitle("Screening for diabetes")
    canvas.setAuthor(facts.get("author", ""))
    for at, line in enumerate(lines):
        canvas.drawString(72, 750 - 14 * at, line)
    canvas.save()
    return extract(path, ".pdf", progress=lambda done, total: None)


def test_glued_words_are_parted_and_all_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "g.pdf"
    text = text_of(written(path, *PROSE, GLUED))

    sentence = "Screening asymptomatic adults 45 years or older has a moderate benefit."
    assert sentence in text
    assert text.replace(" ", "") == "".join([*PROSE, GLUED]).replace(" ", "")
    assert all(
        word in text.split() for word in ("antihypertensive", "pharmacologic", "instrumentation", "atherosclerotic.")
    )
    assert is_on_page(sentence, 1, page_texts(path))
    document = pypdfium2.PdfDocument(path)
    text_page = document[0].get_textpage()
    spans = quote_spans(text_page, sentence)
    assert [text_page.get_text_range()[slice(*span)] for span in spans] == [GLUED.split(" It", maxsplit=1)[0]]
    document.close()


@pytest.mark.parametrize(
    "string",
    [
        "hydrochlorothiazide", "electroencephalographically", "nondihydropyridines", "medroxyprogesterone", "afterload",
        "CHA2DS2VASc", "policymakers", "www.helpforadultsofanyage.org", "Blutdruckmessungen", "breastfeedingmothers",
    ],
)  # fmt: skip
def test_a_word_that_is_fine_is_never_changed(string: str, tmp_path: Path) -> None:
    assert string in text_of(written(tmp_path / "g.pdf", *PROSE, f"It is {string} here.")).split()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The dose is reduced to 110 mg twice daily at an age of", "80 years or more in adults. Then look again."),
        ("Do not give it to those who have been treated for", "Crohn disease in adults. Then look again."),
        ("It must not be given without an", "ACE inhibitor in adults. Then look again."),
        ("Screening can reduce infections", "(about 25 per 1000 fewer) in adults. Then look again."),
    ],
)
def test_a_sentence_is_whole_over_the_turn_of_a_page(before: str, after: str, tmp_path: Path) -> None:
    extraction = Pages(tmp_path / "g.pdf").page((72, 700, before)).page((72, 700, after)).read()
    first, second = passages(extraction)

    whole = f"{before} {after.partition('.')[0]}."
    assert (first.text, second.text) == (whole, "Then look again.")
    assert quotes_in(whole, first.text) == (whole,)
    assert quotes_in(before, first.text) == ()
    texts = page_texts(tmp_path / "g.pdf")
    assert is_on_page(whole, 1, texts)


def test_a_box_that_is_drawn_last_is_read_where_it_stands(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "box.pdf")
    around = [
        (72, 740, "Pregnant women are a group of their own."),
        (72, 600, "The evidence is low. Screening leads to a"),
    ]
    box = [(90, 690, "Women should be screened for chlamydia"), (90, 676, "at the first visit of each pregnancy.")]
    pages.page(*around, *box).page((72, 740, "significant reduction in infections."))

    made = passages(pages.read())
    told = [sentence for passage in made for sentence in sentences(passage.text)]
    assert told == [
        "Pregnant women are a group of their own.",
        "Women should be screened for chlamydia at the first visit of each pregnancy.",
        "The evidence is low.",
        "Screening leads to a significant reduction in infections.",
    ]


def test_a_sentence_is_whole_over_the_foot_of_a_column_also_before_a_name(tmp_path: Path) -> None:
    left = [
        "Ambulatory pressure was lower then.",
        "Investigators of the Framingham",
        "had reported this before. The Heart",
    ]
    right = ["Study found that the risk was high", "and that it grew with age."]
    short = ["Categories of pressure", "Stage 1", "Stage 2"]

    def drawn(*columns: list[str]) -> str:
        lines = [
            (72 + 250 * at, 740 - 14 * down, line) for at, each in enumerate(columns) for down, line in enumerate(each)
        ]
        return text_of(Pages(tmp_path / "columns.pdf").page(*lines).read())

    assert "The Heart Study found that the risk was high and that it grew with age." in drawn(left, right)
    assert "Stage 2 Study" not in drawn(short, right)
    assert "The Heart\nCategories" in drawn(left, short)


def test_columns_are_read_one_after_the_other_as_they_are_drawn(tmp_path: Path) -> None:
    left = [(72, 600 - 14 * at, f"Left line {at} ends here.") for at in range(3)]
    right = [(320, 740 - 14 * at, f"Right line {at} ends here.") for at in range(3)]

    text = text_of(Pages(tmp_path / "columns.pdf").page(*left, *right).read())
    assert text.index("Left line 2") < text.index("Right line 0")


def test_a_finished_sentence_is_not_joined_with_the_next_page(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "g.pdf").page((72, 700, "The dose is 110 mg."), (72, 680, "Rest and wait"))
    found = passages(pages.page((72, 700, "80 years is old in adults.")).read())
    assert [passage.page for passage in found] == [1, 2]


def test_running_text_in_bold_names_no_section(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "g.pdf")
    body = [(72.0, 600.0 - 14 * at, line) for at, line in enumerate(PROSE)]
    extraction = pages.page(
        (72, 760, "Screening", 14, True),
        (72, 740, "The panel recommends screening for diabetes in adults aged from", 10, True),
        (72, 728, "45 to 70 years."),
        (72, 714, "Contents of it . . . . . . . . . . 16", 14, True),
        (72, 700, "www.example.org/screening", 14, True),
        *body,
    ).read()
    headings = [block.text for block in extraction.pages[0].blocks if block.kind == "heading"]
    assert headings == ["Screening"]


@pytest.mark.parametrize(
    ("author", "line", "issuer"),
    [
        ("European Society of Cardiology", "", "European Society of Cardiology"),
        ("Deutsche Gesellschaft für Kardiologie", "", "Deutsche Gesellschaft für Kardiologie"),
        ("NHLBI", "National Heart, Lung, and Blood Institute", "NHLBI"),
        ("Jane Smith", "© 2024 World Health Organization.", "World Health Organization"),
        ("Smith, J. A.", "", ""),
        ("Microsoft Office User", "", ""),
        ("ADMIN", "", ""),
        ("jane@example.org", "", ""),
    ],
)
def test_the_issuer_is_an_organisation(author: str, line: str, issuer: str, tmp_path: Path) -> None:
    assert written(tmp_path / "g.pdf", line, *PROSE, author=author).issuer == issuer


@pytest.mark.parametrize(
    ("named", "lines", "language"),
    [
        ("ar-SA", PROSE, "en"),
        ("en-GB", PROSE, "en-GB"),
        ("", PROSE, "en"),
        (
            "en-US",
            [
                "Die Leitlinie empfiehlt, den Blutdruck bei allen Erwachsenen zu messen und sie zu behandeln,",
                "wenn der Blutdruck erhöht ist. Es ist wichtig, dass der Patient davon weiß, was er tun soll",
                "und dass die Niere vor dem Beginn kontrolliert wird. Bei alten Menschen ist die Dosis kleiner.",
            ],
            "de",
        ),
        (
            "fr",
            ["Les lignes directrices recommandent de mesurer la pression artérielle chez tous les adultes."] * 5,
            "fr",
        ),
    ],
)
def test_the_language_is_that_of_the_text(named: str, lines: list[str], language: str, tmp_path: Path) -> None:
    assert written(tmp_path / "g.pdf", *lines, language=named).language == language


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("Published 2021-05-04. Form approved, expires 2028-01-31.", "2021-05-04"),
        ("Form approved; expiration date: 2028-01-31. Published 2021-05-04.", "2021-05-04"),
        ("Valid until 2028-01-31. Accessed 2027-01-01.", ""),
    ],
)
def test_the_date_is_not_that_of_a_form(line: str, date: str, tmp_path: Path) -> None:
    found = written(tmp_path / "g.pdf", line, *PROSE).date
    assert found == date if date else not found.startswith(("2027", "2028"))


def raised_pdf(path: Path, *runs: tuple[str, float]) -> str:
    """Return the text of a page with ``runs`` of text, each raised by some points; a run of ``\\n`` ends the line."""
    canvas = Canvas(str(path), pagesize=A4)
    text = canvas.beginText(72, 750)
    text.setLeading(14)
    for words, rise in runs:
        if words == "\n":
            text.textLine()
            continue
        text.setFont("Helvetica", 6 if rise else 11)
        text.setRise(rise)
        text.textOut(words)
    canvas.drawText(text)
    canvas.save()
    return text_of(extract(path, ".pdf", progress=lambda done, total: None))


def test_a_raised_number_belongs_to_the_sentence_before_it(tmp_path: Path) -> None:
    runs = (
        ("Overweight raises the risk of endometrial, breast, prostate and colon cancers. ", 0),
        ("22-24, 27 ", 4),
        ("As a cause", 0),
        ("\n", 0),
        ("of preventable death it is common in many countries of the whole world today. ", 0),
        ("\n", 0),
        ("31 ", 4),
        ("The dose is one tablet. 12 Tablets are a pack, which is enough for adults.", 0),
    )
    text = raised_pdf(tmp_path / "r.pdf", *runs)
    assert sentences(text) == [
        "Overweight raises the risk of endometrial, breast, prostate and colon cancers.22-24,27",
        "As a cause of preventable death it is common in many countries of the whole world today.31",
        "The dose is one tablet.",
        "12 Tablets are a pack, which is enough for adults.",
    ]


def test_lines_without_raised_numbers_are_joined_by_a_space(tmp_path: Path) -> None:
    assert not takes_number("Adults of at least")
    runs = (("It is common.", 0), ("\n", 0), ("The dose of it is one tablet a day.", 0))
    assert raised_pdf(tmp_path / "p.pdf", *runs) == "It is common. The dose of it is one tablet a day."


def test_the_hyphen_of_a_compound_stays_at_a_line_end(tmp_path: Path) -> None:
    lines = (
        "Treatment did not change the proportion of infants that were born small-for-",
        "gestational-age, which is for all gestational ages given by charts for the self-manage-",
        "ment of the clinic; and management is taught to all. The gestational age is measured.",
    )
    text = text_of(written(tmp_path / "h.pdf", *lines))
    assert "small-for-gestational-age, which" in text
    assert "self-management of" in text


def test_a_printed_line_that_pdfium_breaks_behind_a_raised_figure_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "b.pdf"
    canvas = Canvas(str(path), pagesize=A4)
    canvas.setFont("Helvetica", 11)
    canvas.drawString(72, 750, "The index is the body weight in kilograms over the height (in m")
    end = 72 + canvas.stringWidth("The index is the body weight in kilograms over the height (in m", "Helvetica", 11)
    canvas.setFont("Helvetica", 6)
    canvas.drawString(end, 757, "2")
    canvas.setFont("Helvetica", 11)
    canvas.drawString(end + 3.4, 750, "), and it says how obese a patient is.")
    canvas.drawString(72, 736, "It is measured in all adults.")
    canvas.save()
    text = text_of(extract(path, ".pdf", progress=lambda done, total: None))
    assert "(in m2), and it says how obese a patient is. It is measured" in text
