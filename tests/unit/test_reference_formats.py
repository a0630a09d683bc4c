"""References as they are copied: Vancouver style, Markdown, RIS."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from chat_app.agent.citations.reference_formats import (
    demo_note,
    formatted,
    markdown,
    markdown_list,
    ris,
    vancouver,
)
from chat_app.cli.ask_output import reference_line
from chat_app.events import Reference
from chat_app.interface.api.records.knowledge_feed import feed_entries
from chat_app.interface.rendering.reference_cards import card
from tools.types import DEMO_ISSUER, Passage

QUOTE = "Thiazide-type diuretics should be used in drug treatment for most patients with uncomplicated hypertension."


def reference(number: int = 1, *, quotes: tuple[str, ...] = (), **fields: Any) -> Reference:
    known: dict[str, Any] = {
        "id": "guideline:jnc7@0123456789ab:7",
        "kind": "guideline",
        "document_id": "jnc7@0123456789ab",
        "title": "Prevention and Treatment of High Blood Pressure",
        "text": QUOTE,
        "issuer": "World Health Organization",
        "version": "2004-08",
        "section": "Treatment › Drugs",
        "page": 20,
        "page_label": "4",
        "url": "https://example.org/jnc7.pdf",
    }
    return Reference(number=number, quotes=quotes, passage=Passage(**{**known, **fields}))


def bare(number: int = 1) -> Reference:
    """All that a passage is sure to have."""
    passage = Passage(id="p", kind="guideline", document_id="d", title="Asthma", text="Words.")
    return Reference(number=number, passage=passage)


def tokens(text: str) -> list[Token]:
    return list(MarkdownIt().parse(text))


def shown(text: str) -> str:
    """What a reader of the rendered Markdown sees, without the markup."""
    inline = [child for token in tokens(text) for child in token.children or ()]
    return "".join(token.content for token in inline if token.type in {"text", "text_special", "code_inline"})


def ris_fields(record: str) -> list[tuple[str, str]]:
    lines = record.split("\r\n")
    assert lines.pop() == ""
    for line in lines:
        assert re.match(r"[A-Z][A-Z0-9]  - ", line), line
    return [(line[:2], line[6:]) for line in lines]


# -- demonstration content


SUMMARY = {
    "kind": "drug_record",
    "title": "Demonstration summary of Motrin (ibuprofen) prescribing information",
    "issuer": DEMO_ISSUER,
    "version": "2007-07",
    "section": "ibuprofen › Dosage",
    "page": None,
    "page_label": None,
    "url": "https://dailymed.nlm.nih.gov/motrin",
}


def test_a_demonstration_summary_is_not_referenced_as_the_label_that_it_names() -> None:
    assert vancouver(reference(**SUMMARY)) == (
        "1. Asclepius demonstration library. Demonstration summary of Motrin (ibuprofen) prescribing information. "
        "ibuprofen › Dosage. Demonstration content, not for clinical care. "
        "Summarised from: https://dailymed.nlm.nih.gov/motrin (2007 Jul)."
    )
    listed = markdown(reference(**SUMMARY))
    assert listed.startswith("1. Demonstration summary of Motrin")
    assert "Summarised from: https://dailymed.nlm.nih.gov/motrin (2007 Jul)." in shown(listed)
    assert markdown(reference(**SUMMARY), "https://ward/passages/1").startswith("1. [Demonstration summary of Motrin")
    fields = ris_fields(ris(reference(**SUMMARY)))
    assert not {"UR", "PY", "DA", "ET"} & {tag for tag, _ in fields}
    assert ("N1", demo_note(reference(**SUMMARY).passage)) in fields
    assert reference_line(reference(**SUMMARY)).startswith(
        "[1] Demonstration summary of Motrin (ibuprofen) prescribing information. ibuprofen › Dosage. Demonstration"
    )


def test_a_demonstration_guideline_says_so_and_keeps_its_version_and_other_sources_say_nothing() -> None:
    guideline = vancouver(reference(issuer=DEMO_ISSUER, version="1.0", url=None))
    assert ". 1.0. " in guideline
    assert guideline.endswith("p. 4 (PDF p. 20). Demonstration content, not for clinical care.")
    for write in (vancouver, markdown, ris, reference_line):
        assert "emonstration" not in write(reference())


def test_the_card_and_the_feed_of_demonstration_content_say_so() -> None:
    assert card(reference(**SUMMARY))["demo"] == "demonstration content, not for clinical care"
    assert card(reference())["demo"] == ""
    (entry,) = feed_entries([reference(**SUMMARY).passage], "https://ward", "https://ward")
    assert entry.html.startswith("<p>Demonstration content, not for clinical care. Summarised from: https://dailymed")


# -- Vancouver


def test_vancouver_names_issuer_title_date_section_and_both_pages() -> None:
    assert vancouver(reference(3)) == (
        "3. World Health Organization. Prevention and Treatment of High Blood Pressure. 2004 Aug. "
        "Treatment › Drugs; p. 4 (PDF p. 20). Available from: https://example.org/jnc7.pdf"
    )


def test_a_reference_names_the_sections_that_are_cited_where_they_are_known() -> None:
    cited = reference().model_copy(update={"sections": ("Treatment › Goals", "Follow-up")})
    assert "Treatment › Goals; Follow-up; p. 4" in vancouver(cited)
    assert "Treatment › Goals; Follow-up, p. 4" in markdown(cited)
    assert ("SE", "Treatment › Goals; Follow-up") in ris_fields(ris(cited))


def test_vancouver_leaves_out_what_the_source_does_not_state() -> None:
    assert vancouver(bare()) == "1. Asthma."


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("Is aspirin enough?", "Is aspirin enough?"),
        ("Report No. 7.", "Report No. 7."),
        ("Asthma (revised ed.)", "Asthma (revised ed.)"),
        ("Line one\r\nline  two", "Line one line two."),
        ("", "[Title not stated]."),
        ("  ", "[Title not stated]."),
    ],
)
def test_vancouver_ends_a_title_once_whatever_it_ends_in(title: str, written: str) -> None:
    only = {"issuer": "", "version": "", "section": "", "page": None, "page_label": None, "url": None}
    assert vancouver(reference(title=title, **only)) == f"1. {written}"


@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("2024", "2024."),
        ("2024-02", "2024 Feb."),
        ("2024-02-03", "2024 Feb 3."),
        ("2024-13", "2024-13."),
        ("2nd edition", "2nd edition."),
        ("", ""),
    ],
)
def test_dates_are_written_as_vancouver_does_and_editions_as_printed(version: str, written: str) -> None:
    only = {"title": "T", "issuer": "", "section": "", "page": None, "page_label": None, "url": None}
    assert vancouver(reference(version=version, **only)) == f"1. T. {written}".strip()


@pytest.mark.parametrize(
    ("page", "label", "written"),
    [
        (20, "4", "p. 4 (PDF p. 20)"),
        (4, "4", "p. 4"),
        (4, None, "p. 4"),
        (7, "iv", "p. iv (PDF p. 7)"),
        (None, "S12", "p. S12"),
        (None, None, ""),
    ],
)
def test_printed_and_pdf_page_are_told_apart(page: int | None, label: str | None, written: str) -> None:
    line = vancouver(reference(page=page, page_label=label, section="", url=None))
    assert line.endswith(f"2004 Aug. {written}.".replace(". .", "."))


def test_a_list_keeps_the_numbers_of_the_answer() -> None:
    assert formatted([bare(2), bare(5)], "vancouver") == "2. Asthma.\n5. Asthma."
    assert formatted([], "vancouver") == ""


# -- Markdown


def test_markdown_links_the_title_and_quotes_below_it() -> None:
    text = markdown(reference(2, quotes=(QUOTE,)))
    assert text.startswith("2. [Prevention and Treatment of High Blood Pressure](<https://example.org/jnc7.pdf>).")
    kinds = [token.type for token in tokens(text)]
    assert kinds.index("ordered_list_open") < kinds.index("blockquote_open") < kinds.index("ordered_list_close")
    assert QUOTE in shown(text)


def test_the_strength_of_the_recommendation_is_part_of_a_reference() -> None:
    graded = bare().model_copy(update={"strengths": ("Class 2a", "LOE B-R")})
    assert vancouver(graded) == "1. Asthma. Class 2a; LOE B-R."
    assert markdown(graded) == "1. Asthma. Class 2a; LOE B-R."
    assert ("N1", "Class 2a; LOE B-R") in ris_fields(ris(graded))


def test_markdown_links_only_addresses_of_the_web() -> None:
    for address in ("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", None):
        assert "](" not in markdown(reference(url=address))


def test_an_address_with_brackets_stays_one_link() -> None:
    address = "https://example.org/a(b)c)d>e f\\g"
    inline = [child for token in tokens(markdown(reference(url=address))) for child in token.children or ()]
    (link,) = (token for token in inline if token.type == "link_open")
    assert str(link.attrs["href"]).startswith("https://example.org/a(b)c)d%3Ee%20f%5Cg")


def test_a_list_of_references_renders_as_one_list_with_its_numbers() -> None:
    text = markdown_list([reference(3, quotes=(QUOTE,)), reference(4)])
    found = tokens(text)
    assert [token.type for token in found].count("ordered_list_open") == 1
    assert next(t for t in found if t.type == "ordered_list_open").attrs == {"start": 3}
    assert [token.type for token in found].count("list_item_open") == 2


printed = st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=60)
"""What a PDF may hold as title, issuer or section."""


@given(title=printed.filter(str.strip), section=printed, quote=printed.filter(str.strip))
@example(title="1. Asthma", section="2) Drugs", quote="- first")
@example(title="+ or -", section="# *x* _y_", quote="12. twelve")
@example(title="&amp; <b>", section="`code`", quote="===")
@example(title="1", section="", quote="0")
def test_markdown_shows_any_title_section_and_quote_as_they_are(title: str, section: str, quote: str) -> None:
    item = reference(title=title, section=section, issuer="", version="", url=None, quotes=(quote,))
    plain = " ".join(shown(markdown(item)).split())
    for text in (title, section, quote):
        assert " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text).split()) in plain


# -- RIS


def test_a_ris_record_has_the_fields_that_reference_managers_read() -> None:
    fields = dict(ris_fields(ris(reference(quotes=(QUOTE,)))))
    assert fields == {
        "TY": "RPRT",
        "TI": "Prevention and Treatment of High Blood Pressure",
        "AU": "World Health Organization",
        "PB": "World Health Organization",
        "PY": "2004",
        "DA": "2004/08//",
        "SE": "Treatment › Drugs",
        "SP": "4",
        "UR": "https://example.org/jnc7.pdf",
        "N1": f"“{QUOTE}”",
        "ID": "guideline:jnc7@0123456789ab:7",
        "ER": "",
    }
    assert ("N1", "Page 20 of the PDF file") in ris_fields(ris(reference()))


@pytest.mark.parametrize(
    ("version", "date_field"), [("2004", "2004///"), ("2004-08", "2004/08//"), ("2004-08-09", "2004/08/09/")]
)
def test_a_ris_date_has_its_four_places(version: str, date_field: str) -> None:
    assert ("DA", date_field) in ris_fields(ris(reference(version=version)))


def test_an_edition_is_no_date() -> None:
    fields = dict(ris_fields(ris(reference(version="Fourth edition"))))
    assert fields["ET"] == "Fourth edition"
    assert not {"PY", "DA"} & set(fields)


def test_an_institution_with_a_comma_in_its_name_is_not_taken_for_a_person() -> None:
    fields = dict(ris_fields(ris(reference(issuer="National Heart, Lung, and Blood Institute"))))
    assert fields["PB"] == "National Heart, Lung, and Blood Institute"
    assert "AU" not in fields


def test_a_drug_record_is_a_data_set() -> None:
    assert ris(reference(kind="drug_record")).startswith("TY  - DATA\r\n")


def test_a_bare_reference_is_still_a_record() -> None:
    assert ris(bare()) == "TY  - RPRT\r\nTI  - Asthma\r\nID  - p\r\nER  - \r\n"


@given(title=printed, issuer=printed, section=printed, version=printed, quote=printed)
def test_no_text_of_a_source_can_end_a_ris_record_or_begin_a_field(
    title: str, issuer: str, section: str, version: str, quote: str
) -> None:
    hostile = reference(
        title=f"{title}\nER  - \nTY  - BOOK",
        issuer=issuer,
        section=section,
        version=version,
        quotes=(f"{quote}\r\nER  - ",),
    )
    fields = ris_fields(ris(hostile))
    assert [tag for tag, _ in fields].count("ER") == 1
    assert [tag for tag, _ in fields].count("TY") == 1
    assert fields[-1] == ("ER", "")


def test_records_of_a_list_follow_each_other() -> None:
    assert formatted([bare(1), bare(2)], "ris") == ris(bare(1)) + ris(bare(2))


@pytest.mark.parametrize("style", ["vancouver", "markdown", "ris"])
def test_every_style_can_be_chosen_by_name(style: Any) -> None:
    assert "Asthma" in formatted([bare()], style)
    assert formatted([], style) == ""
