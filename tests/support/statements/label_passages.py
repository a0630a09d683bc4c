"""Passages of published labels that no other set of statements uses, and their sentences in other words.

The sentences are changed by fixed replacements, so that a true statement need not repeat its source.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from tools.language.sentences import sentences
from tools.language.terms import clean

SETS = Path(__file__).parent
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCES = 8
_REWORDED = (
    (r"\bprior to\b", "before"),
    (r"\bapproximately\b", "about"),
    (r"\bconcomitant(ly)?\b", r"simultaneous\1"),
    (r"\bshould not\b", "must not"),
    (r"\bis not recommended\b", "cannot be recommended"),
    (r"\bare not recommended\b", "cannot be recommended"),
    (r"\b(?:was|were) not observed\b", "did not occur"),
    (r"\bno evidence of\b", "not any evidence of"),
    (r"\bno significant\b", "no relevant"),
    (r"\bdid not\b", "didn't"),
    (r"\bdoes not\b", "doesn't"),
    (r"\bhave not been established\b", "are not established"),
    (r"\bhas not been studied\b", "was never studied"),
    (r"\bshould be avoided\b", "is to be avoided"),
    (r"\bgreater than\b", "more than"),
    (r"\bless than\b", "below"),
    (r"\btwice daily\b", "two times a day"),
    (r"\bonce daily\b", "once a day"),
    (r"(?<=\d) ?mg\b(?!/)", " milligrams"),
    (r"(?<=\d)%", " percent"),
    (r"\bpatients\b", "people"),
    (r"\bin combination with\b", "together with"),
    (r"\bincreased\b", "raised"),
    (r"\badminister(?:ed)?\b", "given"),
    (r"\bmay\b(?! not)", "can"),
    (r"\breceiving\b", "taking"),
    (r"\btwo\b", "2"),
    (r"\bthree\b", "3"),
)
_LEADING = re.compile(r"((?:In|For|During|After|Among|When|If) [^,;:()]{8,80}), ((?:the |a )?[a-z][^,;:]+)\.")
_FEWEST_CHANGES = 2


def label_passages(shared: Path) -> list[tuple[str, str]]:
    """Return the passages of SPL and openFDA labels, and those of annotated labels that no stored set holds."""
    used = [clean(one["text"]) for file in SETS.glob("*.json") for one in json.loads(file.read_text())["passages"]]
    return [
        (name, passage)
        for name, text in _texts(shared)
        for passage in _windows(text)
        if not any(passage[:60] in other or passage[-60:] in other for other in used)
    ]


def _texts(shared: Path) -> Iterator[tuple[str, str]]:
    for file in sorted((shared / "drugs" / "spl").glob("*.xml")):
        paragraphs = ET.parse(file).iter("{urn:hl7-org:v3}paragraph")
        yield file.stem, "\n\n".join("".join(one.itertext()) for one in paragraphs)
    for label in json.loads((shared / "drugs" / "openfda-label_5rows.json").read_text())["results"]:
        texts = (text for value in label.values() if isinstance(value, list) for text in value if isinstance(text, str))
        yield label["id"], "\n\n".join(texts)
    for line in (shared / "answers" / "interactions_dev.jsonl").read_text().splitlines():
        row = json.loads(line)
        yield row["label"], row["text"]


def _windows(text: str) -> Iterator[str]:
    parts = [sentence for paragraph in _PARAGRAPH.split(text) for sentence in sentences(clean(paragraph))]
    for start in range(0, len(parts), _SENTENCES):
        yield " ".join(parts[start : start + _SENTENCES])


def reworded(sentence: str, rng: random.Random) -> str | None:
    """Return ``sentence`` with at least two parts replaced or moved; None where too few replacements fit."""
    changed, count = sentence, 0
    for pattern, instead in rng.sample(_REWORDED, len(_REWORDED)):
        other = re.sub(pattern, instead, changed)
        count, changed = count + (other != changed), other
    if moved := _LEADING.fullmatch(changed):
        changed, count = f"{moved[2][0].upper()}{moved[2][1:]} {moved[1][0].lower()}{moved[1][1:]}.", count + 1
    return changed if count >= _FEWEST_CHANGES else None
