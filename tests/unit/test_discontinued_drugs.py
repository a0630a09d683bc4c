"""Medicines and brands that FDA's lists mark as discontinued are shown as such."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_app.interface.rendering.tool_steps import step_content
from chat_app.offline.composition.compose import compose
from chat_app.offline.reading.tool_outputs import ToolOutput, gather
from tests.support.drugs import ndc_row, orange_book, rolled_up, write_ndc
from tools.drug_database.labels.record_rendering import record_text, tool_result
from tools.drug_database.records.drug_record import DrugRecord
from tools.drug_database.records.queries import DrugHit, DrugQuery, DrugSearchResult, Match
from tools.types import Function, FunctionOutput

VIOXX = "ROFECOXIB~TABLET;ORAL~VIOXX~MERCK~{}~N~021042~00{}~~May 20, 1999~No~No~DISCN~MERCK"
METFORMIN = "METFORMIN~TABLET;ORAL~{}~X~{}~N~020357~00{}~~Mar 3, 1995~No~No~{}~X"
ROWS = (
    VIOXX.format("12.5MG", 1),
    VIOXX.format("25MG **Federal Register determination that product was discontinued for safety reasons**", 2),
    METFORMIN.format("GLUCOPHAGE", "500MG", 1, "DISCN"),
    METFORMIN.format("GLUCOPHAGE", "625MG", 2, "DISCN"),
    METFORMIN.format("METFORMIN", "500MG", 3, "RX"),
    METFORMIN.format("EXAMPLA", "850MG", 4, "RX"),
    METFORMIN.format("EXAMPLA", "1GM", 5, "DISCN"),
)


@pytest.fixture
def records(tmp_path: Path) -> dict[str, DrugRecord]:
    found, _ = rolled_up(orange_book(tmp_path, *ROWS))
    return found


def output_on(record: DrugRecord) -> dict[str, object]:
    hit = DrugHit(record=record, score=1.0, matched=Match(how="exact", on=record.generic_name))
    result = tool_result(DrugSearchResult(query=DrugQuery(name=record.generic_name), hits=(hit,)))
    return json.loads(json.dumps(result.data))  # type: ignore[no-any-return]


def answer(question: str, record: DrugRecord) -> str:
    arguments = json.dumps({"drug_name": record.generic_name})
    output = ToolOutput("search_drug_database", arguments, json.dumps(output_on(record)))
    return compose(question, gather([output])).text


def test_a_medicine_with_only_discontinued_products_is_said_to_be_discontinued(records: dict[str, DrugRecord]) -> None:
    vioxx = records["rofecoxib"]
    assert vioxx.discontinued
    assert vioxx.discontinued_brands == ("Vioxx",)
    assert [fact.value for fact in vioxx.brand_names] == ["Vioxx"], "the name is still searched for"
    assert record_text(vioxx).splitlines()[1:5] == [
        "Discontinued: the loaded sources list no product of this medicine that is marketed.",
        "Active substances: rofecoxib",
        "Discontinued brand names: Vioxx",
        "Discontinued product: tablet (oral): 12.5 mg, 25 mg; brands Vioxx",
    ]
    [row] = output_on(vioxx)["results"]  # type: ignore[misc]
    assert (row["discontinued"], row["brand_names"], row["discontinued_brand_names"]) == (True, [], ["Vioxx"])
    assert row["products"][0]["discontinued"] is True


def test_what_is_discontinued_is_listed_apart_from_what_is_marketed(records: dict[str, DrugRecord]) -> None:
    metformin = records["metformin"]
    assert not metformin.discontinued
    assert (metformin.marketed_brands, metformin.discontinued_brands) == (("Exampla",), ("Glucophage",))
    [row] = output_on(metformin)["results"]  # type: ignore[misc]
    assert "discontinued" not in row
    assert [(one["strengths"], one["brand_names"], one.get("discontinued")) for one in row["products"]] == [
        (["500 mg", "850 mg"], ["Exampla"], None),
        (["1 g", "625 mg"], ["Glucophage"], True),
    ]


def test_a_product_that_another_source_markets_is_not_discontinued(tmp_path: Path) -> None:
    for name in ("ndc", "book"):
        (tmp_path / name).mkdir()
    write_ndc(tmp_path / "ndc", [ndc_row("1-1", "rofecoxib", PROPRIETARYNAME="Vioxx")])
    orange_book(tmp_path / "book", *ROWS[:2])
    found, _ = rolled_up(tmp_path / "ndc", tmp_path / "book")
    assert not found["rofecoxib"].discontinued
    assert found["rofecoxib"].marketed_brands == ("Vioxx",)


def test_the_status_of_drugs_at_fda_counts(tmp_path: Path) -> None:
    tables = {
        "Products": (
            "ApplNo\tProductNo\tForm\tStrength\tReferenceDrug\tDrugName\tActiveIngredient\tReferenceStandard",
            "000159\t001\tTABLET;ORAL\t500MG\t0\tEXAMPLA\tSULFAPYRIDINE\t0",
            "000160\t001\tTABLET;ORAL\t500MG\t0\tSAMPLA\tSULFADIAZINE\t0",
        ),
        "MarketingStatus": (
            "MarketingStatusID\tApplNo\tProductNo", "3\t000159\t001", "3\t000160\t001", "1\t000160\t001"
        ),
        "MarketingStatus_Lookup": (
            "MarketingStatusID\tMarketingStatusDescription", "1\tPrescription", "3\tDiscontinued"
        ),
    }  # fmt: skip
    for name, lines in tables.items():
        (tmp_path / f"{name}.txt").write_text("\n".join((*lines, "")), "utf-8")
    found, _ = rolled_up(tmp_path)
    assert found["sulfapyridine"].discontinued
    assert not found["sulfadiazine"].discontinued, "one product is also a prescription"


def test_the_answer_says_so_first_and_lists_no_discontinued_brand_as_marketed(records: dict[str, DrugRecord]) -> None:
    vioxx = answer("Which products of rofecoxib are there?", records["rofecoxib"])
    assert vioxx.startswith("The drug database lists only discontinued products of rofecoxib.")
    assert "Discontinued products of rofecoxib:" in vioxx
    assert "\nProducts of rofecoxib" not in vioxx
    brands = answer("What are the brand names of metformin?", records["metformin"])
    assert "Brand names of metformin: Exampla." in brands
    assert "Discontinued brand names of metformin: Glucophage." in brands


def test_the_step_marks_discontinued_rows(records: dict[str, DrugRecord]) -> None:
    call = Function(call_id="c", name="search_drug_database", arguments='{"drug_name": "metformin"}')
    output = FunctionOutput(name=call.name, input=call, output=output_on(records["metformin"]))  # type: ignore[arg-type]
    rows = [line for line in step_content(output).splitlines() if line.startswith("| metformin")]
    assert ["discontinued" in row for row in rows] == [False, True]
