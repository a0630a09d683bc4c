"""Finds the label that covers the asked form, route and population, and notes what the shown label does not cover."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from tools.drug_database.names.name_keys import joined
from tools.drug_database.names.query_words import FORMS, TypedQuery
from tools.drug_database.records.drug_record import DrugRecord, Label, Product, SectionName
from tools.drug_database.records.queries import DrugHit, LabelScope
from tools.drug_database.records.shipped_data import Shipped, shipped
from tools.language.folding import fold_name
from tools.language.vocabulary.common_words import is_function_word
from tools.language.vocabulary.populations import MOTHERS, YOUNG, Population, speaks_of
from tools.language.vocabulary.text_language import language_of


class FormWords(Shipped):
    """``data/form_words.json``: words for dosage forms and routes, in the words of FDA's lists."""

    typed: dict[str, str]
    """Single words that clinicians type for a form or route."""
    phrases: dict[str, str]
    """Phrases that clinicians type for a form or route."""
    releases: dict[str, str]
    """Abbreviations for a release, without those that are words of some language, such as ``er``."""
    body_parts: dict[str, str]
    applied: frozenset[str]
    """Words beside which a part of the body is a route. Without one ("a skin infection") it is not."""
    places: frozenset[str]
    """Routes that are places of the body. Next to one of ``symptoms`` ("blood PR") they are no routes."""
    symptoms: frozenset[str]
    qualities: frozenset[str]
    """Words that may be between a place and a symptom ("rectal fresh bleeding")."""
    routes: dict[str, frozenset[str]]
    """The routes that a form or route word asks for; a word of a release (``XR``) asks for none."""


WORDS: Final = shipped("form_words.json", FormWords)
_INJECTED: Final = frozenset({"intravenous", "intramuscular", "subcutaneous"})
_LOCAL: Final = frozenset({"ophthalmic", "otic", "nasal", "topical", "vaginal"})
_FORMS: Final = frozenset({"cream", "ointment", "lotion", "lozenge"})
"""Forms that differ although their route is the same: a cream is not a lotion."""
_RELEASES: Final = frozenset(WORDS.releases.values())
_ORDER: Final = {True: 0, None: 1, False: 2}
_SECTIONS: Final[dict[Population, SectionName]] = {
    "pregnancy": "pregnancy",
    "breastfeeding": "lactation",
    "children": "pediatric_use",
    "older patients": "geriatric_use",
}
"""The section of a label on each population."""
_AGES: Final = re.compile(r"\b(?:aged? |years|months|mg/kg)\b", re.IGNORECASE)


def asked_forms(words: Sequence[str]) -> tuple[str, ...]:
    """Return the forms and routes that folded ``words`` ask for, in FDA's words."""
    parts = {} if WORDS.applied.isdisjoint(words) else WORDS.body_parts
    usual = [WORDS.typed.get(word) or parts.get(word.removesuffix("s")) or word.removesuffix("ly") for word in words]
    releases = (WORDS.releases[word] for word in words if word in WORDS.releases)
    text = f" {' '.join(words)} "
    said = (form for phrase, form in WORDS.phrases.items() if f" {phrase} " in text)
    known = (word for at, word in enumerate(usual) if word in WORDS.routes and not _is_of_symptom(word, words, at))
    return tuple(dict.fromkeys([*known, *said, *releases]))


def _is_of_symptom(route: str, words: Sequence[str], at: int) -> bool:
    """Return whether a route is the place of a symptom that is named directly before or after it."""
    before, after = ([one for one in part if one not in WORDS.qualities] for part in (words[:at], words[at + 1 :]))
    return route in WORDS.places and not WORDS.symptoms.isdisjoint([*before[-1:], *after[:1]])


def form_words(question: TypedQuery, text: str) -> list[str]:
    """Return the words of ``question`` that may name a form, for ``asked_forms``; ``text`` is what was typed.

    A function word of the text's language, as in "im Alter", counts only in capitals or as the last word ("5 mg IM").
    The others are empty in the result, so that the words around them are not next to each other.
    """
    *words, last = question.words or ("",)
    language = language_of(text)
    return [
        *(word if word in question.capitals or not is_function_word(word, language) else "" for word in words),
        last,
    ]


def is_form_word(word: str) -> bool:
    """Return whether the folded ``word`` belongs to the name of a form or route."""
    return word in FORMS or word in WORDS.typed or word in WORDS.body_parts or word.removesuffix("ly") in WORDS.routes


def with_asked_label_first(record: DrugRecord, forms: Sequence[str], brand: str = "") -> DrugRecord:
    """Order the record's labels: those that cover all asked forms first, then those of ``brand``, then the others.

    Among the others, those with the routes and forms of the brand's products come first.
    """
    if len(record.labels) < 2 or not (forms or brand):
        return record
    sold = _sold_as(record, brand)
    routes = _words(route for product in sold for route in product.routes)
    shapes = _words(product.dosage_form for product in sold)

    def order(label: Label) -> tuple[int, bool, int, int]:
        fits, known = covers(record, label, forms), _words(label.routes)
        shares = not routes.isdisjoint(known) if routes and known else None
        held = len(shapes & _words(label.dosage_forms))
        return _ORDER[fits], not _is_of(label, brand), _ORDER[shares], -held

    return record.model_copy(update={"labels": tuple(sorted(record.labels, key=order))})


def labelled_first(hits: Sequence[DrugHit]) -> list[DrugHit]:
    """Put the records with a label of the named brand before other records of that brand."""
    runs = groupby(hits, key=lambda hit: hit.matched)
    return [hit for _, run in runs for hit in sorted(run, key=_lacks_own_label)]


def _sold_as(record: DrugRecord, brand: str) -> list[Product]:
    """Return the products of ``brand``."""
    return [product for product in record.products if fold_name(product.brand_name) == fold_name(brand)]


def _lacks_own_label(hit: DrugHit) -> bool:
    return hit.matched.how == "brand" and not any(_is_of(label, hit.matched.on) for label in hit.record.labels)


def _is_of(label: Label, brand: str) -> bool:
    """Return whether the label is of ``brand``, which may leave out a device (``HFA``) but not a release (``XR``)."""
    typed, own = fold_name(brand).split(), fold_name(label.brand_name).split()
    more = own[len(typed) :]
    releases = _RELEASES.intersection(WORDS.typed.get(word, WORDS.releases.get(word)) for word in more)
    return bool(typed) and own == [*typed, *more] and not releases


def covers(record: DrugRecord, label: Label, forms: Iterable[str]) -> bool | None:
    """Return whether the label is for the asked forms and routes; None if the question or the label names none."""
    routes, held = _words(label.routes), _words(label.dosage_forms)
    known = [form for form in forms if form in WORDS.routes and (routes or (held and form in _FORMS))]
    if not known:
        return None
    return all(
        (not routes or not routes.isdisjoint(_routes(record, [form])))
        and (form not in _FORMS or not held or form in held)
        for form in known
    )


def doses_for(record: DrugRecord, sentences: Sequence[str], forms: Sequence[str]) -> tuple[str, ...]:
    """Return the dose ``sentences`` of the first label that are not for another route or release than ``forms``.

    A sentence that names no route counts, except for a local route (eye, ear, nose, skin, vagina) of a medicine that
    is also taken by other routes.
    """
    asked = _routes(record, forms)
    said = [_routes_in(record, sentence) for sentence in sentences]
    known = _routes_of(record)
    unsaid = not (asked <= _LOCAL and known - _LOCAL)
    return tuple(
        sentence
        for sentence, routes in zip(sentences, said, strict=True)
        if (not asked or (routes and not asked.isdisjoint(routes)) or (not routes and unsaid))
        and not _is_other_release(sentence, forms)
    )


def _is_other_release(sentence: str, forms: Sequence[str]) -> bool:
    asked, folded = _RELEASES.intersection(forms), fold_name(sentence)
    named = {name for name in _RELEASES if name in folded}
    return bool(asked and named) and asked.isdisjoint(named)


def _words(names: Iterable[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in fold_name(name).split())


def _routes(record: DrugRecord, forms: Iterable[str]) -> frozenset[str]:
    """Return the routes of ``forms``.

    For a dosage form these are the routes of the medicine's products in that form, if there are any: tablets may all be
    sublingual.
    """
    found: set[str] = set()
    for form in forms:
        sold = [product for product in record.products if form in fold_name(product.dosage_form).split()]
        found |= _words(route for product in sold for route in product.routes) or WORDS.routes.get(form, frozenset())
    return frozenset(found)


def _routes_in(record: DrugRecord, text: str) -> frozenset[str]:
    return _routes(record, asked_forms(fold_name(text).split()))


def _routes_of(record: DrugRecord) -> frozenset[str]:
    """Return the routes of the first label, or, if it names none, those of the medicine's products."""
    return _words(record.labels[0].routes or (route for product in record.products for route in product.routes))


def _without_dose(record: DrugRecord, forms: Sequence[str]) -> bool:
    """Return whether the first label has doses, but none for ``forms``.

    If the medicine is also taken orally, a dose is one by injection only if it says so.
    """
    doses = record.labels[0].sections.get("dosage", ())
    asked = _routes(record, forms)
    if not asked or not doses:
        return False
    if asked <= _INJECTED and "oral" in _routes_of(record) and covers(record, record.labels[0], forms) is not False:
        return all(asked.isdisjoint(_routes_in(record, dose)) for dose in doses)
    return not doses_for(record, doses, forms)


def scope_of(
    record: DrugRecord, forms: Sequence[str], populations: Sequence[Population], brand: str = ""
) -> LabelScope | None:
    """Return which of the asked forms and populations the first label covers; None for a record without a label.

    If the label is of another brand than the asked one, the routes of the asked brand's products count as asked.
    """
    if not record.labels:
        return None
    label = record.labels[0]
    other = bool(brand and label.brand_name) and not _is_of(label, brand)
    routes = dict.fromkeys(fold_name(route) for product in _sold_as(record, brand) for route in product.routes)
    implied = tuple(route for route in routes if route in WORDS.routes) if other and not forms else ()
    named = f"{label.brand_name} ({', '.join(label.routes)})" if label.routes else label.brand_name
    return LabelScope(
        asked=(brand, *forms) if other else tuple(form for form in forms if not covers(record, label, [form])),
        implied=implied,
        dosage_forms=label.dosage_forms,
        routes=(named,) if other else label.routes,
        fits=False if other else covers(record, label, forms),
        not_mentioned=tuple(name for name in populations if not _mentions(label, name, populations)),
        no_dose_for=(*forms, *implied) if _without_dose(record, (*forms, *implied)) else (),
    )


def scope_notes(scope: LabelScope | None) -> list[str]:
    """Return notes on an asked form, population or dose that the shown label does not cover."""
    if scope is None:
        return []
    notes: list[str] = []
    if scope.fits is False:
        shown = joined(scope.routes or scope.dosage_forms)
        notes.append(f"Asked for: {joined(scope.asked)}. No label for that is loaded; the label shown is for: {shown}.")
    if scope.not_mentioned:
        notes.append(f"The label text here does not mention {joined(scope.not_mentioned)}.")
    if scope.no_dose_for:
        notes.append(f"No dose in the label text here is said to be for: {joined(scope.no_dose_for)}.")
    return notes


def _mentions(label: Label, population: Population, asked: Sequence[Population]) -> bool:
    """Return whether the label speaks of ``population``.

    Children in the sections on mothers count only if mothers are asked about, too.
    """
    apart = [_SECTIONS[mothers] for mothers in MOTHERS if population in YOUNG and MOTHERS.isdisjoint(asked)]
    text = " ".join(line for section, lines in label.sections.items() if section not in apart for line in lines)
    has_section = bool((section := _SECTIONS.get(population)) and label.sections.get(section))
    return has_section or speaks_of(text, population) or (population in YOUNG and _AGES.search(text) is not None)
