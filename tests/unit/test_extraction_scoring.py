"""What the extractor counts of a question, and which units it quotes."""

import pytest

from chat_app.offline.extraction.candidates import read_candidates
from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.scoring import scored
from chat_app.offline.extraction.selection import select
from chat_app.offline.reading.evidence import EvidencePassage, WeightedTerm
from tools.language.quotable_units import Unit, ordered_terms, term_set
from tools.language.terms import term

ZORBIN = "Zorbin is given for hallux gout in adults."


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("zorbin for hallux gout", 1.0),
        ("138 fine, want zorbin for hallux gout w pt", 1.0),
        ("zorbin for hallux gout in strumosis", 0.75),
    ],
)
def test_everyday_words_numbers_and_unread_abbreviations_that_no_text_holds_do_not_count(
    question: str, held: float
) -> None:
    terms = [WeightedTerm(term, 1.0) for term in ordered_terms(question)]
    best = scored(read_question(question, terms), [EvidencePassage(ZORBIN)])[0]
    assert best.share == pytest.approx(held)


def test_a_word_of_a_phrase_in_other_words_counts_as_related() -> None:
    terms = [WeightedTerm("drip", 1.0, ("intravenous infusion",)), WeightedTerm("zorbin", 1.0)]
    found = scored(
        read_question("zorbin drip", terms),
        [
            EvidencePassage(text)
            for text in ("Zorbin by intravenous infusion.", "Zorbin intravenous is new.", "Zorbin is a tablet.")
        ],
    )
    assert [each.share for each in found] == sorted((each.share for each in found), reverse=True)
    assert [(len(each.own), len(each.near)) for each in found] == [(2, 0), (1, 1), (1, 0)]


def test_an_age_does_not_displace_the_sentence_that_answers() -> None:
    best = "Do not withhold treatment because of falls alone."
    others = [
        "Blood pressure is measured lying and standing at every visit in patients aged 75 years or older who walk.",
        "Over 80 years the hearing of patients is measured by a whispered voice test behind the good ear first.",
        "Patients above 85 years have their weight, appetite and grip strength measured once a year by a nurse.",
    ]
    question = read_question("90 year old who falls: withhold treatment, patients measured?")
    assert best in [each.unit.text for each in select(question, [EvidencePassage("\n".join([*others, best]))]).quotes]


@pytest.mark.parametrize(
    ("question", "quotes"),
    [
        ("What are the limits of zorbin?", 5),
        ("Which limits does zorbin have?", 5),
        ("What limits must zorbin have?", 5),
        ("limits of zorbin", 5),
        ("what does the list on zorbin include", 5),
        ("Which limit does zorbin have?", 3),
        ("Does zorbin have a limit?", 3),
        ("is zorbin for gout", 3),
    ],
)
def test_a_question_for_several_things_gets_more_quotes(question: str, quotes: int) -> None:
    kinds = ("kidney", "liver", "heart", "lung", "bone", "nerve", "skin")
    texts = [f"A {kind} limit of zorbin in gout is the {kind} {at} that a {kind} test shows, or the {kind} itself, and"
             f" nothing of the {kind} before." for at, kind in enumerate(kinds)]  # fmt: skip
    found = select(read_question(question), [EvidencePassage("\n".join(texts))]).quotes
    assert len(found) == quotes


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("zorbin dose in an adult, she is breastfeeding", True),
        ("zorbin dose in an adult", False),
        ("zorbin dose in an adult, she is pregnant", False),
    ],
)
def test_what_is_said_of_the_patient_asked_about_may_name_another(question: str, kept: bool) -> None:
    text = "A mother on zorbin may continue breastfeeding, as the newborn takes up little of a zorbin dose."
    assert bool(scored(read_question(question), [EvidencePassage(text)])) is kept


@pytest.mark.parametrize(("question", "kept"), [("zorbin dose, child of 22 kg", True), ("zorbin dose, child", False)])
def test_a_dose_for_the_weight_of_a_child_need_not_name_children(question: str, kept: bool) -> None:
    dose = EvidencePassage("The zorbin dose is 0.3 mg from 30 kg and 0.15 mg for 15 to 30 kg.", part="dosage")
    assert bool(scored(read_question(question), [dose])) is kept


@pytest.mark.parametrize(
    "question",
    ["zorbin, how many days?", "zorbin, how many wks", "nach wie vielen Tagen Zorbin?", "¿zorbin, cuántos días?"],
)
def test_a_question_for_a_number_of_days_is_answered_with_a_time(question: str) -> None:
    asked = read_question(question)
    assert asked.kind_matches(Unit("Zorbin is given for a week."))
    assert not asked.kind_matches(Unit("Zorbin 200 mg is given to 3 in 10 patients."))


@pytest.mark.parametrize(("told", "word"), [("throwing up", "throw"), ("can't sleep", "sleep")])
@pytest.mark.parametrize("onset", ["starting zorbin", "zorbin was started"])
def test_a_complaint_in_everyday_words_describes_the_patient(told: str, word: str, onset: str) -> None:
    meanings = {"throw": ("vomiting",)}
    question = f"{told} since {onset}"
    terms = [WeightedTerm(term, 1.0, meanings.get(term, ())) for term in ordered_terms(question)]
    asked = read_question(question, terms, subjects=["zorbin"], medicines=["zorbin"])
    assert [asked.forms[place][0] for place in asked.circumstances] == [term_set(word)]
    assert "warnings" in asked.searched_sections
    assert not asked.sections


@pytest.mark.parametrize("text", ["The foot examination is done once a year.", "Die Fußuntersuchung erfolgt jährlich."])
def test_a_word_with_a_sharp_s_keeps_its_translation(text: str) -> None:
    known = [WeightedTerm("fußuntersuchung", 5.0, ("foot examination",)), WeightedTerm("diabet", 1.0)]
    question = read_question("Fußuntersuchung bei Diabetes wie oft", known)
    assert question.held(term_set(text)) == {0}


@pytest.mark.parametrize("text", ["Step 3: low dose", "Stufe 3: niedrige Dosis"])
def test_a_number_counts_beside_the_translation_of_the_word_before_it(text: str) -> None:
    known = [WeightedTerm(term("stufe"), 1.0, ("step", "stage")), WeightedTerm("3", 1.0)]
    question = read_question("Asthma Stufe 3", known)
    assert "3" in question.said_in(text)
    assert "3" not in question.said_in("Step 1 for 3 weeks")


@pytest.mark.parametrize(
    ("told", "part", "own"),
    [
        ("Oral zorbin is given with no more than 4 g in 24 hours.", "dosage", {0, 2}),
        ("The zorbin dose should not exceed 4 g a day.", "dosage", {0, 1, 2}),
        ("Oral zorbin is given as 4 g a day.", "dosage", {0}),
        ("Wait no more than 4 days before zorbin.", "", {0}),
    ],
)
def test_a_limit_of_a_label_is_a_maximum(told: str, part: str, own: set[int]) -> None:
    passages = [EvidencePassage(told, part=part)]
    (found,) = read_candidates(read_question("zorbin dose maximum"), passages)
    assert found.own == own
