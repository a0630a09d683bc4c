"""How many wrong statements about drug labels and guidelines the checker finds, and how many right ones it doubts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from chat_app.agent.statements.support import unsupported
from tools.drug_database import DrugDatabase
from tools.types import Passage

STATEMENTS = Path(__file__).parents[1] / "support" / "statements"


@pytest.mark.parametrize(
    ("name", "least_precision", "least_recall"),
    [
        ("label_statements", 0.95, 0.90),
        ("rephrased_statements", 0.95, 0.87),
        ("edited_statements", 0.97, 0.91),
        ("twin_statements", 0.93, 0.87),
        ("guideline_statements_used", 0.95, 0.87),
        ("guideline_statements", 0.94, 0.80),
        ("independent_statements", 0.86, 0.71),
        ("model_statements", 0.88, 0.61),
    ],
)
async def test_edits_by_hand_are_found(
    drugs: DrugDatabase, name: str, least_precision: float, least_recall: float
) -> None:
    """Edits of labels and guidelines.

    ``guideline_statements`` and half of the rephrased, the independent and the model ones were not looked at.
    """
    await drugs.load()
    data = json.loads((STATEMENTS / f"{name}.json").read_text(encoding="utf-8"))
    found: Counter[tuple[bool, bool]] = Counter()
    for pair in data["pairs"]:
        source = data["passages"][pair["passage"]]
        passage = Passage(id="p", kind="drug_record", document_id="d", title=source["document"], text=source["text"])
        found[pair["supported"], bool(unsupported(pair["statement"], [passage], drugs.ingredients_of))] += 1
    right = found[False, True]
    assert right / (right + found[True, True]) >= least_precision, found
    assert right / (right + found[False, False]) >= least_recall, found
