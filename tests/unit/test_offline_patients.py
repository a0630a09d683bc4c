"""What is quoted is said of the patient asked about: their group, their values, and what they do not have."""

from __future__ import annotations

import json

import pytest

from chat_app.offline.composition.compose import compose
from chat_app.offline.extraction.question_reading import asks_for_another, read_question
from chat_app.offline.extraction.scoring import scored
from chat_app.offline.extraction.selection import clearly_answers
from chat_app.offline.phrases import CLOSEST, said
from chat_app.offline.reading.dialogue import ToolOutput
from chat_app.offline.reading.evidence import EvidencePassage, WeightedTerm
from chat_app.offline.reading.tool_outputs import gather
from tools.language.quotable_units import term_set
from tools.language.vocabulary.absence import absence, stated
from tools.language.vocabulary.populations import populations_asked, populations_in

CLOSEST_EN, CLOSEST_DE = (said(CLOSEST, language) for language in ("en", "de"))
RECORD = {
    "cite": "[9]",
    "generic_name": "zorbistatin",
    "drug_classes": ["Plaxase inhibitor (PLI)"],
    "matched": {"how": "exact", "on": "zorbistatin"},
}


def answer(question: str, *passages: str, **label: list[str]) -> str:
    """Answer from guideline passages, and from a medicine's label where its sections are given."""
    body = {"passages": [{"cite": f"[{n}]", "document": "Guide", "text": text} for n, text in enumerate(passages, 1)]}
    outputs = [ToolOutput("search_clinical_guidelines", "{}", json.dumps(body))]
    if label:
        found = {"results": [{**RECORD, "label": label}], "did_you_mean": []}
        outputs.append(ToolOutput("search_drug_database", "{}", json.dumps(found)))
    return compose(question, gather(outputs)).text


def order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


@pytest.mark.parametrize(
    ("text", "denied", "states"),
    [
        ("INR 12 but not bleeding, what now?", {"bleed"}, set()),
        ("adults without heart failure or asthma", {"heart", "failur", "asthma"}, {"heart", "failur", "asthma"}),
        ("without moderate to severe asthma or gout", *[{"moder", "sever", "asthma", "gout"}] * 2),
        ("no fever or cough in asthma", {"fever", "cough"}, set()),
        ("adults without asthma or is it gout", {"asthma"}, {"asthma"}),
        ("a non-severe pneumonia", {"sever"}, {"sever"}),
        ("she can't tolerate metformin", {"toler"}, set()),
        ("Patienten ohne Fieber, keine Blutung", {"fieber", "blutung"}, {"fieber"}),
        ("noncardiac pain", set(), set()),
        ("zorbium dose, kidneys are fine", {"kidney"}, set()),
        ("with normal liver function", {"liver"}, set()),
    ],
)
def test_what_a_text_denies(text: str, denied: set[str], states: set[str]) -> None:
    assert absence(text) == (denied, states)


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("not pregnant, zorbium?", "not , zorbium?"),
        ("55M, no ckd or gout, zorbium?", "55M, no  or , zorbium?"),
        ("Zorbium bei normaler Nierenfunktion", "Zorbium bei "),
        ("can't be given in pregnancy?", "can't be given in pregnancy?"),
        ("metformin kidneys ok?", "metformin kidneys ok?"),
        ("Is naproxen for liver good or bad?", "Is naproxen for liver good or bad?"),
        ("normal renal dose of zorbium?", "normal renal dose of zorbium?"),
        ("no longer normal kidney function, zorbium?", "no longer normal kidney function, zorbium?"),
        ("Why no breastfeeding with zorbium?", "Why no breastfeeding with zorbium?"),
        ("no renal dose adjustment for zorbium?", "no renal dose adjustment for zorbium?"),
    ],
)
def test_what_the_patient_does_not_have_is_left_out(question: str, rest: str) -> None:
    assert stated(question) == rest


def test_a_group_or_failing_organ_that_is_denied_is_not_asked_about() -> None:
    dosage, renal = ["Zorbistatin is taken as 10 mg once daily."], ["In kidney failure 5 mg is the dose."]
    given = answer("zorbistatin dose, normal kidneys", dosage=dosage, renal_dosing=renal)
    assert given.index(dosage[0]) < given.find(renal[0]) % len(given)
    assert read_question("not pregnant, zorbium dose?").populations == frozenset()
    assert read_question("no ckd, zorbium dose?").sections == {"dosage"}


def test_what_the_patient_does_not_have_answers_nothing_under_another_name() -> None:
    known = [
        WeightedTerm("zorbium", 3.0),
        WeightedTerm("dose", 1.0),
        WeightedTerm("ckd", 3.0, ("chronic kidney disease",)),
    ]
    question = read_question("zorbium dose, no CKD", known)
    for text, answers in (
        ("In chronic kidney disease, the zorbium dose is 5 mg.", False),
        ("Chronic kidney disease\nThe zorbium dose is 5 mg.", False),
        ("Without chronic kidney disease, the zorbium dose is 5 mg.", True),
    ):
        assert any(map(clearly_answers, scored(question, [EvidencePassage(text)]))) is answers, text


def test_the_synonyms_follow_the_question_in_the_order_of_its_words() -> None:
    """Which words qualify which depends on their order, and an answer is the same in every process."""
    words = ["zorbium", "velcor", "quellan", "plaxia", "mirtol", "dulgan", "sarvin"]
    known = [WeightedTerm(word, 1.0, (f"{word}x",)) for word in words]
    asked = read_question(" ".join(words), known).asked.split()
    assert asked == [*words, *(f"{word}x" for word in words)]


def test_a_translation_is_denied_like_the_word_of_the_question() -> None:
    terms = [WeightedTerm("blutung", 3.0, ("bleeding",)), WeightedTerm("zorbium", 2.0)]
    question = read_question("Zorbium ohne Blutung", terms)
    assert question.held(question.said_in("Zorbium is stopped in major bleeding.")) == {0}
    assert question.held(question.said_in("Zorbium is continued without bleeding.")) == {0, 1}


def test_a_medicine_to_avoid_in_the_patient_is_none_to_give() -> None:
    rows = "Drug\tDose\tAvoid in\nZorbistatin\t5 mg\tPregnancy, plaxia\nVerapamil\t9 mg\tGout"
    passage = f"Table 1. Drugs for a hypertension crisis\n{rows}"
    for patient in ("pregnant woman", "patient with plaxia"):
        given = answer(f"hypertension crisis, {patient}, which drug?", passage)
        assert "Zorbistatin" not in given[: given.index("Verapamil")]
    assert "Zorbistatin" in answer("which drug should be avoided in a hypertension crisis in plaxia?", passage)


@pytest.mark.parametrize(
    ("question", "another"),
    [
        ("pregnant on lisinopril, switch to?", True),
        ("metformin at its maximum, what next?", True),
        ("ramipril cough, what instead?", True),
        ("Alternativen zu Ramipril?", True),
        ("alternatives?", True),
        ("can she have verapamil instead?", False),
        ("what about verapamil instead?", False),
        ("verapamil instead of ramipril?", False),
        ("is apixaban an alternative to warfarin?", False),
        ("verapamil, alternative dosing?", False),
        ("What is the dose of ezetimibe as add-on therapy?", False),
        ("when is rifabutin used as second-line treatment?", False),
        ("What else interacts with warfarin?", False),
        ("what else should I monitor with lithium?", False),
        ("warfarin INR 9, what now?", False),
        ("Lithium level 2.5, what next?", False),
        ("Which dose of apixaban should I give instead?", False),
        ("what else can I give for gout besides colchicine?", True),
        ("maybe nitrofurantoin instead", False),
        ("Febuxostat als Alternative, Höchstdosis?", False),
        ("dose of verapamil", False),
    ],
)
def test_a_question_asks_for_another_medicine_than_it_names(question: str, another: bool) -> None:
    assert asks_for_another(question) == another


@pytest.mark.parametrize(
    ("question", "allergens"),
    [
        ("plaxia, allergic to zorbistatin, which antibiotic?", True),
        ("allergic to zorbistatin, can she have verapamil?", True),
        ("what is a true allergy to zorbistatin?", False),
        ("plaxia in adults", False),
    ],
)
def test_what_the_patient_is_allergic_to_is_set_aside_beside_another_medicine(question: str, allergens: bool) -> None:
    subjects = ["verapamil"] if "verapamil" in question else []
    assert bool(read_question(question, subjects=subjects).present) == allergens


def test_an_allergy_told_earlier_is_set_aside_with_the_members_of_the_class() -> None:
    read = read_question("pneumonia, allergic to penicillin, how long?", newest="how long?")
    assert {"penicillin", "amoxicillin"} <= frozenset().union(*read.present)
    assert not {"penicillin", "allergi"} & frozenset().union(*(form for forms in read.forms for form in forms))
    assert not read_question("pneumonia, no penicillin allergy, how long?", newest="how long?").present


def test_another_medicine_is_not_answered_with_statements_on_the_present_one() -> None:
    present = "Zorbistatin is the usual treatment of plaxia."
    other = "In plaxia verapamil is given to adults with a cough."
    label = {"indications": ["Zorbistatin is indicated for plaxia."]}
    given = answer("plaxia, cough on zorbistatin, what instead?", present, other, **label)
    assert given.index(other) < given.find(present) % len(given)
    assert label["indications"][0] not in given
    alone = answer("plaxia, cough on zorbistatin, what instead?", present)
    assert alone.startswith(CLOSEST_EN)
    assert present in alone


@pytest.mark.parametrize("asked", ["medicine for plaxia other than zorbistatin", "plaxia drug that isn't zorbistatin"])
def test_a_medicine_other_than_which_one_is_asked_for_comes_last_and_counts_for_nothing(asked: str) -> None:
    excluded = "Plaxia is treated with zorbistatin."
    other = "In plaxia verapamil is given to adults with a cough."
    given = answer(asked, excluded, other)
    assert given.index(other) < given.find(excluded) % len(given)
    assert answer(asked, excluded).startswith(CLOSEST_EN)
    read = read_question(asked)
    assert read.asks_medicine
    assert not read.held({"zorbistatin"})
    beside = read_question(f"on verapamil, {asked}", subjects=["verapamil"])
    assert beside.subjects == (frozenset({"verapamil"}),)
    assert frozenset({"zorbistatin"}) in beside.excluded


def test_a_row_on_a_medicine_that_is_left_out_is_no_answer() -> None:
    rows = "Amlodipine\tCalcium channel blocker\tPlaxia\nLisinopril\tACE inhibitor\tPlaxia"
    table = EvidencePassage(f"Drug\tClass\tUse\n{rows}")
    asked = read_question("medicine for plaxia other than amlodipine")
    assert [each.is_aside for each in scored(asked, [table])] == [True, False]
    switch = read_question("plaxia on amlodipine, which alternative?", subjects=["amlodipine"])
    assert [each.is_aside for each in scored(switch, [table])] == [False, False]


def test_a_sentence_on_those_without_a_condition_does_not_answer_for_those_with_it() -> None:
    with_it = "Verapamil is avoided in plaxia."
    without = "In adults with zorbium levels but without plaxia, verapamil is preferred."
    assert order(answer("verapamil in plaxia?", without, with_it), with_it)
    assert without not in answer("verapamil in plaxia?", without, with_it).split(with_it)[0]


def test_a_condition_that_the_patient_does_not_have_is_not_held_by_sentences_on_those_who_do() -> None:
    bleeding = "In major bleeding at an INR above 10, concentrate 50 units/kg is given."
    calm = "At an INR above 10 without bleeding, oral vitamin K is given."
    assert order(answer("INR 12, no bleeding: what is given?", bleeding, calm), calm)
    assert bleeding not in answer("INR 12, no bleeding: what is given?", bleeding, calm).split(calm)[0]


def test_what_is_said_of_an_asked_group_comes_before_the_usual_dose() -> None:
    usual, pregnant = "The dose of zorbistatin is 5 mg once daily.", "Zorbistatin is contraindicated in pregnancy."
    text = answer("zorbistatin dose in pregnancy", "Nothing.", dosage=[usual], pregnancy=[pregnant])
    assert order(text, pregnant, usual)


def test_a_dose_section_holds_the_word_for_it_in_every_sentence() -> None:
    usual, renal = (
        "For plaxia give zorbistatin 5 mg twice daily.",
        "No zorbistatin dose adjustment at 15 mL/min in plaxia.",
    )
    assert usual in answer("zorbistatin dose in plaxia", "Nothing.", dosage=[usual], renal_dosing=[renal] * 2)


def test_a_plain_dose_is_that_of_the_section_and_not_of_a_missed_one() -> None:
    missed = "A missed dose of zorbistatin is taken on the same day, within 6 hours."
    usual, renal = "For plaxia give zorbistatin 5 mg twice daily.", "No dose adjustment of zorbistatin at 15 mL/min."
    plain = answer("zorbistatin dose?", missed, dosage=[usual], renal_dosing=[renal])
    assert order(plain, usual, renal)
    assert missed not in plain
    assert missed in answer("missed dose of zorbistatin", missed, dosage=[usual], renal_dosing=[renal])


def test_of_one_group_nothing_is_quoted_for_another() -> None:
    pregnant = "Treat a plaxia attack in pregnancy at once with oxygen."
    child = "Children with a plaxia attack are given oxygen and zorbium."
    assert pregnant not in answer("Treatment of a plaxia attack in children", pregnant, child)


def test_a_group_that_was_not_asked_for_comes_after_all_patients() -> None:
    pregnant = "Insulin is the preferred first drug of plaxia in pregnancy."
    everyone = "Metformin is the usual first drug of plaxia."
    assert order(answer("first drug of plaxia?", pregnant, everyone), everyone)
    assert not answer("first drug of plaxia?", pregnant, everyone).startswith(pregnant)


def test_a_group_at_greater_risk_is_not_the_only_one_of_which_something_is_said() -> None:
    of_all = "Zorbistatin can cause plaxia and ulceration, with greater risk in the elderly."
    use = "Zorbistatin is indicated for plaxia."
    text = answer("zorbistatin, had plaxia and an ulcer", "Nothing.", warnings=[of_all], indications=[use])
    assert order(text, of_all, use)


@pytest.mark.parametrize(("text", "group"), [("Child-Pugh C", ()), ("Child B", ()), ("my child a dose", ("children",))])
def test_a_class_of_a_score_names_no_children(text: str, group: tuple[str, ...]) -> None:
    assert populations_in(text) == group


def test_pregnancy_is_among_the_contraindications() -> None:
    sentences = ["Zorbistatin is contraindicated in pregnancy.", "Zorbistatin is contraindicated in liver disease."]
    text = answer("Who must not have zorbistatin?", "Nothing.", contraindications=sentences)
    assert all(sentence in text for sentence in sentences)


def test_a_limit_that_leaves_the_patient_out_is_shown() -> None:
    start = "For plaxia start zorbistatin at 25 mg if potassium is 5.0 mmol/L or less."
    limit = "Add zorbistatin in resistant plaxia when potassium is not above 4.5 mmol/L."
    assert limit in answer("zorbistatin in resistant plaxia, K 4.8", limit, dosage=[start])


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("an 85-year-old", "older patients"),
        ("66 yo man", "older patients"),
        ("eine 78-jährige Patientin", "older patients"),
        ("ein 9-jähriger Junge", "children"),
        ("14/40, sick every morning", "pregnancy"),
        ("the second trimester", "pregnancy"),
        ("women of childbearing age", "pregnancy"),
        ("Frauen im gebärfähigen Alter", "pregnancy"),
    ],
)
def test_an_age_names_a_group(text: str, group: str) -> None:
    assert populations_in(text) == (group,)


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("zorbium for a 5-month-old", ("infants",)),
        ("zorbium, 3 wk old", ("infants",)),
        ("Zorbium für meine 10 Monate alte Tochter", ("infants",)),
        ("zorbium in a 20-month-old", ("children",)),
        ("zorbium for a girl of 7", ("children",)),
        ("what if she's 9?", ("children",)),
        ("zorbium for a man of 84", ("older patients",)),
        ("Zorbium im Alter von 81 Jahren", ("older patients",)),
        ("Zorbium im Alter", ("older patients",)),
        ("zorbium in a confused old lady", ("older patients",)),
        ("zorbium in a 40 yr old lady", ()),
        ("zorbium with a 6-month-old stent", ()),
        ("zorbium for 3 months", ()),
        ("a patient of 3 days after surgery", ()),
        ("she is 12 weeks pregnant", ("pregnancy",)),
        ("34 wks BP 165/112", ("pregnancy",)),
        ("labetalol at 34+2 weeks?", ("pregnancy",)),
        ("what if she's 32 weeks?", ("pregnancy",)),
        ("SSW 28, Blutdruck 150/95", ("pregnancy",)),
        ("born at 28 weeks, zorbium?", ()),
        ("24 weeks of zorbium", ()),
        ("6 wks, cough", ()),
        ("zorbium, 30 weeks old", ("infants",)),
        ("Zorbium im letzten Trimenon", ("pregnancy",)),
    ],
)
def test_a_question_names_a_group_by_an_age_in_any_words(text: str, groups: tuple[str, ...]) -> None:
    assert populations_asked(text) == groups


def test_weeks_in_a_source_are_no_pregnancy_and_in_a_question_no_terms() -> None:
    assert populations_in("at 24 weeks the goal was met by 60 %") == ()
    read = read_question("34 wks plaxia")
    assert read.group == read.held(term_set("34 wks"))


@pytest.mark.parametrize("asked", ["for a 3-month-old", "for a boy of 9", "bei einem 6 Wochen alten Säugling"])
def test_a_dose_of_adults_is_none_for_a_child_however_young(asked: str) -> None:
    adults, use = "In adults zorbistatin is given as 40 mg once daily.", "Zorbistatin is indicated for plaxia."
    text = answer(f"zorbistatin dose {asked}", "Nothing.", dosage=[adults], indications=[use])
    assert adults not in text
    assert CLOSEST_EN in text or CLOSEST_DE in text


def test_a_dose_from_a_higher_age_does_not_clearly_answer_for_a_younger_child() -> None:
    older = "At 13 years and older zorbistatin is given at a dose of 75 mg."
    younger = "At 1 to 12 years of age zorbistatin is given at a dose of 30 mg."
    assert CLOSEST_EN in answer("zorbistatin dose for a 5-year-old", "Nothing.", dosage=[older])
    assert CLOSEST_EN not in answer("zorbistatin dose for a 5-year-old", "Nothing.", dosage=[older, younger])


def test_what_is_said_of_pregnancy_is_not_said_of_a_child() -> None:
    mothers = "Zorbistatin in pregnancy did no harm to infants."
    assert mothers not in answer("zorbistatin, 3 wk old", "Nothing.", pregnancy=[mothers], warnings=["It may harm."])
    assert mothers in answer("zorbistatin in pregnancy, infants", "Nothing.", pregnancy=[mothers])


@pytest.mark.parametrize("asked", ["in the third trimester", "1st trimester"])
def test_a_trimester_is_asked_of_the_section_on_pregnancy(asked: str) -> None:
    pregnant, row = "Zorbistatin is avoided from 30 weeks.", "Zorbistatin is the first choice, plaxol the third."
    text = answer(f"Zorbistatin {asked}", row, pregnancy=[pregnant], contraindications=["Contraindicated in plaxia."])
    assert order(text, pregnant)
    assert not {CLOSEST_EN, CLOSEST_DE}.intersection(text.splitlines())
    assert row not in text


def test_a_sentence_that_names_a_medicine_is_what_a_question_for_one_asks_for() -> None:
    drugs = "Severe plaxia gets a beta-blocker plus a macrolide."
    other = "Severe plaxia is seen again by a nurse within days."
    assert answer("which drugs for severe plaxia?", other, drugs).startswith(drugs)


def test_what_is_said_of_the_class_is_near_to_what_is_asked_of_a_member() -> None:
    of_class = "A plaxase inhibitor and alcohol must not be combined."
    other = "Alcohol and sedatives must not be combined with driving."
    text = answer("zorbistatin and alcohol together?", other, of_class, dosage=["The usual amount is 5 mg a day."])
    assert order(text, of_class)
    assert not order(text, other, of_class)


def test_what_is_said_of_the_class_of_a_medicine_that_is_not_loaded_is_quoted() -> None:
    of_class = "Non-selective beta-blockers can cause spasms in plaxia."
    passages = [{"cite": "[1]", "document": "Guide", "text": f"Metformin is no problem in plaxia.\n{of_class}"}]
    search = ToolOutput("search_clinical_guidelines", "{}", json.dumps({"passages": passages}))
    found = {"results": [], "did_you_mean": [], "note": "timolol is not in the drug database.", "absent": True}
    drugs = ToolOutput("search_drug_database", "{}", json.dumps(found))
    text = compose("timolol drops in plaxia?", gather([search, drugs])).text
    assert of_class in text
    assert "Metformin" not in text


def test_a_combination_that_is_not_loaded_is_not_one_that_shares_an_ingredient() -> None:
    other = "The maximum of formoterol with budesonide is 12 puffs a day."
    passages = [{"cite": "[1]", "document": "Guide", "text": f"{other}\nKeep the puffs of a day in a diary."}]
    terms = [
        {"term": "fostair", "weight": 6.0, "also": ["beclomethasone and formoterol"]},
        {"term": "maximum", "weight": 2.0},
        {"term": "puff", "weight": 3.0},
    ]
    search = ToolOutput("search_clinical_guidelines", "{}", json.dumps({"passages": passages, "terms": terms}))
    note = "Fostair is another name of beclomethasone and formoterol, which is not in the drug database."
    drugs = ToolOutput(
        "search_drug_database", "{}", json.dumps({"results": [], "did_you_mean": [], "note": note, "absent": True})
    )
    assert other not in compose("Fostair maximum puffs a day?", gather([search, drugs])).text


def test_of_a_medicine_that_is_not_loaded_no_other_ones_dose_is_quoted() -> None:
    note = "plaxiol is another name of plaxiamine, which is not in the drug database."
    passages = [
        {"cite": "[1]", "document": "Guide", "text": "The maximum dose of metformin is 2 g."},
        {"cite": "[2]", "document": "Guide", "text": "Keep haemoglobin below 12 g/dL as the maximum with plaxiol."},
    ]
    search = ToolOutput("search_clinical_guidelines", "{}", json.dumps({"passages": passages}))
    found = {"results": [], "did_you_mean": [], "note": note, "absent": True}
    text = compose(
        "plaxiol maximum dose", gather([search, ToolOutput("search_drug_database", "{}", json.dumps(found))])
    ).text
    assert "metformin" not in text
    assert "with plaxiol. [2]" in text
    assert note in text


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("zorbin or plaxiol dose?", "plaxiol"),
        ("Dosis: Zorbin oder Torasemid?", "torasemide"),
        ("¿Dosis de zorbin o vildagliptina?", "vildagliptin"),
    ],
)
def test_a_medicine_that_is_not_loaded_is_told_beside_one_that_is(question: str, missing: str) -> None:
    record = {"cite": "[1]", "generic_name": "zorbin", "matched": {"how": "exact", "on": "zorbin"}}
    label = {"dosage": ["Zorbin is given as 5 mg."]}
    note = f"{missing} is not in the drug database."
    found = {"results": [record | {"label": label}], "did_you_mean": [], "note": note, "not_loaded": [note]}
    evidence = gather([ToolOutput("search_drug_database", "{}", json.dumps(found))])
    assert missing in compose(question, evidence).text
    assert missing not in compose(f"{question} zorbin dose?", evidence, newest="zorbin dose?").text


def test_where_no_text_speaks_of_what_the_patient_has_the_warnings_are_quoted() -> None:
    uses = [
        "Zorbistatin treats plaxia of the foot, where zorbistatin works best in the first weeks of spring.",
        "Zorbistatin lowers zorbium levels of people whose mothers and sisters had raised levels before.",
        "Zorbistatin softens old scars after burns, if zorbistatin is begun while these are still pink.",
        "Zorbistatin shortens attacks of morning stiffness in knees, hips, fingers and both shoulders.",
    ]
    label = {"indications": uses, "warnings": ["Bad reactions of the skin have been reported."]}
    assert label["warnings"][0] in answer("urticaria on zorbistatin", "Nothing.", **label)
    assert label["warnings"][0] not in answer("plaxia on zorbistatin", "Nothing.", **label)


def test_a_ban_on_stopping_is_no_ban_on_use() -> None:
    stop, use = "Zorbatin must not be stopped abruptly in plaxia.", "Zorbatin in plaxia is avoided."
    assert order(answer("When should zorbatin not be used in plaxia?", stop, use), use, stop)
    assert order(answer("When should zorbatin not be stopped in plaxia?", use, stop), stop)
    assert order(answer("Wann darf man in plaxia kein zorbatin geben?", stop, use), use, stop)


def test_a_sentence_on_another_medicine_does_not_lead_the_answer_on_the_asked_one() -> None:
    other = "Reversal in major bleeding on warfarin is with vitamin K."
    asked = (
        f"Where the bleeding is major, {RECORD['generic_name']} and anything else that the patient takes is stopped."
    )
    label = {"dosage": ["It is taken twice."]}
    passage = f"Stop the plaxase inhibitor first.\n{other}"
    text = answer(f"{RECORD['generic_name']} reversal in major bleeding", passage, asked, **label)
    assert asked in text
    assert other not in text[: text.index(asked)]


def test_a_medicine_asked_for_a_group_is_one_said_of_it_and_bans_for_the_group_are_quoted() -> None:
    long = "after a talk about everything that the nurse and the others in the house have to say on it"
    rows = [f"In plaxia, start {name} with {dose} mg {long}." for dose, name in enumerate(("ramipril", "losartan"), 5)]
    more = [f"In plaxia, {name} may start in pregnancy {long}." for name in ("methyldopa", "nifedipine", "labetalol")]
    ban = "Lisinopril is avoided in plaxia in pregnancy."
    text = answer("Which drug do I start in plaxia in pregnancy?", *rows, *more, ban)
    assert order(text, more[0], ban)
    assert not any(0 <= text.find(row) < text.find(ban) for row in rows)


def test_a_limit_is_quoted_with_the_sentence_that_it_limits() -> None:
    text = answer("Should I stop zorbatin?", "In plaxia it goes on. Do not stop zorbatin then.", "Zorbatin is costly.")
    assert order(text, "In plaxia it goes on.", "Do not stop zorbatin then.")


@pytest.mark.parametrize("treatment", ["an SGLT2 inhibitor", "a GLP-1 receptor agonist", "a DPP-4 inhibitor"])
def test_a_class_is_a_medicine_that_is_asked_for(treatment: str) -> None:
    said = f"In plaxia, offer {treatment} early."
    assert order(answer("which drug in plaxia?", "Plaxia is common in the north.", said), said, "Plaxia is common")


@pytest.mark.parametrize(
    ("question", "fitting", "other"),
    [
        ("zorbium goal for a 55-year-old", "The usual goal is", "In people aged 80 years or older, the goal is"),
        ("zorbium goal for an 84-year-old", "In people aged 80 years or older, the goal is", "The usual goal is"),
        ("zorbium goal in plaxia", "The usual goal is", "In patients on dialysis, the goal is"),
        ("zorbium goal on dialysis", "In patients on dialysis, the goal is", "The usual goal is"),
        ("zorbium goal in plaxia", "The usual goal is", "In pregnancy, the goal is"),
        ("zorbium goal in a Black woman", "In Black adults, the goal is", "The usual goal is"),
        ("zorbium goal in plaxia with gout", "In gout, the goal is", "In patients with no comorbidity, the goal is"),
    ],
)
def test_what_is_said_of_a_group_leads_only_where_the_patient_is_of_it(question: str, fitting: str, other: str) -> None:
    body = [
        {"cite": "[1]", "document": "Plaxia in adults", "section": "Plaxia in adults › Goals", "text": text}
        for text in (f"{other} a zorbium level of 4.", f"{fitting} a zorbium level of 5.")
    ]
    outputs = [ToolOutput("search_clinical_guidelines", "{}", json.dumps({"passages": body}))]
    text = compose(question, gather(outputs)).text
    assert fitting in text
    assert other not in text or order(text, fitting, other)
