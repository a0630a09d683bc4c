"""Builds labelled pairs of a statement and a passage from guideline texts, always the same ones.

Supported are sentences as they are and paraphrases written by hand. Not supported are the same sentences with one
change: another number, another unit, a negation more or less, or another drug's name. Half of the pairs, chosen by a
hash of the statement, is for development; figures are reported on the other half.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tests.support.statements.label_passages import label_passages, reworded
from tests.support.statements.paraphrases import PARAPHRASES
from tools.documents.page_words import page_texts
from tools.language.sentences import sentences
from tools.language.terms import clean

Kind = Literal["verbatim", "paraphrase", "number", "unit", "negation", "drug"]
DEMO = Path(__file__).parents[3] / "tools" / "guidelines" / "demo"
_UNITS = {
    "mg": ("g", "µg"), "g": ("mg",), "µg": ("mg",), "kg": ("lb",), "mmol/L": ("mg/dL",), "mg/dL": ("mmol/L",),
    "hours": ("days", "weeks"), "days": ("weeks", "hours"), "weeks": ("months", "days"), "months": ("weeks", "years"),
    "years": ("months",), "minutes": ("hours",), "mL": ("L",), "units": ("mg",), "percent": ("mg",), "kg/m2": ("mg",),
}  # fmt: skip
_FLIPS = (
    (r"\bmust not be\b", "must be"),
    (r"\bshould not be\b", "should be"),
    (r"\bis not\b", "is"),
    (r"\bare not\b", "are"),
    (r"\bDo not (\w)", r"\1"),
    (r"\bdoes not\b", "does"),
    (r"\bdid not\b", "did"),
    (r"\bcannot\b", "can"),
    (r"\bshould not\b", "should"),
    (r"\bcontraindicated\b", "indicated"),
    (r"(?<!or )\bwithout\b", "with"),
    (r"\bNo (?=\w+ \w+ing)", "A "),
    (r"\bshould be avoided\b", "should be used"),
    (r"\bmust be avoided\b", "must be given"),
    (r"\bmust be\b", "must not be"),
    (r"\bshould be\b", "should not be"),
    (r"\bis recommended\b", "is not recommended"),
    (r"\bare recommended\b", "are not recommended"),
    (r"\bshould\b(?! not)", "should not"),
    (r"\bmust\b(?! not)", "must not"),
    (r"\bis\b(?! no)", "is not"),
    (r"\bare\b(?! no)", "are not"),
    (r"\bcan\b(?! not)", "cannot"),
    (r"\bmay not\b", "may"),
    (r"\bmay\b", "may not"),
)
"""Denials are taken away first; where there is none, one is added."""


class Pair(NamedTuple):
    """A statement, the passage that it cites, and whether the passage supports it."""

    kind: Kind
    document: str
    passage: str
    statement: str

    @property
    def supported(self) -> bool:
        return self.kind in {"verbatim", "paraphrase"}

    @property
    def is_for_development(self) -> bool:
        """Whether the pair may be looked at while the checker is improved."""
        return hashlib.sha256(self.statement.encode()).digest()[0] % 2 == 0


def build_pairs(drugs: Sequence[str], shared: Path | None, *, each: int = 110) -> list[Pair]:
    """Return the pairs; ``drugs`` are the names that replace others, ``shared`` the folder of guideline PDFs."""
    passages = [*_demo_passages(), *(_pdf_passages(shared) if shared else ())]
    rng = random.Random(20_261_122)
    found = _found(passages, rng)
    true = [Pair("verbatim", *one) for one in found[: 2 * each]]
    return [*true, *_edited(found, rng, drugs, each), *_paraphrased(passages)]


def build_label_pairs(drugs: Sequence[str], shared: Path, *, each: int = 120) -> list[Pair]:
    """Return pairs of published labels: sentences, the same reworded by rules, and both with one change."""
    rng = random.Random(20_261_126)
    found = _found(label_passages(shared), rng)
    other = [(*one[:2], changed) for one in found if (changed := reworded(one[2], rng))]
    rng.shuffle(other)
    true = [Pair("verbatim", *one) for one in found[:each]] + [Pair("paraphrase", *one) for one in other[: 2 * each]]
    return [*true, *_edited(found[each:], rng, drugs, each // 2), *_edited(other[2 * each :], rng, drugs, each // 2)]


def _found(passages: Sequence[tuple[str, str]], rng: random.Random) -> list[tuple[str, str, str]]:
    found = [(document, passage, sentence) for document, passage in passages for sentence in _sentences(passage)]
    rng.shuffle(found)
    return found


def _edited(
    found: Sequence[tuple[str, str, str]], rng: random.Random, drugs: Sequence[str], each: int
) -> Iterator[Pair]:
    changes: dict[Kind, Callable[[str, random.Random, Sequence[str]], str | None]]
    changes = {"number": _number, "unit": _unit, "negation": _negation, "drug": _drug}
    for kind, change in changes.items():
        changed: list[Pair] = []
        for document, passage, sentence in found:
            other = change(sentence, rng, drugs)
            if other is not None and other != sentence and len(changed) < each:
                changed.append(Pair(kind, document, passage, other))
        yield from changed


def _paraphrased(passages: Sequence[tuple[str, str]]) -> Iterator[Pair]:
    loaded = {document for document, _ in passages}
    for document, words, statement in PARAPHRASES:
        holding = [passage for name, passage in passages if name == document and words in passage]
        assert holding or document not in loaded, f"{document}: {words}"
        if holding:
            yield Pair("paraphrase", document, holding[0], statement)


def _demo_passages() -> Iterator[tuple[str, str]]:
    for path in sorted(DEMO.glob("*.md")):
        body = path.read_text(encoding="utf-8").split("\n---\n", 1)[1].split("\n## Sources")[0]
        for part in re.split(r"\n(?=#{2,3} )", body):
            lines = [line for line in part.split("\n") if line.strip() and not line.startswith(("#", ">", "|---"))]
            for start in range(0, len(lines), 12):
                yield path.stem, "\n".join(lines[max(0, start - 2) : start + 12])


def _pdf_passages(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.pdf")):
        if "scan" in path.name.lower():
            continue
        for page in page_texts(path):
            words = clean(page).replace("\ufffe", "").replace("\uffe4", "")
            parts = sentences(words)
            for start in range(0, len(parts), 8):
                yield path.stem, " ".join(parts[max(0, start - 1) : start + 9])


def _sentences(passage: str) -> Iterator[str]:
    for line in passage.split("\n"):
        for sentence in sentences(re.sub(r"^(?:-|\d+\.) ", "", line)):
            words = sentence.split()
            whole = sentence[0].isupper() and sentence.endswith(".") and not sentence.startswith("Table")
            if 8 <= len(words) <= 40 and whole and not re.search(r"\. \.|et al|https?:|doi|\||,\d|[a-z]\.\d", sentence):
                yield sentence


def _number(sentence: str, rng: random.Random, _: Sequence[str]) -> str | None:
    found = list(re.finditer(r"(?<![\w.,/-])\d+(?:\.\d+)?(?![\w,]|\.\d)", sentence))
    if not found:
        return None
    place = rng.choice(found)
    value = float(place[0])
    other = rng.choice([value * 2, value * 10, value + 5, value / 2, value + 1, value * 3])
    return f"{sentence[: place.start()]}{other:g}{sentence[place.end() :]}"


def _unit(sentence: str, rng: random.Random, _: Sequence[str]) -> str | None:
    pattern = rf"(?<=\d) ({'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})(?![\w/])"
    found = list(re.finditer(pattern, sentence))
    if not found:
        return None
    place = rng.choice(found)
    return f"{sentence[: place.start(1)]}{rng.choice(_UNITS[place[1]])}{sentence[place.end(1) :]}"


def _negation(sentence: str, _: random.Random, __: Sequence[str]) -> str | None:
    for pattern, instead in _FLIPS:
        changed = re.sub(pattern, instead, sentence, count=1)
        if changed != sentence:
            return changed[0].upper() + changed[1:]
    return None


def _drug(sentence: str, rng: random.Random, drugs: Sequence[str]) -> str | None:
    named = [name for name in drugs if re.search(rf"\b{re.escape(name)}\b", sentence, re.IGNORECASE)]
    if not named:
        return None
    other = rng.choice([name for name in drugs if not re.search(rf"\b{re.escape(name)}\b", sentence, re.IGNORECASE)])
    return re.sub(rf"\b{re.escape(rng.choice(named))}\b", other, sentence, flags=re.IGNORECASE)
