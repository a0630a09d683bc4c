"""The label tools: whole sections quoted, and what two labels say about each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from chat_app.agent.citation_manager import CitationManager
from tests.support.drugs import drug_database
from tools.drug_database import DrugDatabase
from tools.drug_database.drug_tools import drug_tools
from tools.types import Function, FunctionOutput, Passage


async def call(drugs: DrugDatabase, tool_name: str, /, **arguments: Any) -> FunctionOutput:
    tool = next(tool for tool in drug_tools(drugs) if tool.name == tool_name)
    return await tool.acall(Function(call_id="c1", name=tool_name, arguments=json.dumps(arguments)))


def quotes(output: FunctionOutput) -> list[str]:
    assert isinstance(output.output, dict)
    return [
        sentence for result in output.output["results"] for section in result["label"].values() for sentence in section
    ]


async def test_a_label_is_quoted_by_section_and_each_quote_stands_in_its_passage(drugs: DrugDatabase) -> None:
    output = await call(drugs, "get_drug_label", name="Glucophage", sections=["contraindications", "renal_dosing"])
    assert output.error is None
    assert output.summary == "2 sections"
    assert [passage.section for passage in output.passages] == [
        "metformin › Contraindications",
        "metformin › Renal impairment",
    ]
    assert quotes(output)
    assert all(any(quote in passage.text for passage in output.passages) for quote in quotes(output))


async def test_what_an_answer_cited_is_found_by_its_id_until_its_text_changes(drugs: DrugDatabase) -> None:
    record = await call(drugs, "search_drug_database", drug_name="metformin")
    label = await call(drugs, "get_drug_label", name="metformin", sections=["contraindications"])
    for cited in (record.passages[0], label.passages[0]):
        found = await drugs.passage(cited.id)
        assert found is not None
        assert (found.text, found.section, found.url) == (cited.text, cited.section, cited.url)
        assert await drugs.passage(f"{cited.id[:-1]}~") is None
    for unknown in ("drug:", "drug:nothing:0", "metformin", "drug:metformin"):
        assert await drugs.passage(unknown) is None


async def test_products_are_cited_as_the_record_and_sentences_of_the_label_as_the_label(drugs: DrugDatabase) -> None:
    output = await call(drugs, "search_drug_database", drug_name="metformin")

    async def number(passages: Sequence[Passage]) -> tuple[int, ...]:
        return tuple(range(1, len(passages) + 1))

    citations = CitationManager(number)
    await citations.render_output(output)
    record = await drugs.record("metformin")
    assert record is not None
    sentence = record.labels[0].sections["contraindications"][1]
    citations.feed("| tablet, film coated, extended release | oral | 500 mg, 1000 mg | Fortamet, Glumetza [1] |\n")
    citations.feed(f"Metformin is sold as a solution of 500 mg/5 mL [1].\n\n- {sentence} [1]\n")
    citations.finish()
    listed, label = citations.references().references
    assert listed.passage.title.startswith("Demonstration drug records")
    assert (listed.passage.url, listed.passage.version) == (None, "")
    assert label.passage.title.startswith("Demonstration summary of Glucophage")
    assert label.quotes == (sentence,)
    for reference in (listed, label):
        found = await drugs.passage(reference.passage.id)
        assert found is not None
        assert (found.title, found.text, found.url) == (
            reference.passage.title,
            reference.passage.text,
            reference.passage.url,
        )


async def test_a_misspelt_name_quotes_no_label(drugs: DrugDatabase) -> None:
    output = await call(drugs, "get_drug_label", name="metfromin")
    assert output.passages == ()
    assert isinstance(output.output, dict)
    assert output.output["did_you_mean"][0] == "metformin"
    assert "ask which one is meant" in output.output["note"]


async def test_an_unknown_section_is_refused_as_an_argument(drugs: DrugDatabase) -> None:
    output = await call(drugs, "get_drug_label", name="metformin", sections=["gossip"])
    assert output.error is not None
    assert "sections" in output.error


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        ("warfarin", "ibuprofen", "NSAIDs"),
        ("simvastatin", "clarithromycin", "clarithromycin"),
        ("Viagra", "nitroglycerin", "nitr"),
        ("lisinopril", "spironolactone", "otassium"),
    ],
)
async def test_labels_that_mention_each_other_are_quoted(drugs: DrugDatabase, one: str, other: str, named: str) -> None:
    output = await call(drugs, "check_drug_interactions", names=[one, other])
    assert output.error is None
    assert quotes(output)
    assert all(any(quote in passage.text for passage in output.passages) for quote in quotes(output))
    assert named.lower() in json.dumps(output.output).lower()
    assert "safe" not in output.summary


async def test_labels_that_do_not_mention_each_other_are_never_called_safe(drugs: DrugDatabase) -> None:
    output = await call(drugs, "check_drug_interactions", names=["metformin", "amoxicillin"])
    assert isinstance(output.output, dict)
    assert output.summary == "no statement found in these labels"
    assert output.output["results"] == []
    assert output.output["pairs"][0]["note"].endswith("That is no evidence that the combination is safe.")


async def test_an_unknown_name_is_said_and_searched_in_the_labels(drugs: DrugDatabase) -> None:
    output = await call(drugs, "check_drug_interactions", names=["warfarin", "ibuprofen", "unobtainium"])
    assert isinstance(output.output, dict)
    assert [one["name"] for one in output.output["unknown"]] == ["unobtainium"]
    notes = {tuple(pair["medicines"]): pair["note"] for pair in output.output["pairs"]}
    assert len(notes) == 3
    assert notes["warfarin", "unobtainium"] == "unobtainium is no known name: it was not checked."


@pytest.mark.parametrize(
    ("typed", "meant"), [("sertaline", "sertraline"), ("methotraxate", "methotrexate"), ("lithum", "lithium")]
)
async def test_a_name_that_can_only_be_a_misspelling_is_checked_and_said(
    drugs: DrugDatabase, typed: str, meant: str
) -> None:
    output = await call(drugs, "check_drug_interactions", names=[typed, "ibuprofen"])
    assert isinstance(output.output, dict)
    assert output.output["unknown"] == []
    assert output.output["pairs"][0]["medicines"] == [meant, "ibuprofen"]
    assert output.output["pairs"][0]["note"].startswith(f"{typed} was read as {meant}.")
    assert output.output["results"]


@pytest.mark.parametrize("typed", ["citlopram", "rifamyin", "lancosamide"])
async def test_a_name_that_two_medicines_are_spelt_like_is_asked_about(drugs: DrugDatabase, typed: str) -> None:
    output = await call(drugs, "check_drug_interactions", names=[typed, "warfarin"])
    assert isinstance(output.output, dict)
    assert [one["name"] for one in output.output["unknown"]] == [typed]
    assert output.output["pairs"][0]["note"] == f"{typed} is no known name: it was not checked."
    assert output.output["results"] == []


async def test_a_multi_word_name_is_checked_whole(drugs: DrugDatabase) -> None:
    output = await call(drugs, "check_drug_interactions", names=["sildenafil", "isosorbide mononitrate"])
    assert isinstance(output.output, dict)
    assert output.output["pairs"][0]["medicines"] == ["sildenafil", "isosorbide mononitrate"]
    assert output.output["results"][0]["severity"] == "contraindicated"
    assert str(output.summary).startswith("contraindicated")


async def test_one_name_lists_the_statements_about_others_by_severity(drugs: DrugDatabase) -> None:
    output = await call(drugs, "check_drug_interactions", names=["lithium"])
    assert isinstance(output.output, dict)
    assert {row["label_of"] for row in output.output["results"]} == {"lithium"}
    assert "Interactions" in {row["section"] for row in output.output["results"]}
    assert [pair["medicines"] for pair in output.output["pairs"]] == [["lithium"]]


async def test_no_name_is_too_few(drugs: DrugDatabase) -> None:
    output = await call(drugs, "check_drug_interactions", names=[])
    assert output.error == "Give one to 24 names of medicines."


@pytest.mark.parametrize("name", ["Cotrimoxazol", "cotrimoxazole", "Co-Trimoxazol"])
async def test_a_combination_is_found_by_its_international_name_in_german(drugs: DrugDatabase, name: str) -> None:
    output = await call(drugs, "check_drug_interactions", names=[name, "warfarin"])
    assert isinstance(output.output, dict)
    assert output.output["unknown"] == []
    assert output.output["pairs"][0]["medicines"] == ["sulfamethoxazole and trimethoprim", "warfarin"]
    assert output.output["results"]


async def test_a_look_alike_is_flagged(drugs: DrugDatabase) -> None:
    output = await call(drugs, "search_drug_database", drug_name="hydroxyzin")
    assert isinstance(output.output, dict)
    assert "hydralazine" in output.output["results"][0]["look_alikes"]
    assert "known to be confused with" in output.output["note"]


async def test_an_ambiguous_abbreviation_gives_its_meanings_and_a_warning(drugs: DrugDatabase) -> None:
    output = await call(drugs, "search_drug_database", drug_name="HCT")
    assert isinstance(output.output, dict)
    assert "mistaken for hydrochlorothiazide" in output.output["note"]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("HCT Dosis", ["hydrochlorothiazide"]),
        ("HCT bei Gicht?", ["hydrochlorothiazide"]),
        ("HCT dose", ["hydrocortisone", "hydrochlorothiazide"]),
    ],
)
async def test_an_abbreviation_means_what_it_does_in_the_language_of_the_question(
    drugs: DrugDatabase, question: str, meant: list[str]
) -> None:
    output = await call(drugs, "search_drug_database", drug_name=question)
    assert isinstance(output.output, dict)
    assert [one["generic_name"] for one in output.output["results"]] == meant


@pytest.mark.parametrize(
    ("question", "also_named"),
    [
        ("prednisone 40 mg daily, can she get the MMR vaccine?", ["mmr vaccine"]),
        ("Darf man unter Prednison gegen Masern impfen?", ["measles vaccine"]),
        ("vacuna de la varicela y prednisona", ["varicella vaccine"]),
        ("prednisone for croup after measles", []),
        ("FluMist while on prednisone", ["Live influenza vaccine"]),
        ("Warfarin und Spinat", ["Food rich in vitamin K"]),
        ("warfarin and leafy greens", ["Food rich in vitamin K"]),
        ("linezolid with cheese", ["Cheese"]),
        ("Can I drink coffee with theophylline?", ["Caffeine"]),
        ("jugo de toronja y simvastatina", ["Grapefruit juice"]),
        ("Johanniskraut und die Pille", ["Hormonal contraceptive", "St. John's wort"]),
        ("SSRI and tramadol", ["SSRI"]),
        ("grapefruit juice and amlodipine", ["Grapefruit juice"]),
        ("Johanniskraut und Sertralin", ["St. John's wort"]),
        ("Darf Simvastatin mit Grapefruitsaft eingenommen werden?", ["Grapefruit juice"]),
        ("ciprofloxacin with milk", ["Dairy product"]),
        ("ciprofloxacin in breast milk", []),
        ("Is metoprolol a beta blocker?", []),
        ("SSRI", []),
        ("triptans with SSRIs", ["SSRI", "Triptan"]),
        ("Triptane mit SSRI", ["SSRI", "Triptan"]),
        ("ACE inhibitors in heart failure", []),
        ("ACE inhibitors and beta blockers after a heart attack", []),
        ("Marcumar und Ibuprofen", ["Marcumar"]),
        ("phenprocoumon with ibuprofen", ["phenprocoumon"]),
        ("Marcumar und Novalgin", ["Marcumar", "Novalgin"]),
        ("can I take Advil with Percocet and Xanax", ["Percocet"]),
        ("sertraline ok with Nardil?", ["Nardil"]),
        ("Klor-Con and Aldactone", ["Klor-Con"]),
        ("Xarelto with Foozium", ["Foozium"]),
        ("may a patient on lithum get ibuprofen?", ["lithum"]),
        ("rifampicn with apixiban", ["apixiban", "rifampicn"]),
        ("sertaline dose", []),
        ("is sildenafil safe with isosorbide mononitrate?", []),
        ("buprenorphine/naloxone and oxycodone", []),
        ("lisinopril with isosorbide", ["isosorbide"]),
        ("sodium bicarbonate and lithium", ["sodium bicarbonate"]),
        ("lisinopril, foozium, metformin", ["foozium"]),
        ("lisinopril in foozia", []),
        ("warfarin, foozium and fever", ["foozium"]),
        ("warfarin, rarely foozium", []),
        ("Gyrasehemmer und Eisenpräparate", ["Fluoroquinolone", "Iron preparation"]),
        ("Kaliumchlorid mit Spironolacton", ["potassium chloride"]),
        ("L-Thyroxin und Eisen", ["Iron preparation"]),
        ("levothyroxine + calcium tablets", ["Calcium preparation"]),
        ("hierro con doxiciclina", ["Iron preparation"]),
        ("ramipril and potassium 5.9", []),
        ("furosemide with low potassium", []),
        ("digoxin and potassium level", []),
        ("losartan potassium and amlodipine", []),
        ("doxycycline plus zinc", []),
        ("ethinylestradiol with rifampicin", ["ethinyl estradiol"]),
        ("Nitrate und PDE-5-Hemmer", ["Nitrate", "PDE5 inhibitor"]),
        ("ACE-Hemmer und Kaliumsparer", ["ACE inhibitor", "Potassium-sparing diuretic"]),
        ("trimethoprim with a potassium-sparing diuretic", ["Potassium-sparing diuretic"]),
        ("aspirin on a direct oral anticoagulant", ["Direct oral anticoagulant"]),
        ("liraglutide and a family history of thyroid cancer", []),
    ],
)
async def test_what_is_named_beside_the_medicines_found_is_told(
    drugs: DrugDatabase, question: str, also_named: list[str]
) -> None:
    output = await call(drugs, "search_drug_database", drug_name=question)
    assert isinstance(output.output, dict)
    assert output.output["also_named"] == also_named


@pytest.mark.parametrize(
    ("name", "how", "found"),
    [
        ("calcium", "class", ["calcium acetate"]),
        ("Calcium preparation", "class", ["calcium acetate"]),
        ("lithium", "exact", ["lithium"]),
    ],
)
async def test_an_element_means_its_preparations(drugs: DrugDatabase, name: str, how: str, found: list[str]) -> None:
    output = await call(drugs, "search_drug_database", drug_name=name)
    assert isinstance(output.output, dict)
    results = output.output["results"]
    assert [(one["generic_name"], one["matched"]["how"]) for one in results] == [(one, how) for one in found]


@pytest.mark.parametrize("name", ["nitroprusside", "metamizole", "dapsone", "sibutramine", "Clozapin", "Nardil"])
async def test_a_known_medicine_that_is_not_loaded_is_no_misspelling(drugs: DrugDatabase, name: str) -> None:
    output = await call(drugs, "search_drug_database", drug_name=name)
    assert isinstance(output.output, dict)
    assert output.output["did_you_mean"] == output.output["results"] == []
    assert output.output["absent"] is True
    assert output.output["note"].endswith("is not in the drug database.")


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("metformin or vildagliptin at eGFR 25", ["vildagliptin is not in the drug database."]),
        ("spironolactone for severe LV dysfunction", []),
        ("metformin dose", []),
    ],
)
async def test_a_medicine_that_is_not_loaded_is_named_beside_those_found(
    drugs: DrugDatabase, name: str, missing: list[str]
) -> None:
    output = await call(drugs, "search_drug_database", drug_name=name)
    assert isinstance(output.output, dict)
    assert output.output["results"]
    assert output.output["not_loaded"] == missing


async def test_a_german_compound_of_a_name_and_a_form_is_read(drugs: DrugDatabase) -> None:
    output = await call(drugs, "search_drug_database", drug_name="Sildenafil mit Nitrospray?")
    assert isinstance(output.output, dict)
    assert [one["generic_name"] for one in output.output["results"]] == ["sildenafil", "nitroglycerin"]


async def test_the_result_for_the_model_is_the_contracts_shape(drugs: DrugDatabase) -> None:
    output = await call(drugs, "search_drug_database", drug_name="metformin", dosage_form="tablet", limit=3)
    assert isinstance(output.output, dict)
    assert set(output.output) == {"query", "results", "did_you_mean", "note", "absent", "not_loaded", "also_named"}
    result = output.output["results"][0]
    assert {"cite", "generic_name", "brand_names", "drug_classes", "matched", "products", "label", "source"} <= set(
        result
    )
    assert set(result["products"][0]) == {"dosage_form", "routes", "strengths", "brand_names", "labelers"}
    assert result["cite"] == output.passages[0].id
    assert set(result["source"]) == {"title", "publisher", "url", "date"}


async def test_an_empty_database_answers_every_tool(milvus_uri: str) -> None:
    async with drug_database(milvus_uri) as empty:
        for name, arguments in (
            ("search_drug_database", {"drug_name": "x"}),
            ("get_drug_label", {"name": "x"}),
            ("check_drug_interactions", {"names": ["x", "y"]}),
        ):
            output = await call(empty, name, **arguments)
            assert output.error is None
            assert output.passages == ()


async def test_every_medicine_that_is_named_is_returned(drugs: DrugDatabase) -> None:
    names = ["warfarin", "amiodarone", "simvastatin", "fluconazole", "omeprazole", "sertraline", "metformin"]
    output = await call(drugs, "search_drug_database", drug_name=f"{', '.join(names)} together")
    assert isinstance(output.output, dict)
    assert [found["generic_name"] for found in output.output["results"]] == names
    assert output.output["also_named"] == []
