"""FDA's Orange Book: ``products.txt``, separated by ``~``.

A product's key is its application and product number. Approval dates before 1982 are written ``Approved Prior to
Jan 1, 1982``; a ``**`` note behind a strength becomes part of the marketing status. Patents and exclusivities are no
part of the drug database. Source of the layout: FDA, "Orange Book Data Files".
"""

from datetime import datetime
from typing import Final

from tools.drug_database.importers.importer_base import SOURCES, Files, ImportedRows, Importer
from tools.drug_database.importers.text_tables import Row, SourceTable, approved_product, by_columns, cell_values
from tools.drug_database.records.drug_record import Contribution

_SOURCE: Final = SOURCES["orange-book"]
_PRODUCTS: Final = SourceTable(
    "Orange Book products",
    _SOURCE,
    frozenset({"Ingredient", "DF;Route", "Trade_Name", "Strength", "Appl_No", "Product_No", "TE_Code"}),
    separator="~",
)
_STATUS: Final = {"RX": "Prescription", "OTC": "Over-the-counter", "DISCN": "Discontinued"}
_APPLICATION: Final = {"N": "NDA", "A": "ANDA"}
_EARLY: Final = "Approved Prior to Jan 1, 1982"


def read(files: Files, imported: ImportedRows) -> None:
    """Read the products."""
    for line, row in _PRODUCTS.rows(files, imported):
        if not row["Appl_No"] or not row["Product_No"]:
            imported.refuse(line, "no application or product number")
        else:
            imported.put(_product(row, cell_values(row["Ingredient"])), line)


def _product(row: Row, substances: tuple[str, ...]) -> Contribution:
    kind = row.get("Appl_Type", "")
    status = row.get("Type", "")
    product = approved_product(
        row["DF;Route"],
        row["Trade_Name"],
        row["Strength"],
        substances,
        labeler=row.get("Applicant_Full_Name", "") or row.get("Applicant", ""),
        application=f"{_APPLICATION.get(kind, kind)}{row['Appl_No']}",
        status=_STATUS.get(status, status),
    )
    approvals, codes = _approval(row.get("Approval_Date", "")), (row["TE_Code"],) if row["TE_Code"] else ()
    product = product.model_copy(update={"approvals": approvals, "te_codes": codes})
    item = f"{kind}{row['Appl_No']}-{row['Product_No']}"
    return Contribution.of_product(product, source=_SOURCE.id, item=item, substances=substances)


def _approval(text: str) -> tuple[str, ...]:
    if text == _EARLY:
        return ("before 1982-01-01",)
    try:
        return (datetime.strptime(text, "%b %d, %Y").date().isoformat(),)  # noqa: DTZ007  (a date without a time)
    except ValueError:
        return (text,) if text else ()


IMPORTER = Importer("Orange Book", by_columns(_PRODUCTS), read)
