"""Queries as they are typed in a hurry, built by rule from FDA's and NLM's files: a second set beside ``drug_queries``.

It is stricter than that one: misspellings of one and two wrong letters anywhere in the name, sound-alike spellings,
words glued together or torn apart, strengths glued to names, trade marks, RxNorm's full names of clinical drugs,
combinations with every joining sign, and classes and misspelt names inside questions.
"""

from __future__ import annotations

import io
import random
import re
import string
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from chat_app.evaluation.drug_evaluation import EvaluationQuery
from tests.support.drug_queries import table
from tools.drug_database.names.name_keys import base_moieties, base_moiety
from tools.language.folding import fold_name

T = TypeVar("T")
_HEARD = (
    ("ph", "f"),
    ("f", "ph"),
    ("c", "k"),
    ("k", "c"),
    ("x", "ks"),
    ("z", "s"),
    ("s", "z"),
    ("y", "i"),
    ("i", "y"),
    ("th", "t"),
    ("ae", "e"),
    ("qu", "kw"),
    ("ch", "k"),
    ("ine", "een"),
    ("ide", "id"),
    ("il", "yl"),
    ("or", "er"),
    ("an", "en"),
    ("ll", "l"),
    ("m", "mm"),
    ("u", "oo"),
    ("j", "g"),
    ("w", "v"),
)
_QUESTIONS = (
    "what is the dose of {}",
    "can i give {} in pregnancy",
    "{} dosing in renal failure",
    "the {}",
    "iv {} dose",
    "{} 0.5% eye drops",
    "side effects of {}",
    "tell me about {}",
    "does {} interact with alcohol",
    "Is {} contraindicated in asthma?",
    "{}, 5 mg, tablet",
    "how long does {} take to work",
)
_CLASSES = ("{}", "{}s", "what are the {}s", "list of {}s", "which {}s are available", "examples of {}s")
_JOINTS = (" ", " and ", "/", "-", " + ", ", ", " with ", " & ")


def build(folder: Path, *, seed: int, each: int = 40) -> list[EvaluationQuery]:
    """About twelve times ``each`` queries from the files of ``shared/data/drugs``."""
    return list(_Builder(folder, random.Random(seed), each).queries())


class _Builder:
    def __init__(self, folder: Path, chance: random.Random, each: int) -> None:
        self._chance, self._each = chance, each
        self.generics: Counter[str] = Counter()
        self.brands: dict[str, set[str]] = defaultdict(set)
        self.combinations: Counter[tuple[str, ...]] = Counter()
        self.classes: Counter[str] = Counter()
        for row in table(folder / "ndctext_2015-12.zip", "product.txt", "\t"):
            self._learn(row)
        self.clinical = list(_clinical_drugs(folder / "rxnorm_prescribable_2025-10.zip"))
        self._known = {fold_name(name).replace(" ", "") for name in (*self.generics, *self.brands)}

    def _learn(self, row: dict[str, str]) -> None:
        bases = base_moieties(name.strip().lower() for name in row["SUBSTANCENAME"].split(";"))
        brand = row["PROPRIETARYNAME"].strip().lower()
        folded = fold_name(brand)
        if bases and brand and not any(base in folded or folded in base for base in map(fold_name, bases)):
            self.brands[brand] |= set(bases)
        if len(bases) == 1:
            self.generics[bases[0]] += 1
        elif 2 <= len(bases) <= 3:
            self.combinations[tuple(sorted(bases))] += 1
        names = row["PHARM_CLASSES"].replace("],", "]\n").split("\n")
        self.classes.update(name for name in names if name.endswith("[EPC]"))

    def queries(self) -> Iterator[EvaluationQuery]:
        words = [name for name, count in self.generics.items() if count >= 2 and len(name) >= 6 and name.isalpha()]
        brands = [name for name in self.brands if len(name) >= 6 and re.fullmatch("[a-z -]+", name)]
        yield from self._named("typed", words, self._written)
        yield from self._named("typed", brands, lambda name: name.upper() + self._chance.choice("™®!. "))
        yield from self._named("typed", brands, lambda name: name.replace(" ", ""))
        yield from self._named("question", [*words, *brands], self._asked)
        for letters in (1, 2):
            fitting = [name for name in (*words, *brands) if len(name) >= 4 + 2 * letters]
            for _ in range(2):
                yield from self._named(f"misspelt_{letters}", fitting, partial(self._misspelt, letters=letters))
        yield from self._named("misspelt_question", words, lambda name: self._asked(self._misspelt(name, 1)))
        for bases in self._pick(names for names, count in self.combinations.items() if count >= 3):
            text = self._chance.choice(_JOINTS).join(self._chance.sample(bases, len(bases)))
            yield EvaluationQuery(type="combination", query=text, expect=bases)
        for name, base in self._pick(self.clinical):
            yield EvaluationQuery(type="clinical_drug", query=name, expect=(base,))
        for name in self._pick(name for name, count in self.classes.items() if count >= 20):
            text = self._chance.choice(_CLASSES).format(name.removesuffix(" [EPC]").lower())
            yield EvaluationQuery(type="class", query=text, expect_class=name)

    def _named(self, kind: str, names: Iterable[str], write: Callable[[str], str]) -> Iterator[EvaluationQuery]:
        for name in self._pick(names):
            expected = {name} if name in self.generics else self.brands[name]
            yield EvaluationQuery(type=kind, query=write(name), expect=tuple(sorted(expected)))

    def _pick(self, values: Iterable[T]) -> list[T]:
        ordered = sorted(values, key=str)
        return self._chance.sample(ordered, min(self._each, len(ordered)))

    def _written(self, name: str) -> str:
        place = self._chance.randrange(3, len(name) - 1)
        amount = self._chance.choice(("500mg", "5mg/ml", "25mcg", "0.1%", "1g tab"))
        return self._chance.choice(
            (
                name + amount,
                f"{name[:place]} {name[place:]}",
                f"{name[:place]}-{name[place:]}",
                f"{name} hcl",
                name.upper(),
            )
        )

    def _asked(self, name: str) -> str:
        return self._chance.choice(_QUESTIONS).format(name)

    def _misspelt(self, name: str, letters: int) -> str:
        while True:
            wrong = name
            for _ in range(letters):
                wrong = self._chance.choice((_left_out, _doubled, _swapped, _other, _added, _heard))(
                    wrong, self._chance
                )
            if fold_name(wrong).replace(" ", "") not in self._known:
                return wrong


def _clinical_drugs(file: Path) -> Iterator[tuple[str, str]]:
    """RxNorm's names of clinical drugs of one ingredient, such as ``metformin hydrochloride 500 MG Oral Tablet``."""
    with zipfile.ZipFile(file) as archive, archive.open("rrf/RXNCONSO.RRF") as stream:
        for line in io.TextIOWrapper(stream, encoding="utf-8"):
            cells = line.split("|")
            if (
                cells[12] == "SCD"
                and (found := re.match(r"([a-z ]+) \d[\d.]* [A-Z]", cells[14]))
                and "/ " not in cells[14]
            ):
                yield cells[14], base_moiety(found[1])


def _left_out(name: str, chance: random.Random) -> str:
    place = chance.randrange(1, len(name))
    return name[:place] + name[place + 1 :]


def _doubled(name: str, chance: random.Random) -> str:
    place = chance.randrange(len(name))
    return name[:place] + name[place] + name[place:]


def _swapped(name: str, chance: random.Random) -> str:
    place = chance.randrange(len(name) - 1)
    return name[:place] + name[place + 1] + name[place] + name[place + 2 :]


def _other(name: str, chance: random.Random) -> str:
    place = chance.randrange(1, len(name))
    return name[:place] + chance.choice(string.ascii_lowercase) + name[place + 1 :]


def _added(name: str, chance: random.Random) -> str:
    place = chance.randrange(1, len(name) + 1)
    return name[:place] + chance.choice(string.ascii_lowercase) + name[place:]


def _heard(name: str, chance: random.Random) -> str:
    fitting = [(one, other) for one, other in _HEARD if one in name]
    if not fitting:
        return _swapped(name, chance)
    one, other = chance.choice(fitting)
    return name.replace(one, other, 1)
