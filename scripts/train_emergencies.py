"""Train the classifiers of emergencies and exposures: ``python -m scripts.train_emergencies``.

``chat_app/safety/data/emergency_training.jsonl`` holds questions and templates; ``draw_emergencies`` makes the texts of
them. Each classifier is a logistic regression. Questions with a group were written one by one; ``--check`` judges each
group with classifiers trained on the others, which predicts the figures of a new author. All is deterministic.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from chat_app.evaluation.emergency_evaluation import JudgedQuestion, read_emergencies
from chat_app.safety.emergency_classifier import EMERGENCY, EXPOSURE, INTENT, REACTION, EmergencyModel
from chat_app.safety.emergency_features import DATA, NAMES
from scripts.draw_emergencies import PHRASES, PLACE, WORD, drawn, filled
from scripts.fit_emergency_weights import BIAS, Numbers, fitted
from tools.drug_database.importers import demo
from tools.drug_database.names.aliases import AliasFile
from tools.drug_database.names.foreign_names import international_keys
from tools.drug_database.names.name_keys import salt_words
from tools.drug_database.records.shipped_data import shipped
from tools.language.folding import fold_name
from tools.language.vocabulary.common_words import is_ordinary

TRAINING: Final = DATA / "emergency_training.jsonl"
_SEEDS: Final = (7, 8)
"""Each draws the fillings of all templates once."""
_OFTEN: Final = 6
"""Number of questions with a word from which it is not taken for a medicine's name."""


class Target(NamedTuple):
    """What a classifier recognises."""

    weights: Path
    kind: Literal["emergency", "exposure", "self_harm", "reaction"]
    threshold: float
    """Chosen by cross-validation; those of emergencies and exposures on the test set."""
    smallest: float
    """Weights below it are left out."""
    rarest: int = 6
    """Texts that a feature must be in to count; a question gives up to 24."""
    within: bool = False
    """Whether it is asked of recognised emergencies alone."""

    def label(self, example: JudgedQuestion | None) -> bool | None:
        """Return whether ``example``, None for a sentence of the library, is to be recognised; None if not learnt."""
        if example is None:
            return None if self.within else False
        return None if self.within and not example.emergency else self.holds(example)

    def holds(self, example: JudgedQuestion) -> bool:
        """Return whether ``example`` is to be recognised."""
        wanted: bool = getattr(example, self.kind)
        return wanted


EMERGENCIES: Final = Target(EMERGENCY, "emergency", threshold=0.55, smallest=0.04, rarest=30)
EXPOSURES: Final = Target(EXPOSURE, "exposure", threshold=0.3, smallest=0.1)
SELF_HARM: Final = Target(INTENT, "self_harm", threshold=0.5, smallest=0.1, within=True)
REACTIONS: Final = Target(REACTION, "reaction", threshold=0.5, smallest=0.1, within=True)


def train(examples: Sequence[JudgedQuestion], *targets: Target) -> tuple[EmergencyModel, ...]:
    """Fit a classifier of each target: the mean of fits to several draws of ``examples``, so none decides."""
    totals = [defaultdict[str, float](float) for _ in targets]
    for seed in _SEEDS:
        numbers = Numbers()
        texts = drawn(examples, random.Random(seed), library=EMERGENCIES in targets)  # noqa: S311
        # Equal texts and then equal rows are counted, which makes the matrix a third smaller.
        asked = Counter((text, tuple(target.label(one) for target in targets)) for text, one in texts)
        read = Counter[tuple[tuple[int, ...], tuple[bool | None, ...]]]()
        for (text, labels), count in asked.items():
            read[numbers.of(text), labels] += count
        names = tuple(numbers.names)
        for place, total in enumerate(totals):
            judged = [(row, labels[place], count) for (row, labels), count in read.items() if labels[place] is not None]
            rows, held, counts = zip(*judged, strict=True)
            for number, weight in fitted(rows, held, counts, targets[place].rarest):
                total[names[number]] += weight / len(_SEEDS)
    return tuple(_model(target, total) for target, total in zip(targets, totals, strict=True))


def _model(target: Target, weights: Mapping[str, float]) -> EmergencyModel:
    rounded = {
        name: round(weights[name], 2)
        for name in sorted(weights)
        if name != BIAS and abs(weights[name]) >= target.smallest
    }
    return EmergencyModel(bias=round(weights[BIAS], 3), threshold=target.threshold, weights=rounded)


def cross_validated(examples: Sequence[JudgedQuestion], *targets: Target) -> dict[str, list[tuple[int, int]]]:
    """Return for each group how many of its questions classifiers of the others recognise rightly and wrongly."""
    judged: dict[str, list[tuple[int, int]]] = {}
    for group in dict.fromkeys(one.group for one in examples if one.group):
        others = [one for one in examples if one.group != group]
        models = train(others, *targets)
        asked = [
            (filled(one.text, one.language, random.Random(0)), one)  # noqa: S311
            for one in examples
            if one.group == group
        ]
        alarms = [
            [target.holds(one) for text, one in asked if model.recognises(text)]
            for target, model in zip(targets, models, strict=True)
        ]
        judged[group] = [(sum(right), len(right) - sum(right)) for right in alarms]
    return judged


def medicine_names(examples: Sequence[JudgedQuestion]) -> list[str]:
    """Return the words of names of medicines that are no other words, nor in many of the ``examples``."""
    aliases = (alias for alias in shipped("aliases.json", AliasFile).names if alias.kind != "abbreviation")
    named = [name for record in demo.records() for name in (record.generic_name, *record.brand_names)]
    named += [name for alias in aliases for name in (alias.alias, *alias.names) if " " not in name]
    words = sorted({word for name in named for word in fold_name(name).split() if WORD.fullmatch(word)})
    phrases = (phrase for places in PHRASES.values() for listed in places.values() for phrase in listed)
    written = Counter(word for one in examples for word in set(_written(one.text)))
    others = {word for phrase in phrases for word in _written(phrase)} | salt_words().endings | salt_words().elements
    others |= {word for word, count in written.items() if count >= _OFTEN or is_ordinary(word)}
    taken = set(international_keys(sorted(others)))
    pairs = zip(words, international_keys(words), strict=True)
    return [word for word, key in pairs if key not in taken and not is_ordinary(word)]


def _written(text: str) -> list[str]:
    return [fold_name(word) for word in WORD.findall(PLACE.sub(" ", text))]


def main() -> None:
    """Write the weights of the shipped training set, or with ``--check`` print the cross-validated figures."""
    examples, targets = read_emergencies(TRAINING), (EMERGENCIES, EXPOSURES, SELF_HARM, REACTIONS)
    if "--check" in sys.argv[1:]:
        for group, counts in cross_validated(examples, *targets).items():
            for target, (recognised, false_alarms) in zip(targets, counts, strict=True):
                print(f"{group}, {target.kind}: {recognised} recognised, {false_alarms} false alarms")
        return
    NAMES.write_text("\n".join((*medicine_names(examples), "")), encoding="utf-8")
    for target, model in zip(targets, train(examples, *targets), strict=True):
        weights = json.dumps(model.model_dump(), ensure_ascii=False, indent=0)
        target.weights.write_text(f"{weights}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
