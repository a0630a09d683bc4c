"""RxNorm in its RRF files: RXNCONSO (concepts), RXNREL (relations) and RXNSAT (attributes, of which NDC is read).

Ingredients (IN, PIN, MIN) give names and RxCUIs; clinical drugs (SCD), branded drugs (SBD) and packs (GPCK, BPCK) give
products. A drug's components are those in its name, each called as its relations call it: a component without a
separate concept must not be lost, or a combination would be filed under its other ingredient. A drug component
(SCDC), a brand name (BN) or a relation is part of the products it leads to; one that leads to none is refused.
Source of the layout: NLM, "RxNorm Technical Documentation", sections 12.4 to 12.7.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tools.drug_database.importers.importer_base import SOURCES, Files, ImportedRows, Importer
from tools.drug_database.importers.text_tables import Row, SourceTable
from tools.drug_database.names.name_keys import base_moiety
from tools.drug_database.records.drug_record import Contribution, Product
from tools.drug_database.records.shipped_data import Shipped, shipped
from tools.drug_database.records.strengths import combined, strength
from tools.drug_database.source_files.container import Entry
from tools.language.folding import fold_name

_SOURCE: Final = SOURCES["rxnorm"]
_CONCEPT_COLUMNS: Final = "RXCUI LAT TS LUI STT SUI ISPREF RXAUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF"
_RELATION_COLUMNS: Final = "RXCUI1 RXAUI1 STYPE1 REL RXCUI2 RXAUI2 STYPE2 RELA RUI SRUI SAB SL DIR RG SUPPRESS CVF"
_ATTRIBUTE_COLUMNS: Final = "RXCUI LUI SUI RXAUI STYPE CODE ATUI SATUI ATN SAB ATV SUPPRESS CVF"
_CONCEPTS: Final = SourceTable("RxNorm concepts", _SOURCE, separator="|", header=tuple(_CONCEPT_COLUMNS.split()))
_RELATIONS: Final = SourceTable("RxNorm relations", _SOURCE, separator="|", header=tuple(_RELATION_COLUMNS.split()))
_ATTRIBUTES: Final = SourceTable("RxNorm attributes", _SOURCE, separator="|", header=tuple(_ATTRIBUTE_COLUMNS.split()))
_INGREDIENTS: Final = frozenset({"IN", "PIN", "MIN"})
_DRUGS: Final = frozenset({"SCD", "SBD"})
_PACKS: Final = frozenset({"GPCK", "BPCK"})
_UNKNOWN_PARTS: Final = "its name does not say what it consists of"
_BRAND: Final = re.compile(r"\[([^\[\]]+)\]\s*$")
_QUANTITY: Final = re.compile(r"^(?:\d[\d.]* (?:HR|ML|MG|ACTUAT|UNT|DAY) )+")
_COMPONENT: Final = re.compile(r"^(?P<name>.+?) (?P<amount>\d[\d.,]* \S+)(?: (?P<form>[A-Z].*))?$")
_PACKED: Final = re.compile(r"\d+ (?:\([\d.]+ [A-Z]+\) )?\((?P<drug>(?:[^()]|\([^()]*\))+)\)")


@dataclass
class _Concepts:
    """The facts of all concepts that name a drug's parts; RxNorm is read in two passes over its concepts."""

    kinds: dict[str, str] = field(default_factory=dict[str, str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    components: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Components of a drug, drugs of a pack, and the generic drug of a branded one."""
    ingredient: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    precise: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    packages: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    used: set[str] = field(default_factory=set[str])


def role(entry: Entry) -> str | None:
    """Tell concepts, relations and attributes by the number of columns."""
    cells = entry.first_line.split("|")
    columns = len(cells) - 1
    if columns == len(_CONCEPTS.header) and cells[1] == "ENG":
        return _CONCEPTS.title
    if columns == len(_RELATIONS.header) and cells[2] in {"CUI", "AUI"}:
        return _RELATIONS.title
    if columns in {len(_ATTRIBUTES.header) - 1, len(_ATTRIBUTES.header)} and cells[4] in {"CUI", "AUI", "RUI"}:
        return _ATTRIBUTES.title
    return None


def read(files: Files, imported: ImportedRows) -> None:
    """Read relations and concepts, then attributes."""
    known = _Concepts()
    for entry in files.get(_CONCEPTS.title, ()):
        for _, row in _CONCEPTS.read(entry):
            if not isinstance(row, str) and row["SAB"] == "RXNORM":
                known.kinds[row["RXCUI"]], known.names[row["RXCUI"]] = row["TTY"], row["STR"]
    for line, row in _RELATIONS.rows(files, imported):
        if _relate(known, part=row["RXCUI1"], relation=row["RELA"], whole=row["RXCUI2"]):
            imported.merge()
        else:
            imported.refuse(line, "the relation leads to no product")
    known.packages = _ATTRIBUTES.values(files, _package_of, "ATV")
    for line, row in _CONCEPTS.rows(files, imported):
        _take_concept(row, line, imported, known)
    for line, row in _ATTRIBUTES.rows(files, imported):
        if row["ATN"] != "NDC":
            imported.refuse(line, "the attribute is no NDC")
        elif known.kinds.get(row["RXCUI"]) in _DRUGS | _PACKS:
            imported.add(row["RXCUI"], line)
        else:
            imported.refuse(line, "its product is not in the data")


def _package_of(row: Row) -> str:
    """Return the concept of which the attribute is a package code; empty for another attribute."""
    return row["RXCUI"] if row["ATN"] == "NDC" else ""


def _relate(known: _Concepts, *, part: str, relation: str, whole: str) -> bool:
    """Store ``whole`` <relation> ``part``; return False when it says nothing about a product."""
    if part not in known.kinds or whole not in known.kinds:
        return False
    if relation in {"consists_of", "contains"}:
        known.components[whole].append(part)
    elif relation == "tradename_of":
        generic, branded = (part, whole) if known.kinds[whole] == "SBD" else (whole, part)
        if known.kinds[branded] != "SBD":
            return False
        known.components[branded].append(generic)
    elif relation == "has_ingredient":
        known.ingredient[whole].append(part)
    elif relation == "has_precise_ingredient":
        known.precise[whole].append(part)
    elif relation != "ingredient_of":
        return False
    known.used.update((part, whole))
    return True


def _take_concept(row: Row, line: int, imported: ImportedRows, known: _Concepts) -> None:
    rxcui, kind, name = row["RXCUI"], row["TTY"], row["STR"]
    if row["SAB"] != "RXNORM":
        imported.refuse(line, "the concept is of another vocabulary")
    elif kind in _INGREDIENTS:
        substances = tuple(part.strip().lower() for part in (name.split(" / ") if kind == "MIN" else (name,)))
        imported.put(Contribution(source=_SOURCE.id, item=rxcui, substances=substances, rxcuis=(rxcui,)), line)
    elif kind in _DRUGS:
        imported.put(_drug(rxcui, name, known) or _UNKNOWN_PARTS, line)
    elif kind in _PACKS:
        imported.put(_pack(rxcui, name, known) or _UNKNOWN_PARTS, line)
    elif kind not in {"SCDC", "BN"}:
        imported.refuse(line, f"concepts of the kind {kind[:8]} are not imported")
    elif rxcui in known.used:
        imported.merge()
    else:
        imported.refuse(line, "no product leads to it")


class _Parts(NamedTuple):
    substances: tuple[str, ...]
    strengths: tuple[str, ...]
    form: str


def _drug(rxcui: str, name: str, known: _Concepts) -> Contribution | None:
    branded = known.kinds[rxcui] == "SBD"
    generic = next(iter(known.components.get(rxcui, ())), "") if branded else rxcui
    if generic not in known.names:
        return None
    parts = _taken_apart(known.names[generic], known.components.get(generic, ()), known)
    if parts is None:
        return None
    brand = _brand(name) if branded else ""
    form, routes = form_and_routes(parts.form)
    product = Product(
        dosage_form=form,
        routes=routes,
        brand_name=brand,
        rxcuis=(rxcui,),
        strengths=parts.strengths,
        packages=known.packages.get(rxcui, ()),
    )
    return Contribution.of_product(product, source=_SOURCE.id, item=rxcui, substances=parts.substances)


def _taken_apart(full: str, components: Sequence[str], known: _Concepts) -> _Parts | None:
    """Return the parts of a name (``amlodipine 5 MG / atorvastatin 10 MG Oral Tablet``); None for other names."""
    by_name = {known.names[component]: component for component in components}
    substances: list[str] = []
    amounts: list[str] = []
    form = ""
    for piece in _QUANTITY.sub("", full).split(" / "):
        whole = max((name for name in by_name if f" {name} " in f" {piece} "), key=len, default="")
        found = _COMPONENT.match(whole or piece)
        if found is None:
            return None
        substances.append(_substance(by_name[whole], known) if whole else found["name"].lower())
        amounts.append(strength(found["amount"]))
        form = piece.partition(whole)[2].strip() if whole else (found["form"] or "")
    return _Parts(tuple(substances), (combined(amounts),), form)


def _substance(component: str, known: _Concepts) -> str:
    """Return the component's salt when RxNorm names one, else its ingredient, else its own first words."""
    named = _COMPONENT.match(known.names[component])
    own = (named["name"] if named else known.names[component]).lower()
    for found in (known.precise.get(component), known.ingredient.get(component)):
        if found and len(found) == 1:
            related = known.names[found[0]].lower()
            return own if _is_more_than(own, related) else related
    return own


def _is_more_than(own: str, ingredient: str) -> bool:
    """Return whether ``own`` is a conjugate of the ingredient: ado-trastuzumab emtansine is not trastuzumab."""
    words, others = set(fold_name(base_moiety(own)).split()), set(fold_name(base_moiety(ingredient)).split())
    return others < words


def _brand(name: str) -> str:
    found = _BRAND.search(name)
    return found[1] if found else ""


def _pack(rxcui: str, name: str, known: _Concepts) -> Contribution | None:
    """Return a pack, whose ingredients are those of all drugs in its name; None for a name of another form."""
    by_name = {known.names[drug]: drug for drug in known.components.get(rxcui, ())}
    drugs = [found["drug"] for found in _PACKED.finditer(name)]
    parts = [_taken_apart(drug, known.components.get(by_name.get(drug, ""), ()), known) for drug in drugs]
    substances = tuple(dict.fromkeys(name for part in parts if part for name in part.substances))
    if not substances or None in parts:
        return None
    packages = known.packages.get(rxcui, ())
    product = Product(dosage_form="kit", brand_name=_brand(name), rxcuis=(rxcui,), packages=packages)
    return Contribution.of_product(product, source=_SOURCE.id, item=rxcui, substances=substances)


IMPORTER = Importer("RxNorm RRF", role, read)


class DoseForms(Shipped):
    """``data/rxnorm_forms.json``: FDA's words for RxNorm's, in lower case."""

    routes: dict[str, str]
    modifiers: tuple[str, ...]
    forms: dict[str, tuple[str, tuple[str, ...]]]
    """Forms that are called otherwise as a whole, with their routes."""


_DOSE_FORMS: Final = shipped("rxnorm_forms.json", DoseForms)


def form_and_routes(dose_form: str) -> tuple[str, tuple[str, ...]]:
    """Return FDA's name of a dose form and its routes: ``tablet, extended release``, oral.

    An unknown form is as RxNorm writes it, in lower case.
    """
    plain = " ".join(dose_form.lower().split())
    if plain in _DOSE_FORMS.forms:
        return _DOSE_FORMS.forms[plain]
    modifiers = [modifier for modifier in _DOSE_FORMS.modifiers if modifier in plain]
    rest = plain
    for modifier in modifiers:
        rest = " ".join(rest.replace(modifier, " ").split())
    words = rest.split()
    routes = tuple(dict.fromkeys(_DOSE_FORMS.routes[word] for word in words if word in _DOSE_FORMS.routes))
    noun = " ".join(word for word in words if word not in _DOSE_FORMS.routes)
    return ", ".join([noun or plain, *modifiers]), routes
