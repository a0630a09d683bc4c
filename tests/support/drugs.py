"""A drug database for one test, with demonstration drugs or rows written by the test."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tools.drug_database import DrugDatabase, DrugRecord
from tools.drug_database.importers.importer_base import ImportedRows
from tools.drug_database.importers.recognise import read_paths
from tools.drug_database.importing.rollup import roll_up
from tools.drug_database.names.name_keys import record_key
from tools.drug_database.records.reports import ImportReport
from tools.drug_database.storage.staging import Staging

NDC_COLUMNS = (
    "PRODUCTID",
    "PRODUCTNDC",
    "PRODUCTTYPENAME",
    "PROPRIETARYNAME",
    "PROPRIETARYNAMESUFFIX",
    "NONPROPRIETARYNAME",
    "DOSAGEFORMNAME",
    "ROUTENAME",
    "STARTMARKETINGDATE",
    "ENDMARKETINGDATE",
    "MARKETINGCATEGORYNAME",
    "APPLICATIONNUMBER",
    "LABELERNAME",
    "SUBSTANCENAME",
    "ACTIVE_NUMERATOR_STRENGTH",
    "ACTIVE_INGRED_UNIT",
    "PHARM_CLASSES",
    "DEASCHEDULE",
    "NDC_EXCLUDE_FLAG",
    "LISTING_RECORD_CERTIFIED_THROUGH",
)

ORANGE_BOOK = (
    "Ingredient~DF;Route~Trade_Name~Applicant~Strength~Appl_Type~Appl_No~Product_No~TE_Code~Approval_Date"
    "~RLD~RS~Type~Applicant_Full_Name"
)


@asynccontextmanager
async def drug_database(milvus_uri: str) -> AsyncIterator[DrugDatabase]:
    """Open an empty database under a unique name; remove it afterwards."""
    database = DrugDatabase(milvus_uri, name=f"drugs_{secrets.token_hex(4)}")
    try:
        yield database
        await database.clear()
    finally:
        await database.aclose()


def index_entry(
    key: str,
    *,
    brands: Sequence[str] = (),
    classes: Sequence[str] = (),
    substances: Sequence[str] = (),
    products: int = 1,
) -> dict[str, object]:
    """An entry of the list of names; the ingredients of ``key`` are joined by ``+``."""
    ingredients = key.split("+")
    return {
        "k": record_key(ingredients),
        "g": " and ".join(ingredients),
        "i": ingredients,
        "s": list(substances),
        "b": list(brands),
        "y": [],
        "c": list(classes),
        "n": products,
        "m": products,
        "l": False,
    }


def ndc_row(code: str, substance: str, **columns: str) -> dict[str, str]:
    """Return a row of product.txt: one 10 mg tablet unless ``columns`` differ."""
    row = dict.fromkeys(NDC_COLUMNS, "") | {
        "PRODUCTID": f"{code}_1",
        "PRODUCTNDC": code,
        "PROPRIETARYNAME": substance.title(),
        "NONPROPRIETARYNAME": substance,
        "DOSAGEFORMNAME": "TABLET",
        "ROUTENAME": "ORAL",
        "LABELERNAME": "Acme",
        "SUBSTANCENAME": substance.upper(),
        "ACTIVE_NUMERATOR_STRENGTH": "10",
        "ACTIVE_INGRED_UNIT": "mg/1",
    }
    return row | columns


def write_ndc(folder: Path, rows: Iterable[dict[str, str]], *, encoding: str = "cp1252") -> Path:
    lines = ["\t".join(NDC_COLUMNS), *("\t".join(row[name] for name in NDC_COLUMNS) for row in rows)]
    file = folder / "product.txt"
    file.write_bytes("\r\n".join(lines).encode(encoding) + b"\r\n")
    return file


def write_packages(folder: Path, packages: Sequence[tuple[str, str]]) -> Path:
    columns = (
        "PRODUCTID",
        "PRODUCTNDC",
        "NDCPACKAGECODE",
        "PACKAGEDESCRIPTION",
        "STARTMARKETINGDATE",
        "ENDMARKETINGDATE",
        "NDC_EXCLUDE_FLAG",
        "SAMPLE_PACKAGE",
    )
    lines = ["\t".join(columns), *("\t".join((f"{p}_1", p, code, "", "", "", "N", "N")) for p, code in packages)]
    file = folder / "package.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def rolled_up(*paths: Path) -> tuple[dict[str, DrugRecord], ImportReport]:
    """Return what an import of ``paths`` would store without Milvus: records by key, and the row counts."""
    with Staging() as staging:
        imported = ImportedRows(staging, lambda _: None)
        read_paths(paths, imported)
        records = {group.key: roll_up(group, imported.sources) for group in staging.groups()}
    return records, ImportReport(files=tuple(imported.files), left_out=tuple(imported.left_out), records=len(records))


def orange_book(folder: Path, *rows: str) -> Path:
    """Write ``rows`` as FDA's ``products.txt``; return the file."""
    file = folder / "products.txt"
    file.write_bytes("\r\n".join((ORANGE_BOOK, *rows, "")).encode("cp1252"))
    return file
