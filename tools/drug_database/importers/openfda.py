"""openFDA's JSON: NDC products and drug labels, as API answers and as zipped bulk parts.

A label whose ``openfda`` section belongs to another label (another set id) is refused: its text would be filed under
the wrong medicine. A label without that section is refused as well: the other fields name its substances only in prose,
active and inactive ones alike, and a label filed under a filler would be worse than none. Its SPL document has them.
Source of the fields: open.fda.gov, "Searchable fields" of drug/ndc and drug/label.
"""

from collections.abc import Mapping
from typing import Any, Final

from tools.drug_database.importers.importer_base import SOURCES, Files, ImportedRows, Importer, label_source
from tools.drug_database.labels.label_sentences import SECTION_FIELDS, label_sections, label_sentences
from tools.drug_database.records.drug_record import Contribution, Label, Product, SectionName
from tools.drug_database.records.strengths import combined, strength
from tools.drug_database.source_files.container import Entry
from tools.drug_database.source_files.json_stream import Record, head, records, texts

_PRODUCTS: Final = SOURCES["openfda-ndc"]
_LABELS: Final = SOURCES["openfda-label"]


def role(entry: Entry) -> str | None:
    """Return ``ndc`` or ``label`` by the fields of the first record; None for other files."""
    found = head(entry)
    if found is None:
        return None
    first = found.first
    if isinstance(first.get("product_ndc"), str) and ("dosage_form" in first or "packaging" in first):
        return "ndc"
    is_label = isinstance(first.get("set_id"), str) and not {"openfda", "spl_product_data_elements"}.isdisjoint(first)
    return "label" if is_label else None


def read(files: Files, imported: ImportedRows) -> None:
    """Read products, then labels."""
    for role_, kind, source, parse in (
        ("ndc", "openFDA NDC products", _PRODUCTS, _product),
        ("label", "openFDA labels", _LABELS, _label),
    ):
        for entry in files.get(role_, ()):
            found = head(entry)
            dated = source.model_copy(update={"date": found.facts.get("meta.last_updated", "") if found else ""})
            rows = enumerate(records(entry), start=1)
            for number, record in imported.rows(entry, rows, kind=kind, source=dated):
                imported.put(parse(record), number)


def _text(record: Mapping[str, Any], field: str) -> str:
    return " ".join(texts(record.get(field))).strip()


def _product(record: Record) -> Contribution | str:
    code = _text(record, "product_ndc")
    active = [one for one in record.get("active_ingredients") or () if isinstance(one, dict) and _text(one, "name")]
    substances = tuple(_text(one, "name").lower() for one in active)
    generic = _text(record, "generic_name").lower()
    if not code:
        return "no product code"
    if not substances and not generic:
        return "no active ingredient is named"
    brand = _text(record, "brand_name")
    packages = [_text(one, "package_ndc") for one in record.get("packaging") or () if isinstance(one, dict)]
    amounts = [strength(_text(one, "strength")) for one in active]
    product = Product(
        dosage_form=_text(record, "dosage_form").lower(),
        brand_name=brand,
        ndcs=(code,),
        routes=tuple(sorted(route.lower() for route in texts(record.get("route")))),
        strengths=(combined(amounts),) if amounts and all(amounts) else (),
        labelers=texts(record.get("labeler_name")),
        packages=tuple(filter(None, packages)),
        applications=texts(record.get("application_number")),
        marketing=texts(record.get("marketing_category")),
        schedules=texts(record.get("dea_schedule")),
    )
    return Contribution(
        source=_PRODUCTS.id,
        item=code,
        substances=substances or (generic,),
        products=(product,),
        brand_names=(brand,) if brand else (),
        synonyms=(generic,) if generic else (),
        drug_classes=texts(record.get("pharm_class")),
    )


def _label(record: Record) -> Contribution | str:
    set_id = _text(record, "set_id")
    about = record.get("openfda")
    if not set_id:
        return "no set id"
    if not isinstance(about, dict) or not about:
        return "it has no openfda section, which alone says what it is about; import it as DailyMed SPL XML"
    if not texts(about.get("substance_name")):
        return "its openfda section does not name its substances; import it as DailyMed SPL XML"
    if set_id not in texts(about.get("spl_set_id")):
        return "its openfda section belongs to another label"
    substances = tuple(name.lower() for name in texts(about.get("substance_name")))
    brands = texts(about.get("brand_name"))
    others = [sentence for field in SECTION_FIELDS.other_openfda for sentence in label_sentences(_text(record, field))]
    written: dict[SectionName, str] = {
        name: "\n".join(filter(None, (_text(record, field) for field in fields)))
        for name, fields in SECTION_FIELDS.openfda.items()
    }
    sections = label_sections(written, others)
    if not sections:
        return "the label has none of the sections that are kept"
    maker = _text(about, "manufacturer_name")
    title = f"{brands[0] if brands else substances[0]} label{f' ({maker})' if maker else ''}"
    source = label_source(_LABELS.id, set_id, title, "openFDA", _text(record, "effective_time"))
    return Contribution(
        source=_LABELS.id,
        item=set_id,
        substances=substances,
        brand_names=brands,
        synonyms=tuple(name.lower() for name in texts(about.get("generic_name"))),
        drug_classes=texts(about.get("pharm_class_epc")) + texts(about.get("pharm_class_moa")),
        label=Label(
            source=source,
            sections=sections,
            brand_name=brands[0] if brands else "",
            set_id=set_id,
            routes=tuple(sorted(route.lower() for route in texts(about.get("route")))),
        ),
    )


IMPORTER = Importer("openFDA NDC or label JSON", role, read)
