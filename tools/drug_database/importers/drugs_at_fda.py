"""Drugs@FDA: ``Products.txt`` with the tables that explain it, tab-separated.

A product's key is its application and product number. Applications name the sponsor, MarketingStatus and TE add the
status and the equivalence code of a product. Some rows of Products have an empty ninth cell.
Source of the layout: FDA, "Drugs@FDA Data Files".
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

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

SOURCE_ID: Final = "drugs-at-fda"
_ROLES: Final[dict[str, frozenset[str]]] = {
    "product": frozenset({"ApplNo", "ProductNo", "Form", "Strength", "DrugName", "ActiveIngredient"}),
    "application": frozenset({"ApplNo", "ApplType", "SponsorName"}),
    "te": frozenset({"ApplNo", "ProductNo", "MarketingStatusID", "TECode"}),
    "status": frozenset({"MarketingStatusID", "ApplNo", "ProductNo"}),
    "status_name": frozenset({"MarketingStatusID", "MarketingStatusDescription"}),
}


class _Application(NamedTuple):
    kind: str
    sponsor: str


def role(entry: Entry) -> str | None:
    """Tell the table by its columns."""
    return role_by_columns(entry, _ROLES)


def read(files: Mapping[str, Sequence[Entry]], intake: RowIntake) -> None:
    """Read the products with the tables that explain them."""
    products = files.get("product", ())
    source = _source((products or next(iter(files.values())))[0])
    applications = _applications(files, intake, source, _known_applications(products))
    for entry in products:
        for line, row in rows(entry, intake, kind="Drugs@FDA products", source=source):
            intake.put(_product(row, applications.get(row["ApplNo"])), line)
    names = _status_names(files, intake, source)
    for entry in files.get("status", ()):
        for line, row in rows(entry, intake, kind="Drugs@FDA marketing status", source=source):
            status = names.get(row["MarketingStatusID"], f"status {row['MarketingStatusID']}")
            intake.patch(_item(row), "marketing", status, line)
    for entry in files.get("te", ()):
        for line, row in rows(entry, intake, kind="Drugs@FDA equivalence", source=source):
            if row["TECode"]:
                intake.patch(_item(row), "te_codes", row["TECode"], line)
            else:
                intake.refuse(line, "no equivalence code")


def _source(entry: Entry) -> DataSource:
    return DataSource(
        id=SOURCE_ID,
        title="Drugs@FDA: FDA-Approved Drugs",
        publisher="U.S. Food and Drug Administration",
        url="https://www.fda.gov/drugs/drug-approvals-and-databases/drugsfda-data-files",
        date=entry.date,
    )


def _item(row: Row) -> str:
    return f"{row['ApplNo']}-{row['ProductNo']}"


def _known_applications(products: Sequence[Entry]) -> set[str]:
    """Return the applications that have a product; others say nothing about a medicine."""
    known: set[str] = set()
    for entry in products:
        with entry.open() as stream:
            known |= {line.split(b"\t", 1)[0].decode("ascii", "replace").strip() for line in stream}
    return known


def _applications(
    files: Mapping[str, Sequence[Entry]], intake: RowIntake, source: DataSource, known: set[str]
) -> dict[str, _Application]:
    found: dict[str, _Application] = {}
    for entry in files.get("application", ()):
        for line, row in rows(entry, intake, kind="Drugs@FDA applications", source=source):
            if row["ApplNo"] not in known:
                intake.refuse(line, "no product of this application is in the data")
            else:
                found[row["ApplNo"]] = _Application(row["ApplType"], row["SponsorName"])
                intake.merge()
    return found


def _status_names(files: Mapping[str, Sequence[Entry]], intake: RowIntake, source: DataSource) -> dict[str, str]:
    names: dict[str, str] = {}
    for entry in files.get("status_name", ()):
        for _, row in rows(entry, intake, kind="Drugs@FDA names of marketing status", source=source):
            names[row["MarketingStatusID"]] = row["MarketingStatusDescription"]
            intake.merge()
    return names


def _product(row: Row, application: _Application | None) -> Contribution:
    substances = listed(row["ActiveIngredient"])
    form, routes = form_and_routes(row["Form"])
    kind = application.kind if application else ""
    product = Product(
        dosage_form=form,
        routes=routes,
        brand_name=row["DrugName"].title(),
        strengths=strengths(row["Strength"], len(substances)),
        labelers=(application.sponsor,) if application and application.sponsor else (),
        applications=(f"{kind}{row['ApplNo']}",),
        marketing=note(row["Strength"]),
    )
    return Contribution.of_product(product, source=SOURCE_ID, item=_item(row), substances=substances)


IMPORTER = Importer("Drugs@FDA", role, read)
