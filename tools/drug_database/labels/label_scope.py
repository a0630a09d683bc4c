"""The form, route and population that a question asks for, and the label that covers them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from tools.drug_database.names.name_keys import joined
from tools.drug_database.records import DrugRecord, Label
from tools.drug_database.records.queries import DrugHit, LabelScope
from tools.language.folding import fold_name

FORM_WORDS: Final = {
    "tablets": "tablet",
    "tab": "tablet",
    "tabs": "tablet",
    "pill": "tablet",
    "pills": "tablet",
    "capsules": "capsule",
    "cap": "capsule",
    "caps": "capsule",
    "injectable": "injection",
    "inj": "injection",
    "injections": "injection",
    "er": "extended release",
    "xr": "extended release",
    "sr": "extended release",
    "xl": "extended release",
    "la": "extended release",
    "cr": "extended release",
    "dr": "delayed release",
    "ec": "delayed release",
    "odt": "orally disintegrating",
    "inhaler": "aerosol",
    "patches": "patch",
    "drops": "drops",
    "drop": "drops",
    "iv": "intravenous",
    "im": "intramuscular",
    "sc": "subcutaneous",
    "sq": "subcutaneous",
    "subq": "subcutaneous",
    "po": "oral",
    "orally": "oral",
    "sl": "sublingual",
    "pr": "rectal",
    "inhaled": "respiratory inhalation",
    "inhalation": "respiratory inhalation",
    "eye": "ophthalmic",
    "ear": "otic",
    "skin": "topical",
    "nose": "nasal",
}
"""What clinicians type for a form or route, in the words of FDA's lists."""
_INJECTED: Final = frozenset({"intravenous", "intramuscular", "subcutaneous"})
_ROUTES_OF: Final[dict[str, frozenset[str]]] = {
    "tablet": frozenset({"oral"}),
    "capsule": frozenset({"oral"}),
    "oral": frozenset({"oral"}),
    "sublingual": frozenset({"sublingual"}),
    "buccal": frozenset({"buccal"}),
    "lozenge": frozenset({"transmucosal", "oral"}),
    "injection": _INJECTED,
    "infusion": frozenset({"intravenous"}),
    "intravenous": frozenset({"intravenous"}),
    "intramuscular": frozenset({"intramuscular"}),
    "subcutaneous": frozenset({"subcutaneous"}),
    "patch": frozenset({"transdermal"}),
    "transdermal": frozenset({"transdermal"}),
    "cream": frozenset({"topical"}),
    "ointment": frozenset({"topical"}),
    "lotion": frozenset({"topical"}),
    "topical": frozenset({"topical"}),
    "aerosol": frozenset({"respiratory"}),
    "respiratory inhalation": frozenset({"respiratory"}),
    "puff": frozenset({"respiratory"}),
    "puffs": frozenset({"respiratory"}),
    "nasal": frozenset({"nasal"}),
    "intranasal": frozenset({"nasal"}),
    "ophthalmic": frozenset({"ophthalmic"}),
    "otic": frozenset({"otic"}),
    "rectal": frozenset({"rectal"}),
    "suppository": frozenset({"rectal", "vaginal"}),
    "vaginal": frozenset({"vaginal"}),
}
"""The routes that a form or route word asks for; a word of a release (``XR``) asks for none."""
_FORMS: Final = frozenset({"cream", "ointment", "lotion", "lozenge"})
"""Words whose form matters beside the route: a cream is no lotion."""
_POPULATIONS: Final = {
    "children": r"\b(?:child\w*|p(?:a)?ediatric\w*|kinder|niñ[oa]s?)\b",
    "infants": r"\b(?:infants?|neonat\w+|newborns?|säuglinge?n?|lactantes?)\b",
    "adolescents": r"\b(?:adolescen\w+|teenagers?|jugendliche\w?)\b",
    "older patients": r"\b(?:elderly|geriatric|older (?:adults?|patients?|people)|aged 65|ältere\w?|ancianos?)\b",
    "pregnancy": r"\b(?:pregnan\w+|schwanger\w*|embaraz\w+)\b",
    "breastfeeding": r"\b(?:breast-?feeding|breastfed|lactati\w+|nursing|stillzeit|stillen|lactancia)\b",
}
_ASKED_POPULATION: Final = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _POPULATIONS.items()}
_AGES: Final = re.compile(r"\b(?:aged? |years|months|mg/kg)\b", re.IGNORECASE)


def asked_forms(words: Sequence[str]) -> tuple[str, ...]:
    """Return the forms and routes that folded ``words`` ask for, in FDA's words."""
    usual = (FORM_WORDS.get(word, word.removesuffix("ly")) for word in words)
    return tuple(dict.fromkeys(word for word in usual if word in _ROUTES_OF))


def asked_populations(question: str) -> tuple[str, ...]:
    """Return the populations that ``question`` names."""
    return tuple(name for name, pattern in _ASKED_POPULATION.items() if pattern.search(question))


def with_asked_label_first(record: DrugRecord, forms: Sequence[str], brand: str = "") -> DrugRecord:
    """Order the record's labels: those that cover all asked forms first, then those of ``brand``, then the others."""
    if len(record.labels) < 2 or not (forms or brand):
        return record
    wanted = fold_name(brand)

    def order(label: Label) -> tuple[int, bool]:
        fits = covers(label, forms)
        return ({True: 0, None: 1, False: 2}[fits], bool(wanted) and fold_name(label.brand_name) != wanted)

    return record.model_copy(update={"labels": tuple(sorted(record.labels, key=order))})


def labelled_first(hits: Sequence[DrugHit]) -> list[DrugHit]:
    """Of several records of one brand, put the one first that holds a label of that brand."""
    found: list[DrugHit] = []
    for _, run in groupby(hits, key=lambda hit: hit.matched):
        found += sorted(run, key=lambda hit: hit.matched.how == "brand" and not _has_own_label(hit))
    return found


def _has_own_label(hit: DrugHit) -> bool:
    return any(fold_name(label.brand_name) == fold_name(hit.matched.on) for label in hit.record.labels)


def covers(label: Label, forms: Iterable[str]) -> bool | None:
    """Return whether the label is for the asked forms and routes; None where neither side says."""
    routes = {word for route in label.routes for word in fold_name(route).split()}
    held = {word for form in label.dosage_forms for word in fold_name(form).split()}
    known = [form for form in forms if routes or (held and form in _FORMS)]
    if not known:
        return None
    return all(
        (not routes or not routes.isdisjoint(_ROUTES_OF[form])) and (form not in _FORMS or not held or form in held)
        for form in known
    )


def is_of_other_route(sentence: str, forms: Iterable[str]) -> bool:
    """Return whether ``sentence`` names routes, and none that ``forms`` ask for."""
    asked, said = (
        {route for form in some for route in _ROUTES_OF[form]}
        for some in (forms, asked_forms(fold_name(sentence).split()))
    )
    return bool(asked and said) and asked.isdisjoint(said)


def scope_of(record: DrugRecord, forms: Sequence[str], populations: Sequence[str]) -> LabelScope | None:
    """Return what the first label of ``record`` covers of what was asked; None for a record without a label."""
    if not record.labels:
        return None
    label = record.labels[0]
    text = " ".join(sentence for sentences in label.sections.values() for sentence in sentences)
    doses = label.sections.get("dosage", ())
    return LabelScope(
        asked=tuple(forms),
        dosage_forms=label.dosage_forms,
        routes=label.routes,
        fits=covers(label, forms),
        not_mentioned=tuple(name for name in populations if not _mentions(text, name)),
        no_dose_for=tuple(forms) if doses and all(is_of_other_route(dose, forms) for dose in doses) else (),
    )


def scope_notes(scope: LabelScope | None) -> list[str]:
    """Say which form the shown label is for when it is not the asked one, and which asked population it leaves out."""
    notes: list[str] = []
    if scope is not None and scope.fits is False:
        shown = joined(scope.routes or scope.dosage_forms)
        notes.append(f"Asked for: {joined(scope.asked)}. No label for that is loaded; the label shown is for: {shown}.")
    if scope is not None and scope.not_mentioned:
        notes.append(f"The label text here does not mention {joined(scope.not_mentioned)}.")
    if scope is not None and scope.no_dose_for:
        notes.append(f"The label text here gives doses for other routes, none for: {joined(scope.no_dose_for)}.")
    return notes


def _mentions(text: str, population: str) -> bool:
    young = population in {"children", "infants", "adolescents"}
    return _ASKED_POPULATION[population].search(text) is not None or (young and _AGES.search(text) is not None)
