"""FDA's National Drug Code directory in its text layout: ``product.txt`` and ``package.txt``, tab-separated.

Columns are found by their names in the first line, so that both finished (20 columns) and unfinished (14 columns)
listings are read. A product's key is its PRODUCTNDC, which stays the same from edition to edition.
Source of the layout: FDA, "NDC Product File Definitions" and "NDC Package File Definitions".
"""

from operator import itemgetter
from typing import Final

from tools.drug_database.importers.importer_base import SOURCES, Files, ImportedRows, Importer
from tools.drug_database.importers.text_tables import Row, SourceTable, by_columns, cell_values
from tools.drug_database.records.drug_record import Contribution, Product
from tools.drug_database.records.strengths import combined, strength
from tools.language.folding import fold_name

_SOURCE: Final = SOURCES["fda-ndc"]
_PRODUCTS: Final = SourceTable(
    "NDC products",
    _SOURCE,
    frozenset({"PRODUCTID", "PRODUCTNDC", "NONPROPRIETARYNAME", "SUBSTANCENAME", "DOSAGEFORMNAME"}),
)
_PACKAGES: Final = SourceTable("NDC packages", _SOURCE, frozenset({"PRODUCTID", "PRODUCTNDC", "NDCPACKAGECODE"}))


def read(files: Files, imported: ImportedRows) -> None:
    """Read products with their packages."""
    packages = _PACKAGES.values(files, itemgetter("PRODUCTNDC"), "NDCPACKAGECODE")
    for line, row in _PRODUCTS.rows(files, imported):
        imported.put(_product(row, packages.get(row["PRODUCTNDC"], ())), line)
    for line, row in _PACKAGES.rows(files, imported):
        if not row["PRODUCTNDC"] or not row["NDCPACKAGECODE"]:
            imported.refuse(line, "no product or package code")
        else:
            imported.add(row["PRODUCTNDC"], line)


def _product(row: Row, packages: tuple[str, ...]) -> Contribution | str:
    """Return the row as a contribution, or the reason why it is refused."""
    code = row["PRODUCTNDC"]
    if not code:
        return "no product code"
    brand = " ".join(f"{row.get('PROPRIETARYNAME', '')} {row.get('PROPRIETARYNAMESUFFIX', '')}".split())
    # A listed emollient names no ingredient at all: its brand is then all that it can be found by.
    substances = _substances(row) or ((brand.lower(),) if brand else ())
    if not substances:
        return "neither an active ingredient nor a name is given"
    return Contribution(
        source=_SOURCE.id,
        item=code,
        substances=substances,
        brand_names=(brand,) if brand else (),
        synonyms=tuple(filter(None, (row["NONPROPRIETARYNAME"].lower(),))),
        drug_classes=_classes(row.get("PHARM_CLASSES", "")),
        products=(_details(row, code, brand).model_copy(update={"packages": packages}),),
    )


def _substances(row: Row) -> tuple[str, ...]:
    """Return the active substances, from the nonproprietary name (split at commas and "and") if none are listed."""
    named = cell_values(row["SUBSTANCENAME"])
    if named:
        return named
    text = row["NONPROPRIETARYNAME"].replace(" and ", ", ").replace(" AND ", ", ").replace(";", ",")
    return tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if fold_name(part)))


def _classes(text: str) -> tuple[str, ...]:
    """Split ``A [EPC],B, C [MoA]`` into two classes: only a closing bracket ends one."""
    parts = map(str.strip, text.replace("],", "]\n").split("\n"))
    return tuple(filter(None, parts))


def _details(row: Row, code: str, brand: str) -> Product:
    def single(column: str) -> tuple[str, ...]:
        return tuple(filter(None, (row.get(column),)))

    return Product(
        dosage_form=row["DOSAGEFORMNAME"].lower(),
        routes=tuple(sorted(cell_values(row.get("ROUTENAME", "")))),
        brand_name=brand,
        strengths=_strengths(row),
        labelers=single("LABELERNAME"),
        ndcs=(code,),
        applications=single("APPLICATIONNUMBER"),
        marketing=single("MARKETINGCATEGORYNAME"),
        schedules=single("DEASCHEDULE"),
    )


def _strengths(row: Row) -> tuple[str, ...]:
    amounts = [part.strip() for part in row.get("ACTIVE_NUMERATOR_STRENGTH", "").split(";")]
    units = [part.strip() for part in row.get("ACTIVE_INGRED_UNIT", "").split(";")]
    if not any(amounts):
        return ()
    if len(units) == len(amounts):
        amounts = [strength(f"{amount} {unit}") for amount, unit in zip(amounts, units, strict=True)]
    return (combined(amounts),)


IMPORTER = Importer("FDA NDC text", by_columns(_PRODUCTS, _PACKAGES), read)
