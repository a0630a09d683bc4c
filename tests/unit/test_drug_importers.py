"""What each drug data format says, row by odd row; without a Milvus."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.drugs import orange_book, rolled_up
from tools.bounded_xml import parse_xml
from tools.drug_database.source_files.container import entries
from tools.errors import SourceRejected

PRODUCTS = "ApplNo\tProductNo\tForm\tStrength\tReferenceDrug\tDrugName\tActiveIngredient\tReferenceStandard"


def thinned(whole: Path, folder: Path, kept: Callable[[bytes], object]) -> Path:
    """Return a copy of an archive with the lines that are ``kept``."""
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(folder / whole.name, "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, b"".join(line for line in archive.read(name).splitlines(keepends=True) if kept(line)))
    return folder / whole.name


class TestOrangeBook:
    def test_files_of_one_name_in_two_folders_are_counted_apart(self, tmp_path: Path) -> None:
        row = "METFORMIN~TABLET;ORAL~GLUCOPHAGE~BMS~{}MG~N~020357~00{}~AB~Mar 3, 1995~Yes~Yes~RX~BRISTOL"
        rows = [row.format(500, 1), row.format(850, 2), row.format(1000, 3)]
        folders = [tmp_path / "old", tmp_path / "new"]
        for folder in folders:
            folder.mkdir()
        _, report = rolled_up(orange_book(folders[0], *rows[:1]), orange_book(folders[1], *rows[1:]))
        assert [(file.file, file.read, file.kept) for file in report.files] == [
            ("products.txt", count, count) for count in (1, 2)
        ]

    def test_a_note_behind_the_strength_becomes_a_status(self, tmp_path: Path) -> None:
        row = (
            "DEXAMETHASONE~AEROSOL;TOPICAL~AEROSEB-DEX~ALLERGAN~0.01% **Federal Register determination that product "
            "was not discontinued or withdrawn for safety or efficacy reasons**~A~083296~002~~Approved Prior to "
            "Jan 1, 1982~No~No~DISCN~ALLERGAN HERBERT DIV ALLERGAN INC"
        )
        records, _ = rolled_up(orange_book(tmp_path, row))
        product = records["dexamethasone"].products[0]
        assert product.strengths == ("0.01%",)
        assert product.marketing[0] == "Discontinued"
        assert product.marketing[1].startswith("Federal Register determination")
        assert product.approvals == ("before 1982-01-01",)
        assert product.applications == ("ANDA083296",)

    def test_several_ingredients_have_a_strength_each(self, tmp_path: Path) -> None:
        row = (
            "HYDROCHLOROTHIAZIDE; LISINOPRIL~TABLET;ORAL~ZESTORETIC~ALMATICA~12.5MG;20MG~N~019888~001~AB~Sep 20, "
            "1990~Yes~Yes~RX~ALMATICA PHARMA INC"
        )
        records, _ = rolled_up(orange_book(tmp_path, row))
        record = records["hydrochlorothiazide+lisinopril"]
        assert record.products[0].strengths == ("12.5 mg / 20 mg",)
        assert record.products[0].te_codes == ("AB",)
        assert record.products[0].approvals == ("1990-09-20",)
        assert record.brand_names[0].value == "Zestoretic"

    def test_copackaged_strengths_are_kept_as_written(self, tmp_path: Path) -> None:
        row = (
            "LANSOPRAZOLE; NAPROXEN~CAPSULE, DELAYED REL PELLETS, TABLET;ORAL~PREVACID NAPRAPAC 250 (COPACKAGED)~"
            "TAKEDA~15MG,N/A;N/A,250MG **Federal note**~N~021507~002~~Nov 14, 2003~Yes~No~DISCN~TAKEDA"
        )
        records, _ = rolled_up(orange_book(tmp_path, row))
        assert records["lansoprazole+naproxen"].products[0].strengths == ("15MG,N/A / N/A,250MG",)


class TestDrugsAtFda:
    def test_an_empty_ninth_cell_loses_no_row(self, tmp_path: Path) -> None:
        rows = ["206029\t001\tTABLET;ORAL\tEQ 1MG BASE\t0\tPITAVASTATIN CALCIUM\tPITAVASTATIN CALCIUM\t\t"]
        (tmp_path / "Products.txt").write_text("\n".join((PRODUCTS, *rows)) + "\n", encoding="utf-8")
        records, report = rolled_up(tmp_path)
        assert (report.read, report.kept, report.refused) == (1, 1, 0)
        assert records["pitavastatin"].products[0].strengths == ("1 mg base equivalent",)

    def test_a_filled_ninth_cell_is_refused(self, tmp_path: Path) -> None:
        rows = ["206029\t001\tTABLET;ORAL\t1MG\t0\tX\tPITAVASTATIN\t0\tmore"]
        (tmp_path / "Products.txt").write_text("\n".join((PRODUCTS, *rows)) + "\n", encoding="utf-8")
        _, report = rolled_up(tmp_path)
        assert report.files[0].reasons == {"9 columns instead of 8": 1}

    def test_status_sponsor_and_equivalence_reach_their_product(self, shared: Path, tmp_path: Path) -> None:
        """In the rows of one application, and the table of statuses."""
        kept = re.compile(rb"019766|^\d?\t?[A-Z]")
        records, report = rolled_up(thinned(shared / "data/drugs/drugsatfda_2019-07-02.zip", tmp_path, kept.search))
        assert all(file.read == file.kept + file.merged + file.refused for file in report.files)
        zocor = next(one for one in records["simvastatin"].products if one.brand_name == "Zocor")
        assert "NDA019766" in zocor.applications
        assert {"Prescription", "Discontinued"} & set(zocor.marketing)
        assert "AB" in zocor.te_codes
        assert "MERCK" in zocor.labelers[0]


class TestRxNorm:
    CONCEPTS = (
        ("1", "IN", "metformin"),
        ("2", "PIN", "metformin hydrochloride"),
        ("3", "SCDC", "metformin hydrochloride 500 MG"),
        ("4", "SCD", "24 HR metformin hydrochloride 500 MG Extended Release Oral Tablet"),
        ("5", "BN", "Glumetza"),
        ("6", "SBD", "24 HR metformin hydrochloride 500 MG Extended Release Oral Tablet [Glumetza]"),
        ("7", "SCDC", "alogliptin 5 MG"),
        ("8", "BN", "Nowhere"),
    )
    RELATIONS = (
        ("1", "has_ingredient", "3"),
        ("2", "has_precise_ingredient", "3"),
        ("3", "consists_of", "4"),
        ("4", "tradename_of", "6"),
        ("6", "ingredient_of", "5"),
    )

    def write(self, folder: Path) -> None:
        concepts = [f"{c}|ENG||||||{c}|{c}|{c}||RXNORM|{kind}|{c}|{name}||N|4096|" for c, kind, name in self.CONCEPTS]
        relations = [f"{a}||CUI|RO|{b}||CUI|{name}|0||RXNORM|RXNORM|||N|4096|" for a, name, b in self.RELATIONS]
        attributes = ["6|||6|AUI|6|||NDC|RXNORM|13913000213|N|4096|", "9|||9|AUI|9|||NDC|RXNORM|1|N|4096|"]
        for name, lines in (("RXNCONSO.RRF", concepts), ("RXNREL.RRF", relations), ("RXNSAT.RRF", attributes)):
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def test_a_branded_drug_has_the_parts_of_its_generic_one(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        records, _ = rolled_up(tmp_path)
        assert set(records) == {"metformin"}
        product = next(one for one in records["metformin"].products if one.brand_name)
        assert (product.brand_name, product.dosage_form, product.routes) == (
            "Glumetza",
            "tablet, extended release",
            ("oral",),
        )
        assert product.strengths == ("500 mg",)
        assert product.packages == ("13913000213",)
        assert {fact.value for fact in records["metformin"].rxcuis} == {"1", "2"}

    def test_a_component_without_a_concept_of_its_own_is_not_lost(self, shared: Path, tmp_path: Path) -> None:
        """The file lacks the ingredients that begin with A; Percocet must not become plain oxycodone for it."""
        whole = shared / "data/drugs/rxnorm_prescribable_2025-10.zip"
        named = re.compile(rb"acetaminophen|oxycodone|percocet|alogliptin|metformin|kazano", re.IGNORECASE)
        with zipfile.ZipFile(whole) as archive, archive.open("rrf/RXNCONSO.RRF") as concepts:
            ids = {line.partition(b"|")[0] for line in concepts if named.search(line)}
        ends = ids | {b"", b"AUI"}
        records, _ = rolled_up(thinned(whole, tmp_path, lambda line: set(line.split(b"|")[:5:4]) <= ends))
        holders = {key for key, record in records.items() if "Percocet" in {fact.value for fact in record.brand_names}}
        assert holders == {"acetaminophen+oxycodone"}
        percocet = [one for one in records["acetaminophen+oxycodone"].products if one.brand_name == "Percocet"]
        assert percocet[0].dosage_form == "tablet"
        assert "325 mg / 5 mg" in percocet[0].strengths
        assert "Kazano" in {fact.value for fact in records["alogliptin+metformin"].brand_names}

    def test_rows_with_their_trailing_pipe_are_counted_and_dead_ends_refused(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        _, report = rolled_up(tmp_path)
        counts = {file.file: (file.read, file.kept, file.merged, file.refused) for file in report.files}
        assert counts == {
            "RXNREL.RRF": (5, 0, 5, 0),
            "RXNCONSO.RRF": (8, 4, 2, 2),
            "RXNSAT.RRF": (2, 0, 1, 1),
        }


class TestOpenFda:
    def test_genuine_products_are_read(self, shared: Path) -> None:
        records, report = rolled_up(shared / "data/drugs/openfda-ndc_5rows.json")
        assert (report.read, report.kept) == (5, 5)
        product = records["atomoxetine"].products[0]
        assert (product.dosage_form, product.routes, product.strengths) == ("capsule", ("oral",), ("40 mg",))
        assert product.packages == ("0002-3229-30",)
        assert records["atomoxetine"].sources[0].date == "2020-05-01"

    def test_a_label_filed_under_another_labels_substances_is_refused(self, shared: Path) -> None:
        """Two of the five genuine rows carry the openfda section of an acetaminophen label."""
        records, report = rolled_up(shared / "data/drugs/openfda-label_5rows.json")
        assert (report.read, report.kept, report.refused) == (5, 3, 2)
        assert report.files[0].reasons == {"its openfda section belongs to another label": 2}
        assert not any(
            "Asclepias" in sentence
            for record in records.values()
            for label in record.labels
            for section in label.sections.values()
            for sentence in section
        )

    @pytest.mark.parametrize(
        ("field", "heading"), [("nursing_mothers", "8.3 Nursing Mothers"), ("lactation", "8.2 Lactation Risk Summary")]
    )
    def test_what_a_label_says_on_some_patients_is_read(
        self, tmp_path: Path, shared: Path, field: str, heading: str
    ) -> None:
        rows = json.loads((shared / "data/drugs/openfda-label_5rows.json").read_text())["results"]
        said = {field: [f"{heading} It passes into milk."], "pediatric_use": ["Not studied in children."]}
        file = tmp_path / "labels.json"
        file.write_text(json.dumps({"meta": {}, "results": [row | said for row in rows]}), encoding="utf-8")
        records, _ = rolled_up(file)
        label = records["acetaminophen"].labels[0]
        assert label.sections["lactation"] == ("It passes into milk.",)
        assert label.sections["pediatric_use"] == ("Not studied in children.",)

    def test_a_label_without_an_openfda_section_is_refused_with_what_to_do(self, tmp_path: Path) -> None:
        label = {"set_id": "1", "spl_product_data_elements": ["Zzz ZINC OXIDE WATER"], "warnings": ["Warns."]}
        file = tmp_path / "drug-label.json"
        file.write_text(json.dumps({"results": [label, label | {"set_id": "2", "openfda": {}}]}), encoding="utf-8")
        records, report = rolled_up(file)
        assert (records, report.read, report.refused) == ({}, 2, 2)
        [reason] = report.files[0].reasons
        assert "no openfda section" in reason
        assert "DailyMed SPL XML" in reason

    def test_a_zipped_bulk_part_is_read_like_an_answer(self, tmp_path: Path, shared: Path) -> None:
        part = tmp_path / "drug-label-0001-of-0013.json.zip"
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(shared / "data/drugs/openfda-label_5rows.json", "drug-label-0001-of-0013.json")
        _, report = rolled_up(part)
        assert (report.read, report.kept) == (5, 3)

    @pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
    def test_truncated_json_is_one_sentence(self, tmp_path: Path, shared: Path, share: float) -> None:
        whole = (shared / "data/drugs/openfda-ndc_5rows.json").read_bytes()
        file = tmp_path / "cut.json"
        file.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(SourceRejected, match="breaks off before its end"):
            rolled_up(file)

    def test_a_hundred_thousand_brackets_are_one_sentence(self, tmp_path: Path) -> None:
        file = tmp_path / "deep.json"
        file.write_text('{"results": [' + "[" * 100_000, encoding="utf-8")
        with pytest.raises(SourceRejected):
            rolled_up(file)

    @pytest.mark.parametrize("deep", [b"[" * 200_000, b"[" * 50_000 + b"]" * 50_000, b'{"a":' * 50_000])
    def test_deep_nesting_takes_no_memory(self, tmp_path: Path, deep: bytes) -> None:
        file = tmp_path / "deep.json"
        file.write_bytes(b'{"results": [{"product_ndc": "1-2", "packaging": ' + deep)
        with pytest.raises(SourceRejected):
            rolled_up(file)

    @pytest.mark.parametrize("written", ["{}", '{"meta": {}, "results": {}}', '{"results": [1, 2]}', "[[]]"])
    def test_json_without_records_is_no_drug_data(self, tmp_path: Path, written: str) -> None:
        file = tmp_path / "other.json"
        file.write_text(written, encoding="utf-8")
        with pytest.raises(SourceRejected, match="no drug data"):
            rolled_up(file)

    def test_a_file_larger_than_one_read_is_read_to_its_end(self, tmp_path: Path, shared: Path) -> None:
        rows = json.loads((shared / "data/drugs/openfda-ndc_5rows.json").read_text())["results"]
        many = [row | {"product_ndc": f"{number}-{place}"} for number in range(800) for place, row in enumerate(rows)]
        file = tmp_path / "many.json"
        file.write_text(json.dumps({"meta": {}, "results": many}, indent=1), encoding="utf-8")
        assert file.stat().st_size > 3_000_000
        _, report = rolled_up(file)
        assert (report.read, report.kept) == (4000, 4000)


class TestSpl:
    def test_five_genuine_labels_are_read(self, shared: Path) -> None:
        records, report = rolled_up(shared / "data/drugs/spl")
        assert (report.read, report.kept, report.refused) == (5, 5, 0)
        atorvastatin = records["atorvastatin"]
        assert atorvastatin.products[0].strengths == ("10 mg", "20 mg", "40 mg", "80 mg")
        assert [label.source.date for label in atorvastatin.labels] == ["2014-01-13", "2012-02-29"]

    def test_a_section_that_is_only_a_title_is_not_lost(self, shared: Path) -> None:
        """The Lipitor label states two contraindications in headings without a text."""
        records, _ = rolled_up(shared / "data/drugs/spl/lipitor-orig.xml")
        stated = records["atorvastatin"].labels[0].sections["contraindications"]
        assert stated[0].startswith("Active liver disease, which may include")
        assert "Hypersensitivity to any component of this medication." in stated

    def test_the_words_of_an_item_before_the_list_inside_it_are_read(self, shared: Path) -> None:
        records, _ = rolled_up(shared / "data/drugs/spl/lipitor-orig.xml")
        indicated = records["atorvastatin"].labels[0].sections["indications"]
        assert any("in boys and postmenarchal girls, 10 to 17 years of age" in one for one in indicated)

    def test_the_overdosage_section_is_read(self, shared: Path) -> None:
        records, _ = rolled_up(shared / "data/drugs/spl")
        assert any("overdos" in one.lower() for one in records["atorvastatin"].labels[0].sections["overdosage"])

    def test_what_is_said_on_some_patients_is_read(self, shared: Path) -> None:
        records, _ = rolled_up(shared / "data/drugs/spl/lipitor-orig.xml")
        sections = records["atorvastatin"].labels[0].sections
        assert any("should not breastfeed" in one for one in sections["lactation"])
        assert any("younger than 10 years" in one for one in sections["pediatric_use"])
        assert any("caution in the elderly" in one for one in sections["geriatric_use"])
        assert not any("breastfeed" in one for one in sections["pregnancy"])

    def test_a_label_without_a_title_is_called_by_its_medicine(self, shared: Path) -> None:
        records, _ = rolled_up(shared / "data/drugs/spl/no-title.xml")
        assert records["haloperidol"].labels[0].source.title == "Haloperidol label"
        assert "boxed_warning" in records["haloperidol"].labels[0].sections

    @pytest.mark.parametrize(
        "attack",
        [
            '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
            '<!DOCTYPE d SYSTEM "http://127.0.0.1:9/x.dtd">',
            '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        ],
    )
    def test_entities_and_document_types_are_refused(self, tmp_path: Path, attack: str) -> None:
        file = tmp_path / "attack.xml"
        file.write_text(
            f'<?xml version="1.0"?>{attack}<document xmlns="urn:hl7-org:v3">&x;</document>', encoding="utf-8"
        )
        with pytest.raises(SourceRejected, match="document type or entities"):
            rolled_up(file)

    def test_a_document_type_is_seen_in_any_encoding(self, tmp_path: Path) -> None:
        attack = '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "a">]><document xmlns="urn:hl7-org:v3">&a;</document>'
        with pytest.raises(SourceRejected, match="document type or entities"):
            parse_xml(io.BytesIO(attack.encode("utf-16")), "attack.xml", most_bytes=1_000)

    def test_deep_and_broken_xml_are_one_sentence(self, tmp_path: Path) -> None:
        file = tmp_path / "deep.xml"
        file.write_text('<document xmlns="urn:hl7-org:v3">' + "<a>" * 10_000, encoding="utf-8")
        with pytest.raises(SourceRejected, match="too deeply"):
            rolled_up(file)
        file.write_text('<document xmlns="urn:hl7-org:v3"><setId root="x"/>', encoding="utf-8")
        with pytest.raises(SourceRejected, match="breaks off"):
            rolled_up(file)


class TestFormulary:
    def test_a_spreadsheet_of_ones_own_is_read(self, tmp_path: Path) -> None:
        file = tmp_path / "ward list 2026-03.csv"
        file.write_text(
            "\ufeffGeneric name;Brand names;Dosage form;Strengths;Routes;Drug classes;Contraindications;Code\n"
            '"Metformin";"Glucophage|Siofor";tablet;500MG|1000 mg;oral;Biguanide;'
            '"Not with an eGFR below 30. Not in shock.";17\n'
            ";;;;;;;18\n",
            encoding="utf-8",
        )
        records, report = rolled_up(file)
        assert (report.read, report.kept, report.refused) == (2, 1, 1)
        assert report.files[0].examples[0].line == 3
        record = records["metformin"]
        assert {one.brand_name for one in record.products} == {"Glucophage", "Siofor"}
        assert record.products[0].strengths == ("500 mg", "1000 mg")
        assert record.labels[0].sections["contraindications"] == ("Not with an eGFR below 30.", "Not in shock.")
        assert record.sources[0].title == "Formulary: ward list 2026-03"
        assert record.sources[0].date == "2026-03"

    def test_a_combination_names_its_ingredients(self, tmp_path: Path) -> None:
        file = tmp_path / "own.json"
        row = {
            "generic_name": "co-careldopa",
            "ingredients": ["carbidopa", "levodopa"],
            "strengths": ["25 mg / 100 mg"],
            "dosage_form": "tablet",
        }
        file.write_text(json.dumps({"formulary": "St. Mary's", "date": "2026-01", "records": [row]}), encoding="utf-8")
        records, _ = rolled_up(file)
        record = records["carbidopa+levodopa"]
        assert record.generic_name == "co-careldopa"
        assert record.sources[0].id == "formulary:st-mary-s"
        assert record.sources[0].date == "2026-01"

    def test_an_unknown_column_is_named(self, tmp_path: Path) -> None:
        file = tmp_path / "own.csv"
        file.write_text("generic_name,prise\nmetformin,3\n", encoding="utf-8")
        with pytest.raises(SourceRejected, match="prise"):
            rolled_up(file)

    def test_a_quotation_mark_left_open_is_named_with_its_line(self, tmp_path: Path) -> None:
        file = tmp_path / "own.csv"
        file.write_text('generic_name,code\n"metformin,3\n', encoding="utf-8")
        with pytest.raises(SourceRejected, match="line"):
            rolled_up(file)


def test_a_file_of_another_kind_is_one_sentence(tmp_path: Path, shared: Path) -> None:
    for content in (
        b"",
        b"<html><body>no</body></html>",
        b'{"results": []}',
        b"[1, 2]",
        b"\xff\xfe\x00",
        b"a,b\n1,2\n",
    ):
        file = tmp_path / "file"
        file.write_bytes(content)
        with pytest.raises(SourceRejected):
            rolled_up(file)
    with pytest.raises(SourceRejected):
        rolled_up(shared / "data/drugs/openfda_schemas")


def test_the_date_of_a_source_is_never_when_its_file_was_copied(tmp_path: Path) -> None:
    plain, packed, undated = tmp_path / "product.txt", tmp_path / "ndc.zip", tmp_path / "other.zip"
    plain.write_text("x")
    for file, day in ((packed, (2024, 11, 8, 9, 0, 0)), (undated, (1980, 1, 1, 0, 0, 0))):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(zipfile.ZipInfo("product.txt", day), "x")
    named = tmp_path / "ndc_2015-12.zip"
    packed_again = packed.read_bytes()
    named.write_bytes(packed_again)
    assert [entries(file)[0].date for file in (plain, packed, undated, named)] == ["", "2024-11-08", "", "2015-12"]
