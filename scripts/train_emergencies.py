"""Train the emergency classifier: ``python -m scripts.train_emergencies``.

``chat_app/safety/data/emergency_training.jsonl`` holds questions and templates. A template's places, such as
``{adult}`` or ``{ask}``, are filled at random from ``emergency_phrases.json``; ``{took:many}`` puts a phrase of
``many`` at the ``{x}`` of a phrase of ``took``; ``{drug}`` becomes an invented name, so that no medicine is a feature.
Each question is also learnt misspelt, and each emergency also before a question about a dose. Logistic regression by
adaptive gradient descent; deterministic.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from chat_app.evaluation.emergency_evaluation import JudgedQuestion, read_emergencies
from chat_app.safety.emergency_classifier import WEIGHTS, EmergencyModel
from chat_app.safety.emergency_features import DATA, features

TRAINING: Final = DATA / "emergency_training.jsonl"
_PHRASES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = json.loads(
    (DATA / "emergency_phrases.json").read_text(encoding="utf-8")
)
"""For each language the phrases that fill a place."""
_PENALTY: Final = 3e-3
_THRESHOLD: Final = 0.45
"""Below one half: a missed emergency costs more than a needless notice."""
_RATE: Final = 0.1
_ROUNDS: Final = 6
_RAREST: Final = 10
"""Questions that a feature must be in to count."""
_SMALLEST: Final = 0.02
"""Weights below it are left out."""
_PLACE: Final = re.compile(r"\{([^{}]+)\}")
_SPACES: Final = re.compile(r"\s+(?=[,.?!])|(?<=\s)\s+")
_CONSONANTS: Final[tuple[str, ...]] = (*"bcdfghlmnprstvz", "br", "tr", "pr", "cl")
_VOWELS: Final = "aeiou"
_ENDINGS: Final[tuple[str, ...]] = ("", "l", "m", "n", "r", "x")
_AMOUNTS: Final = (2.5, 5, 10, 20, 25, 40, 50, 75, 100, 150, 200, 250, 400, 500, 600, 800, 1000)
_WORDS_PER_SLIP: Final = 6
_SHORTEST_MISSPELT: Final = 4


def filled(template: str, language: str, rng: random.Random) -> str:
    """Fill the places of a template at random."""
    while _PLACE.search(template):
        template = _PLACE.sub(lambda place: _phrase(place[1], language, rng), template)
    return _SPACES.sub("", template).strip(" ,")


def _phrase(place: str, language: str, rng: random.Random) -> str:
    match place:
        case "drug":
            syllables = (rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(rng.randint(2, 4)))
            return "".join((*syllables, rng.choice(_ENDINGS)))
        case "n":
            return str(rng.randint(8, 60))
        case "g":
            return str(rng.randint(6, 50))
        case "m":
            return f"{rng.choice(_AMOUNTS):g}"
        case _:
            outer, _, inner = place.partition(":")
            phrase = rng.choice(_PHRASES[language][outer])
            return phrase.replace("{x}", f"{{{inner}}}") if inner else phrase


def train(examples: Sequence[JudgedQuestion]) -> EmergencyModel:
    """Fit the classifier to ``examples``."""
    rng = random.Random(7)  # noqa: S311 - practice questions
    drawn = [(filled(one.text, one.language, rng), one.emergency) for one in examples for _ in range(one.draws)]
    drawn += [(_then_a_dose(one, rng), True) for one in examples if one.emergency and one.draws == 1]
    drawn += [(_misspelt(text, rng), emergency) for text, emergency in drawn]
    found = [(features(text), emergency) for text, emergency in drawn]
    counted = Counter(name for names, _ in found for name in names)
    kept = {name for name, count in counted.items() if count >= _RAREST}
    bias, weights = _fitted([(sorted(names & kept), emergency) for names, emergency in found], rng)
    rounded = {name: round(weight, 2) for name, weight in sorted(weights.items()) if abs(weight) >= _SMALLEST}
    return EmergencyModel(bias=round(bias, 3), threshold=_THRESHOLD, weights=rounded)


def _then_a_dose(example: JudgedQuestion, rng: random.Random) -> str:
    """Return an emergency and a question about a dose behind it, which leaves it one."""
    text = f"{example.text.rstrip(' .?!')}. {rng.choice(_PHRASES[example.language]['dose question'])}"
    return filled(text, example.language, rng)


def _misspelt(text: str, rng: random.Random) -> str:
    """Drop, double or swap a letter in every sixth word."""
    words = text.split()
    for _ in range(len(words) // _WORDS_PER_SLIP + 1):
        place = rng.randrange(len(words))
        word = words[place]
        if len(word) >= _SHORTEST_MISSPELT:
            at = rng.randrange(1, len(word) - 1)
            slips = (word[at + 1 :], word[at] * 2 + word[at + 1 :], word[at + 1] + word[at] + word[at + 2 :])
            words[place] = word[:at] + rng.choice(slips)
    return " ".join(words)


def _fitted(rows: list[tuple[list[str], bool]], rng: random.Random) -> tuple[float, dict[str, float]]:
    """Return the bias and the weights, their means over the rounds.

    Each step is scaled by the sum of the weight's squared gradients.
    """
    weights, squares, total = {"": 0.0}, {"": 1e-8}, Counter[str]()
    for _ in range(_ROUNDS):
        rng.shuffle(rows)
        for names, emergency in rows:
            score = weights[""] + sum(weights.get(name, 0.0) for name in names)
            error = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score)))) - emergency
            for name in ("", *names):
                weight = weights.get(name, 0.0)
                gradient = error + (_PENALTY * weight if name else 0.0)
                squares[name] = squares.get(name, 1e-8) + gradient * gradient
                weights[name] = weight - _RATE * gradient / math.sqrt(squares[name])
        total.update(weights)
    mean = {name: weight / _ROUNDS for name, weight in total.items()}
    return mean.pop(""), mean


def main() -> None:
    """Write the weights of the shipped training set."""
    model = train(read_emergencies(TRAINING))
    WEIGHTS.write_text(json.dumps(model.model_dump(), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
