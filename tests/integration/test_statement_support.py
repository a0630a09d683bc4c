"""How many wrong statements about drug labels the checker finds, and how many right ones it doubts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from chat_app.agent.statements.support import unsupported
from tools.drug_database import DrugDatabase
from tools.types import Passage

LABEL_STATEMENTS = Path(__file__).parents[1] / "support" / "statements" / "label_statements.json"
LEAST_PRECISION = 0.95
LEAST_RECALL = 0.90


async def test_edits_of_drug_labels_are_found(milvus_uri: str) -> None:
    """Edits by hand of FDA labels and an opioid guideline. Before the last change .706 of them were found, unseen."""
    drugs = DrugDatabase(milvus_uri)
    await drugs.load_demo()
    await drugs.load()
    data = json.loads(LABEL_STATEMENTS.read_text(encoding="utf-8"))
    found: Counter[tuple[bool, bool]] = Counter()
    for pair in data["pairs"]:
        source = data["passages"][pair["passage"]]
        passage = Passage(id="p", kind="drug_record", document_id="d", title=source["document"], text=source["text"])
        found[pair["supported"], bool(unsupported(pair["statement"], [passage], drugs.ingredients_of))] += 1
    await drugs.aclose()
    right = found[False, True]
    assert right / (right + found[True, True]) >= LEAST_PRECISION, found
    assert right / (right + found[False, False]) >= LEAST_RECALL, found
