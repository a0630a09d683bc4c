"""DailyMed's Structured Product Labeling (SPL): one XML document per label.

Products, their active ingredients and the label's sections are read; sections are told by their LOINC code.
"""

import re
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from tools.bounded_xml import parse_xml
from tools.drug_database.importers.importer_base import SOURCES, Files, ImportedRows, Importer, label_source
from tools.drug_database.labels.label_sentences import BULLET, SECTION_FIELDS, label_sections, label_sentences
from tools.drug_database.records.drug_record import Contribution, Label, Product, SectionName
from tools.drug_database.records.strengths import combined, number, strength
from tools.drug_database.source_files.container import Entry
from tools.errors import SourceRejected

LARGEST: Final = 64 * 1_048_576
_SOURCE: Final = SOURCES["dailymed"]
_V3: Final = "{urn:hl7-org:v3}"
_BLOCKS: Final = frozenset({f"{_V3}{name}" for name in ("paragraph", "item", "tr", "caption")})
_NUMBER = re.compile(r"^\s*\d+(?:\.\d+)*\s+")
_BREAK = re.compile(r"[\r\n]")
_CELLS: Final = frozenset({f"{_V3}td", f"{_V3}th"})


def role(entry: Entry) -> str | None:
    """Tell a label by its root element and namespace."""
    start = entry.head(4_096)
    return "label" if b"urn:hl7-org:v3" in start and b"<document" in start else None


def read(files: Files, imported: ImportedRows) -> None:
    """Read each document."""
    for entry in files.get("label", ()):
        with entry.open() as stream:
            root = parse_xml(stream, entry.name, most_bytes=LARGEST)
        if root.tag != f"{_V3}document":
            raise SourceRejected(f"{entry.name} is no SPL document.")
        for label in imported.rows(entry, [root], kind="DailyMed SPL", source=_SOURCE, total=1):
            imported.put(_label(label), 1)


def _label(root: Element) -> Contribution | str:
    set_id = _attribute(root, "setId", "root")
    outer = {inner: one for one in root.iter(f"{_V3}manufacturedProduct") for inner in one}
    products = [one for one in root.iter(f"{_V3}manufacturedProduct") if one.find(f"{_V3}name") is not None]
    substances = tuple(dict.fromkeys(name for product in products for name, _ in _active(product)))
    if not set_id:
        return "no set id"
    if not substances:
        return "no active ingredient is named"
    brands = tuple(dict.fromkeys(filter(None, (_name(product) for product in products))))
    sections = _sections(root)
    title = _text(root.find(f"{_V3}title"))[:200] or f"{(*brands, *substances)[0]} label"
    source = label_source(_SOURCE.id, set_id, title, "DailyMed", _attribute(root, "effectiveTime", "value"))
    maker = _text(root.find(f".//{_V3}representedOrganization/{_V3}name"))
    listed = tuple(_product(product, maker, outer.get(product, product)) for product in products)
    return Contribution(
        source=_SOURCE.id,
        item=set_id,
        substances=substances,
        brand_names=brands,
        synonyms=tuple(dict.fromkeys(_text(one).lower() for one in root.iter(f"{_V3}genericMedicine"))),
        products=listed,
        label=Label(
            source=source,
            sections=sections,
            set_id=set_id,
            brand_name=brands[0] if brands else "",
            dosage_forms=tuple(sorted({product.dosage_form for product in listed if product.dosage_form})),
            routes=tuple(sorted({route for product in listed for route in product.routes})),
        )
        if sections
        else None,
    )


def _name(product: Element) -> str:
    return _text(product.find(f"{_V3}name"))


def _active(product: Element) -> Iterator[tuple[str, str]]:
    """Yield name and strength of each active ingredient; older documents use another element for them."""
    for ingredient in product:
        old = ingredient.tag == f"{_V3}activeIngredient"
        if old or (ingredient.tag == f"{_V3}ingredient" and ingredient.get("classCode", "").startswith("ACTI")):
            inner = "activeIngredientSubstance" if old else "ingredientSubstance"
            name = _text(ingredient.find(f"{_V3}{inner}/{_V3}name")).lower()
            if name:
                yield name, _strength(ingredient)


def _strength(ingredient: Element) -> str:
    top = ingredient.find(f"{_V3}quantity/{_V3}numerator")
    bottom = ingredient.find(f"{_V3}quantity/{_V3}denominator")
    if top is None or not top.get("value", "").replace(".", "", 1).isdecimal():
        return ""
    amount = f"{number(top.get('value', ''))} {top.get('unit', '')}"
    if bottom is None:
        return strength(amount)
    count, unit = bottom.get("value", "1"), bottom.get("unit", "1")
    return strength(f"{amount}/{'' if count == '1' else count}{unit}")


def _product(product: Element, maker: str, around: Element) -> Product:
    """Return the product with the routes in ``around``, the element that contains it."""
    amounts = [amount for _, amount in _active(product)]
    form = product.find(f"{_V3}formCode")
    code = product.find(f"{_V3}code")
    routes = {one.get("displayName", "").lower() for one in around.iter(f"{_V3}routeCode")}
    packages = (one.find(f"{_V3}code") for one in product.iter(f"{_V3}containerPackagedProduct"))
    return Product(
        dosage_form="" if form is None else form.get("displayName", "").lower(),
        brand_name=_name(product),
        routes=tuple(sorted(filter(None, routes))),
        labelers=(maker,) if maker else (),
        strengths=(combined(amounts),) if amounts and all(amounts) else (),
        ndcs=() if code is None else tuple(filter(None, (code.get("code"),))),
        packages=tuple(dict.fromkeys(one.get("code", "") for one in packages if one is not None and one.get("code"))),
    )


def _sections(root: Element) -> dict[SectionName, tuple[str, ...]]:
    written: dict[SectionName, list[str]] = {}
    others: list[str] = []
    for section in root.iter(f"{_V3}section"):
        code = _attribute(section, "code", "code")
        name = SECTION_FIELDS.loinc.get(code)
        if name:
            written.setdefault(name, []).append(_prose(section))
        if code in SECTION_FIELDS.other_loinc:
            others += (sentence for sentence in label_sentences(_prose(section)) if sentence.endswith((".", "!", "?")))
    return label_sections({name: "\n".join(parts) for name, parts in written.items()}, others)


def _prose(section: Element) -> str:
    """Return the text of a section and its subsections: a line per paragraph, list item or table row.

    The highlights repeat the text in fragments and are left out. The title of a subsection without text counts as its
    sentence.
    """
    highlights = {text for excerpt in section.iter(f"{_V3}excerpt") for text in excerpt.iter(f"{_V3}text")}
    lines: list[str] = []
    for inner in section.iter(f"{_V3}section"):
        texts = [text for text in inner.findall(f"{_V3}text") if text not in highlights]
        title = _NUMBER.sub("", _text(inner.find(f"{_V3}title")))
        bare = not any(_text(text) for text in texts) and inner.find(f".//{_V3}section") is None
        if title and bare and inner is not section:
            lines.append(f"{title}." if title[-1].isalnum() else title)
        written = "\n".join("".join(_written(text)) for text in texts)
        lines += (" ".join(line.split()).strip("| ") for line in written.split("\n"))
    return "\n".join(line for line in lines if line.strip(BULLET))


def _written(element: Element) -> Iterator[str]:
    """Yield the text of ``element`` with line breaks around its blocks, bullets and bars between cells."""
    around = "\n" if element.tag in _BLOCKS else ""
    yield around
    if element.tag == f"{_V3}item":
        yield f"{BULLET} "
    yield _BREAK.sub(" ", element.text or "")
    for child in element:
        yield from _written(child)
        if child.tag in _CELLS and child is not element[-1]:
            yield " | "
        yield _BREAK.sub(" ", child.tail or "")
    yield around


def _text(element: Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _attribute(element: Element, child: str, name: str) -> str:
    found = element.find(f"{_V3}{child}")
    return "" if found is None else found.get(name, "").strip()


IMPORTER = Importer("DailyMed SPL XML", role, read)
