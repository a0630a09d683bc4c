"""Words, sentences, passages, abbreviations and order of guideline texts, without files or servers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.documents.document_abbreviations import Expander, find_abbreviations
from tools.documents.models import Block, Extraction, PageContent, TableRows
from tools.documents.passages import OVERLAP_WORDS, TARGET_WORDS, is_reference, passages
from tools.guidelines.search.passage_index import dimension_of, passage_weights, question_weights
from tools.guidelines.search.retrieval import fuse, term_proximity
from tools.guidelines.storage.document_store import document_id
from tools.language.terms import clean, terms, weight_of
from tools.milvus.passage_collection import Hit


def test_question_and_passage_meet_in_their_stems() -> None:
    assert terms("What are the contraindications?") == terms("It is contraindicated")
    assert terms("Which ACE inhibitors should be avoided") == ["ace", "inhibitor", "avoid"]


def test_ligatures_and_soft_hyphens_do_not_hide_a_word() -> None:
    assert clean("e\ufb03cacy  of\u00a0\ufb02uids\ufeff") == "efficacy of fluids"


def page(number: int, *blocks: Block) -> PageContent:
    return PageContent(number=number, label=str(number + 10), blocks=blocks)


def prose(words: int, start: str = "Word") -> Block:
    sentence = f"{start} " + "again " * 8 + "ends."
    return Block(kind="text", text=" ".join([sentence] * (words // 10)))


def test_a_long_page_is_cut_on_sentence_bounds_with_overlap() -> None:
    cut = passages(Extraction(pages=(page(1, prose(1_000)),)))

    assert len(cut) == round(1_000 / TARGET_WORDS)
    assert all(passage.text.startswith("Word") and passage.text.endswith("ends.") for passage in cut)
    overlap = len(cut[0].text.split()) + len(cut[1].text.split()) + len(cut[2].text.split()) - 1_000
    assert 0 < overlap <= 2 * (OVERLAP_WORDS + 10)


def test_a_passage_stays_on_its_page_and_bears_its_label_and_section() -> None:
    cut = passages(Extraction(pages=(page(1, heading("Treatment", 1), prose(100)), page(2, prose(100)))))

    assert [(passage.page, passage.label, passage.section) for passage in cut] == [
        (1, "11", "Treatment"),
        (2, "12", "Treatment"),
    ]


def heading(text: str, level: int) -> Block:
    return Block(kind="heading", text=text, level=level)


def test_a_passage_tells_where_further_sections_begin_in_it() -> None:
    first, second = prose(20, "Early"), prose(20, "Late")
    (cut,) = passages(
        Extraction(
            pages=(
                page(
                    1,
                    heading("Care", 1),
                    heading("Drugs", 2),
                    first,
                    heading("Attacks", 1),
                    heading("Steroids", 2),
                    second,
                ),
            )
        )
    )

    assert cut.section == "Care › Drugs"
    assert [(start.section, cut.text[start.at :].splitlines()[:2]) for start in cut.further_sections] == [
        ("Attacks › Steroids", ["Attacks", "Steroids"])
    ]


@given(st.lists(st.tuples(st.sampled_from([None, 1, 2, 3]), st.integers(1, 30)), min_size=1, max_size=20))
def test_every_sentence_of_every_passage_stands_in_the_section_that_its_page_gives_it(
    blocks: list[tuple[int | None, int]],
) -> None:
    path: dict[int, str] = {}
    section_of: dict[str, str] = {}
    made: list[Block] = []
    for at, (level, tens) in enumerate(blocks):
        if level is not None:
            path = {above: name for above, name in path.items() if above < level} | {level: f"Title{at}"}
            made.append(heading(path[level], level))
        made.append(prose(10 * tens, f"Word{at}"))
        section_of[f"Word{at}"] = " › ".join(path[above] for above in sorted(path))

    for cut in passages(Extraction(pages=(page(1, *made),))):
        starts = [(0, cut.section), *((start.at, start.section) for start in cut.further_sections)]
        for word in re.finditer(r"Word\d+", cut.text):
            assert section_of[word[0]] == [section for at, section in starts if at <= word.start()][-1]


def test_a_sentence_that_runs_over_the_page_is_finished_where_it_began() -> None:
    first = page(1, Block(kind="text", text="Stop it. Do not give the drug to patients"))
    second = page(2, Block(kind="text", text="with angioedema. Another sentence."))

    cut = passages(Extraction(pages=(first, second)))

    assert cut[0].text == "Stop it. Do not give the drug to patients with angioedema."
    assert cut[1].text == "Another sentence."


def test_each_row_of_a_table_is_a_passage_with_its_header_and_group() -> None:
    table = TableRows(
        caption="Table 1. Doses",
        header=("Class", "Drug", "mg"),
        rows=(("Loop", "furosemide", "20-80"), ("", "torsemide", "2.5-10")),
    )
    cut = passages(Extraction(pages=(page(1, Block.of_table(table)),)))

    rows = [passage.text for passage in cut if passage.kind == "table_row"]
    assert rows == [
        "Table 1. Doses\nClass\tDrug\tmg\nLoop\tfurosemide\t20-80",
        "Table 1. Doses\nClass\tDrug\tmg\nLoop\tfurosemide\t20-80\ntorsemide\t2.5-10",
    ]


def test_a_list_of_literature_is_told_from_an_answer() -> None:
    cited = "12. Smith A, et al. Trial of x. JAMA 2003;289:2560-71. 13. Jones B, et al. More. Lancet 2001;358:1305."
    assert is_reference(cited)
    assert not is_reference("Give aspirin 300 mg at once, then 75 mg daily (Smith et al. found fewer deaths). " * 3)


def test_the_recommendations_before_a_list_of_literature_are_searched() -> None:
    literature = " ".join(f"{at}. Smith A. Trial {at} of a drug in adults. JAMA 2003;289:2560-71." for at in range(20))
    cut = passages(
        Extraction(
            pages=(
                page(
                    1,
                    Block(kind="heading", text="Referral", level=1),
                    Block(kind="text", text="Refer adults to a nephrologist."),
                    Block(kind="heading", text="5. References", level=1),
                    Block(kind="text", text=literature),
                ),
            )
        )
    )

    assert [(part.kind, part.section) for part in cut] == [("text", "Referral"), ("reference", "5. References")]
    assert cut[0].text == "Referral\nRefer adults to a nephrologist."


def test_what_follows_the_literature_without_a_heading_of_its_own_is_searched() -> None:
    cut = passages(
        Extraction(
            pages=(
                page(
                    1,
                    Block(kind="heading", text="Sources", level=1),
                    Block(kind="text", text="Give aspirin at once. " * 30),
                ),
            )
        )
    )

    assert [passage.kind for passage in cut] == ["text"]


def test_a_list_of_contents_is_told_from_lines_that_end_in_amounts() -> None:
    contents = "\n".join(f"{at}. Chapter {at} of the guideline {3 * at}" for at in range(1, 12))
    menu = "\n".join(f"Orange juice or milk for breakfast {amount}" for amount in (1, 1, 3, 2, 1, 1, 0, 3, 1, 1, 2))

    assert is_reference(contents)
    assert not is_reference(menu)


def test_an_abbreviation_that_the_text_explains_stands_for_its_words() -> None:
    found = find_abbreviations(
        [
            "Start angiotensin converting enzyme inhibitors (ACEIs) early; chronic kidney disease (CKD) matters.",
            "ACEIs, angiotensin converting enzyme inhibitors; BB, beta blocker; (NASA) is no drug.",
        ]
    )

    assert found == {
        "ACEI": "angiotensin converting enzyme inhibitors",
        "CKD": "chronic kidney disease",
        "BB": "beta blocker",
    }
    expanded = Expander(found).expand(terms("ACEIs slow chronic kidney disease"))
    assert set(terms("angiotensin converting enzyme inhibitor")) <= set(expanded)
    assert "ckd" in expanded


def test_an_abbreviation_may_shorten_a_word_or_take_several_letters_of_one() -> None:
    texts = [
        "Rimegepant (RIM) and dolutegravir (DTG) for patients (PA); pre-exposure prophylaxis (PrEP) by hour (NASA)."
    ]
    assert find_abbreviations(texts) == {
        "RIM": "rimegepant",
        "DTG": "dolutegravir",
        "PrEP": "pre-exposure prophylaxis",
    }


def test_an_abbreviation_that_every_clinician_knows_needs_no_explanation() -> None:
    assert set(Expander({}).expand(terms("BP in DVT"))) == set(terms("BP blood pressure DVT deep vein thrombosis"))
    assert "bp" in Expander({}).expand(terms("Lower the blood pressure."))


def test_an_abbreviation_means_in_a_document_what_the_document_says() -> None:
    expanded = Expander({"MI": "mental illness"}).expand(terms("MI"))
    assert expanded == [*terms("MI"), *terms("mental illness")]


@given(st.lists(st.sampled_from(["acei", "ckd", "chronic", "kidney", "diseas", "x"]), max_size=12))
def test_expanding_abbreviations_keeps_every_term_in_order(found: list[str]) -> None:
    expanded = iter(Expander({"CKD": "chronic kidney disease", "ACEI": "angiotensin inhibitor"}).expand(found))
    assert all(term in expanded for term in found)


def test_bm25_prefers_the_rare_term_and_the_short_passage() -> None:
    weight = weight_of({"common": 90, "rare": 2}, 100)
    asked = question_weights(["common", "rare"], weight)

    def score(passage: list[str]) -> float:
        return sum(asked.get(at, 0.0) * value for at, value in passage_weights(passage).items())

    assert score(["rare", "x"]) > score(["common", "x"])
    assert score(["rare", "x"]) > score(["rare", *"abcdefgh" * 30])


@given(st.text(max_size=40))
def test_a_terms_number_is_one_that_milvus_takes(term: str) -> None:
    assert 0 < dimension_of(term) < 2**32 - 1


def test_a_passage_that_both_searches_find_comes_before_those_that_one_finds() -> None:
    fused = fuse([Hit("terms", 9.0), Hit("both", 8.0), Hit("low", 1.0)], [Hit("both", 0.8), Hit("dense", 0.7)])

    assert fused[0].id == "both"
    assert {candidate.id for candidate in fused} == {"terms", "both", "low", "dense"}


def test_terms_that_stand_together_are_closer_than_scattered_ones() -> None:
    weight = weight_of({}, 10)
    together = ["pad"] * 60 + ["aspirin", "dose"]
    apart = ["aspirin", *["pad"] * 60, "dose"]

    assert term_proximity(["aspirin", "dose"], together, weight) == pytest.approx(1.0)
    assert term_proximity(["aspirin", "dose"], apart, weight) == pytest.approx(0.5)
    assert term_proximity([], apart, weight) == 0.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NHLBI_JNC7 2004.pdf", "nhlbi-jnc7-2004"),
        ("Leitlinie für Ärzte.PDF", "leitlinie-fur-arzte"),
        ("asthma.md", "asthma-md"),
        ("../../etc/passwd.pdf", "etc-passwd"),
    ],
)
def test_a_documents_id_is_made_of_its_files_name(name: str, expected: str) -> None:
    assert document_id(name) == expected


@given(st.text(max_size=120))
def test_any_file_name_gives_an_id_that_is_safe_as_a_path(name: str) -> None:
    """Row 38 of the fault list."""
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,79}", document_id(f"{name}.pdf"))
    assert document_id(f"{name}.pdf") == document_id(f"{name}.pdf")
