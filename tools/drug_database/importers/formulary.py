"""A formulary of one's own, as CSV or JSON, such as a hospital's list of medicines.

CSV: UTF-8, separated by comma, semicolon or tab; the first line names the columns of ``_COLUMNS`` that it has, in any
order (docs/drug-data.md lists them). Several values in one cell are separated by ``;`` (or ``|``). ``generic_name`` is
needed, and ``ingredients`` for combinations. ``code`` is the row's own key; without it the generic name, form and
strengths are. Rows of one medicine roll up to one record. JSON: an array of objects with the same names, or
``{"formulary": "St. Mary's", "date": "2026-01", "records": [...]}``; a field may be a text or a list of texts.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Final

from tools.drug_database.importers.importer_base import Files, ImportedRows, Importer
from tools.drug_database.labels.label_sentences import label_sentences
from tools.drug_database.records.drug_record import SECTIONS, Contribution, DataSource, Label, Product, SectionName
from tools.drug_database.records.strengths import strength
from tools.drug_database.source_files.container import Entry, decode, text_lines
from tools.drug_database.source_files.json_stream import head, records, texts
from tools.errors import SourceRejected
from tools.language.folding import fold_name

SOURCE_ID: Final = "formulary"
_LISTS: Final = (
    "ingredients",
    "substances",
    "brand_names",
    "synonyms",
    "drug_classes",
    "routes",
    "strengths",
    "ndc",
    "labeler",
    "status",
    "rxcui",
)
_COLUMNS: Final = frozenset({"generic_name", "dosage_form", "code", *_LISTS, *SECTIONS})
_SEPARATOR = re.compile(r"[;|]")
Row = Mapping[str, object]


def role(entry: Entry) -> str | None:
    """Tell a CSV by its columns and a JSON by its first record."""
    start = decode(entry.head()).removeprefix("\ufeff")
    if start.lstrip()[:1] in {"{", "["}:
        found = head(entry)
        return "json" if found and isinstance(found.first.get("generic_name"), str) else None
    columns, _ = _columns(start.split("\n", 1)[0].rstrip("\r"))
    return "csv" if "generic_name" in columns else None


def read(files: Files, imported: ImportedRows) -> None:
    """Read the rows of every file."""
    for kind in ("csv", "json"):
        for entry in files.get(kind, ()):
            source = _source(entry, kind)
            rows = _csv_rows(entry) if kind == "csv" else enumerate(records(entry), start=1)
            for number, row in imported.rows(entry, rows, kind=f"formulary ({kind.upper()})", source=source):
                imported.put(row if isinstance(row, str) else _contribution(row, source), number)


def _source(entry: Entry, kind: str) -> DataSource:
    name, date = entry.path.stem, entry.date
    if kind == "json" and (found := head(entry)):
        name, date = found.facts.get("formulary", name), found.facts.get("date", date)
    slug = "-".join(fold_name(name).split()) or "own"
    return DataSource(id=f"{SOURCE_ID}:{slug}", title=f"Formulary: {name}", publisher=name, date=date)


def _columns(first_line: str) -> tuple[list[str], str]:
    """Return the columns named in a CSV's first line, in their order, and their separator."""
    separator = max(",;\t", key=first_line.count)
    cells = next(csv.reader([first_line], delimiter=separator), [])
    return ["_".join(fold_name(cell).split()) for cell in cells], separator


def _csv_rows(entry: Entry) -> Iterator[tuple[int, Row | str]]:
    with entry.open() as stream:
        lines = (f"{text}\n" for _, text in text_lines(stream))
        first = next(lines)
        columns, separator = _columns(first.rstrip("\n"))
        unknown = sorted(set(columns) - _COLUMNS)
        if unknown:
            raise SourceRejected(
                f"{entry.name}: the column {unknown[0]!r} is not known. Known are: {', '.join(sorted(_COLUMNS))}."
            )
        reader = csv.reader(lines, delimiter=separator, strict=True)
        try:
            for cells in reader:
                number = reader.line_num + 1
                if len(cells) != len(columns):
                    yield number, f"{len(cells)} columns instead of {len(columns)}"
                else:
                    yield number, dict(zip(columns, cells, strict=True))
        except csv.Error:
            raise SourceRejected(f"{entry.name}, line {reader.line_num + 1}: a quotation mark is not closed.") from None


def _values(row: Row, column: str) -> tuple[str, ...]:
    value = row.get(column)
    parts = [str(one) for one in value] if isinstance(value, list) else _SEPARATOR.split(str(value or ""))
    return tuple(dict.fromkeys(" ".join(part.split()) for part in parts if part.strip()))


def _contribution(row: Row, source: DataSource) -> Contribution | str:
    generic = " ".join(str(row.get("generic_name") or "").split())
    if not generic:
        return "no generic name"
    found = {column: _values(row, column) for column in _LISTS}
    form = " ".join(str(row.get("dosage_form") or "").lower().split())
    strengths = tuple(strength(one) for one in found["strengths"])
    brands = found["brand_names"]
    products = tuple(
        Product(
            dosage_form=form,
            routes=tuple(sorted(one.lower() for one in found["routes"])),
            brand_name=brand,
            strengths=strengths,
            ndcs=found["ndc"],
            labelers=found["labeler"],
            marketing=found["status"],
        )
        for brand in (brands or ("",))
    )
    code = " ".join(str(row.get("code") or "").split())
    ingredients = tuple(name.lower() for name in found["ingredients"])
    return Contribution(
        source=source.id,
        item=code or "/".join((generic.lower(), form, *strengths)),
        generic_name=generic.lower(),
        substances=tuple(name.lower() for name in found["substances"]) or ingredients or (generic.lower(),),
        ingredients=ingredients,
        brand_names=brands,
        synonyms=found["synonyms"],
        drug_classes=found["drug_classes"],
        rxcuis=found["rxcui"],
        products=products if form or strengths else (),
        label=_label(row, source),
    )


def _label(row: Row, source: DataSource) -> Label | None:
    sections: dict[SectionName, tuple[str, ...]] = {}
    for name in SECTIONS:
        if found := tuple(sentence for text in texts(row.get(name)) for sentence in label_sentences(text)):
            sections[name] = found
    brand = next(iter(_values(row, "brand_names")), "")
    return Label(source=source, sections=sections, brand_name=brand) if sections else None


IMPORTER = Importer("a formulary of your own", role, read)
