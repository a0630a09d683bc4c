"""Drugs@FDA: ``Products.txt`` with the tables that explain it, tab-separated.

A product's key is its application and product number. Applications name the sponsor, MarketingStatus and TE add the
status and the equivalence code of a product. Some rows of Products have an empty ninth cell.
Source of the layout: FDA, "Drugs@FDA Data Files".
"""

from typing import Final

from tools.drug_database.importers.importer_base import SOURCES, Files, ImportedRows, Importer
from tools.drug_database.importers.text_tables import Row, SourceTable, approved_product, by_columns, cell_values
from tools.drug_database.records.drug_record import Contribution

_SOURCE: Final = SOURCES["drugs-at-fda"]
_PRODUCTS: Final = SourceTable(
    "Drugs@FDA products",
    _SOURCE,
    frozenset({"ApplNo", "ProductNo", "Form", "Strength", "DrugName", "ActiveIngredient"}),
)
_APPLICATIONS: Final = SourceTable("Drugs@FDA applications", _SOURCE, frozenset({"ApplNo", "ApplType", "SponsorName"}))
_EQUIVALENCE: Final = SourceTable(
    "Drugs@FDA equivalence", _SOURCE, frozenset({"ApplNo", "ProductNo", "MarketingStatusID", "TECode"})
)
_STATUS: Final = SourceTable(
    "Drugs@FDA marketing status", _SOURCE, frozenset({"MarketingStatusID", "ApplNo", "ProductNo"})
)
_STATUS_NAMES: Final = SourceTable(
    "Drugs@FDA names of marketing status", _SOURCE, frozenset({"MarketingStatusID", "MarketingStatusDescription"})
)


def read(files: Files, imported: ImportedRows) -> None:
    """Read the products with the tables that explain them."""
    products = (row for entry in files.get(_PRODUCTS.title, ()) for _, row in _PRODUCTS.read(entry))
    # Other applications say nothing about a medicine.
    known = {row["ApplNo"] for row in products if not isinstance(row, str)}
    applications: dict[str, tuple[str, str]] = {}
    for line, row in _APPLICATIONS.rows(files, imported):
        if row["ApplNo"] not in known:
            imported.refuse(line, "no product of this application is in the data")
        else:
            applications[row["ApplNo"]] = row["ApplType"], row["SponsorName"]
            imported.merge()
    names: dict[str, str] = {}
    for _, row in _STATUS_NAMES.rows(files, imported):
        names[row["MarketingStatusID"]] = row["MarketingStatusDescription"]
        imported.merge()
    statuses = _STATUS.values(files, _item, "MarketingStatusID")
    codes = _EQUIVALENCE.values(files, _item, "TECode")
    for line, row in _PRODUCTS.rows(files, imported):
        status = tuple(names.get(one, f"status {one}") for one in statuses.get(_item(row), ()))
        imported.put(_product(row, *applications.get(row["ApplNo"], ("", "")), status, codes.get(_item(row), ())), line)
    for line, row in _STATUS.rows(files, imported):
        imported.add(_item(row), line)
    for line, row in _EQUIVALENCE.rows(files, imported):
        if row["TECode"]:
            imported.add(_item(row), line)
        else:
            imported.refuse(line, "no equivalence code")


def _item(row: Row) -> str:
    return f"{row['ApplNo']}-{row['ProductNo']}"


def _product(row: Row, kind: str, sponsor: str, status: tuple[str, ...], te_codes: tuple[str, ...]) -> Contribution:
    substances = cell_values(row["ActiveIngredient"])
    product = approved_product(
        row["Form"], row["DrugName"], row["Strength"], substances, labeler=sponsor, application=f"{kind}{row['ApplNo']}"
    )
    product = product.model_copy(update={"marketing": (*product.marketing, *status), "te_codes": te_codes})
    return Contribution.of_product(product, source=_SOURCE.id, item=_item(row), substances=substances)


IMPORTER = Importer("Drugs@FDA", by_columns(_PRODUCTS, _APPLICATIONS, _EQUIVALENCE, _STATUS, _STATUS_NAMES), read)
