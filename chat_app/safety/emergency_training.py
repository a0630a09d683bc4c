"""Train the emergency classifier: ``python -m chat_app.safety.emergency_training``.

Logistic regression with L2, fitted by gradient descent; deterministic. Each question of the training set may have the
places ``{drug}`` (left empty: no medicine is a feature), ``{n}``, ``{g}`` and ``{m}`` (numbers, drawn at random).
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from chat_app.safety.emergency_classifier import WEIGHTS, EmergencyModel
from chat_app.safety.emergency_features import DATA, features
from tools.types import Frozen

TRAINING: Final = DATA / "emergency_training.jsonl"
_PENALTY: Final = 0.4
_POSITIVE_WEIGHT: Final = 1.5
_THRESHOLD: Final = 0.5
_RATE: Final = 1.0
_ROUNDS: Final = 1_000
_RAREST: Final = 4
"""Questions that a word must be in to count; a concept or pair counts from half of that."""
_COPIES: Final = 1
_DOSE_QUESTIONS: Final = {
    "en": (
        "How much can she still have?",
        "What is the maximum dose?",
        "Which dose of xxxxx should I give now?",
        "When is the next dose due?",
        "Can I give xxxxx?",
        "How many mg per kg is the dose?",
    ),
    "de": (
        "Wie viel darf sie noch bekommen?",
        "Was ist die Höchstdosis?",
        "Welche Dosis xxxxx soll ich jetzt geben?",
        "Wann ist die nächste Dosis?",
        "Kann ich xxxxx geben?",
        "Wie viel mg pro kg?",
    ),
}
"""Asked after an emergency, they leave it one: each emergency is also learnt with one of them."""


class JudgedQuestion(Frozen):
    """A question of a training or test set."""

    text: str
    emergency: bool
    language: str


def read_examples(text: str) -> list[JudgedQuestion]:
    """Read the examples of a JSON-lines file."""
    return [JudgedQuestion.model_validate_json(line) for line in text.splitlines() if line.strip()]


def filled(template: str, rng: random.Random) -> str:
    """Fill a template: numbers are drawn at random, medicines are left out."""
    numbers = {"{n}": rng.randint(8, 60), "{g}": rng.randint(6, 50), "{m}": rng.randint(5, 500)}
    for place, number in numbers.items():
        template = template.replace(place, str(number))
    return template.replace("{drug}", "xxxxx")


def train(examples: list[JudgedQuestion]) -> EmergencyModel:
    """Fit the classifier to ``examples``."""
    rng = random.Random(7)  # noqa: S311 - numbers in practice questions
    examples = [*examples, *(_with_dose_question(one, rng) for one in examples if one.emergency)]
    found = [features(filled(one.text, rng)) for one in examples for _ in range(_COPIES)]
    wanted = np.array([one.emergency for one in examples for _ in range(_COPIES)], dtype=float)
    counted = Counter(name for some in found for name in some)
    kept = sorted(name for name, count in counted.items() if count >= _least(name) * _COPIES)
    places = {name: place for place, name in enumerate(kept)}
    table = np.zeros((len(found), len(kept)))
    for row, some in enumerate(found):
        table[row, [places[name] for name in some if name in places]] = 1.0
    weights, bias = _fitted(table, wanted)
    rounded = {name: round(float(weights[place]), 3) for name, place in places.items()}
    return EmergencyModel(
        bias=round(bias, 3), threshold=_THRESHOLD, weights={name: weight for name, weight in rounded.items() if weight}
    )


def _with_dose_question(example: JudgedQuestion, rng: random.Random) -> JudgedQuestion:
    asked = rng.choice(_DOSE_QUESTIONS[example.language])
    return example.model_copy(update={"text": f"{example.text.rstrip(' .?!')}. {asked}"})


def _least(name: str) -> int:
    return _RAREST if name.startswith("word:") else _RAREST // 2


def _fitted(table: NDArray[np.float64], wanted: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    weights, bias = np.zeros(table.shape[1]), 0.0
    importance = np.where(wanted > 0, _POSITIVE_WEIGHT, 1.0)
    importance /= importance.sum()
    for _ in range(_ROUNDS):
        error = (1.0 / (1.0 + np.exp(-(table @ weights + bias))) - wanted) * importance
        weights -= _RATE * (table.T @ error + _PENALTY * weights / len(wanted))
        bias -= _RATE * float(error.sum())
    return weights, bias


def main() -> None:
    """Write the weights of the shipped training set."""
    model = train(read_examples(TRAINING.read_text(encoding="utf-8")))
    WEIGHTS.write_text(json.dumps(model.model_dump(), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
