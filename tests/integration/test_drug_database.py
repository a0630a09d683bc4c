"""The drug database on the demonstration drugs, through a real Milvus."""

from __future__ import annotations

import pytest

from tests.support.drugs import drug_database
from tools.drug_database import DrugDatabase, DrugQuery
from tools.drug_database.drug_tools import drug_tools
from tools.drug_database.importers import demo
from tools.drug_database.labels.record_rendering import tool_result
from tools.drug_database.records.reports import ImportProgress
from tools.types import ToolResult


async def search(drugs: DrugDatabase, name: str, **filters: str) -> ToolResult:
    return tool_result(await drugs.search(DrugQuery(name=name, **filters)))  # type: ignore[arg-type]


async def test_a_search_says_which_names_it_found_and_none_that_is_only_spelt_alike(drugs: DrugDatabase) -> None:
    for question, subject in (
        ("What is the dose of metformin or Zestril?", "metformin, Zestril"),
        ("metfromin", ""),
        ("How is the weather?", ""),
    ):
        assert (await search(drugs, question)).subject == subject


@pytest.mark.parametrize(
    ("typed", "found", "how"),
    [
        ("metformin", "metformin", "exact"),
        ("METFORMIN HYDROCHLORIDE", "metformin", "exact"),
        ("Glucophage", "metformin", "brand"),
        ("glucophage xr", "metformin", "brand"),
        ("Rybelsus", "semaglutide", "brand"),
        ("paracetamol", "acetaminophen", "synonym"),
        ("metfromin", "metformin", "spelling"),
        ("what is the dose of lisinopril?", "lisinopril", "exact"),
        ("lisinopril 40 mg tablet", "lisinopril", "exact"),
    ],
)
async def test_a_name_finds_its_medicine_and_says_how(drugs: DrugDatabase, typed: str, found: str, how: str) -> None:
    result = await drugs.search(DrugQuery(name=typed))
    assert result.hits[0].record.generic_name == found
    assert result.hits[0].matched.how in ({how, "exact"} if how == "synonym" else {how})


@pytest.mark.parametrize(
    ("typed", "title", "note"),
    [
        ("Fentora starting dose", "Fentora (fentanyl buccal tablet)", ""),
        ("Soolantra in pregnancy", "Soolantra (ivermectin) cream", ""),
        ("Wegovy", "Wegovy (semaglutide injection for weight reduction)", ""),
        ("Uceris dose", "Entocort EC (budesonide delayed-release capsules)", "is for: Entocort EC (oral)."),
        ("Propecia", "Proscar (finasteride)", "No label for that is loaded; the label shown is for: Proscar (oral)."),
    ],
)
async def test_the_label_of_the_typed_brand_is_shown_or_said_to_be_missing(
    drugs: DrugDatabase, typed: str, title: str, note: str
) -> None:
    found = await drugs.search(DrugQuery(name=typed))
    assert found.hits[0].record.labels[0].source.title == f"Demonstration summary of {title} prescribing information"
    assert found.note.endswith(note)
    assert bool(found.note) is bool(note)


@pytest.mark.parametrize(
    ("typed", "dose"),
    [
        ("acyclovir IV dose", "infused as 10 mg/kg"),
        ("NTG SL dose", "0.3 to 0.6 mg"),
        ("acetaminophen, 4 kg infant, IV", "infants from 29 days to 2 years"),
    ],
)
async def test_no_dose_of_the_asked_route_is_denied(drugs: DrugDatabase, typed: str, dose: str) -> None:
    found = await drugs.search(DrugQuery(name=typed))
    assert dose in str(tool_result(found).data)
    assert "No dose" not in found.note
    assert "not listed in the strength" not in found.note


async def test_a_misspelling_is_a_question_and_not_an_answer(drugs: DrugDatabase) -> None:
    result = await drugs.search(DrugQuery(name="lisinoprul"))
    assert result.did_you_mean[0] == "lisinopril"
    assert all(hit.matched.how == "spelling" for hit in result.hits)
    assert "No medicine of that name" in result.note


@pytest.mark.parametrize("typed", ["treatment of tuberculosis", "Tuberkulose – womit behandeln?"])
async def test_a_disease_finds_the_medicines_whose_labels_mention_it(drugs: DrugDatabase, typed: str) -> None:
    result = await drugs.search(DrugQuery(name=typed))
    assert {"rifampin", "isoniazid"} <= {hit.record.generic_name for hit in result.hits}
    assert all(hit.matched.how == "text" for hit in result.hits)


async def test_a_name_that_is_nothing_like_a_medicine_finds_nothing(drugs: DrugDatabase) -> None:
    result = await drugs.search(DrugQuery(name="zzzzqqq xkcdw"))
    assert result.hits == ()
    assert result.did_you_mean == ()
    assert "No medicine of that name" in result.note


async def test_a_combination_is_found_by_its_ingredients_in_any_order(drugs: DrugDatabase) -> None:
    one = await drugs.search(DrugQuery(name="amoxicillin clavulanate"))
    other = await drugs.search(DrugQuery(name="clavulanate and amoxicillin"))
    assert one.hits[0].record.key == other.hits[0].record.key == "amoxicillin+clavulanate"


async def test_filters_leave_only_the_products_that_fit(drugs: DrugDatabase) -> None:
    result = await drugs.search(DrugQuery(name="metformin", dosage_form="solution", route="PO", strength="500 MG/5ML"))
    products = result.hits[0].record.products
    assert {product.dosage_form for product in products} == {"solution"}
    assert {one for product in products for one in product.strengths} == {"500 mg/5 mL"}


async def test_a_strength_that_is_not_made_is_said_so(drugs: DrugDatabase) -> None:
    result = await drugs.search(DrugQuery(name="metformin", strength="7 mg"))
    assert result.hits == ()
    assert "no product of it fits" in result.note


@pytest.mark.parametrize(
    ("name", "filters", "not_loaded"),
    [
        ("lisinopril", {"dosage_form": "injection"}, ()),
        ("metformin", {"drug_class": "ACE inhibitor"}, ()),
        ("vildagliptin and metformin", {"drug_class": "ACE inhibitor"}, ("vildagliptin is not in the drug database.",)),
    ],
)
async def test_a_filter_that_no_product_passes_does_not_deny_the_medicine(
    drugs: DrugDatabase, name: str, filters: dict[str, str], not_loaded: tuple[str, ...]
) -> None:
    result = await drugs.search(DrugQuery(name=name, **filters))  # type: ignore[arg-type]
    assert (result.hits, result.absent, result.not_loaded) == ((), False, not_loaded)
    assert result.note.startswith("The medicine is in the drug database, but no product of it fits the class, form")


async def test_a_guess_outside_the_asked_class_is_not_said_to_be_loaded(drugs: DrugDatabase) -> None:
    result = await drugs.search(DrugQuery(name="lisinoprul", drug_class="biguanide"))
    assert (result.hits, result.did_you_mean) == ((), ())
    assert result.note == "No medicine of that name is in the drug database."


async def test_the_class_of_a_medicine_may_be_asked_for_with_it(drugs: DrugDatabase) -> None:
    result = await drugs.search(DrugQuery(name="lisinopril", drug_class="ACE inhibitor"))
    assert [hit.record.generic_name for hit in result.hits[:1]] == ["lisinopril"]


async def test_every_quotable_sentence_stands_in_the_passage(drugs: DrugDatabase) -> None:
    for record in demo.records():
        output = await search(drugs, record.generic_name)
        assert isinstance(output.data, dict)
        results = output.data["results"]
        assert isinstance(results, list)
        for result, passage in zip(results, output.passages, strict=True):
            assert isinstance(result, dict)
            assert result["cite"] == passage.id
            label = result["label"]
            assert isinstance(label, dict)
            for sentences in label.values():
                assert isinstance(sentences, list)
                assert all(str(sentence) in passage.text for sentence in sentences)


async def test_every_demonstration_drug_is_found_first_by_its_name_and_first_brand(drugs: DrugDatabase) -> None:
    missed: list[str] = []
    for record in demo.records():
        for name in (record.generic_name, *record.brand_names[:1]):
            result = await drugs.search(DrugQuery(name=name))
            if not result.hits or record.generic_name not in {hit.record.generic_name for hit in result.hits}:
                missed.append(name)
    assert missed == []


async def test_the_demonstration_drugs_load_once(drugs: DrugDatabase) -> None:
    seen: list[ImportProgress] = []
    report = await drugs.load_demo(seen.append)
    assert report.changed is False
    assert seen == []


async def test_the_tool_declares_the_arguments_of_the_contract(drugs: DrugDatabase) -> None:
    tool = drug_tools(drugs)[0]
    assert tool.name == "search_drug_database"
    assert list(tool.definition.parameters["properties"]) == [
        "drug_name",
        "drug_class",
        "limit",
        "dosage_form",
        "route",
        "strength",
    ]


async def test_an_empty_database_answers_that_it_is_empty(milvus_uri: str) -> None:
    async with drug_database(milvus_uri) as empty:
        result = await empty.search(DrugQuery(name="metformin"))
        assert result.hits == ()
        assert "holds no records yet" in result.note
        assert await empty.check() == ["The drug database is empty. Run `asclepius drugs import PATH` with drug data."]


async def test_a_second_process_sees_what_the_first_imported(
    milvus_uri: str, demo_drugs: str, drugs: DrugDatabase
) -> None:
    other = DrugDatabase(milvus_uri, name=demo_drugs)
    try:
        assert await other.stats() == await drugs.stats()
        assert (await other.search(DrugQuery(name="Glucophage"))).hits
    finally:
        await other.aclose()


async def test_the_demonstration_answers_for_the_asked_form(drugs: DrugDatabase) -> None:
    shown = {
        asked: (await drugs.search(DrugQuery(name=asked, limit=1))).hits[0]
        for asked in (
            "iv diltiazem contraindications",
            "diltiazem tablets",
            "ivermectin cream dose",
            "iv metformin",
        )
    }
    text = {asked: " ".join(hit.record.labels[0].sections["contraindications"]) for asked, hit in shown.items()}
    assert "accessory bypass tract" in text["iv diltiazem contraindications"]
    assert "intravenous beta-blockers" in text["iv diltiazem contraindications"]
    assert "accessory bypass tract" not in text["diltiazem tablets"]
    assert "rosacea" in shown["ivermectin cream dose"].record.labels[0].sections["indications"][0]
    assert {asked: hit.scope.fits for asked, hit in shown.items() if hit.scope} == {
        "iv diltiazem contraindications": True,
        "diltiazem tablets": True,
        "ivermectin cream dose": True,
        "iv metformin": False,
    }


async def test_a_medicine_that_somebody_is_allergic_to_is_found_only_alone(drugs: DrugDatabase) -> None:
    beside = await drugs.search(DrugQuery(name="Allergic to aspirin, can I give naproxen?"))
    assert [hit.record.generic_name for hit in beside.hits] == ["naproxen"]
    assert not beside.also_named
    alone = await drugs.search(DrugQuery(name="What to do in an allergy to aspirin?"))
    assert [hit.record.generic_name for hit in alone.hits] == ["aspirin"]


async def test_an_analyte_with_its_result_is_no_medicine(drugs: DrugDatabase) -> None:
    found = await drugs.search(DrugQuery(name="cortisol 120, urea 22, on digoxin and amiodarone, digoxin level 2.4"))
    assert {hit.record.generic_name for hit in found.hits} == {"digoxin", "amiodarone"}
    assert not (found.also_named or found.did_you_mean or found.not_loaded)
    only = await drugs.search(DrugQuery(name="Cortisol normal"))
    assert not (only.hits or only.also_named or only.did_you_mean)


async def test_a_medicine_other_than_which_one_is_asked_for_is_not_found(drugs: DrugDatabase) -> None:
    other = await drugs.search(DrugQuery(name="which NSAID for gout other than naproxen?"))
    assert other.hits
    assert "naproxen" not in [hit.record.generic_name for hit in other.hits if hit.matched.how == "exact"]


async def test_a_substance_is_no_second_medicine_beside_a_treatment_of_its_withdrawal(drugs: DrugDatabase) -> None:
    beside = await drugs.search(DrugQuery(name="gabapentin dose for aspirin withdrawal"))
    assert [hit.record.generic_name for hit in beside.hits] == ["gabapentin"]
    alone = await drugs.search(DrugQuery(name="symptoms of gabapentin withdrawal"))
    assert [hit.record.generic_name for hit in alone.hits] == ["gabapentin"]
