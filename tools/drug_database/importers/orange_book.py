"""FDA's Orange Book: ``products.txt``, separated by ``~``.

A product's key is its application and product number. Approval dates before 1982 are written ``Approved Prior to
Jan 1, 1982``; a ``**`` note behind a strength becomes part of the marketing status. Patents and exclusivities are no
part of the drug database. Source of the layout: FDA, "Orange Book Data Files".
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from tools.drug_database.importers.importer_base import Importer, RowIntake
from tools.drug_database.importers.text_tables import (
    Row,
    form_and_routes,
    listed,
    note,
    role_by_columns,
    rows,
    strengths,
)
from tools.drug_database.records import Contribution, DataSource, Product
from tools.drug_database.source_files.container import Entry

SOURCE_ID: Final = "orange-book"
_COLUMNS: Final = frozenset({"Ingredient", "DF;Route", "Trade_Name", "Strength", "Appl_No", "Product_No", "TE_Code"})
_STATUS: Final = {"RX": "Prescription", "OTC": "Over-the-counter", "DISCN": "Discontinued"}
_APPLICATION: Final = {"N": "NDA", "A": "ANDA"}
_EARLY: Final = "Approved Prior to Jan 1, 1982"


def role(entry: Entry) -> str | None:
    """Tell the table of products by its columns."""
    return role_by_columns(entry, {"product": _COLUMNS}, separator="~")


def read(files: Mapping[str, Sequence[Entry]], intake: RowIntake) -> None:
    """Read the products."""
    for entry in files.get("product", ()):
        for line, row in rows(entry, intake, kind="Orange Book products", source=_source(entry), separator="~"):
            substances = listed(row["Ingredient"])
            if not row["Appl_No"] or not row["Product_No"]:
                intake.refuse(line, "no application or product number")
            else:
                intake.put(_product(row, substances), line)


def _source(entry: Entry) -> DataSource:
    return DataSource(
        id=SOURCE_ID,
        title="Approved Drug Products with Therapeutic Equivalence Evaluations (Orange Book)",
        publisher="U.S. Food and Drug Administration",
        date=entry.date,
        url="https://www.fda.gov/drugs/drug-approvals-and-databases/orange-book-data-files",
    )


def _product(row: Row, substances: tuple[str, ...]) -> Contribution:
    form, routes = form_and_routes(row["DF;Route"])
    kind = row.get("Appl_Type", "")
    status = row.get("Type", "")
    labeler = row.get("Applicant_Full_Name", "") or row.get("Applicant", "")
    product = Product(
        dosage_form=form,
        routes=routes,
        brand_name=row["Trade_Name"].title(),
        strengths=strengths(row["Strength"], len(substances)),
        labelers=(labeler,) if labeler else (),
        applications=(f"{_APPLICATION.get(kind, kind)}{row['Appl_No']}",),
        marketing=((_STATUS.get(status, status),) if status else ()) + note(row["Strength"]),
        approvals=_approval(row.get("Approval_Date", "")),
        te_codes=(row["TE_Code"],) if row["TE_Code"] else (),
    )
    item = f"{kind}{row['Appl_No']}-{row['Product_No']}"
    return Contribution.of_product(product, source=SOURCE_ID, item=item, substances=substances)


def _approval(text: str) -> tuple[str, ...]:
    if text == _EARLY:
        return ("before 1982-01-01",)
    try:
        return (datetime.strptime(text, "%b %d, %Y").date().isoformat(),)  # noqa: DTZ007  (a date without a time)
    except ValueError:
        return (text,) if text else ()


IMPORTER = Importer("Orange Book", role, read)
