"""Looks up related words: those of WordNet, and those that clinicians and labels use for each other.

``related/README.md`` and ``clinical/README.md`` name the sources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tools.language.quotable_units import term_set
from tools.language.vocabulary.clinical_vocabulary import entries

FILE: Final = Path(__file__).with_name("related") / "related.tsv"


def related_forms(term: str) -> tuple[frozenset[str], ...]:
    """Return the terms of each word or phrase that is related to ``term``."""
    return tuple(dict.fromkeys((*_by_wordnet().get(term, ()), *_clinical().get(term, ()))))


@cache
def _by_wordnet() -> Mapping[str, Sequence[frozenset[str]]]:
    lines = (line.partition("\t") for line in FILE.read_text(encoding="utf-8").splitlines())
    return {term: [frozenset(form.split()) for form in forms.split(";")] for term, _, forms in lines}


@cache
def _clinical() -> Mapping[str, Sequence[frozenset[str]]]:
    found: dict[str, list[frozenset[str]]] = defaultdict(list)
    for word, phrases in entries("related.tsv"):
        for term in term_set(word):
            forms = [form for form in map(term_set, phrases) if form and term not in form]
            found[term] += forms
            for related in (related for form in forms if len(form) == 1 for related in form):
                found[related].append(frozenset({term}))
    return found
