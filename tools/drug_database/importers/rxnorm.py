"""RxNorm in its RRF files: RXNCONSO (concepts), RXNREL (relations) and RXNSAT (attributes, of which NDC is read).

Ingredients (IN, PIN, MIN) give names and RxCUIs; clinical drugs (SCD), branded drugs (SBD) and packs (GPCK, BPCK) give
products. A drug's components are those in its name, each called as its relations call it: a component without a
separate concept must not be lost, or a combination would be filed under its other ingredient. A drug component
(SCDC), a brand name (BN) or a relation is part of the products it leads to; one that leads to none is refused.
Source of the layout: NLM, "RxNorm Technical Documentation", sections 12.4 to 12.7.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from tools.drug_database.importers.importer_base import Importer, RowIntake
from tools.drug_database.names.name_keys import base_moiety, shipped
from tools.drug_database.records import Contribution, DataSource, Product
from tools.drug_database.records.strengths import combined, strength
from tools.drug_database.source_files.container import Entry, text_lines
from tools.language.folding import fold_name
from tools.types import Frozen

SOURCE_ID: Final = "rxnorm"
_CONCEPT_COLUMNS: Final = 18
_RELATION_COLUMNS: Final = 16
_ATTRIBUTE_COLUMNS: Final = 13
_INGREDIENTS: Final = frozenset({"IN", "PIN", "MIN"})
_DRUGS: Final = frozenset({"SCD", "SBD"})
_PACKS: Final = frozenset({"GPCK", "BPCK"})
_UNKNOWN_PARTS: Final = "its name does not say what it consists of"
_BRAND: Final = re.compile(r"\[([^\[\]]+)\]\s*$")
_QUANTITY: Final = re.compile(r"^(?:\d[\d.]* (?:HR|ML|MG|ACTUAT|UNT|DAY) )+")
_COMPONENT: Final = re.compile(r"^(?P<name>.+?) (?P<amount>\d[\d.,]* \S+)(?: (?P<form>[A-Z].*))?$")
_PACKED: Final = re.compile(r"\d+ (?:\([\d.]+ [A-Z]+\) )?\((?P<drug>(?:[^()]|\([^()]*\))+)\)")


class _Line(NamedTuple):
    number: int
    cells: list[str]


@dataclass
class _Concepts:
    """The facts of all concepts that name a drug's parts; RxNorm is read in two passes over its concepts."""

    kinds: dict[str, str] = field(default_factory=dict[str, str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    components: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Of a drug its components, of a pack its drugs, of a branded drug its generic drug."""
    ingredient: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    precise: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    used: set[str] = field(default_factory=set[str])


def role(entry: Entry) -> str | None:
    """Tell concepts, relations and attributes by the number of columns."""
    cells = entry.first_line.split("|")
    if len(cells) == _CONCEPT_COLUMNS + 1 and cells[1] == "ENG":
        return "concept"
    if len(cells) == _RELATION_COLUMNS + 1 and cells[2] in {"CUI", "AUI"}:
        return "relation"
    if len(cells) in {_ATTRIBUTE_COLUMNS, _ATTRIBUTE_COLUMNS + 1} and cells[4] in {"CUI", "AUI", "RUI"}:
        return "attribute"
    return None


def read(files: Mapping[str, Sequence[Entry]], intake: RowIntake) -> None:
    """Read relations and concepts, then attributes."""
    first = next(iter(files.values()))[0]
    source = DataSource(
        id=SOURCE_ID,
        title="RxNorm",
        publisher="U.S. National Library of Medicine",
        date=first.date,
        url="https://www.nlm.nih.gov/research/umls/rxnorm/",
    )
    known = _Concepts()
    for entry in files.get("concept", ()):
        _learn(entry, known)
    for entry in files.get("relation", ()):
        _read_relations(entry, intake, source, known)
    for entry in files.get("concept", ()):
        _read_concepts(entry, intake, source, known)
    for entry in files.get("attribute", ()):
        _read_attributes(entry, intake, source, known)


def _lines(entry: Entry) -> Iterator[_Line]:
    with entry.open() as stream:
        for number, text in text_lines(stream):
            yield _Line(number, text.split("|"))


def _whole_lines(entry: Entry, intake: RowIntake, source: DataSource, kind: str, columns: int) -> Iterator[_Line]:
    """Yield the lines of a file, each counted; refuse those with too few columns."""
    for line in intake.rows(entry.name, _lines(entry), kind=f"RxNorm {kind}", source=source):
        if len(line.cells) < columns:
            intake.refuse(line.number, f"{len(line.cells)} columns instead of {columns}")
        else:
            yield line


def _learn(entry: Entry, known: _Concepts) -> None:
    for _, cells in _lines(entry):
        if len(cells) >= _CONCEPT_COLUMNS and cells[11] == "RXNORM":
            known.kinds[cells[0]], known.names[cells[0]] = cells[12], cells[14]


def _read_relations(entry: Entry, intake: RowIntake, source: DataSource, known: _Concepts) -> None:
    for number, cells in _whole_lines(entry, intake, source, "relations", _RELATION_COLUMNS):
        if _relate(known, part=cells[0], relation=cells[7], whole=cells[4]):
            intake.merge()
        else:
            intake.refuse(number, "the relation leads to no product")


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
    elif relation == "ingredient_of":
        known.used.update((part, whole))
    else:
        return False
    known.used.update((part, whole))
    return True


def _read_concepts(entry: Entry, intake: RowIntake, source: DataSource, known: _Concepts) -> None:
    for line in _whole_lines(entry, intake, source, "concepts", _CONCEPT_COLUMNS):
        if line.cells[11] != "RXNORM":
            intake.refuse(line.number, "the concept is of another vocabulary")
        else:
            _take_concept(line, intake, known)


def _take_concept(line: _Line, intake: RowIntake, known: _Concepts) -> None:
    rxcui, kind, name = line.cells[0], line.cells[12], line.cells[14]
    if kind in _INGREDIENTS:
        intake.put(_ingredients(rxcui, name, kind), line.number)
    elif kind in _DRUGS:
        intake.put(_drug(rxcui, name, known) or _UNKNOWN_PARTS, line.number)
    elif kind in _PACKS:
        intake.put(_pack(rxcui, name, known) or _UNKNOWN_PARTS, line.number)
    elif kind in {"SCDC", "BN"} and rxcui in known.used:
        intake.merge()
    elif kind in {"SCDC", "BN"}:
        intake.refuse(line.number, "no product leads to it")
    else:
        intake.refuse(line.number, f"concepts of the kind {kind[:8]} are not imported")


def _ingredients(rxcui: str, name: str, kind: str) -> Contribution:
    names = tuple(part.strip().lower() for part in name.split(" / ")) if kind == "MIN" else (name.lower(),)
    return Contribution(source=SOURCE_ID, item=rxcui, substances=names, rxcuis=(rxcui,))


class _Parts(NamedTuple):
    """A drug's name taken apart."""

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
    product = Product(dosage_form=form, routes=routes, brand_name=brand, rxcuis=(rxcui,), strengths=parts.strengths)
    return Contribution.of_product(product, source=SOURCE_ID, item=rxcui, substances=parts.substances)


def _taken_apart(full: str, components: Sequence[str], known: _Concepts) -> _Parts | None:
    """``amlodipine 5 MG / atorvastatin 10 MG Oral Tablet``; None for a name of another make."""
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
    """Whether ``own`` is the ingredient bound to something else: ado-trastuzumab emtansine is not trastuzumab."""
    words, others = set(fold_name(base_moiety(own)).split()), set(fold_name(base_moiety(ingredient)).split())
    return others < words


def _brand(name: str) -> str:
    found = _BRAND.search(name)
    return found[1] if found else ""


def _pack(rxcui: str, name: str, known: _Concepts) -> Contribution | None:
    """Read a pack, whose ingredients are those of all drugs in its name."""
    by_name = {known.names[drug]: drug for drug in known.components.get(rxcui, ())}
    substances: dict[str, None] = {}
    drugs = [found["drug"] for found in _PACKED.finditer(name)]
    for drug in drugs:
        parts = _taken_apart(drug, known.components.get(by_name.get(drug, ""), ()), known)
        if parts is None:
            return None
        substances.update(dict.fromkeys(parts.substances))
    if not substances:
        return None
    product = Product(dosage_form="kit", brand_name=_brand(name), rxcuis=(rxcui,))
    return Contribution.of_product(product, source=SOURCE_ID, item=rxcui, substances=tuple(substances))


def _read_attributes(entry: Entry, intake: RowIntake, source: DataSource, known: _Concepts) -> None:
    products = {rxcui for rxcui, kind in known.kinds.items() if kind in _DRUGS | _PACKS}
    for number, cells in _whole_lines(entry, intake, source, "attributes", _ATTRIBUTE_COLUMNS):
        if cells[8] != "NDC":
            intake.refuse(number, "the attribute is no NDC")
        elif cells[0] not in products:
            intake.refuse(number, "its product is not in the data")
        else:
            intake.patch(cells[0], "packages", cells[10], number)


IMPORTER = Importer("RxNorm RRF", role, read)


class DoseForms(Frozen):
    """``data/rxnorm_forms.json``: FDA's words for RxNorm's, in lower case."""

    source: str
    routes: dict[str, str]
    modifiers: tuple[str, ...]
    forms: dict[str, tuple[str, tuple[str, ...]]]
    """Forms that are called otherwise as a whole, with their routes."""


@cache
def _dose_forms() -> DoseForms:
    return shipped("rxnorm_forms.json", DoseForms)


def form_and_routes(dose_form: str) -> tuple[str, tuple[str, ...]]:
    """Return FDA's name of a dose form and its routes: ``tablet, extended release``, oral.

    An unknown form is as RxNorm writes it, in lower case.
    """
    known = _dose_forms()
    plain = " ".join(dose_form.lower().split())
    if plain in known.forms:
        return known.forms[plain]
    modifiers = [modifier for modifier in known.modifiers if modifier in plain]
    rest = plain
    for modifier in modifiers:
        rest = " ".join(rest.replace(modifier, " ").split())
    words = rest.split()
    routes = tuple(dict.fromkeys(known.routes[word] for word in words if word in known.routes))
    noun = " ".join(word for word in words if word not in known.routes)
    return ", ".join([noun or plain, *modifiers]), routes
