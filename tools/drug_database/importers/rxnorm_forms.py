"""RxNorm's dose forms in FDA's words: ``Extended Release Oral Tablet`` is ``tablet, extended release``, oral."""

from __future__ import annotations

from functools import cache

from tools.drug_database.names.name_keys import shipped
from tools.types import Frozen


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
    """Return FDA's name of the dose form and its routes; an unknown form as RxNorm writes it, in lower case."""
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
