"""The strength of a recommendation and the certainty of its evidence, in the wording of published guidelines."""

from __future__ import annotations

import pytest

from chat_app.agent.citations.stated_strength import is_grading, stated_strengths
from tools.documents.extract import extract
from tools.documents.passages import passages
from tools.types import Passage, SectionStart

WHO = (
    "Sex workers\n"
    "WHO suggests that sex workers who have no symptoms be screened for chlamydia.\n"
    "• Screening should be voluntary with informed consent.\n"
    "Conditional recommendation, low certainty in evidence of effects (updated 2024) a\n"
    "Remarks: Treat according to the national guidelines.\n"
    "Men\n"
    "WHO suggests that men be screened for chlamydia once a year.\n"
    "Conditional recommendation, very low certainty in evidence of effects"
)
TABLE = "COR\tLOE\tRecommendation\n1\tB-NR\tMeasure the pressure at home.\n2a\t\tRepeat it after a year."


def stated(text: str, quote: str, kind: str = "guideline", starts: tuple[int, ...] = ()) -> tuple[str, ...]:
    further = tuple(SectionStart(at=at, section="s") for at in starts)
    known = {"id": "p", "kind": kind, "document_id": "d", "title": "t", "text": text, "further_sections": further}
    return stated_strengths(Passage.model_validate(known), [quote])


@pytest.mark.parametrize(
    "text",
    [
        "(strong recommendation, moderate quality evidence)",
        "[Conditional recommendation; very low certainty]",
        "(Class IIa, LOE B-NR)",
        "Conditional recommendation, low certainty in evidence of effects (new 2024)",
        "Evidence Category A.",
        "This is a B grade.",
        "These are I statements.",
        "(1B)",
        "(starke Empfehlung, Evidenzlevel 1a)",
    ],
)
def test_the_words_of_a_grading_are_told(text: str) -> None:
    assert is_grading(text)


@pytest.mark.parametrize(
    "text",
    [
        "(class III)",
        "(NYHA class II)",
        "(grade 3 or 4)",
        "(LA grade C)",
        "(level 2)",
        "(Stage 2B)",
        "It is a statement.",
    ],
)
def test_classes_of_disease_are_no_grading(text: str) -> None:
    assert not is_grading(text)


@pytest.mark.parametrize(
    ("text", "quote", "strengths"),
    [
        ("Give iron first (1B). Wait.", "Give iron first", ("1B",)),
        ("Give iron first (1B). Wait.", "Wait.", ()),
        ("Give a statin (grade A) in diabetes.", "Give a statin (grade A) in diabetes.", ()),
        ("Give iron (Class I, LOE A) by mouth.", "Give iron (Class I, LOE A) by mouth.", ("Class I, LOE A",)),
        (
            "Give iron to all. Evidence Category A. Wait.",
            "Give iron to all. Evidence Category A.",
            ("Evidence Category A",),
        ),
        ("Give iron to all. It helps. Evidence Category A.", "Give iron to all.", ()),
        (WHO, "WHO suggests that sex workers who have no symptoms be screened for chlamydia.", ("low",)),
        (WHO, "Screening should be voluntary with informed consent.", ("low",)),
        (WHO, "Remarks: Treat according to the national guidelines.", ()),
        (WHO, "WHO suggests that men be screened for chlamydia once a year.", ("very low",)),
        (TABLE, "1\tB-NR\tMeasure the pressure at home.", ("COR 1 LOE B-NR",)),
        (TABLE, "2a\t\tRepeat it after a year.", ("COR 2a",)),
        ("Stage\tClass\nB\tARB of choice for all", "B\tARB of choice for all", ()),
        ("Dose\tText\n1 mg\tTake it at night.", "1 mg\tTake it at night.", ()),
        ("Give iron to all.", "Give gold to all.", ()),
    ],
)
def test_a_quote_has_the_strength_that_is_stated_for_it(text: str, quote: str, strengths: tuple[str, ...]) -> None:
    said = {
        "low": "Conditional recommendation, low certainty in evidence of effects (updated 2024)",
        "very low": "Conditional recommendation, very low certainty in evidence of effects",
    }
    assert stated(text, quote) == tuple(said.get(one, one) for one in strengths)


def test_a_strength_is_not_taken_from_another_section_or_another_kind_of_source() -> None:
    text = "Give iron to all.\nAsk again.\nGrade B."
    assert stated(text, "Give iron to all.") == ("Grade B",)
    assert stated(text, "Give iron to all.", starts=(text.index("Ask"),)) == ()
    assert stated(text, "Give iron to all.", kind="drug_record") == ()
    below = "Give zinc to all.\nGrade A.\nTake it at night.\nGive iron to all.\nAsk again.\nGrade B."
    assert stated(below, "Give iron to all.") == ()
    assert stated(below, "Give iron to all.", starts=(below.index("Give iron"),)) == ("Grade B",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "quote", "strength"),
    [
        ("uspstf_breast_bulletin", "women get screened for breast cancer every other year", "This is a B grade"),
        (
            "who_lenacapavir_2025",
            "Rapid diagnostic tests may be used for HIV testing for initiation, continuation",
            "strong recommendation, very low certainty of evidence",
        ),
        (
            "who_asymptomatic_sti_2025",
            "WHO recommends screening all pregnant women for syphilis at least once",
            "strong recommendation, moderate-certainty evidence",
        ),
    ],
)
def test_the_strengths_of_published_guidelines_are_found(
    request: pytest.FixtureRequest, name: str, quote: str, strength: str
) -> None:
    path = request.getfixturevalue("shared") / "data" / "guidelines" / f"{name}.pdf"
    texts = [one.text for one in passages(extract(path, ".pdf", progress=lambda done, total: None))]
    assert {one for text in texts if quote in text for one in stated(text, quote)} == {strength}
