"""The extraction knows no disease, drug or question: it holds no rare word of the demonstration or of its questions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.language.vocabulary.common_words import is_ordinary

PROJECT = Path(__file__).resolve().parents[2]
CODE = [
    *sorted((PROJECT / "chat_app/offline/composition").glob("*.py")),
    *sorted((PROJECT / "chat_app/offline/extraction").glob("*.py")),
    *sorted((PROJECT / "tools/guidelines/search").glob("*.py")),
    PROJECT / "chat_app/offline/extractive.py",
    PROJECT / "tools/language/quotable_units.py",
]
DEMO = PROJECT / "tools/guidelines/demo"
DRUGS = PROJECT / "tools/drug_database/demo"
GENERAL = frozenset(
    [
        "adverse",
        "allergic",
        "allergy",
        "antidote",
        "clearance",
        "contraindicated",
        "contraindications",
        "creatinine",
        "dialysis",
        "dosage",
        "dosed",
        "doses",
        "dosing",
        "egfr",
        "formulations",
        "guideline",
        "guidelines",
        "hepatic",
        "impairment",
        "indications",
        "inpatient",
        "interactions",
        "medications",
        "outpatient",
        "outpatients",
        "overdose",
        "pediatric",
        "pregnant",
        "renal",
        "severity",
        "strengths",
        "toxicity",
        "unsafe",
        "yearly",
    ]
)
"""Rare in ordinary English and general in medicine: sections of labels, organs and patients, whatever the drug."""
_WORD = re.compile(r"[a-z]{4,}")


def literals(source: str) -> Iterator[str]:
    """Yield the string literals of a module but for its docstrings."""
    tree = ast.parse(source)
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in remarks:
            yield node.value


def rare_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if not is_ordinary(word)} - GENERAL


def headings() -> str:
    lines = [line for path in DEMO.glob("*.md") for line in path.read_text(encoding="utf-8").splitlines()]
    return " ".join(line for line in lines if line.startswith(("#", "title", "Table")))


def drug_names() -> set[str]:
    rows = [row for path in DRUGS.glob("*.json") for row in _rows(json.loads(path.read_bytes()))]
    return {word for row in rows for name in _names(row) for word in _WORD.findall(name.lower())}


def _rows(body: Any) -> list[Any]:
    return body if isinstance(body, list) else next(value for value in body.values() if isinstance(value, list))


def _names(row: Any) -> list[str]:
    return [row.get("generic_name", ""), *row.get("brand_names", ())]


def named_in_code(known: set[str]) -> dict[str, set[str]]:
    words = {path.name: set(_WORD.findall(" ".join(literals(path.read_text())).lower())) for path in CODE}
    return {name: found for name, held in words.items() if (found := known & held)}


def test_no_literal_is_a_rare_word_of_a_demonstration_title_or_heading() -> None:
    known = rare_words(headings())
    assert len(known) > 50
    assert named_in_code(known) == {}


def test_no_literal_is_the_name_of_a_medicine() -> None:
    known = rare_words(" ".join(drug_names()))
    assert len(known) > 250
    assert named_in_code(known) == {}


def test_no_literal_is_a_rare_word_of_a_demonstration_or_development_question(shared: Path) -> None:
    folder = shared / "data/answers"
    files = [folder / "demo_paraphrases_dev.jsonl", folder / "kqa_dev.jsonl"]
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    for file in (folder / "cpgqa_dev.json", DEMO / "questions.json"):
        rows += json.loads(file.read_bytes())
    assert named_in_code(rare_words(" ".join(row["question"] for row in rows))) == {}
