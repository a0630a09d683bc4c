"""How often the right medicine is found in the real directories, on the embedded default."""

from __future__ import annotations

import asyncio
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_app.evaluation.drug_evaluation import evaluate, read_queries
from tests.support import typed_queries
from tests.support.drug_queries import build
from tools.drug_database import DrugDatabase, DrugQuery
from tools.drug_database.names.aliases import LOOK_ALIKES, AliasFile, LookAlikeFile, medicine_names
from tools.drug_database.names.name_keys import base_moieties
from tools.drug_database.names.name_resolution import meanings_of
from tools.drug_database.records.reports import ImportProgress, ImportReport
from tools.drug_database.records.shipped_data import shipped

# The import of all directories takes a minute, and longer on a busy machine.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
FILES = (
    "ndctext_2015-12.zip",
    "orange-book_2020-07-06.zip",
    "drugsatfda_2019-07-02.zip",
    "rxnorm_prescribable_2025-10.zip",
)


@pytest.fixture(scope="module")
def progress() -> list[ImportProgress]:
    """Return what the import told of its progress."""
    return []


@pytest.fixture(scope="module")
def imported(
    milvus_uri: str, shared: Path, progress: list[ImportProgress]
) -> Iterator[tuple[DrugDatabase, ImportReport]]:
    """All four directories beside the demonstration drugs."""
    database = DrugDatabase(milvus_uri, name="drugs_quality_tests")

    async def fill() -> ImportReport:
        await database.load_demo()
        return await database.import_paths([shared / "data/drugs" / name for name in FILES], progress=progress.append)

    yield database, asyncio.run(fill())

    async def end() -> None:
        await database.clear()
        await database.aclose()

    asyncio.run(end())


async def test_the_rows_of_all_directories_reconcile(imported: tuple[DrugDatabase, ImportReport]) -> None:
    _, report = imported
    assert all(file.read == file.kept + file.merged + file.refused for file in report.files)
    rows = {file.file.split(":")[1]: (file.read, file.kept, file.merged, file.refused) for file in report.files}
    assert rows == {
        "product.txt": (44_262, 44_262, 0, 0),
        "package.txt": (103_796, 0, 103_796, 0),
        "products.txt": (38_615, 38_613, 2, 0),
        "Applications.txt": (23_267, 0, 23_051, 216),
        "Products.txt": (39_473, 39_473, 0, 0),
        "MarketingStatus_Lookup.txt": (4, 0, 4, 0),
        "MarketingStatus.txt": rows["MarketingStatus.txt"],
        "TE.txt": rows["TE.txt"],
        "rrf/RXNREL.RRF": (43_760, 0, 43_760, 0),
        "rrf/RXNCONSO.RRF": (37_033, 23_703, 13_328, 2),
        "rrf/RXNSAT.RRF": (221_960, 0, 221_957, 3),
    }
    assert rows["MarketingStatus.txt"][0] == 39_788
    assert rows["TE.txt"][0] == 18_250
    assert report.left_out == ("orange-book_2020-07-06.zip:patent.txt", "orange-book_2020-07-06.zip:exclusivity.txt")


async def test_the_import_tells_its_stages(
    imported: tuple[DrugDatabase, ImportReport], progress: list[ImportProgress]
) -> None:
    stages = [item.stage for item in progress]
    assert stages[0] == "reading"
    assert stages[-1] == "done"
    assert "writing" in stages


async def test_products_are_found_by_their_brand(imported: tuple[DrugDatabase, ImportReport]) -> None:
    database, _ = imported
    dates = {one.source.id: one.source.date for one in (await database.stats()).sources}
    assert dates["fda-ndc"] == "2015-12"
    lipitor = (await database.search(DrugQuery(name="Lipitor"))).hits[0]
    assert lipitor.matched.how == "brand"
    assert lipitor.record.ingredients == ("atorvastatin",)
    assert "10 mg" in lipitor.record.products[0].strengths
    # The one row that names neither a substance nor a generic is found by its brand.
    emollient = (await database.search(DrugQuery(name="Hylatopic Emollient"))).hits[0]
    assert emollient.record.products[0].ndcs == ("16781-189",)


async def test_the_development_queries_are_answered(imported: tuple[DrugDatabase, ImportReport], shared: Path) -> None:
    result = await evaluate(imported[0], read_queries(shared / "data/drugs/queries_dev.jsonl"))
    assert result.overall.hit_at_1 >= 0.95
    assert result.overall.hit_at_5 >= 0.98
    for kind in ("misspell_generic", "misspell_brand"):
        assert result.by_kind[kind].hit_at_1 >= 0.95
        assert result.by_kind[kind].hit_at_5 >= 0.98


@pytest.mark.parametrize("seed", [20151201, 7])
async def test_queries_built_by_rule_are_answered(
    imported: tuple[DrugDatabase, ImportReport], shared: Path, seed: int
) -> None:
    queries = build(shared / "data/drugs", seed=seed)
    assert len(queries) >= 300
    result = await evaluate(imported[0], queries)
    assert result.overall.hit_at_1 >= 0.93
    assert result.overall.hit_at_5 >= 0.97


@pytest.mark.parametrize("seed", [20261120, 11])
async def test_queries_typed_in_a_hurry_are_answered(
    imported: tuple[DrugDatabase, ImportReport], shared: Path, seed: int
) -> None:
    queries = typed_queries.build(shared / "data/drugs", seed=seed)
    assert len(queries) >= 400
    result = await evaluate(imported[0], queries)
    misspelt = [miss for miss in result.misses if miss.type.startswith("misspelt")]
    of = sum(query.type.startswith("misspelt") for query in queries)
    assert result.overall.hit_at_1 >= 0.95
    assert result.overall.hit_at_5 >= 0.98
    assert len(misspelt) <= 0.05 * of


async def test_the_evaluation_counts_a_miss(imported: tuple[DrugDatabase, ImportReport], tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text(
        '{"type": "generic", "query": "metformin", "expect": ["metformin"]}\n'
        '{"type": "generic", "query": "metformin", "expect": ["lisinopril"]}\n'
    )
    result = await evaluate(imported[0], read_queries(file))
    assert result.overall.model_dump(by_alias=True) == {"hit@1": 0.5, "hit@5": 0.5, "queries": 2}
    assert [miss.query for miss in result.misses] == ["metformin"]


async def test_aliases_that_are_marked_stand_in_the_files(imported: tuple[DrugDatabase, ImportReport]) -> None:
    state = await imported[0]._read(imported[0]._searcher.snapshot, 60)
    assert state is not None
    in_files = [alias for alias in shipped("aliases.json", AliasFile).names if alias.in_files]
    assert len(in_files) >= 20
    for alias in in_files:
        bearing = [{known.entry for known in state.index.whole(name)} for name in (alias.alias, alias.names[0])]
        assert bearing[0] & bearing[1], alias.alias


async def test_the_brands_that_are_known_beyond_the_database_stand_in_the_files(
    imported: tuple[DrugDatabase, ImportReport],
) -> None:
    state = await imported[0]._read(imported[0]._searcher.snapshot, 60)
    assert state is not None
    for brand, medicine in medicine_names().pairs():
        entries = [state.index.entries[known.entry] for known in state.index.whole(brand)]
        meant = {frozenset(base_moieties(entry.ingredients)) for entry in entries}
        assert frozenset(medicine.split(" and ")) in meant, brand


async def test_brands_of_other_markets_mean_no_other_medicine_in_the_files(
    imported: tuple[DrugDatabase, ImportReport],
) -> None:
    state = await imported[0]._read(imported[0]._searcher.snapshot, 60)
    assert state is not None
    brands = [one for one in shipped("aliases.json", AliasFile).names if one.source == "eu_brand"]
    for brand in brands:
        meant = {known.entry for known in meanings_of(state.index, brand.names[0])}
        assert {known.entry for known in state.index.whole(brand.alias)} <= meant, brand.alias


def test_tall_man_letters_that_are_marked_stand_in_the_directory(shared: Path) -> None:
    with zipfile.ZipFile(shared / "data/drugs/ndctext_2015-12.zip") as archive:
        words = set(re.findall(r"\b[A-Za-z]*[a-z][A-Z]{2,}[A-Za-z]*", archive.read("product.txt").decode("cp1252")))
    marked = {name for group in shipped(LOOK_ALIKES, LookAlikeFile).groups for name in group.tall_in_files}
    assert len(marked) >= 10
    assert marked <= {word.lower() for word in words}


async def test_one_record_holds_what_every_source_says(imported: tuple[DrugDatabase, ImportReport]) -> None:
    record = (await imported[0].search(DrugQuery(name="simvastatin"))).hits[0].record
    assert {source.id for source in record.sources} == {"demo", "fda-ndc", "orange-book", "drugs-at-fda", "rxnorm"}
    assert {fact.value for fact in record.rxcuis} >= {"36567"}
    products = [product for product in record.products if product.brand_name.casefold() == "zocor"]
    assert {code for product in products for code in product.te_codes} >= {"AB"}
    assert any("NDA019766" in product.applications for product in products)
    assert any(package == "13411016201" for product in record.products for package in product.packages)
