"""Every calculator against published examples, and against the formula worked out apart where none is published.

"Worked out apart" means: computed from the published formula with awk, not with this code.
"""

from typing import Any

import pytest

from tools.calculators import calculator_tools
from tools.function_tool import FunctionTool

TOOLS: dict[str, FunctionTool] = {tool.name: tool for tool in calculator_tools()}


def years(value: float) -> dict[str, Any]:
    return {"value": value, "unit": "years"}


def run(name: str, **inputs: Any) -> dict[str, Any]:
    """Call a tool as a model does: every parameter is sent, those that are not given as null."""
    tool = TOOLS[f"calculate_{name}"]
    nulls = dict.fromkeys(tool.definition.parameters["properties"])
    output = tool.call(**{**nulls, **inputs})
    assert output.error is None, output.error
    assert isinstance(output.output, dict)
    return output.output


def quantities(**values: tuple[float, str | None]) -> dict[str, Any]:
    return {name: {"value": value, "unit": unit} for name, (value, unit) in values.items()}


# Age, sex, creatinine and unit, eGFR, category, origin of the expected value.
EGFR = [
    (55, "male", 1.2, "mg/dl", 71, "G2", "kidney.org calculator, CKD-EPI 2021, as quoted in public test notes"),
    (67, "female", 1.3, "mg/dl", 45, "G3a", "worked out apart: 45.07"),
    (30, "male", 0.8, "mg/dl", 122, "G1", "worked out apart: 122.10"),
    (25, "female", 0.5, "mg/dl", 133, "G1", "worked out apart: 133.40"),
    (80, "male", 3.0, "mg/dl", 20, "G4", "worked out apart: 20.36"),
    (67, "female", 114.92, "µmol/l", 45, "G3a", "1.3 mg/dl × 88.4"),
]


@pytest.mark.parametrize(("age", "sex", "creatinine", "unit", "rate", "category", "origin"), EGFR)
def test_egfr(age: float, sex: str, creatinine: float, unit: str, rate: int, category: str, origin: str) -> None:
    found = run("egfr", sex=sex, age=years(age), **quantities(creatinine=(creatinine, unit)))
    assert found["result"] == f"eGFR {rate} ml/min/1.73 m²", origin
    assert found["interpretation"].startswith(f"{category},"), origin


# Age, sex, weight and unit, creatinine and unit, clearance, origin.
CLEARANCE = [
    (60, "male", 80, "kg", 1.2, "mg/dl", 74.1, "superglobalcalculator.com, example 1"),
    (50, "male", 80, "kg", 1.0, "mg/dl", 100.0, "theprimecalculator.com, worked example"),
    (70, "male", 75, "kg", 1.0, "mg/dl", 72.9, "droracle.ai, example calculation"),
    (65, "male", 70, "kg", 1.4, "mg/dl", 52.1, "superglobalcalculator.com, pharmacology, example 1"),
    (45, "female", 60, "kg", 0.9, "mg/dl", 74.8, "superglobalcalculator.com, pharmacology, example 2"),
    (80, "male", 72, "kg", 140, "µmol/l", 37.9, "worked out apart: 37.886"),
    (60, "male", 176.37, "lb", 1.2, "mg/dl", 74.1, "80 kg in pounds"),
]


@pytest.mark.parametrize(("age", "sex", "weight", "weight_unit", "creatinine", "unit", "rate", "origin"), CLEARANCE)
def test_creatinine_clearance(
    age: float, sex: str, weight: float, weight_unit: str, creatinine: float, unit: str, rate: float, origin: str
) -> None:
    given = quantities(weight=(weight, weight_unit), creatinine=(creatinine, unit))
    found = run("creatinine_clearance", age=years(age), sex=sex, **given)
    assert found["result"] == f"Creatinine clearance {rate} ml/min", origin


# Weight, height, BMI and class of WHO TRS 894, table 2.1. BMI worked out apart.
@pytest.mark.parametrize(
    ("weight", "height", "index", "meaning"),
    [
        ((70, "kg"), (175, "cm"), "22.9", "Normal range"),
        ((70, "kg"), (1.75, "m"), "22.9", "Normal range"),
        ((154.32, "lb"), (68.9, "in"), "22.9", "Normal range"),
        ((50, "kg"), (170, "cm"), "17.3", "Underweight"),
        ((85, "kg"), (175, "cm"), "27.8", "Pre-obese"),
        ((100, "kg"), (175, "cm"), "32.7", "Obese class I"),
        ((115, "kg"), (175, "cm"), "37.6", "Obese class II"),
        ((130, "kg"), (175, "cm"), "42.4", "Obese class III"),
    ],
)
def test_bmi(weight: tuple[float, str], height: tuple[float, str], index: str, meaning: str) -> None:
    found = run("bmi", **quantities(weight=weight, height=height))
    assert found["result"] == f"BMI {index} kg/m²"
    assert found["interpretation"].endswith(f": {meaning}")


def test_body_surface_area_of_published_examples() -> None:
    """170 cm and 70 kg: 1.818 m² (medicalequations.com); 175 cm and 70 kg: 1.845 m² (digicalcs.com)."""
    found = run("bsa", **quantities(weight=(70, "kg"), height=(170, "cm")))
    assert found["result"] == "BSA (Mosteller) 1.82 m²; BSA (Du Bois) 1.81 m²"  # Du Bois worked out apart: 1.8097
    assert run("bsa", **quantities(weight=(70, "kg"), height=(175, "cm")))["result"].startswith("BSA (Mosteller) 1.84")


CHADS = {"heart_failure": 1, "hypertension": 1, "diabetes": 1, "stroke": 2, "vascular_disease": 1}


@pytest.mark.parametrize(("name", "points"), CHADS.items())
def test_cha2ds2_vasc_points_of_each_criterion(name: str, points: int) -> None:
    """Points as in Lip 2010, table 2."""
    absent = dict.fromkeys(CHADS, False)
    found = run("cha2ds2_vasc", age=years(50), sex="male", **{**absent, name: True})
    assert found["result"] == f"CHA2DS2-VASc {points} of 9 points"


@pytest.mark.parametrize(
    ("age", "sex", "points", "class_"),
    [(64, "male", 0, ""), (65, "male", 1, "2a"), (74, "male", 1, "2a"), (75, "male", 2, "1"), (64, "female", 1, ""),
     (65, "female", 2, "2a"), (75, "female", 3, "1")],
)  # fmt: skip
def test_cha2ds2_vasc_points_of_age_and_sex(age: float, sex: str, points: int, class_: str) -> None:
    """Points as in Lip 2010; bands as in section 6.3.1 of the 2023 ACC/AHA/ACCP/HRS guideline."""
    found = run("cha2ds2_vasc", age=years(age), sex=sex, **dict.fromkeys(CHADS, False))
    assert found["result"] == f"CHA2DS2-VASc {points} of 9 points"
    wanted = f"(class {class_})" if class_ else "the guideline states no band"
    assert found["interpretation"].endswith(wanted)


def test_cha2ds2_vasc_is_at_most_nine() -> None:
    found = run("cha2ds2_vasc", age=years(80), sex="female", **dict.fromkeys(CHADS, True))
    assert found["result"] == "CHA2DS2-VASc 9 of 9 points"


HAS_BLED = ("uncontrolled_hypertension", "abnormal_kidney_function", "abnormal_liver_function", "stroke", "bleeding",
            "labile_inr", "platelet_drugs", "alcohol")  # fmt: skip
RATES = {0: "1.13", 1: "1.02", 2: "1.88", 3: "3.74", 4: "8.70", 5: "12.50"}


@pytest.mark.parametrize("count", range(9))
def test_has_bled_counts_one_point_each(count: int) -> None:
    """Bleeds per 100 patient-years as in Pisters 2010, table 5 (also J Am Board Fam Med, table 2)."""
    present = {name: position < count for position, name in enumerate(HAS_BLED)}
    found = run("has_bled", age=years(65), **present)
    assert found["result"] == f"HAS-BLED {count} of 9 points"
    assert RATES.get(count, "too few patients") in found["interpretation"]
    assert ("High risk" in found["interpretation"]) == (count >= 3)


def test_has_bled_counts_age_above_65() -> None:
    absent = dict.fromkeys(HAS_BLED, False)
    assert run("has_bled", age=years(66), **absent)["result"] == "HAS-BLED 1 of 9 points"


# Confusion, urea, respiratory rate, systolic, diastolic, age, score: each limit of Lim 2003 from both sides.
CURB = [
    (False, (7.0, "mmol/l"), 29, 90, 61, 64, 0),
    (True, (7.0, "mmol/l"), 29, 90, 61, 64, 1),
    (False, (7.1, "mmol/l"), 29, 90, 61, 64, 1),
    (False, (43, "mg/dl"), 29, 90, 61, 64, 1),
    (False, (42, "mg/dl"), 29, 90, 61, 64, 0),
    (False, (7.0, "mmol/l"), 30, 90, 61, 64, 1),
    (False, (7.0, "mmol/l"), 29, 89, 61, 64, 1),
    (False, (7.0, "mmol/l"), 29, 90, 60, 64, 1),
    (False, (7.0, "mmol/l"), 29, 89, 60, 64, 1),
    (False, (7.0, "mmol/l"), 29, 90, 61, 65, 1),
    (True, (11, "mmol/l"), 32, 85, 50, 80, 5),
]


@pytest.mark.parametrize(("confusion", "urea", "rate", "systolic", "diastolic", "age", "score"), CURB)
def test_curb65(
    confusion: bool, urea: tuple[float, str], rate: int, systolic: int, diastolic: int, age: int, score: int
) -> None:
    given = quantities(
        urea=urea,
        respiratory_rate=(rate, None),
        systolic=(systolic, None),
        diastolic=(diastolic, None),
        age=(age, "years"),
    )
    found = run("curb65", confusion=confusion, **given)
    assert found["result"] == f"CURB-65 {score} of 5 points"
    assert ("low (1.5%)" if score < 2 else "high (22%)") in found["interpretation"]


@pytest.mark.parametrize(("nitrogen", "score"), [((19, "mg/dl"), 0), ((20, "mg/dl"), 1), ((7.1, "mmol/l"), 1)])
def test_curb65_with_urea_nitrogen(nitrogen: tuple[float, str], score: int) -> None:
    """7 mmol/l of urea are 19.6 mg/dl of urea nitrogen."""
    rest = quantities(respiratory_rate=(20, None), systolic=(120, None), diastolic=(80, None), age=(40, "years"))
    found = run("curb65", confusion=False, urea_nitrogen={"value": nitrogen[0], "unit": nitrogen[1]}, **rest)
    assert found["result"] == f"CURB-65 {score} of 5 points"


@pytest.mark.parametrize(
    ("qt", "rate", "bazett", "fridericia"),
    [
        # Malik et al. 2021 (PMC8275798), figure 1, ECG B and C: 379.2 and 387.6 ms, 472.7 and 445.2 ms.
        ((405, "ms"), 52.6, 379, 388),
        ((395, "ms"), 85.9, 473, 445),
        ((0.4, "s"), 60, 400, 400),
    ],
)
def test_qtc(qt: tuple[float, str], rate: float, bazett: int, fridericia: int) -> None:
    found = run("qtc", **quantities(qt=qt, heart_rate=(rate, None)))
    assert found["result"] == f"QTc (Bazett) {bazett} ms; QTc (Fridericia) {fridericia} ms"


@pytest.mark.parametrize(
    ("qt", "sex", "meaning"),
    [(450, "male", "Prolonged"), (449, "male", "Neither"), (459, "female", "Neither"), (460, "female", "Prolonged"),
     (390, "male", "Short"), (391, "female", "Neither"), (460, None, "depends on the sex")],
)  # fmt: skip
def test_qtc_limits(qt: float, sex: str | None, meaning: str) -> None:
    """AHA/ACCF/HRS 2009: prolonged ≥460 ms in women and ≥450 ms in men, short ≤390 ms. At 60/min QTc is QT."""
    assert meaning in run("qtc", sex=sex, **quantities(qt=(qt, "ms"), heart_rate=(60, None)))["interpretation"]


@pytest.mark.parametrize(
    ("calcium", "albumin", "result"),
    [
        ((1.83, "mmol/l"), (26, "g/l"), "2.11 mmol/l"),  # theguidewire.net, worked example
        ((8.0, "mg/dl"), (2.5, "g/dl"), "9.2 mg/dl"),  # medcalctools.com, worked example
        ((9.5, "mg/dl"), (40, "g/l"), "9.5 mg/dl"),  # no correction at 40 g/l, by the formula
    ],
)
def test_corrected_calcium(calcium: tuple[float, str], albumin: tuple[float, str], result: str) -> None:
    assert result in run("corrected_calcium", **quantities(calcium=calcium, albumin=albumin))["result"]


def test_anion_gap() -> None:
    """By the formulas: 140 − (104 + 24) = 12; + 2.5 × (4.4 − 2.0) = 18; + 4 of potassium = 16."""
    given = quantities(sodium=(140, None), chloride=(104, None), bicarbonate=(24, None))
    assert run("anion_gap", **given)["result"] == "Anion gap 12.0 mmol/l"
    more = quantities(albumin=(20, "g/l"), potassium=(4, None))
    assert run("anion_gap", **given, **more)["result"] == (
        "Anion gap 12.0 mmol/l; Anion gap corrected for albumin 18.0 mmol/l; Anion gap with potassium 16.0 mmol/l"
    )


def opioid(drug: str, dose: float, times: float | None, unit: str = "mg") -> dict[str, Any]:
    frequency = None if times is None else {"value": times, "unit": "times a day"}
    return {"drug": drug, "dose": {"value": dose, "unit": unit}, "frequency": frequency}


@pytest.mark.parametrize(
    ("opioids", "total"),
    [
        # The two examples in the table's footnote (CDC 2022).
        ([opioid("hydrocodone", 5, 4)], "20.0"),
        ([opioid("oxycodone", 10, 2)], "30.0"),
        # The factors of the same table, each on a daily dose of 100 mg (50 µg/h for the patch).
        ([opioid("codeine", 100, 1)], "15.0"),
        ([opioid("fentanyl transdermal", 50, None, "µg/h")], "120.0"),
        ([opioid("hydromorphone", 100, 1)], "500.0"),
        ([opioid("methadone", 100, 1)], "470.0"),
        ([opioid("morphine", 100, 1)], "100.0"),
        ([opioid("oxymorphone", 100, 1)], "300.0"),
        ([opioid("tapentadol", 100, 1)], "40.0"),
        ([opioid("tramadol", 100, 1)], "20.0"),
        ([opioid("morphine", 15, 2), opioid("oxycodone", 5, 4)], "60.0"),
    ],
)
def test_opioid_mme(opioids: list[dict[str, Any]], total: str) -> None:
    found = run("opioid_mme", opioids=opioids)
    assert found["result"] == f"Total {total} MME/day"
    assert ("pause and carefully reassess" in found["interpretation"]) == (float(total) >= 50)


# Sex, bilirubin, sodium, INR, creatinine, albumin, dialysis, score; worked out apart from the formula of Kim 2021.
MELD = [
    ("male", (2.5, "mg/dl"), 135, 1.5, (1.2, "mg/dl"), (3.0, "g/dl"), False, 18),  # 17.85
    ("female", (3, "mg/dl"), 128, 1.8, (2, "mg/dl"), (2.8, "g/dl"), False, 31),  # 30.82
    ("female", (51.3, "µmol/l"), 128, 1.8, (176.8, "µmol/l"), (28, "g/l"), None, 31),  # the same in SI units
    ("female", (0.8, "mg/dl"), 140, 0.9, (4, "mg/dl"), (4.0, "g/dl"), False, 20),  # all bounds: 19.57
    ("female", (0.8, "mg/dl"), 140, 0.9, (1, "mg/dl"), (4.0, "g/dl"), True, 20),  # dialysis counts as 3.0 mg/dl
    ("male", (1, "mg/dl"), 137, 1.0, (1, "mg/dl"), (3.5, "g/dl"), False, 6),  # the constant alone
    ("male", (20, "mg/dl"), 120, 3, (3, "mg/dl"), (1.5, "g/dl"), False, 43),  # 42.78
]


@pytest.mark.parametrize(("sex", "bilirubin", "sodium", "inr", "creatinine", "albumin", "dialysis", "score"), MELD)
def test_meld3(
    sex: str,
    bilirubin: tuple[float, str],
    sodium: float,
    inr: float,
    creatinine: tuple[float, str],
    albumin: tuple[float, str],
    dialysis: bool | None,
    score: int,
) -> None:
    given = quantities(
        bilirubin=bilirubin, sodium=(sodium, None), inr=(inr, None), creatinine=creatinine, albumin=albumin
    )
    assert run("meld3", sex=sex, dialysis=dialysis, **given)["result"] == f"MELD 3.0 {score} points"


WELLS_DVT = ("active_cancer", "paralysis", "bedridden", "tenderness", "leg_swollen", "pitting_oedema",
             "collateral_veins", "previous_dvt")  # fmt: skip


@pytest.mark.parametrize("count", range(9))
def test_wells_dvt_counts_one_point_each(count: int) -> None:
    """Points and the limit of 2 as in Wells 2003, table 1."""
    present = {name: position < count for position, name in enumerate(WELLS_DVT)}
    found = run("wells_dvt", alternative_diagnosis=False, **quantities(calf_difference=(2.9, "cm")), **present)
    assert found["result"] == f"Wells score {count} points"
    assert found["interpretation"].endswith("unlikely") == (count < 2)


def test_wells_dvt_calf_and_alternative_diagnosis() -> None:
    absent = dict.fromkeys(WELLS_DVT, False)
    calf = quantities(calf_difference=(3, "cm"))
    assert run("wells_dvt", alternative_diagnosis=False, **calf, **absent)["result"] == "Wells score 1 points"
    assert run("wells_dvt", alternative_diagnosis=True, **calf, **absent)["result"] == "Wells score -1 points"


WELLS_PE = {"signs_of_dvt": 3, "most_likely": 3, "immobilised": 1.5, "previous_thromboembolism": 1.5, "haemoptysis": 1,
            "cancer": 1}  # fmt: skip


@pytest.mark.parametrize(("name", "points"), WELLS_PE.items())
def test_wells_pe_points(name: str, points: float) -> None:
    """Points as in Wells 2000 (also BMC Fam Pract 2010;11:64, table 1)."""
    present = {**dict.fromkeys(WELLS_PE, False), name: True}
    found = run("wells_pe", heart_rate={"value": 100, "unit": None}, **present)
    assert found["result"] == f"Wells score {points:.1f} points"
    assert "Pulmonary embolism unlikely" in found["interpretation"]


def test_wells_pe_heart_rate_and_limit() -> None:
    present = {**dict.fromkeys(WELLS_PE, False), "signs_of_dvt": True}
    found = run("wells_pe", heart_rate={"value": 101, "unit": None}, **present)
    assert found["result"] == "Wells score 4.5 points"
    assert "Pulmonary embolism likely" in found["interpretation"]
