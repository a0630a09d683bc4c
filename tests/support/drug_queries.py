"""Drug queries as clinicians type them, built by rule from FDA and NLM files; none is fitted to the search.

A seeded generator makes every choice, so runs can be repeated. Misspellings are four typing slips (a letter omitted,
doubled, swapped, or replaced by its neighbour on the keyboard) and phonetic spellings. A misspelling that equals the
name of another medicine is not used.
"""

from __future__ import annotations

import csv
import io
import random
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from chat_app.evaluation.drug_evaluation import EvaluationQuery
from tools.drug_database.names.name_keys import base_moieties
from tools.language.folding import fold_name

COUNTS = {
    "generic": 60,
    "brand": 60,
    "salt": 40,
    "misspell_generic": 80,
    "misspell_brand": 60,
    "name_strength": 40,
    "combination": 30,
    "class": 30,
}
T = TypeVar("T")
_NEIGHBOURS = {
    "a": "s",
    "b": "v",
    "c": "x",
    "d": "f",
    "e": "r",
    "f": "d",
    "g": "h",
    "h": "g",
    "i": "o",
    "j": "k",
    "k": "l",
    "l": "k",
    "m": "n",
    "n": "m",
    "o": "i",
    "p": "o",
    "q": "w",
    "r": "t",
    "s": "a",
    "t": "y",
    "u": "i",
    "v": "b",
    "w": "e",
    "x": "z",
    "y": "u",
    "z": "x",
}
_SOUNDS = (
    ("ph", "f"),
    ("y", "i"),
    ("x", "ks"),
    ("z", "s"),
    ("c", "k"),
    ("ae", "e"),
    ("ine", "in"),
    ("qu", "kw"),
    ("th", "t"),
    ("ll", "l"),
    ("i", "y"),
    ("en", "an"),
    ("o", "a"),
)
_AROUND = (
    "{} {} tablet",
    "what is the dose of {}?",
    "{} side effects",
    "{} {} mg",
    "is {} safe in pregnancy",
    "{} max daily dose",
    "{} injection {} mg/mL",
    "can i take {} with food",
)


def build(folder: Path, *, seed: int = 20151201) -> list[EvaluationQuery]:
    """Return about 400 queries from the files of ``shared/data/drugs``."""
    return list(_Builder(folder, random.Random(seed)).queries())


class _Builder:
    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._chance = chance
        self.generics: dict[str, int] = defaultdict(int)
        self.brands: dict[str, set[str]] = defaultdict(set)
        self.salts: set[str] = set()
        self.combinations: dict[tuple[str, ...], int] = defaultdict(int)
        self.classes: dict[str, int] = defaultdict(int)
        self._read_ndc(folder / "ndctext_2015-12.zip")
        self._read_orange_book(folder / "orange-book_2020-07-06.zip")
        self._known = {fold_name(name) for name in (*self.generics, *self.brands)}

    def _read_ndc(self, file: Path) -> None:
        for row in table(file, "product.txt", "\t"):
            substances = [name.strip().lower() for name in row["SUBSTANCENAME"].split(";") if name.strip()]
            bases = base_moieties(substances)
            if len(bases) == 1:
                self.generics[bases[0]] += 1
                if fold_name(substances[0]) != bases[0]:
                    self.salts.add(substances[0])
            elif 2 <= len(bases) <= 3:
                self.combinations[tuple(bases)] += 1
            for name in row["PHARM_CLASSES"].replace("],", "]\n").split("\n"):
                if name.endswith("[EPC]"):
                    self.classes[name] += 1

    def _read_orange_book(self, file: Path) -> None:
        for row in table(file, "products.txt", "~"):
            bases = set(base_moieties(row["Ingredient"].lower().split(";")))
            name = row["Trade_Name"].lower()
            if row["Appl_Type"] == "N" and row["Type"] == "RX" and not bases & set(base_moieties([name])):
                self.brands[name] |= bases

    def queries(self) -> Iterator[EvaluationQuery]:
        generics = [name for name, products in self.generics.items() if products >= 3 and len(name) >= 5]
        brands = [name for name in self.brands if len(name) >= 4 and not any(letter.isdigit() for letter in name)]
        for name in self._pick(generics, "generic"):
            yield EvaluationQuery(type="generic", query=name, expect=(name,))
        for name in self._pick(brands, "brand"):
            yield EvaluationQuery(type="brand", query=name, expect=tuple(sorted(self.brands[name])))
        for name in self._pick(self.salts, "salt"):
            yield EvaluationQuery(type="salt", query=name, expect_subst=name)
        for name in self._pick(generics, "misspell_generic"):
            yield EvaluationQuery(type="misspell_generic", query=self._misspelt(name), expect=(name,))
        for name in self._pick([name for name in brands if len(name) >= 6], "misspell_brand"):
            yield EvaluationQuery(
                type="misspell_brand", query=self._misspelt(name), expect=tuple(sorted(self.brands[name]))
            )
        for name in self._pick(generics, "name_strength"):
            text = self._chance.choice(_AROUND).format(name, self._chance.choice((5, 10, 20, 40, 250, 500)))
            yield EvaluationQuery(type="name_strength", query=text, expect=(name,))
        common = [names for names, products in self.combinations.items() if products >= 3]
        for names in self._pick(common, "combination"):
            shuffled = self._chance.sample(names, len(names))
            text = self._chance.choice((" ", " and ", "/", "-")).join(shuffled)
            yield EvaluationQuery(type="combination", query=text, expect=tuple(names))
        for name in self._pick([name for name, products in self.classes.items() if products >= 20], "class"):
            plain = name.removesuffix(" [EPC]").lower()
            text = self._chance.choice((plain, f"{plain}s", f"{plain} drugs"))
            yield EvaluationQuery(type="class", query=text, expect_class=name)

    def _pick(self, names: Sequence[T] | set[T], kind: str) -> list[T]:
        ordered = sorted(names, key=str)
        return self._chance.sample(ordered, min(COUNTS[kind], len(ordered)))

    def _misspelt(self, name: str) -> str:
        while True:
            wrong = self._chance.choice((_left_out, _doubled, _swapped, _beside, _heard))(name, self._chance)
            if wrong != name and fold_name(wrong) not in self._known:
                return wrong


def _place(name: str, chance: random.Random) -> int:
    """Return a position after the first letter, which people rarely get wrong."""
    return chance.choice([place for place in range(1, len(name)) if name[place].isalpha()])


def _left_out(name: str, chance: random.Random) -> str:
    place = _place(name, chance)
    return name[:place] + name[place + 1 :]


def _doubled(name: str, chance: random.Random) -> str:
    place = _place(name, chance)
    return name[:place] + name[place] + name[place:]


def _swapped(name: str, chance: random.Random) -> str:
    place = _place(name, chance)
    return name[:place] + name[place + 1 : place + 2] + name[place] + name[place + 2 :]


def _beside(name: str, chance: random.Random) -> str:
    place = _place(name, chance)
    return name[:place] + _NEIGHBOURS.get(name[place], "e") + name[place + 1 :]


def _heard(name: str, chance: random.Random) -> str:
    fitting = [(one, other) for one, other in _SOUNDS if one in name[1:]]
    if not fitting:
        return _swapped(name, chance)
    one, other = chance.choice(fitting)
    place = name.index(one, 1)
    return name[:place] + other + name[place + len(one) :]


def table(file: Path, member: str, separator: str) -> Iterator[dict[str, str]]:
    with zipfile.ZipFile(file) as archive, archive.open(member) as stream:
        text = io.TextIOWrapper(stream, encoding="cp1252", newline="")
        yield from csv.DictReader(text, delimiter=separator, quoting=csv.QUOTE_NONE)
