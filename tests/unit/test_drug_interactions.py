"""The interaction checker over records written here: every pair, both labels, every section, ranked by severity."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from typing import Any

import pytest

from tools.catalogues import catalogue
from tools.drug_database.labels import pair_notes
from tools.drug_database.labels.interaction_output import MOST, interaction_result
from tools.drug_database.labels.interactions import MOST_QUOTES
from tools.drug_database.labels.label_terms import EnzymeRole, label_terms
from tools.drug_database.labels.pair_notes import NOTHING_FOUND
from tools.drug_database.labels.record_rendering import NO_LABEL
from tools.drug_database.labels.severity import SEVERITIES, severity_of
from tools.drug_database.labels.shared_risks import RISKS, states
from tools.drug_database.names.resolve import ABSENT, NOT_LOADED
from tools.drug_database.records.drug_record import SECTION_TITLES, DataSource, DrugRecord, Fact, Label, SectionName
from tools.drug_database.records.queries import DrugHit, DrugQuery, DrugSearchResult, Match
from tools.language.figures import written_figures
from tools.types import ToolResult

Sections = dict[SectionName, tuple[str, ...]]


def record(name: str, sections: Sections | None = None, *, brands: Sequence[str] = (), **more: Any) -> DrugRecord:
    source = DataSource(id=f"label:{name}", title=f"{name} label", publisher="test")
    return DrugRecord(
        key=name,
        generic_name=name,
        ingredients=more.get("ingredients", (name,)),
        brand_names=tuple(Fact(value=brand, sources=("test",)) for brand in brands),
        drug_classes=tuple(Fact(value=one, sources=("test",)) for one in more.get("classes", ())),
        labels=(Label(source=source, sections=sections),) if sections else (),
    )


def check(*asked: DrugRecord | str) -> ToolResult:
    return interaction_result([_found(one) for one in asked])


def _found(asked: DrugRecord | str) -> DrugSearchResult:
    if isinstance(asked, str):
        return DrugSearchResult(query=DrugQuery(name=asked))
    hit = DrugHit(record=asked, matched=Match(how="exact", on=asked.generic_name), score=100.0)
    return DrugSearchResult(query=DrugQuery(name=asked.generic_name), hits=(hit,))


def rows(result: ToolResult) -> list[Any]:
    assert isinstance(result.data, dict)
    return list(result.data["results"])  # type: ignore[arg-type]


def pairs(result: ToolResult) -> list[Any]:
    assert isinstance(result.data, dict)
    return list(result.data["pairs"])  # type: ignore[arg-type]


def quoted(result: ToolResult) -> list[str]:
    return [sentence for row in rows(result) for section in row["label"].values() for sentence in section]


@pytest.mark.parametrize("place", [0, 1])
def test_both_labels_are_read(place: int) -> None:
    speaking = record("alphadrug", {"interactions": ("Betadrug raises the levels of alphadrug.",)})
    silent = record("betadrug", {"interactions": ("Take with food.",)})
    asked = [silent]
    asked.insert(place, speaking)
    assert quoted(check(*asked)) == ["Betadrug raises the levels of alphadrug."]


def test_a_quote_is_cited_by_the_label_it_is_in() -> None:
    one = record("alphadrug", {"interactions": ("Betadrug raises its levels.",)})
    other = record("betadrug", {"warnings": ("Alphadrug needs care.",)})
    result = check(one, other)
    passages = {passage.id: passage for passage in result.passages}
    cited = {row["label_of"]: (row["about"], passages[row["cite"]]) for row in rows(result)}
    assert cited["alphadrug"][0] == "betadrug"
    assert cited["alphadrug"][1].document_id == "drug:alphadrug"
    assert cited["alphadrug"][1].text == "Betadrug raises its levels."
    assert cited["betadrug"][0] == "alphadrug"
    assert cited["betadrug"][1].title == "betadrug label"


@pytest.mark.parametrize(
    "section",
    ["boxed_warning", "contraindications", "interactions", "warnings", "dosage", "renal_dosing", "hepatic_dosing"],
)
def test_every_section_about_use_is_searched(section: SectionName) -> None:
    sentence = "Patients with betadrug should be followed."
    result = check(record("alphadrug", {section: (sentence,)}), record("betadrug"))
    assert quoted(result) == [sentence]
    assert rows(result)[0]["section"] == SECTION_TITLES[section]


def test_every_pair_of_three_is_checked() -> None:
    one = record("alphadrug", {"interactions": ("Gammadrug raises alphadrug.",)})
    other = record("betadrug", {"interactions": ("Gammadrug lowers betadrug.",)})
    third = record("gammadrug", {"interactions": ("Take with food.",)})
    result = check(one, other, third)
    assert [pair["medicines"] for pair in pairs(result)] == [
        ["alphadrug", "gammadrug"],
        ["betadrug", "gammadrug"],
        ["alphadrug", "betadrug"],
    ]
    assert [pair["mentions"] for pair in pairs(result)] == [1, 1, 0]
    assert set(quoted(result)) == {"Gammadrug raises alphadrug.", "Gammadrug lowers betadrug."}


def test_a_shared_ingredient_is_noted() -> None:
    whole = record("alphadrug and betadrug", ingredients=("alphadrug", "betadrug hydrochloride"))
    assert "Both contain betadrug." in pairs(check(whole, record("betadrug")))[0]["note"]


def test_quotes_come_by_severity_and_not_by_their_place() -> None:
    sentences = (
        "Betadrug does not affect the pharmacokinetics of alphadrug.",
        "Betadrug raises the levels of alphadrug.",
        "Monitor blood pressure with betadrug.",
        "Limit the dose of alphadrug to 10 mg daily with betadrug.",
        "Avoid alphadrug with betadrug.",
        "Betadrug is contraindicated with alphadrug.",
    )
    result = check(record("alphadrug", {"interactions": sentences}), record("betadrug"))
    assert quoted(result) == list(reversed(sentences))
    assert [row["severity"] for row in rows(result)] == list(SEVERITIES)
    assert rows(result)[2]["figures"] == ["10 mg daily"]
    assert pairs(result)[0]["severity"] == "contraindicated"


def test_the_gravest_statement_leads_over_all_pairs_and_shared_risks_come_last() -> None:
    one = record("alphadrug", {"contraindications": ("Contraindicated in patients with a long QT interval.",)})
    other = record(
        "betadrug", {"interactions": ("Gammadrug raises its levels.",), "warnings": ("Betadrug prolongs the QTc.",)}
    )
    third = record("gammadrug", {"contraindications": ("Contraindicated with deltadrug.",)})
    result = check(one, other, third, record("deltadrug"))
    assert [row["severity"] for row in rows(result)] == ["contraindicated", "described", None, None]
    assert [row["matched_by"] for row in rows(result)][2:] == ["shared risk", "shared risk"]
    assert [pair["severity"] for pair in pairs(result)][:3] == ["contraindicated", "described", None]
    assert pairs(result)[2]["shared_risks"] == ["QT prolongation"]
    assert pairs(result)[2]["note"].endswith("Shared risk: QT prolongation.")


def test_every_label_of_a_record_is_read_and_each_wording_once() -> None:
    sentences = (("Take with food.", "Betadrug raises it."), ("Betadrug raises it.", "Avoid betadrug."))
    labels = tuple(
        Label(source=DataSource(id=f"x:{place}", title="x", publisher="test"), sections={"interactions": found})
        for place, found in enumerate(sentences)
    )
    one = record("alphadrug").model_copy(update={"labels": labels})
    assert quoted(check(one, record("betadrug"))) == ["Avoid betadrug.", "Betadrug raises it."]


def test_pairs_past_the_most_medicines_are_said_not_to_be_checked() -> None:
    names = [f"drug{chr(ord('a') + place)}" for place in range(MOST + 1)]
    label: Sections = {"interactions": (f"Avoid {names[-1]}.", f"Avoid {names[-2]}.")}
    result = check(record(names[0], label), *map(record, names[1:]))
    assert quoted(result) == [f"Avoid {names[-2]}."]
    left = [pair["medicines"] for pair in pairs(result) if pair["note"].startswith("Not checked")]
    assert left == [[name, names[-1]] for name in names[:-1]]


@pytest.mark.parametrize(
    ("sentence", "severity"),
    [
        ("Betadrug raises alphadrug exposure; carbamazepine is not recommended.", "described"),
        ("Betadrug raises alphadrug exposure; avoid the combination.", "avoid"),
        ("Carbamazepine lowers alphadrug exposure; betadrug is not recommended.", "avoid"),
        ("Use is not recommended with: carbamazepine; betadrug.", "avoid"),
        ("Betadrug raises alphadrug exposure, and carbamazepine should be avoided.", "described"),
        ("Betadrug raises alphadrug exposure, and the combination should be avoided.", "avoid"),
    ],
)
def test_a_warning_belongs_to_the_medicine_of_its_clause(sentence: str, severity: str) -> None:
    result = check(record("alphadrug", {"interactions": (sentence,)}), record("betadrug"))
    assert [row["severity"] for row in rows(result)] == [severity]
    assert quoted(result) == [sentence]


def test_the_severest_statement_survives_the_limit() -> None:
    many = tuple(f"Betadrug was given in study {number}." for number in range(MOST_QUOTES + 5))
    result = check(record("alphadrug", {"warnings": (*many, "Never exceed 5 mg with betadrug.")}), record("betadrug"))
    assert len(quoted(result)) == MOST_QUOTES
    assert quoted(result)[0] == "Never exceed 5 mg with betadrug."


def test_no_statement_is_never_worded_as_safe() -> None:
    silent: Sections = {"interactions": ("Take with food.",)}
    result = check(record("alphadrug", silent), record("betadrug", silent))
    assert pairs(result)[0]["note"] == NOTHING_FOUND
    assert pairs(result)[0]["severity"] is None
    assert "safe" not in str(result.summary)


def test_a_risk_in_both_labels_is_quoted_from_each() -> None:
    one = record("alphadrug", {"warnings": ("Alphadrug prolongs the QT interval.",)})
    other = record("betadrug", {"warnings": ("Torsades de pointes has occurred with betadrug.",)})
    result = check(one, other)
    assert {(row["label_of"], row["matched_by"], row["mentioned_as"][0]) for row in rows(result)} == {
        ("alphadrug", "shared risk", "QT prolongation"),
        ("betadrug", "shared risk", "QT prolongation"),
    }
    assert pairs(result)[0]["shared_risks"] == ["QT prolongation"]
    assert pairs(result)[0]["severity"] is None


def test_a_risk_that_one_label_denies_is_not_shared() -> None:
    one = record("alphadrug", {"warnings": ("Alphadrug prolongs the QT interval.",)})
    other = record("betadrug", {"warnings": ("Betadrug did not prolong the QT interval.",)})
    assert rows(check(one, other)) == []


@pytest.mark.parametrize(
    ("section", "sentence", "risk", "own"),
    [
        (
            "interactions",
            "Tizanidine must not be taken with alphadrug, which raises its levels and sedation.",
            "sedation",
            False,
        ),
        ("interactions", "Alphadrug antagonizes benzodiazepine sedatives.", "sedation", False),
        (
            "interactions",
            "Alphadrug may enhance the effect of warfarin, so bleeding should be monitored.",
            "bleeding",
            False,
        ),
        ("warnings", "Alphadrug can cause rash and, by injection into the eye, hemorrhage.", "bleeding", False),
        ("warnings", "Alphadrug can cause fatal hemorrhagic pancreatitis.", "bleeding", False),
        ("warnings", "Alphadrug should be avoided in patients with hypokalemia.", "low potassium", False),
        ("warnings", "Aspiration was reported with alphadrug during deep sedation.", "sedation", False),
        ("boxed_warning", "Stop alphadrug for reasons other than bleeding only with care.", "bleeding", False),
        ("interactions", "Other sedatives add to the sedation; CNS depressants should be reduced.", "sedation", True),
        ("interactions", "Betablockers and fentanyl add to the sedation of alphadrug.", "sedation", True),
        ("interactions", "Alphadrug may cause sedation, which adds to that of gabapentin.", "sedation", True),
        ("interactions", "Use of alphadrug may cause sedation, also with gabapentin.", "sedation", True),
        ("interactions", "Sedation is frequent.", "sedation", True),
        ("interactions", "Calcium channel blockers with alphadrug cause hypotension.", "low blood pressure", False),
        ("warnings", "Alphadrug can cause weight gain and sedation.", "sedation", True),
        ("warnings", "Alphadrug can cause renal toxicity.", "kidney damage", True),
        ("warnings", "Alphadrug may lower serum potassium.", "low potassium", True),
        ("warnings", "Alphadrug can cause a drop in blood pressure.", "low blood pressure", True),
    ],
)
def test_a_risk_counts_where_the_medicine_itself_causes_it(
    section: SectionName, sentence: str, risk: str, *, own: bool
) -> None:
    name = "central nervous system depression" if risk == "sedation" else risk
    cause = {"low potassium": "hypokalemia", "low blood pressure": "hypotension", "kidney damage": "renal failure"}
    other = record("betadrug", {"warnings": (f"Betadrug can cause {cause.get(risk, risk)}.",)})
    found = pairs(check(record("alphadrug", {section: (sentence,)}), other))[0]["shared_risks"]
    assert found == ([name] if own else [])


@pytest.mark.parametrize(
    ("sentences", "noted"),
    [
        (("Halve the dose with strong CYP3A4 inhibitors such as ketoconazole.",), True),
        (("Halve the dose with strong CYP3A4 inhibitors.", "Clarithromycin needs no dose adjustment."), False),
    ],
)
def test_a_medicine_that_is_meant_by_an_enzyme_role_is_said_not_to_be_named(
    sentences: tuple[str, ...], *, noted: bool
) -> None:
    result = check(record("alphadrug", {"interactions": sentences}), record("clarithromycin"))
    note = "does not name clarithromycin, but a group that it belongs to: strong CYP3A4 inhibitor."
    assert (note in pairs(result)[0]["note"]) is noted
    assert quoted(result)[0] == sentences[-1]
    role = check(record("alphadrug", {"interactions": sentences[:1]}), "strong CYP3A4 inhibitors")
    assert "does not name" not in pairs(role)[0]["note"]


def test_a_risk_of_a_listed_medicine_without_a_label_is_quoted_and_marked() -> None:
    one = record("alphadrug", {"warnings": ("Alphadrug prolongs the QT interval.",)})
    result = check(one, record("dofetilide"))
    assert [row["label_of"] for row in rows(result)] == ["alphadrug"]
    note = "Shared risk: QT prolongation. For dofetilide this is from a list of medicines with that risk"
    assert note in pairs(result)[0]["note"]


@pytest.mark.parametrize(
    ("sentence", "medicine", "found"),
    [
        ("Thiazide diuretics raise its levels.", "furosemide", False),
        ("Diuretics raise its levels.", "furosemide", True),
        ("Strong CYP3A4 inhibitors raise its levels.", "clarithromycin", True),
        ("Strong inhibitors of the CYP3A4 isoenzyme raise its levels.", "fluconazole", False),
        ("Moderate CYP3A inhibitors raise its levels.", "fluconazole", True),
        ("Drugs that induce or inhibit P-glycoprotein change its levels.", "rifampin", True),
        ("The antihypertensive effect of alphadrug lasts a day.", "furosemide", False),
        ("Nitrates in any form are contraindicated.", "isosorbide mononitrate", True),
        ("CYP2C9, 3A4 or 1A2 inhibitors raise its levels.", "ketoconazole", True),
        ("CYP3A4 substrates that prolong QT are contraindicated.", "simvastatin", False),
        ("CYP3A4 substrates rise.", "simvastatin", True),
        ("Betadrug is toxic because of xanthine oxidase inhibition.", "allopurinol", False),
        ("Thyroid cancer was seen.", "levothyroxine", False),
        ("Combined P-gp and strong CYP3A4 inhibitors should be avoided.", "verapamil", False),
        ("Combined P-gp and strong CYP3A4 inhibitors should be avoided.", "clarithromycin", True),
        ("Avoid nefazodone or NNRTIs that are CYP3A4 substrates.", "simvastatin", False),
        ("Avoid drugs that are CYP3A4 substrates.", "simvastatin", True),
        ("Long-acting beta2-agonists must not be added.", "albuterol", False),
        ("Long-acting beta2-agonists must not be added.", "salmeterol", True),
        ("Vaccines are contraindicated with immunosuppressive doses.", "tacrolimus", False),
        ("Fibrates other than fenofibrate are not recommended.", "fenofibrate", False),
        ("Fibrates other than fenofibrate are not recommended.", "gemfibrozil", True),
    ],
)
def test_a_class_or_enzyme_role_names_its_members(sentence: str, medicine: str, *, found: bool) -> None:
    result = check(record("alphadrug", {"interactions": (sentence,)}), record(medicine))
    assert quoted(result) == ([sentence] if found else [])


def test_what_a_label_says_of_the_medicine_itself_decides_over_its_enzyme_role() -> None:
    by_role, by_name = "Strong CYP3A4 inhibitors are contraindicated.", "Avoid large amounts of ketoconazole."
    result = check(record("alphadrug", {"interactions": (by_role, by_name)}), record("ketoconazole"))
    assert quoted(result) == [by_name, by_role]
    assert [row["matched_by"] for row in rows(result)] == ["name", "enzyme"]
    assert pairs(result)[0]["severity"] == "avoid"
    alone = check(record("alphadrug", {"interactions": (by_role,)}), record("ketoconazole"))
    assert pairs(alone)[0]["severity"] == "contraindicated"


def test_the_labels_own_class_is_no_mention() -> None:
    sentence = "ACE inhibitors can cause cough."
    result = check(record("lisinopril", {"warnings": (sentence,)}), record("ramipril"))
    assert quoted(result) == []


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Antipsychotics should be avoided with haloperidol because of its effects.", True),
        ("Haloperidol may add to the effects of alcohol and antipsychotics.", True),
        ("Do not use haloperidol with another antipsychotic.", True),
        ("Haloperidol is not recommended, and avoid a further antipsychotic.", True),
        ("Haloperidol, like other antipsychotics, can cause dystonia.", False),
        ("Antipsychotics such as haloperidol can cause dystonia.", False),
        ("Haloperidol is contraindicated with a history of antipsychotic malignant syndrome.", False),
        ("Deaths were reported with an antipsychotic, and haloperidol carries the warning.", False),
        ("Haloperidol: consider another antipsychotic in patients with dementia.", False),
    ],
)
def test_a_class_that_both_share_counts_beside_the_labels_own_medicine(sentence: str, *, found: bool) -> None:
    result = check(record("haloperidol", {"warnings": (sentence,)}), record("risperidone"))
    assert quoted(result) == ([sentence] if found else [])


def test_the_contraindications_of_another_medicine_are_none_of_the_combination() -> None:
    sentence = "When combined with a statin, the contraindications of that drug also apply."
    assert severity_of(sentence, "contraindications") == "described"


@pytest.mark.parametrize(("words", "found"), [("analgesics", True), ("analgesic doses", False)])
def test_a_class_of_the_database_counts_where_it_is_taken(words: str, *, found: bool) -> None:
    sentence = f"Aspirin is not recommended with {words}."
    other = record("betadrug", classes=("Analgesic",))
    assert quoted(check(record("alphadrug", {"interactions": (sentence,)}), other)) == ([sentence] if found else [])


def test_a_second_medicine_of_the_own_class_takes_its_warning_with_it() -> None:
    sentence = "Do not use nebivolol with another beta-blocker; digoxin with it increases bradycardia."
    label = record("nebivolol", {"interactions": (sentence,)})
    assert [pairs(check(label, record(name)))[0]["severity"] for name in ("metoprolol", "digoxin")] == [
        "avoid",
        "described",
    ]


def test_a_name_that_is_no_record_is_searched_in_the_other_label_and_marked() -> None:
    one = record("alphadrug", {"interactions": ("Kaolin-pectin lowers the levels of alphadrug.",)})
    result = check(one, "kaolin-pectin")
    assert quoted(result) == ["Kaolin-pectin lowers the levels of alphadrug."]
    assert "kaolin-pectin is not in the drug database" in pairs(result)[0]["note"]


@pytest.mark.parametrize("word", ["gynaecomastia", "sunlight", "rash"])
def test_a_word_that_is_no_medicine_is_not_called_an_unknown_one(word: str) -> None:
    assert not pairs(check(record("alphadrug", {"interactions": ("Take with food.",)}), word))[0]["note"]


def test_a_fluid_that_the_other_label_names_is_not_called_missing() -> None:
    one = record("alphadrug", {"interactions": ("Ringers with alphadrug forms precipitates.",)})
    assert quoted(check(one, "ringers"))
    assert not pairs(check(one, "ringers"))[0]["note"]


def test_the_parts_of_a_combination_are_names_of_it() -> None:
    one = record("alphadrug", {"interactions": ("Betadrug 160 mg with 800 mg gammadrug raised its levels.",)})
    assert quoted(check(one, record("betadrug in combination with gammadrug")))


def test_a_combination_is_told_from_its_ingredient_by_its_brand() -> None:
    compared = "Bothadrug weakens the effect of betadrug."
    whole = record(
        "alphadrug and betadrug",
        {"warnings": ("Betadrug may cause gout.", compared)},
        brands=("Bothadrug",),
        ingredients=("alphadrug", "betadrug"),
    )
    assert quoted(check(whole, record("betadrug"))) == [compared]


def test_a_class_can_be_asked() -> None:
    one = record("alphadrug", {"interactions": ("NSAIDs reduce its effect.", "Take with food.")})
    result = check(one, "NSAIDs")
    assert quoted(result) == ["NSAIDs reduce its effect."]
    assert not pairs(result)[0]["note"]
    silent = record("betadrug", {"interactions": ("Take with food.",)})
    assert "NSAIDs has no label" in pairs(check(silent, "NSAIDs"))[0]["note"]


def test_a_label_that_names_a_member_speaks_of_the_class() -> None:
    one = record("alphadrug", {"interactions": ("Omeprazole weakens its effect.", "Ibuprofen raises its levels.")})
    assert quoted(check(one, "PPI")) == ["Omeprazole weakens its effect."]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("drugs that induce P-glycoprotein", "Drugs that induce or inhibit PGP change its levels."),
        ("inducer of CYP3A4", "Avoid it with any known inducer or inhibitor of CYP3A4."),
        ("NSAIDs", "Nonsteroidal anti-inflammatory drugs reduce its effect."),
    ],
)
def test_a_record_that_is_named_like_a_class_is_found_by_the_class(name: str, sentence: str) -> None:
    one = record("alphadrug", {"interactions": (sentence, "Take with food.")})
    assert quoted(check(one, record(name))) == quoted(check(one, name)) == [sentence]


def test_of_two_classes_nothing_is_said_to_be_searched() -> None:
    note = pairs(check("NSAIDs", "ACE inhibitors"))[0]["note"]
    assert "nothing was searched" in note
    assert "either label" not in note


def test_of_two_classes_the_labels_of_their_members_are_searched() -> None:
    member = record("sumatriptan", {"warnings": ("SSRIs may cause serotonin syndrome.", "Take with food.")})
    hit = DrugHit(record=member, matched=Match(how="class", on="triptan"), score=95.0)
    triptans = DrugSearchResult(query=DrugQuery(name="triptans"), hits=(hit,))
    result = interaction_result([triptans, _found("SSRIs")])
    assert [(row["label_of"], row["about"]) for row in rows(result)] == [("sumatriptan", "SSRIs")]
    assert quoted(result) == ["SSRIs may cause serotonin syndrome."]
    assert pairs(result)[0]["labels_of"] == ["sumatriptan"]
    assert pairs(result)[0]["note"].startswith("Labels searched for triptans: sumatriptan.")


def test_all_members_whose_labels_were_searched_are_named() -> None:
    names = ["almotriptan", "eletriptan", "frovatriptan", "naratriptan", "rizatriptan", "sumatriptan"]
    members = [record(name, {"warnings": ("Take with food.",)}) for name in names]
    hits = tuple(DrugHit(record=one, matched=Match(how="class", on="triptan"), score=95.0) for one in members)
    triptans = DrugSearchResult(query=DrugQuery(name="triptans"), hits=hits)
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    note = pairs(interaction_result([triptans, _found("SSRIs")]))[0]["note"]
    assert note.startswith(f"Labels searched for triptans: {listed}.")


def test_the_labels_of_a_class_are_searched_for_one_medicine() -> None:
    member = record("sumatriptan", {"warnings": ("Alphadrug may cause serotonin syndrome.",)})
    hit = DrugHit(record=member, matched=Match(how="class", on="triptan"), score=95.0)
    triptans = DrugSearchResult(query=DrugQuery(name="triptans"), hits=(hit,))
    result = interaction_result([_found(record("alphadrug", {"warnings": ("Take with food.",)})), triptans])
    assert quoted(result) == ["Alphadrug may cause serotonin syndrome."]
    assert NOTHING_FOUND not in pairs(result)[0]["note"]


def _ambiguous(*records: DrugRecord) -> DrugSearchResult:
    hits = tuple(DrugHit(record=one, matched=Match(how="synonym", on="HCT"), score=97.0) for one in records)
    return DrugSearchResult(query=DrugQuery(name="HCT"), hits=hits)


def test_every_meaning_of_an_ambiguous_abbreviation_is_checked_and_none_with_another() -> None:
    meanings = [record("hydrocortisone"), record("hydrochlorothiazide")]
    lithium = record("lithium", {"interactions": ("Thiazide diuretics raise lithium levels.",)})
    result = interaction_result([_ambiguous(*meanings), _found(lithium)])
    assert [pair["medicines"] for pair in pairs(result)] == [
        ["hydrochlorothiazide", "lithium"],
        ["hydrocortisone", "lithium"],
    ]
    assert all("mistaken for hydrochlorothiazide" in pair["note"] for pair in pairs(result))
    (spanish, _) = pairs(interaction_result([_ambiguous(*meanings), _found(lithium)], "es"))
    assert spanish["note"].startswith("HCT puede significar hydrocortisone o hydrochlorothiazide.")
    named = interaction_result([_ambiguous(*meanings), _found(meanings[1])])
    assert [pair["medicines"] for pair in pairs(named)] == [["hydrocortisone", "hydrochlorothiazide"]]
    alone = interaction_result([_ambiguous(*meanings)])
    assert [pair["medicines"] for pair in pairs(alone)] == [["hydrocortisone"], ["hydrochlorothiazide"]]


def test_an_abbreviation_means_what_it_does_in_the_language_of_the_question() -> None:
    found = [_ambiguous(record("hydrocortisone"), record("hydrochlorothiazide")), _found(record("lithium"))]
    (pair,) = pairs(interaction_result(found, "de"))
    assert pair["medicines"] == ["hydrochlorothiazide", "lithium"]
    assert pair["note"].startswith("HCT wurde als hydrochlorothiazide gelesen.")


def test_a_brand_that_is_not_loaded_is_searched_by_its_ingredients() -> None:
    one = record("alphadrug", {"interactions": ("Verapamil raises its levels.", "Oxycodone does not.")})
    assert quoted(check(one, "Tarka")) == ["Verapamil raises its levels."]


@pytest.mark.parametrize("asked", ["phenprocoumon", "Marcumar", "acenocoumarol"])
def test_a_label_that_names_one_of_the_class_is_quoted_without_a_level_and_the_note_says_so(asked: str) -> None:
    amiodarone = record("amiodarone", {"interactions": ("Avoid warfarin.", "Avoid grapefruit juice.")})
    result = check(amiodarone, asked)
    (row,), (pair,) = rows(result), pairs(result)
    assert (row["matched_by"], row["mentioned_as"], row["severity"]) == ("class member", ["warfarin"], None)
    assert row["label"] == {"interactions": ["Avoid warfarin."]}
    assert (pair["severity"], pair["shared_risks"]) == (None, [])
    assert pair["note"].endswith(
        f"What is quoted is on warfarin, of the same class, and may not hold for {asked}: no label names that."
    )


@pytest.mark.parametrize(
    ("sentences", "asked"),
    [
        (("Avoid warfarin.", "Monitor phenprocoumon."), "phenprocoumon"),
        (("Avoid warfarin.", "Monitor anticoagulants."), "phenprocoumon"),
        (("Avoid ciprofloxacin.",), "ofloxacin"),
        (("Avoid warfarin.",), "vitamin K antagonists"),
    ],
)
def test_one_of_the_class_counts_only_where_nothing_else_is_found_and_all_interact_alike(
    sentences: tuple[str, ...], asked: str
) -> None:
    result = check(record("alphadrug", {"interactions": sentences}), asked)
    assert all(row["matched_by"] != "class member" for row in rows(result))


def test_a_label_is_not_searched_for_its_own_medicine_instead_of_another_of_the_class() -> None:
    assert rows(check(record("warfarin", {"interactions": ("Warfarin and other drugs interact.",)}), "Marcumar")) == []


@pytest.mark.parametrize(
    ("sentence", "asked", "found"),
    [
        ("Large amounts of tyramine-rich food should be avoided.", "Cheese", True),
        ("Dairy products lower its absorption.", "Cheese", True),
        ("Cheese should be avoided.", "Dairy product", True),
        ("A sudden change in dietary vitamin K changes the response.", "Food rich in vitamin K", True),
        ("It may cause vitamin K-dependent bleeding.", "Food rich in vitamin K", False),
        ("Live vaccines should be avoided.", "measles vaccine", True),
        ("Live vaccines should be avoided.", "FluMist", True),
        ("Live attenuated intranasal influenza vaccine should be avoided.", "FluMist", True),
        ("Live attenuated intranasal influenza vaccine should be avoided.", "measles vaccine", False),
        ("Antacids with aluminum, calcium or magnesium impair its absorption.", "Magnesium preparation", True),
        ("Antacids with aluminum, calcium or magnesium impair its absorption.", "Calcium preparation", True),
        ("Caffeine levels may rise.", "coffee", True),
        ("Theophylline has caused fatal reactions.", "coffee", False),
        ("Serotonergic drugs should be avoided.", "SSRI", True),
    ],
)
def test_a_label_speaks_of_foods_vaccines_and_preparations_by_their_classes(
    sentence: str, asked: str, *, found: bool
) -> None:
    assert quoted(check(record("alphadrug", {"interactions": (sentence,)}), asked)) == [sentence] * found


def test_members_without_a_statement_are_named_and_nothing_is_called_safe() -> None:
    member = record("sumatriptan", {"warnings": ("Take with food.",)})
    hit = DrugHit(record=member, matched=Match(how="class", on="triptan"), score=95.0)
    result = interaction_result([DrugSearchResult(query=DrugQuery(name="triptans"), hits=(hit,)), _found("SSRIs")])
    assert pairs(result)[0]["note"].endswith(NOTHING_FOUND)
    assert "sumatriptan" in pairs(result)[0]["note"]


def test_a_known_name_without_a_record_is_searched_by_its_class_and_not_asked_about() -> None:
    one = record("alphadrug", {"interactions": ("Anticoagulants raise the risk of bleeding.",)})
    absent = DrugSearchResult(query=DrugQuery(name="Marcumar"), note="Marcumar is another name of …", absent=True)
    result = interaction_result([_found(one), absent])
    assert quoted(result) == ["Anticoagulants raise the risk of bleeding."]
    assert "Marcumar is not in the drug database" in pairs(result)[0]["note"]
    assert isinstance(result.data, dict)
    assert result.data["unknown"] == []


def test_one_medicine_lists_its_interactions_by_severity() -> None:
    one = record(
        "alphadrug",
        {
            "interactions": ("NSAIDs raise its levels.", "Avoid use with betadrug."),
            "contraindications": ("Contraindicated in combination with gammadrug.", "Contraindicated in asthma."),
            "dosage": ("In combination with deltadrug give 5 mg.",),
        },
    )
    result = check(one)
    assert quoted(result) == [
        "Contraindicated in combination with gammadrug.",
        "Avoid use with betadrug.",
        "NSAIDs raise its levels.",
    ]


def test_the_label_of_the_named_brand_is_quoted_first() -> None:
    labels = tuple(
        Label(
            source=DataSource(id=f"x:{brand}", title=brand, publisher="test"),
            brand_name=brand,
            sections={"interactions": (f"Betadrug raises {brand}.",)},
        )
        for brand in ("Firstbrand", "Otherbrand")
    )
    both = record("alphadrug", brands=("Firstbrand", "Otherbrand")).model_copy(update={"labels": labels})
    hit = DrugHit(record=both, matched=Match(how="brand", on="Otherbrand"), score=100.0)
    asked = DrugSearchResult(query=DrugQuery(name="Otherbrand"), hits=(hit,))
    assert quoted(interaction_result([asked, _found(record("betadrug"))]))[0] == "Betadrug raises Otherbrand."


@pytest.mark.parametrize(
    ("sentence", "severity"),
    [
        ("Concomitant use is contraindicated.", "contraindicated"),
        ("Do not use within 14 days of it.", "avoid"),
        ("Concomitant use is not recommended.", "avoid"),
        ("Do not exceed 20 mg once daily.", "adjust dose"),
        ("Reduce the dose by half.", "adjust dose"),
        ("No dose adjustment is needed.", "described"),
        ("Monitor serum levels closely.", "monitor"),
        ("It raised the AUC by 58%.", "described"),
        ("It is not contraindicated with nitrates.", "described"),
        ("No interaction with digoxin was observed.", "no effect stated"),
        ("Its levels were unaffected.", "no effect stated"),
        ("It did not change the INR, but bleeding increased.", "described"),
        ("Use with alcohol is absolutely prohibited.", "contraindicated"),
        ("Concomitant use is not permitted.", "contraindicated"),
        ("It is not contraindicated in asthma but is contraindicated with nitrates.", "contraindicated"),
        ("Do not administer it with pimozide.", "avoid"),
        ("Refrain from drinking alcohol.", "avoid"),
        ("Combined use is unnecessary and should be avoided.", "avoid"),
        ("Avoidance of digoxin is not necessary.", "described"),
        ("It is not necessary to avoid warfarin.", "described"),
        ("Separate them by at least 4 hours.", "adjust dose"),
        ("Give one third to one fourth of the usual dose.", "adjust dose"),
        ("The dose may need to be doubled.", "adjust dose"),
        ("It doubled the AUC.", "described"),
    ],
)
def test_severity_follows_the_wording(sentence: str, severity: str) -> None:
    assert severity_of(sentence, "interactions") == severity


@pytest.mark.parametrize(
    "sentence",
    [
        "Alphadrug is contraindicated in hypersensitivity to alphadrug, betadrug or another agent.",
        "Alphadrug is contraindicated after an anaphylactic reaction to betadrug.",
        "Alphadrug is contraindicated in asthma without concomitant use of betadrug.",
        "Rash was seen in betadrug-allergic patients.",
        "Alphadrug is contraindicated with a history of betadrug-induced thrombocytopenia.",
        "Alphadrug is contraindicated on abrupt stopping of betadrug.",
        "Alphadrug is contraindicated in stroke, which was more frequent than with betadrug.",
    ],
)
def test_what_is_not_taken_with_the_medicine_is_no_interaction(sentence: str) -> None:
    label = record("alphadrug", {"contraindications": (sentence,)})
    assert pairs(check(label, record("betadrug")))[0]["mentions"] == 0
    combined = sentence.removesuffix(".") + ", and with betadrug."
    label = record("alphadrug", {"contraindications": (combined,)})
    assert pairs(check(label, record("betadrug")))[0]["severity"] == "contraindicated"


def test_what_follows_a_hypersensitivity_is_no_part_of_it() -> None:
    sentence = "Contraindicated in hypersensitivity, and with or within 14 days of betadrug."
    label = record("alphadrug", {"contraindications": (sentence,)})
    assert quoted(check(label, record("betadrug"))) == [sentence]


def test_figures_are_read_as_written() -> None:
    assert written_figures("Give 2.5 mg to 5 mg twice daily at least 2 hours before.") == (
        "2.5 mg",
        "5 mg twice daily",
        "2 hours",
    )


def test_a_risk_is_stated_unless_it_is_denied() -> None:
    assert states("Bleeding can be fatal.", "bleeding")
    assert not states("No bleeding was seen.", "bleeding")
    assert not states("Vaginal bleeding may occur.", "bleeding")


def test_every_risk_has_a_group_with_members() -> None:
    terms = label_terms()
    assert all(terms.group_named(risk.group) for risk in RISKS.values())


@pytest.mark.parametrize("language", ["de", "es"])
def test_the_notes_are_in_the_readers_language(language: str) -> None:
    one = _found(record("alphadrug", {"warnings": ("Alphadrug can cause bleeding.",)}))
    other = _found(record("betadrug", {"warnings": ("Betadrug can cause bleeding.",)}))
    third = _found(record("gammadrug", {"warnings": ("Take with food.",)}))
    notes = [str(pair["note"]) for pair in pairs(interaction_result([one, other, third], language))]
    english = [str(pair["note"]) for pair in pairs(interaction_result([one, other, third]))]
    assert all(said != meant for said, meant in zip(notes, english, strict=True))
    assert not any(word in note.split() for note in notes for word in ("the", "label", "bleeding.", "bleeding"))


def test_a_note_names_classes_roles_and_meanings_in_the_readers_language() -> None:
    amlodipine = record("amlodipine", {"interactions": ("Strong CYP3A inhibitors raise amlodipine exposure.",)})
    (pair,) = pairs(interaction_result([_found(amlodipine), _found("Grapefruit juice")], "de"))
    assert pair["medicines"] == ["amlodipine", "Grapefruit juice"]
    group = "eine Gruppe, zu der es gehört: starker CYP3A4-Hemmer."
    assert pair["note"] == f"Die Fachinformation von amlodipine nennt Grapefruitsaft nicht, aber {group}"


@pytest.mark.parametrize("language", ["de", "es"])
def test_every_note_class_and_risk_is_translated(language: str) -> None:
    constants = [
        node.value for node in ast.walk(ast.parse(inspect.getsource(pair_notes))) if isinstance(node, ast.Constant)
    ]
    said = {text for text in constants if isinstance(text, str) and re.fullmatch(r"(?:[A-Z{].*\.|and|or)", text)}
    docstrings = {text for text in said if text.startswith(("Return ", "Notes of "))}
    strengths = ("", "strong", "moderate", "weak")
    acting = [EnzymeRole("{}", role, strength) for role in ("inhibitor", "inducer") for strength in strengths]
    roles = {role.title() for role in (*acting, EnzymeRole("{}", "substrate"))}
    named = {*label_terms().names, *(name for name in label_terms().members if name.endswith(" vaccine"))}
    wanted = {*(said - docstrings), *RISKS, NO_LABEL, *named, *roles, ABSENT, NOT_LOADED}
    translated = catalogue(pair_notes.PACKAGE, language)
    assert wanted == set(translated)
    assert all(text.count("{}") == translated[text].count("{}") for text in wanted)
