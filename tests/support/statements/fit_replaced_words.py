"""Fits the thresholds of replaced words on the sets that may be seen.

Run ``python -m tests.support.statements.fit_replaced_words``. Each fifth of the passages is judged with the thresholds
that are best on the other four.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from chat_app.agent.statements import replaced_words
from chat_app.agent.statements.support import unsupported
from tools.types import Passage

SETS = Path(__file__).parent
FOLDS = 5
_SEEN = {"model_statements": 0, "independent_statements": 1}
"""The sets of which every second statement may be seen, from this one on."""
_ALARM = 4
"""Errors that must be found for each right statement that is marked."""
Row = tuple[str, Passage, bool, int]


def seen() -> Iterator[Row]:
    """Yield the statements that may be seen, with their passage, whether it supports them, and their fold."""
    for file in sorted(SETS.glob("*_statements*.json")):
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        pairs = data["pairs"][_SEEN[file.stem] :: 2] if file.stem in _SEEN else data["pairs"]
        for pair in pairs if file.stem != "guideline_statements" else ():
            if pair.get("used", True) or file.stem != "twin_statements":
                text = data["passages"][pair["passage"]]["text"]
                passage = Passage(id="p", kind="guideline", document_id="d", title="", text=text)
                yield pair["statement"], passage, pair["supported"], pair["passage"] % FOLDS


def main() -> None:
    """Print the thresholds that are best for each fold, and the errors and false alarms on the fold itself."""
    rows = list(seen())
    marked: dict[tuple[float, float, float], list[bool]] = {}
    for values in product((0.5, 0.6, 0.65, 0.7, 0.8), (0.1, 0.15, 0.2, 0.3), (0.7, 0.8, 0.9)):
        vars(replaced_words).update(zip(("_COVERED", "_FARTHER", "_OPPOSED"), values, strict=True))
        marked[values] = [bool(unsupported(statement, [passage])) for statement, passage, *_ in rows]
    for fold in range(FOLDS):

        def score(values: tuple[float, float, float], fold: int = fold) -> float:
            others = [(mark, row) for mark, row in zip(marked[values], rows, strict=True) if row[3] != fold]
            return sum(-_ALARM if supported else 1 for mark, (_, _, supported, _) in others if mark)

        best = max(marked, key=score)
        own = [supported for mark, (*_, supported, at) in zip(marked[best], rows, strict=True) if mark and at == fold]
        print(f"fold {fold}: {best}, {own.count(False)} errors found, {own.count(True)} false alarms")


if __name__ == "__main__":
    main()
