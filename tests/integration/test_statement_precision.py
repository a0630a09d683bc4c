"""How many wrong statements the checker finds, and how many right ones it doubts, on the half kept for this."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from chat_app.agent.statements.support import unsupported
from tests.support.statements.pairs import Pair, build_label_pairs, build_pairs
from tools.drug_database import DrugDatabase
from tools.drug_database.importers import demo
from tools.types import Passage

pytestmark = pytest.mark.slow

SHARED = Path(os.environ.get("ASCLEPIUS_SHARED", "../shared")) / "data"
LEAST_PRECISION = 0.95
LEAST_RECALL = 0.90


def drug_names() -> list[str]:
    """Single-word generic names of the demonstration records."""
    return sorted({name for record in demo.records() if " " not in (name := record.generic_name) and len(name) > 5})


@pytest.mark.parametrize("sources", ["demonstration", "published", "labels"])
async def test_precision_and_recall_on_the_held_out_half(drugs: DrugDatabase, sources: str) -> None:
    if sources != "demonstration" and not SHARED.is_dir():
        pytest.skip("the published guidelines and labels are not here (ASCLEPIUS_SHARED)")
    await drugs.load()
    if sources == "labels":
        pairs = build_label_pairs(drug_names(), SHARED)
    else:
        pairs = build_pairs(drug_names(), SHARED / "guidelines" if sources == "published" else None)
    held_out = [pair for pair in pairs if not pair.is_for_development]
    assert len(held_out) >= 300

    found: Counter[tuple[bool, bool]] = Counter()
    missed: list[Pair] = []
    for pair in held_out:
        passage = Passage(id="p", kind="guideline", document_id=pair.document, title=pair.document, text=pair.passage)
        marked = bool(unsupported(pair.statement, [passage], drugs.ingredients_of))
        found[pair.supported, marked] += 1
        if marked == pair.supported:
            missed.append(pair)

    right = found[False, True]
    precision, recall = right / (right + found[True, True]), right / (right + found[False, False])
    summary = f"precision {precision:.3f}, recall {recall:.3f}, {Counter(pair.kind for pair in missed)} wrong"
    assert precision >= LEAST_PRECISION, summary
    assert recall >= LEAST_RECALL, summary
