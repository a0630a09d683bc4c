"""FDA's NDC directory as text: the real one, and its odd rows."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.support.drugs import drug_database, ndc_row, write_ndc, write_packages
from tools.drug_database import DrugDatabase, DrugQuery
from tools.errors import SourceRejected, ToolError


async def import_formulary(drugs: DrugDatabase, folder: Path) -> None:
    """Import two medicines from a source beside FDA's."""
    file = folder / "formulary.csv"
    file.write_text("generic_name,strengths\nmetformin,500 mg\nibuprofen,400 mg\n", "utf-8")
    await drugs.import_paths([file])
    file.unlink()


async def test_the_genuine_trimmed_files_import_finished_and_unfinished(milvus_uri: str, shared: Path) -> None:
    async with drug_database(milvus_uri) as drugs:
        report = await drugs.import_paths([shared / "data/drugs/ndc_trimmed"])
        assert {file.file: (file.read, file.kept) for file in report.files if "product" in file.file} == {
            "product_trimmed.txt": (3, 3),
            "unfinished_product_trimmed.txt": (3, 3),
        }
        assert all(file.read == file.kept + file.merged + file.refused for file in report.files)
        hit = (await drugs.search(DrugQuery(name="insulin lispro"))).hits[0]
        assert hit.record.products[0].dosage_form == "crystal"


async def test_cp1252_bytes_are_read_as_their_letters(milvus_uri: str, tmp_path: Path) -> None:
    write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen", LABELERNAME="Laboratoires Thé™", PROPRIETARYNAME="Néo")])
    async with drug_database(milvus_uri) as drugs:
        await drugs.import_paths([tmp_path])
        hit = (await drugs.search(DrugQuery(name="neo"))).hits[0]
        assert hit.record.products[0].labelers == ("Laboratoires Thé™",)


async def test_a_row_with_too_few_columns_is_refused_with_its_line(milvus_uri: str, tmp_path: Path) -> None:
    file = write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen"), ndc_row("1-2", "naproxen")])
    lines = file.read_bytes().split(b"\r\n")
    file.write_bytes(b"\r\n".join([lines[0], lines[1], b"2-2\tbroken", lines[2], b""]))
    async with drug_database(milvus_uri) as drugs:
        report = await drugs.import_paths([file])
        assert (report.read, report.kept, report.refused) == (3, 2, 1)
        assert [(one.line, one.reason) for one in report.files[0].examples] == [(3, "2 columns instead of 20")]


async def test_two_rows_of_one_product_code_are_merged(milvus_uri: str, tmp_path: Path) -> None:
    rows = [ndc_row("1-1", "ibuprofen"), ndc_row("1-1", "ibuprofen", ROUTENAME="RECTAL", DOSAGEFORMNAME="SUPPOSITORY")]
    write_ndc(tmp_path, rows)
    async with drug_database(milvus_uri) as drugs:
        report = await drugs.import_paths([tmp_path])
        assert (report.read, report.kept, report.merged) == (2, 1, 1)
        record = (await drugs.search(DrugQuery(name="ibuprofen"))).hits[0].record
        assert {product.dosage_form for product in record.products} == {"tablet", "suppository"}


async def test_a_product_with_several_ingredients_keeps_each_strength_with_its_ingredient(
    milvus_uri: str, tmp_path: Path
) -> None:
    row = ndc_row(
        "1-1",
        "x",
        SUBSTANCENAME="LISINOPRIL; HYDROCHLOROTHIAZIDE",
        ACTIVE_NUMERATOR_STRENGTH="20; 12.5",
        ACTIVE_INGRED_UNIT="mg/1; mg/1",
        PROPRIETARYNAME="Zestoretic",
        NONPROPRIETARYNAME="lisinopril and hctz",
    )
    write_ndc(tmp_path, [row])
    async with drug_database(milvus_uri) as drugs:
        await drugs.import_paths([tmp_path])
        record = (await drugs.search(DrugQuery(name="zestoretic"))).hits[0].record
        assert record.ingredients == ("lisinopril", "hydrochlorothiazide")
        assert record.products[0].strengths == ("20 mg / 12.5 mg",)


async def test_a_package_of_an_unknown_product_is_refused_the_others_belong_to_theirs(
    milvus_uri: str, tmp_path: Path
) -> None:
    write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen")])
    write_packages(tmp_path, [("1-1", "1-1-10"), ("9-9", "9-9-10"), ("1-1", "1-1-30")])
    async with drug_database(milvus_uri) as drugs:
        report = await drugs.import_paths([tmp_path])
        packages = next(file for file in report.files if file.file == "package.txt")
        assert (packages.read, packages.kept, packages.merged, packages.refused) == (3, 0, 2, 1)
        assert packages.examples[0].line == 3
        record = (await drugs.search(DrugQuery(name="ibuprofen"))).hits[0].record
        assert record.products[0].packages == ("1-1-10", "1-1-30")


async def test_a_second_import_updates_by_key_and_deletes_nothing_else(milvus_uri: str, tmp_path: Path) -> None:
    write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen"), ndc_row("1-2", "naproxen")])
    write_packages(tmp_path, [("1-1", "1-1-10"), ("1-2", "1-2-10")])
    async with drug_database(milvus_uri) as drugs:
        await drugs.import_paths([tmp_path])
        (tmp_path / "package.txt").unlink()
        write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen", ACTIVE_NUMERATOR_STRENGTH="400")])
        report = await drugs.import_paths([tmp_path])
        assert report.products == 2
        ibuprofen = (await drugs.search(DrugQuery(name="ibuprofen"))).hits[0].record.products[0]
        naproxen = (await drugs.search(DrugQuery(name="naproxen"))).hits[0].record.products[0]
        assert ibuprofen.strengths == ("400 mg",)
        assert naproxen.packages == ("1-2-10",)


async def test_replace_swaps_the_whole_source_and_leaves_the_others(milvus_uri: str, tmp_path: Path) -> None:
    async with drug_database(milvus_uri) as drugs:
        await import_formulary(drugs, tmp_path)
        write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen"), ndc_row("1-2", "unobtainium")])
        await drugs.import_paths([tmp_path])
        assert (await drugs.search(DrugQuery(name="unobtainium"))).hits
        write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen")])
        await drugs.import_paths([tmp_path], replace=True)
        assert not (await drugs.search(DrugQuery(name="unobtainium"))).hits
        assert (await drugs.search(DrugQuery(name="metformin"))).hits


async def test_a_medicine_is_found_by_its_product_and_package_codes(milvus_uri: str, tmp_path: Path) -> None:
    async with drug_database(milvus_uri) as drugs:
        rows = [
            ndc_row("0093-7214", "metformin"),
            ndc_row("63304-123", "metformin", DOSAGEFORMNAME="SOLUTION"),
            ndc_row("0937-2140", "aspirin"),
        ]
        write_ndc(tmp_path, rows)
        write_packages(tmp_path, [("0093-7214", "0093-7214-01")])
        await drugs.import_paths([tmp_path])
        for typed in ("0093-7214-01", "00093721401", "NDC 0093-7214"):
            [hit] = (await drugs.search(DrugQuery(name=typed))).hits
            assert (hit.record.key, hit.matched.how) == ("metformin", "code")
            assert hit.record.products[0].ndcs == ("0093-7214",)
        solution = await drugs.search(DrugQuery(name="63304-0123-90"))
        assert solution.hits[0].record.products[0].dosage_form == "solution"
        either = await drugs.search(DrugQuery(name="0093721401"))
        assert {hit.record.key for hit in either.hits} == {"metformin", "aspirin"}
        assert "several ways" in either.note
        none = await drugs.search(DrugQuery(name="9999-9999-99"))
        assert (none.hits, none.note) == ((), "No product with that code is in the drug database.")


async def test_clearing_one_source_leaves_the_others(milvus_uri: str, tmp_path: Path) -> None:
    async with drug_database(milvus_uri) as drugs:
        await import_formulary(drugs, tmp_path)
        before = await drugs.stats()
        write_ndc(tmp_path, [ndc_row("1-1", "unobtainium")])
        await drugs.import_paths([tmp_path])
        with pytest.raises(ToolError, match="Loaded are: fda-ndc and formulary"):
            await drugs.clear("orange-book")
        await drugs.clear("fda-ndc")
        after = await drugs.stats()
        assert (after.records, after.products, after.sources) == (before.records, before.products, before.sources)
        await drugs.clear("formulary:formulary")
        assert (await drugs.stats()).records == 0


async def test_a_wrong_file_is_one_sentence_and_changes_nothing(milvus_uri: str, tmp_path: Path) -> None:
    file = write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen")])
    async with drug_database(milvus_uri) as drugs:
        await drugs.import_paths([file])
        before = await drugs.stats()
        assert before.records == 1
        for content in (b"", b"hello", b"\x00\x01\x02", b"PRODUCTID\tPRODUCTNDC\n", b"%PDF-1.4 no drugs"):
            file.write_bytes(content)
            with pytest.raises(SourceRejected, match="no drug data that can be imported"):
                await drugs.import_paths([file])
            assert await drugs.stats() == before, content


async def test_a_broken_zip_is_one_sentence_and_changes_nothing(milvus_uri: str, tmp_path: Path, shared: Path) -> None:
    whole = (shared / "data/drugs/ndctext_2015-12.zip").read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole[: len(whole) // 2])
    flipped = tmp_path / "flipped.zip"
    middle = len(whole) // 3
    flipped.write_bytes(
        whole[:middle] + bytes(byte ^ 0xFF for byte in whole[middle : middle + 5000]) + whole[middle + 5000 :]
    )
    async with drug_database(milvus_uri) as drugs:
        await drugs.import_paths([write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen")])])
        before = await drugs.stats()
        assert before.records == 1
        for file in (cut, flipped):
            with pytest.raises(SourceRejected):
                await drugs.import_paths([file])
        assert await drugs.stats() == before


async def test_a_zip_bomb_is_refused_before_it_is_unpacked(milvus_uri: str, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("product.txt", b"\0" * 50_000_000)
    async with drug_database(milvus_uri) as drugs:
        with pytest.raises(SourceRejected, match="unpacks to more"):
            await drugs.import_paths([bomb])


async def test_a_missing_path_is_one_sentence(milvus_uri: str, tmp_path: Path) -> None:
    async with drug_database(milvus_uri) as drugs:
        with pytest.raises(SourceRejected, match="is not there"):
            await drugs.import_paths([tmp_path / "nothing.zip"])
