"""Whether a quote stands on its page, by the original file's own words."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tools.documents.page_words import is_on_page, page_texts
from tools.errors import SourceRejected
from tools.guidelines.library import DEMO_FOLDER

PAGES = [
    "Start low.\r\nGive aspirin 300 mg at on\ufffe\r\nce to adults. Repeat",
    "Page 2\nthe dose after 24\u2013hours.\nEnd.",
]


@pytest.mark.parametrize(
    ("quote", "page", "stands"),
    [
        ("Give aspirin 300 mg at once to adults.", 1, True),
        ("Give  aspirin\n300 mg at once to adults.", 1, True),
        ("Give aspirin 300 mg at once to adults.", 2, False),
        ("Give aspirin 30 mg at once to adults.", 1, False),
        ("Give Aspirin 300 mg at once to adults.", 1, False),
        ("Do not give aspirin 300 mg at once to adults.", 1, False),
        ("the dose after 24-hours.", 2, True),
        ("Repeat the dose after 24 hours.", 2, False),
        ("at once to adults. Repeat the dose after 24 hours.", 1, True),
        ("", 1, False),
        ("Start low.", 0, False),
        ("Start low.", 3, False),
    ],
)
def test_a_quote_stands_on_its_page_word_for_word_or_not_at_all(quote: str, page: int, stands: bool) -> None:
    assert is_on_page(quote, page, PAGES) is stands


def test_a_demonstration_guideline_is_read_page_by_page() -> None:
    texts = page_texts(DEMO_FOLDER / "hypertension.pdf")
    quote = "ACE inhibitors must not be combined with aliskiren in patients with diabetes"
    assert [page for page in range(1, len(texts) + 1) if is_on_page(quote, page, texts)] == [4]


def test_a_sentence_may_go_on_below_a_table_and_a_running_head() -> None:
    table = "Table 12. Drugs\n" + "aspirin 300 mg ticagrelor 180 mg\n" * 30
    pages = [f"Give aspirin 300 mg at on\ufffe\nce\n{table}", "34 The Seventh Report\nto adults. Then rest."]
    assert is_on_page("Give aspirin 300 mg at once to adults.", 1, pages)
    assert not is_on_page("Give aspirin 300 mg at once to children.", 1, pages)


def test_a_label_may_stand_apart_from_its_caption_if_both_are_on_the_page() -> None:
    page = "Usual doses of ACE inhibitors\nTABLE IV-2:\n"
    assert is_on_page("TABLE IV-2: Usual doses of ACE inhibitors", 1, [page])
    assert not is_on_page("TABLE IV-3: Usual doses of ACE inhibitors", 1, [page])
    assert not is_on_page("TABLE IV-2: Usual doses of beta-blockers", 1, [page])


def test_two_halves_from_anywhere_on_neighbouring_pages_are_no_quote() -> None:
    filler = "Some other words that a page is full of. " * 20
    pages = [f"Give aspirin 300 mg {filler}", f"{filler} at once to adults."]
    assert not is_on_page("Give aspirin 300 mg at once to adults.", 1, pages)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.md", "# Aspirin\n\nGive **aspirin** 300 mg at once."),
        ("g.html", "<html><style>p{}</style><p>Give <b>aspirin</b> 300&nbsp;mg at once.</p></html>"),
        ("g.txt", "Give aspirin 300 mg at once."),
    ],
)
def test_other_formats_are_one_page_without_their_markup(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert is_on_page("Give aspirin 300 mg at once.", 1, page_texts(path))


def test_a_word_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "g.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w:p><w:t>Give aspirin</w:t><w:t> 300 mg at once.</w:t></w:p>")
    assert is_on_page("Give aspirin 300 mg at once.", 1, page_texts(path))


@pytest.mark.parametrize("name", ["gone.pdf", "broken.pdf", "broken.docx"])
def test_a_file_that_cannot_be_read_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.startswith("broken"):
        path.write_bytes(b"no such format")
    with pytest.raises(SourceRejected):
        page_texts(path)
