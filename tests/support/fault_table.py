"""The column of ``docs/faults.md`` that names the tests of each row, from the rows that tests cite.

``python -m tests.support.fault_table`` writes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
FAULTS = PROJECT / "docs" / "faults.md"
_CITED = re.compile(r"\brows? (\d+(?:(?:, | and )\d+)*)", re.IGNORECASE)
_ROW = re.compile(r"^\| (\d+) \|.*\|$", re.MULTILINE)


def cited_rows() -> dict[int, set[str]]:
    """Return the test modules that cite each row in a docstring."""
    found: dict[int, set[str]] = defaultdict(set)
    for folder in ("unit", "integration", "faults", "properties", "security", "e2e"):
        for path in (PROJECT / "tests" / folder).glob("test_*.py"):
            for docstring in re.findall(r'"""(.*?)"""', path.read_text("utf-8"), re.DOTALL):
                for numbers in _CITED.findall(docstring):
                    for number in re.findall(r"\d+", numbers):
                        found[int(number)].add(f"{folder}/{path.name}")
    return found


def documented_rows() -> set[int]:
    """Return the numbers of the rows in the document."""
    return {int(number) for number in _ROW.findall(FAULTS.read_text("utf-8"))}


def with_tests(document: str) -> str:
    """Return ``document`` with the tests of each row in its last column."""
    cited = cited_rows()

    def row(match: re.Match[str]) -> str:
        cells = match[0].split(" | ")
        tests = ", ".join(f"[{name}](../tests/{name})" for name in sorted(cited[int(match[1])]))
        return " | ".join([*cells[:3], f"{tests} |"]).replace("  |", " |")

    return _ROW.sub(row, document)


if __name__ == "__main__":
    FAULTS.write_text(with_tests(FAULTS.read_text("utf-8")), encoding="utf-8")
