"""Related words by WordNet: synonyms, derived words and similar adjectives (``related/README.md`` names the source)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("related") / "related.tsv"


def related_forms(term: str) -> tuple[frozenset[str], ...]:
    """Return the terms of each word or phrase that is related to the word of ``term``."""
    return tuple(frozenset(form.split()) for form in _related().get(term, "").split(";") if form)


@cache
def _related() -> Mapping[str, str]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {term: forms for term, _, forms in (line.partition("\t") for line in lines)}
