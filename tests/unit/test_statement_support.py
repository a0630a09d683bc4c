"""A cited statement is compared with its passage: figures, units, bounds, negations and names."""

from collections.abc import Sequence

import pytest

from chat_app.agent.statements.bindings import bindings
from chat_app.agent.statements.polarity import reverses
from chat_app.agent.statements.statement_check import Claim, StatementCheck
from chat_app.agent.statements.support import unsupported
from tools.calculators import calculator_tools
from tools.language.figures import Figure, figures, rates
from tools.language.inn_stems import has_drug_stem
from tools.language.measurement_units import UNITS
from tools.types import Passage

TEXT = (
    "Start example at 500 mg once daily with food and raise it by 500 mg each week. Do not use it when eGFR is below "
    "30 mL/min. The maximum is 2 g per day. Check kidney function every 3 to 6 months in adults aged 65 years or "
    "older. Amoxapril should be avoided in pregnancy."
)


def passage(text: str = TEXT) -> Passage:
    return Passage(id="p", kind="guideline", document_id="d", title="Guide", text=text, version="2024")


def reasons(statement: str, text: str = TEXT) -> list[str]:
    return [problem.reason for problem in unsupported(statement, [passage(text)])]


@pytest.mark.parametrize(
    "statement",
    [
        "Start example at 500 mg once daily with food and raise it by 500 mg each week.",
        "- **Do not use it** when eGFR is below 30 mL/min.",
        "It should not be used when the eGFR is less than 30 mL/min.",
        "Avoid it at an eGFR < 30 mL/min.",
        "The daily maximum is 2000 mg.",
        "Start example at 500 mg once a day with food and raise it by 500 mg per week.",
        "At most 2 g are given per day.",
        "Kidney function is checked every 3-6 months in adults of 65 years and older.",
        "Every three to six months, check kidney function in adults aged ≥ 65 years.",
        "Pregnant women should not receive amoxapril.",
        "Amoxapril is contraindicated in pregnancy.",
        "As of 2024, the starting dose is 500 mg.",
        "Die Anfangsdosis ist 500 mg, bei einer eGFR unter 30 mL/min nicht geben.",
        "Start example at 500 mg once daily and raise it by 500 mg each week.",
    ],
)
def test_what_the_passage_says_in_the_same_or_other_words_is_supported(statement: str) -> None:
    assert reasons(statement) == []


@pytest.mark.parametrize(("rate", "found"), [("1,5 %", []), ("2,5 %", ["number"])])
def test_decimal_commas_of_the_source_are_read_like_those_of_the_statement(rate: str, found: list[str]) -> None:
    text = "Stufe eins. Letalität niedrig (1,5 %); ambulante Behandlung ist wahrscheinlich geeignet."
    assert reasons(f"Die Letalität ist niedrig mit {rate}, eine ambulante Behandlung ist geeignet.", text) == found


def test_no_line_of_a_calculation_is_doubted_but_its_reverse_is() -> None:
    tool = next(tool for tool in calculator_tools() if tool.name == "calculate_opioid_mme")
    dose, twice = {"value": 10, "unit": "mg"}, {"value": 2, "unit": "times a day"}
    output = tool.call(opioids=[{"drug": "oxycodone", "dose": dose, "frequency": twice}])
    lines = output.passages[0].text.splitlines()
    assert [line for line in lines if unsupported(line, output.passages)] == []
    (note,) = (line for line in lines if "Do not use" in line)
    assert unsupported(note.replace("Do not use", "Use"), output.passages)


RECORD = (
    "examplin\nBrand names: Exampla, Exampla XR, Retarda\nProduct: solution (oral): 500 mg/5 mL; brands Exampla\n"
    "Product: tablet (oral): 500 mg, 850 mg, 1000 mg\n"
    "Product: tablet, extended release (oral): 500 mg, 1000 mg; brands Exampla XR, Retarda\n"
    "Dosage:\nThe extended release tablet Retarda is started with 500 mg."
)


@pytest.mark.parametrize(
    ("row", "problems"),
    [
        ("| tablet | oral | 500 mg, 850 mg, 1000 mg | – ", 0),
        ("| tablet, extended release | oral | 500 mg, 1000 mg | Exampla XR, Retarda", 0),
        ("| tablet, extended release | oral | 500 mg, 750 mg | Exampla XR, Retarda", 1),
    ],
)
def test_the_row_of_a_product_is_compared_with_its_own_line_of_the_record(row: str, problems: int) -> None:
    record = Passage(id="p", kind="drug_record", document_id="d", title="examplin", text=RECORD)
    assert len(unsupported(row, [record])) == problems


def test_the_number_of_a_list_item_is_a_figure_of_the_passage() -> None:
    steps = "1. Give oxygen to all patients.\n2. Call the surgeon on duty early."
    assert reasons("Step 2 is a call to the surgeon on duty.", steps) == []
    assert reasons("Step 3 is a call to the surgeon on duty.", steps) == ["number"]


def test_amounts_of_several_kinds_are_in_the_order_of_the_sentence() -> None:
    sentence = "Give 5 mL or 10 mg at 20 mmHg, 8 kcal, 3 mmol and 40 cm in 2 days."
    kinds = [one.kind for one in bindings(sentence, every=True)]
    assert kinds == list(dict.fromkeys(UNITS[unit][0] for unit in ("ml", "mg", "mmhg", "kcal", "mmol", "cm", "days")))


def test_nothing_is_said_of_a_single_word_or_without_a_passage() -> None:
    assert reasons("**Amoxicillin**") == []
    assert unsupported("The maximum is 4 g per day.", []) == ()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Start example at 850 mg once daily with food and raise it by 500 mg each week.", "number"),
        ("Start example at 500 mg twice daily with food.", "unit"),
        ("The maximum is 4 g per day.", "number"),
        ("Start example at 500 g once daily with food and raise it by 500 mg each week.", "unit"),
        ("Check kidney function every 3 to 6 weeks in adults aged 65 years or older.", "unit"),
        ("Use it when eGFR is below 30 mL/min.", "negation"),
        ("Do not use it when eGFR is above 30 mL/min.", "negation"),
        ("Check kidney function every 3 to 6 months in adults younger than 65 years.", "negation"),
        ("Amoxapril should be used in pregnancy.", "negation"),
        ("Start example at 500 mg once daily with food and lower it by 500 mg each week.", "negation"),
        ("Amoxapril should not be avoided in pregnancy.", "negation"),
        ("Enalopril should be avoided in pregnancy.", "name"),
        ("Patients with migraine benefit from relaxation, sleep hygiene and regular meals.", "wording"),
        ("Start example at 500 mg once daily with food and raise it by 500 mg each month.", "unit"),
        ("Start example at 500 mg once weekly with food and raise it by 500 mg each week.", "unit"),
        ("Die Anfangsdosis ist 850 mg.", "number"),
        ("Die Anfangsdosis ist 2,5 g.", "number"),
    ],
)
def test_what_the_passage_does_not_say_is_not_supported(statement: str, reason: str) -> None:
    assert reason in reasons(statement)


MORE = (
    "Examplor 40 mg bid reduces the clearance of digoxin by CYP3A4 and may raise its levels. Hyperkalemia is more "
    "likely in renal impairment. Give it before meals, once a week. In the absence of fever no test is needed."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Examplor 40 mg bid increases the clearance of digoxin by CYP3A4 and may raise its levels.", "negation"),
        ("Examplor 40 mg bid reduces the clearance of digoxin by CYP2D6 and may raise its levels.", "name"),
        ("Hyperkalemia is less likely in renal impairment.", "negation"),
        ("Hyperkalemia is more unlikely in renal impairment.", "negation"),
        ("Hypokalemia is more likely in renal impairment.", "negation"),
        ("Give it after meals to all of them, before sleep, once a week.", "wording"),
        ("Examplor 40 mg twice daily lowers the clearance of digoxin by CYP3A4 and may increase its levels.", ""),
        ("Hyperkalemia is more likely in renal impairment, and examplor is given weekly.", ""),
        ("Without fever no test is needed.", ""),
    ],
)
def test_an_opposite_in_the_place_of_a_word_is_not_supported(statement: str, reason: str) -> None:
    assert reasons(statement, MORE) == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Examplor was teratogenic in rabbits.", "negation"),
        ("Higher doses generally produce greater effects.", "negation"),
        ("Treat for at least 3 months in all.", "negation"),
        ("Loperamide: up to 16 mg per day.", ""),
    ],
)
def test_short_statements_and_bounds_are_compared_with_the_sentence_that_they_resemble(
    statement: str, reason: str
) -> None:
    text = (
        "Examplor was not teratogenic in rabbits. Higher doses do not generally produce greater effects. Treat all for "
        "no more than 3 months. Reassess in 1-3 months. Give loperamide, not to exceed 16 mg per day."
    )
    assert reasons(statement, text) == ([reason] if reason else [])


GROUPS = (
    "Screen adults aged 40 years or older, and younger adults at increased risk, every year. Screen adults aged 18 to "
    "39 years without increased risk every 3 to 5 years. Add examplin when potassium is not above 4.5 mmol/L. Check "
    "the haemoglobin below 13.0 g/dL in men or below 12.0 g/dL in women. Potassium salts should not be used in kidney "
    "disease unless potassium is monitored. Low-dose retardin after 12 weeks of gestation lowers the risk. "
    "Anticoagulate with a score of 2 or more in men or 3 or more in women.\n"
    "Amoxapril 0.75 mg once weekly, no change.\nEnalopril 5 mg once daily, no change."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Screen adults aged 40 years or younger every year.", "negation"),
        ("Screen adults aged 40 years or older every 3 to 5 years.", "unit"),
        ("Screen adults aged at least 40 years once a year.", ""),
        ("Add examplin when potassium is above 4.5 mmol/L.", "negation"),
        ("Add examplin if potassium is ≤ 4.5 mmol/L.", ""),
        ("Check the haemoglobin below 13.0 g/dL in women or below 12.0 g/dL in men.", "number"),
        ("Check the haemoglobin below 12 g/dL in women or below 13 g/dL in men.", ""),
        ("Potassium salts should be used in kidney disease.", "negation"),
        ("Potassium salts should not be used in kidney disease.", ""),
        ("Low-dose retardin before 12 weeks of gestation lowers the risk.", "wording"),
        ("After 12 weeks of gestation, low-dose retardin lowers the risk.", ""),
        ("Anticoagulate with a score of 2 or more in women or 3 or more in men.", "number"),
        ("Anticoagulation is for women with a score ≥ 3 and men with ≥ 2.", ""),
        ("Amoxapril is started at 0.75 mg once daily.", "unit"),
        ("Amoxapril is started at 0.75 mg every week.", ""),
    ],
)
def test_bounds_rates_groups_and_orders_are_those_of_the_unit_that_is_meant(statement: str, reason: str) -> None:
    assert set(reasons(statement, GROUPS)) == ({reason} if reason else set())


def test_a_brand_is_supported_by_its_ingredient_and_another_drug_is_not() -> None:
    known = {"examplor": frozenset({"example"}), "example": frozenset({"example"}), "other": frozenset({"other"})}

    def ingredients(word: str) -> frozenset[str]:
        return known.get(word, frozenset())

    def names(statement: str) -> Sequence[str]:
        return [
            problem.detail for problem in unsupported(statement, [passage()], ingredients) if problem.reason == "name"
        ]

    assert names("Examplor is started at 500 mg once daily.") == []
    assert names("The other drug is started at 500 mg once daily.") == ["other"]


def test_a_figure_may_stand_in_any_of_the_cited_passages() -> None:
    other = passage("The tablet holds 850 mg.")
    assert unsupported("Tablets of 850 mg are given with food.", [passage(), other]) == ()
    assert unsupported("Tablets of 850 mg are given with food.", [passage()]) != ()


def test_a_repeated_sentence_does_not_take_its_figure_from_another_sentence() -> None:
    text = "Give alpha 5 mg twice daily to adults. Give beta 20 mg once daily to adults with a low weight."
    assert reasons("Give alpha 20 mg twice daily to adults.", text) == ["number"]


def test_a_statement_that_adds_a_figure_takes_it_from_another_sentence() -> None:
    text = "Give alpha 5 mg twice daily to adults with severe renal disease. Beta: 20 mg."
    assert reasons("Give alpha 5 mg twice daily to adults with severe renal disease, at most 20 mg.", text) == []
    assert reasons("Give alpha 5 mg twice daily to adults with severe renal disease, at most 30 mg.", text) != []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5 to 10 mg", [Figure(5, "mg"), Figure(10, "mg")]),
        ("1,500 mg/day", [Figure(1500, "mg", "day")]),
        ("0.5 units/kg", [Figure(0.5, "units", "kg")]),
        ("at least 3 months", [Figure(3, "months", "", "up")]),
        ("65 years or older", [Figure(65, "years", "", "up")]),
        ("below 130/80 mmHg", [Figure(130, "mmhg", "", "down"), Figure(80, "mmhg", "", "down")]),
        ("no more than 2 g", [Figure(2, "g", "", "down")]),
        ("potassium not above 4.5 mmol", [Figure(4.5, "mmol", "", "down")]),
        ("an eGFR not lower than 45 %", [Figure(45, "%", "", "up")]),
        ("about 2.2 hours", [Figure(2.2, "hours", "", "near")]),
        ("höchstens 4 g", [Figure(4, "g", "", "down")]),
        ("500 mg twice daily", [Figure(500, "mg")]),
        ("CHA2DS2-VASc and HbA1c", []),
        ("75 µg for 5 days", [Figure(75, "µg"), Figure(5, "days")]),
        ("75 \u03bcg", [Figure(75, "µg")]),
    ],
)
def test_figures_with_units_and_bounds(text: str, found: list[Figure]) -> None:
    assert list(figures(text)) == found


@pytest.mark.parametrize("word", ["enalapril", "Losartan", "rivaroxaban", "adalimumab", "metoprolol", "semaglutide"])
def test_words_with_a_stem_of_drug_names(word: str) -> None:
    assert has_drug_stem(word)


@pytest.mark.parametrize("word", ["treatment", "april", "hospital", "environmental", "approval", "adults", "exercise"])
def test_ordinary_words_have_no_stem_of_drug_names(word: str) -> None:
    assert not has_drug_stem(word)


async def test_the_event_names_statement_citation_and_figure() -> None:
    claims = [
        Claim("Start example at 850 mg once daily with food.", {2: passage()}),
        Claim("Do not use it when eGFR is below 30 mL/min.", {1: passage()}),
    ]
    checked = await StatementCheck().check(claims)
    assert checked.checked == 2
    assert checked.verifier == ""
    (one,) = checked.unsupported
    assert (one.text, one.numbers, one.reasons, one.details) == (claims[0].text, (2,), ("number",), ("850 mg",))


def test_hyper_and_hypo_are_opposites_but_a_name_without_either_is_not() -> None:
    assert reverses("Monitor for hyperkalaemia.", ["Monitor for hypokalaemia."])
    assert not reverses("Ask about sensitivity to penicillin.", ["Ask about hypersensitivity to penicillin."])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("every 12 hours", "twice daily"),
        ("q8h", "three times a day"),
        ("bid", "zweimal täglich"),
        ("every other day", "alle 2 Tage"),
        ("once-weekly", "every 7 days"),
        ("yearly", "every 12 months"),
        ("each night", "daily"),
    ],
)
def test_rates_in_other_words_are_equal(one: str, other: str) -> None:
    assert [rate.daily for rate in rates(one)] == pytest.approx([rate.daily for rate in rates(other)])


SHARES = (
    "Among adults, 28 % have mild symptoms and 3.5 % have severe symptoms. In patients receiving alpha alone, exposure "
    "increased by 27 %. In patients receiving alpha in combination with beta, exposure increased by 30 %. Rats treated "
    "with 75 mg/kg demonstrated decreased fertility, while those treated with 25 mg/kg did not. Reduce the daily dose "
    "by 50 % when the clearance is below 50 mL/min and by 75 % when it is below 25 mL/min."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("About 28 % of adults have severe symptoms.", "number"),
        ("Exposure increased by 30 % in patients receiving alpha alone.", "number"),
        ("Rats treated with 25 mg/kg demonstrated decreased fertility.", "number"),
        ("The daily dose is reduced by 75 % with a clearance below 50 mL/min.", "number"),
        ("Severe symptoms occurred in 3.5 % of adults, and mild ones in 28 %.", ""),
        ("Alpha alone raised exposure by 27 %, and with beta by 30 %.", ""),
        ("At 75 mg/kg the fertility of rats decreased.", ""),
        ("Half the dose is given below 50 mL/min, and 75 % less below 25 mL/min.", ""),
    ],
)
def test_a_figure_of_another_group_is_not_supported(statement: str, reason: str) -> None:
    assert reasons(statement, SHARES) == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("statement", "reverse"),
    [
        ("Alpha was not carcinogenic when it was fed to mice for 100 weeks.", False),
        ("Lesions occur in 40 of 100 with alpha, against fewer than 1 with beta.", False),
        ("Of members interviewed within three months, 44 % had pain.", False),
        ("Interviewed members of the sample were treatment-seeking.", True),
        ("Lesions do not occur in 40 of 100 with alpha.", True),
        ("There was evidence of carcinogenesis in mice fed alpha.", True),
    ],
)
def test_a_negation_covers_its_words_and_their_families(statement: str, reverse: bool) -> None:
    sources = [
        "There was no evidence of drug-related carcinogenesis in mice fed alpha for up to 100 weeks.",
        "Lesions occur in 40 of 100 with alpha compared to less than 1 with beta.",
        "In a sample of non-treatment-seeking members interviewed within three months, 44 % reported pain.",
    ]
    nearest = max(sources, key=lambda one: len(set(one.casefold().split()) & set(statement.casefold().split())))
    assert reverses(statement, [nearest]) == reverse


def test_a_range_is_one_amount_of_its_part() -> None:
    (binding,) = bindings("Amoxapril is given as 5 or 10 mg, with food.")
    assert len(binding.amounts) == 2
    assert "amoxapril" in binding.terms


def test_zero_is_a_number() -> None:
    assert figures("on day zero", words=True) == (Figure(0),)
    assert reasons("Give 5 mg on day zero to all.", "On day zero give 5 mg, and zero times a day 7 mg.") == []


def test_a_range_of_intervals_has_two_rates_and_a_duration_none() -> None:
    assert [rate.daily for rate in rates("every 6 to 8 hours")] == [4, 3]
    assert rates("within a week, for 3 days") == ()


PLACES = (
    "An ARB may be started 6 weeks after an ACE inhibitor was stopped. Give 1 to 2 g in two doses, at most 4 g a day. "
    "Switch patients with an unstable INR from warfarin to a DOAC. Drugs such as alpha must not be stopped abruptly. "
    "Lesions are more frequent with coated tablets compared to wax tablets. The clinic is preferred over telephone "
    "visits. Restart the drug 24 hours after surgery. In a study of another, bosentan, 25 male patients with normal "
    "results were examined. Ambrisentan may do the same."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("An ACE inhibitor may be started 6 weeks after an ARB was stopped.", "wording"),
        ("Switch patients with an unstable INR from a DOAC to warfarin.", "wording"),
        ("Give 1 to 2 g in four doses, at most 4 g a day.", "number"),
        ("Switch patients with a stable INR from warfarin to a DOAC.", "negation"),
        ("Drugs such as alpha must not be stopped gradually.", "negation"),
        ("Drugs such as alpha must be continued abruptly.", ""),
        ("Ivabradine may be started 6 weeks after an ACE inhibitor was stopped.", "name"),
        ("An ARB may be started 6 weeks after an ACE inhibitor was halted.", ""),
        ("Patients with an unstable INR are switched from warfarin to a DOAC.", ""),
        ("1000 to 2000 mg are given in 2 doses, at most 4 g every 24 hours.", ""),
        ("Lesions are more frequent with wax tablets compared with coated tablets.", "wording"),
        ("Lesions are more frequent with coated tablets compared with wax tablets.", ""),
        ("A visit by telephone is preferred over the clinic.", "wording"),
        ("The clinic is preferred over a visit by telephone.", ""),
        ("After surgery restart the drug after about 24 hours.", ""),
        ("In a study of ambrisentan, 25 male patients with normal results were examined.", "name"),
    ],
)
def test_parts_of_a_sentence_in_each_others_place_are_not_supported(statement: str, reason: str) -> None:
    assert reasons(statement, PLACES) == ([reason] if reason else [])


DENIED = (
    "Alpha may cause sensitivity reactions in patients with or without a history of asthma. Alpha had no adverse "
    "effect on fertility in male rats, and no adverse effect on fertility in female rats. Neither alpha nor beta was "
    "mutagenic in the bacterial assay. Do not use alpha with receptor blockers (ARBs) or ACE inhibitors in diabetic "
    "patients. Taper alpha when its risks outweigh its benefits. The incidence was 12 % in patients treated with alpha "
    "versus 6 % in patients on placebo. Alpha levels approximately doubled. Fourteen patients had no symptoms. "
    "Give 1 g q-12-h."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Alpha may cause sensitivity reactions even in patients with no history of asthma.", ""),
        ("Alpha does not cause sensitivity reactions in patients with a history of asthma.", "negation"),
        ("Alpha had no adverse effect on fertility in male and female rats.", ""),
        ("Alpha had an adverse effect on fertility in male and female rats.", "negation"),
        ("Both alpha and beta were mutagenic in the bacterial assay.", "negation"),
        ("Alpha should not be used with ARBs or ACE inhibitors in diabetic patients.", ""),
        ("Taper alpha when its benefits outweigh its risks.", "wording"),
        ("The incidence was 12 % of alpha patients and 6 % of placebo patients.", ""),
        ("The incidence was 6 % of alpha patients and 12 % of placebo patients.", "number"),
        ("Levels of alpha were about twice as high.", ""),
        ("Alpha levels approximately tripled.", "number"),
        ("Forty patients had no symptoms at all.", "number"),
        ("1 g is given every 12 hours.", ""),
    ],
)
def test_negations_and_multiples_in_other_words(statement: str, reason: str) -> None:
    assert set(reasons(statement, DENIED)) == ({reason} if reason else set())


REWORDED = (
    "Alpha did not change the clearance of beta in healthy adults. Do not exceed doses greater than 10 mg of "
    "gamma in renal impairment. Total daily doses greater than 50 mg of delta are not recommended. Because assays"
    " are not always predictive of the response in adults, this tablet should be used in pregnancy only if "
    "needed. The safe use of epsilon in pregnancy has not been established, since there are no adequate studies "
    "in pregnant women. Zeta 600 mg daily for 7 days lowered exposure by 66 %, see part (7). A trough effect of "
    "50 to 75 % remained. Diuresis usually begins within one hour and persists for 24 hours or longer. It is best"
    " for a full 24-hour period."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Alpha made no difference to the clearance of beta in healthy adults.", ""),
        ("Alpha changed the clearance of beta in healthy adults.", "negation"),
        ("In renal impairment the dose of gamma should not exceed 10 mg.", ""),
        ("In renal impairment doses of gamma exceeding 10 mg are given.", "negation"),
        ("A total daily dose of delta must be no more than 50 mg.", ""),
        ("A total daily dose of delta of no more than 50 mg is not recommended.", "negation"),
        ("This tablet should be used in pregnancy only if needed.", ""),
        ("Because assays are not always predictive of it, this tablet should not be used in pregnancy.", "negation"),
        ("As adequate studies in pregnant women are lacking, safe use of epsilon in pregnancy is not established.", ""),
        (
            "As adequate studies in pregnant women are lacking, safe use of epsilon in pregnancy is established.",
            "negation",
        ),
        ("Zeta 600 mg once a day for seven days lowered exposure by two thirds (66 %).", ""),
        ("Zeta 600 mg once a day for seven months lowered exposure by 66 %.", "unit"),
        ("Half to three quarters (50 to 75 %) of the trough effect remained.", ""),
        ("Diuresis usually starts within an hour and lasts 24 hours or more.", ""),
    ],
)
def test_true_statements_in_other_words_are_not_doubted(statement: str, reason: str) -> None:
    assert set(reasons(statement, REWORDED)) == ({reason} if reason else set())


OTHERWISE = (
    "Exposure to alpha was 0.8 times that in adults given 400 mg b.i.d. or less. The mean increment of beta was 3 mg "
    "every 3 weeks. A dose reduction of delta may be "
    "considered in patients treated for hypertension; data for indications other than hypertension are not available. "
    "Measure the pressure after 5 minutes of seated rest in a quiet room."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Exposure to alpha was 0.8 times that in adults given 400 mg twice daily.", ""),
        ("Exposure to alpha was 0.8 times that in adults given 400 mg t.i.d.", "unit"),
        ("The mean increment of beta was 3 mg at intervals of three weeks.", ""),
        ("The mean increment of beta was 3 mg at intervals of two weeks.", "number"),
        ("For hypertension data are available, in indications other than it delta is not available.", ""),
        ("Let the patient rest seated for 5 minutes in a quiet room before the pressure is measured.", ""),
    ],
)
def test_abbreviations_and_intervals_are_read(statement: str, reason: str) -> None:
    assert bool(reasons(statement, OTHERWISE)) == bool(reason)


ORDERED = (
    "Treat severe hyperkalaemia with calcium at once, then with insulin and glucose. Review interacting drugs and diet "
    "before the dose of the inhibitor is reduced."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("In severe hyperkalaemia give insulin and glucose first, followed by calcium.", ["wording"]),
        ("In severe hyperkalaemia give calcium first, followed by insulin and glucose.", []),
        ("Reduce the dose of the inhibitor first and then review interacting drugs and diet.", ["wording"]),
        ("Review interacting drugs and diet first, and then reduce the dose of the inhibitor.", []),
    ],
)
def test_two_steps_keep_their_order(statement: str, reason: list[str]) -> None:
    assert reasons(statement, ORDERED) == reason


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("In well controlled asthma treatment must be stepped down.", ["wording"]),
        ("In well controlled asthma treatment may be stepped down.", []),
        ("In well controlled asthma treatment should be stepped down.", []),
        ("Inhaler technique may be checked at every visit.", ["wording"]),
        ("Inhaler technique has to be checked at every visit.", []),
    ],
)
def test_what_may_be_done_need_not_be_and_the_reverse(statement: str, reason: list[str]) -> None:
    text = (
        "Consider stepping treatment down in well controlled asthma. Inhaler technique must be checked at every visit."
    )
    assert reasons(statement, text) == reason


DOSES = (
    "Doses are those of the labels.\n\nTable 1. Doses of anticoagulants\nDrug\tDose\tReversal\tDo not use\n"
    "Apixaban or rivaroxaban\t5 mg\tAndexanet\tChild-Pugh C\nDabigatran\t150 mg\tIdarucizumab\tCrCl < 15 mL/min\n"
    "Edoxaban\t60 mg\tProthrombin complex\tCrCl > 95 mL/min"
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Dabigatran is not used at a CrCl above 95 mL/min.", ["number"]),
        ("Edoxaban is not used at a CrCl above 95 mL/min.", []),
        ("The reversal of apixaban is by idarucizumab.", ["name"]),
        ("The reversal of dabigatran is by idarucizumab.", []),
        ("Doses of the anticoagulants are 5 mg, 150 mg or 60 mg.", []),
    ],
)
def test_figures_and_names_are_those_of_the_row_that_is_meant(statement: str, reason: list[str]) -> None:
    assert reasons(statement, DOSES) == reason


def test_what_another_cited_passage_holds_is_no_figure_of_another_row() -> None:
    other = passage("Dabigatran is not used above 95 mL/min in this trial.")
    assert unsupported("Dabigatran is not used at a CrCl above 95 mL/min.", [passage(DOSES), other]) == ()


def test_a_passage_that_is_cited_twice_supports_no_more_than_once() -> None:
    statement = "The reversal of apixaban is by idarucizumab."
    assert unsupported(statement, [passage(DOSES)] * 2) == unsupported(statement, [passage(DOSES)]) != ()


@pytest.mark.parametrize(
    ("statement", "text", "reason"),
    [
        ("Anaemia is a haemoglobin below 120 g/L.", "Anaemia is a haemoglobin below 12.0 g/dL.", []),
        ("Anaemia is a haemoglobin below 120 g/dL.", "Anaemia is a haemoglobin below 12.0 g/dL.", ["number"]),
        ("An ACR of 30 mg/mmol needs referral.", "A persistent ACR of 300 mg/g (30 mg/mmol) needs referral.", []),
        ("Such patients are checked four times a year.", "Patients with grade G4: very high, 4 or more/year.", []),
        ("Patients with grade G4 are checked twice a year.", "Patients with grade G4 are checked 4/year.", ["unit"]),
        ("An SGLT2i is started above 20 mL/min.", "An SGLT2 inhibitor is started above 20 mL/min.", []),
        ("A DPP4i is started above 20 mL/min.", "An SGLT2 inhibitor is started above 20 mL/min.", ["name"]),
    ],
)
def test_amounts_rates_and_inhibitors_in_other_units_and_words(statement: str, text: str, reason: list[str]) -> None:
    assert reasons(statement, text) == reason


PARALLEL = (
    "A missed dose of apixaban or edoxaban is taken on the same day; a missed dose of dabigatran is skipped when the "
    "next dose is due in less than 6 hours. Dabigatran depends most on the kidney (about 80 %) and apixaban least "
    "(about 27 %). Ketoconazole, itraconazole and ritonavir raise apixaban concentrations; apixaban 5 mg twice daily "
    "is halved, and apixaban is avoided when the dose is already 2.5 mg twice daily. Warfarin is contraindicated in "
    "active bleeding of any kind and should be avoided in any suspected bleeding, in pregnancy and in frequent falls."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("A missed dose of edoxaban is skipped if the next is due in less than 6 hours.", ["wording"]),
        ("A missed dose of dabigatran is skipped if the next is due in less than 6 hours.", []),
        ("Ketoconazole, itraconazole and ritonavir lower apixaban concentrations.", ["wording"]),
        ("Ketoconazole, itraconazole and ritonavir raise apixaban concentrations.", []),
        ("Apixaban relies most on the kidney (about 80 %) and dabigatran least (about 27 %).", ["wording"]),
        ("Dabigatran relies most on the kidney (about 80 %) and apixaban least (about 27 %).", []),
        ("Warfarin can be used with caution in active bleeding.", ["wording"]),
    ],
)
def test_a_word_is_not_replaced_by_another_of_its_kind(statement: str, reason: list[str]) -> None:
    assert reasons(statement, PARALLEL) == reason


@pytest.mark.parametrize("cells", ["\t{}\t{}\t{}", "| {} | {} | {} |"])
def test_a_figure_is_that_of_the_column_that_is_named(cells: str) -> None:
    rows = [("Test", "Adults", "Children"), ("Peak flow variability", "> 10 %", "> 13 %"), ("Fall", "> 20 %", "> 12 %")]
    text = "Table 1. Tests\n\n" + "\n".join(cells.format(*row).strip() for row in rows)
    assert not reasons("In children, peak flow variability is above 13 %.", text)
    assert reasons("In adults, peak flow variability is above 13 %.", text) == ["number"]


def test_another_row_is_meant_too_where_a_word_of_it_alone_is_said() -> None:
    text = "Drug\tDose\tUse\nRamipril\t5 mg\tfailure\nLosartan\t50 mg\tcough\nValsartan\t80 mg\tinfarction"
    assert not reasons("Ramipril is given at 5 mg; in cough the dose is 50 mg.", text)
    assert reasons("Ramipril is given at 50 mg.", text) == ["number"]
