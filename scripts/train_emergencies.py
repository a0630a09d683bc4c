"""Train the classifiers of emergencies and exposures: ``python -m scripts.train_emergencies``.

``chat_app/safety/data/emergency_training.jsonl`` holds questions and templates. A template's places, such as
``{adult}`` or ``{ask}``, are filled at random from ``emergency_phrases.json``; ``{took:many}`` puts a phrase of
``many`` at the ``{x}`` of a phrase of ``took``; ``{drug}`` becomes the name of a medicine, all of which are one
feature, or an invented one. Each question is also learnt misspelt, and each emergency also before a question about a
dose. The sentences of the demonstration's guidelines and labels are learnt as no emergencies: whole, in part, as notes
and turned into questions.
Questions with a group were written one by one; ``--check`` judges each group with classifiers trained on the others,
which predicts the figures of a new author. Logistic regression by gradient descent; deterministic.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chat_app.evaluation.emergency_evaluation import JudgedQuestion, read_emergencies
from chat_app.safety.emergency_classifier import EMERGENCY, EXPOSURE, INTENT, REACTION, EmergencyModel
from chat_app.safety.emergency_features import DATA, NAMES, features
from tools.drug_database.importers import demo
from tools.drug_database.names.aliases import AliasFile
from tools.drug_database.names.foreign_names import international_keys
from tools.drug_database.names.name_keys import salt_words, shipped
from tools.guidelines.library import DEMO_FOLDER
from tools.language.folding import fold_name
from tools.language.quotable_units import units
from tools.language.vocabulary.clinical_vocabulary import FOREIGN_LANGUAGES, entries
from tools.language.vocabulary.common_words import is_ordinary
from tools.language.word_lists import word_list

TRAINING: Final = DATA / "emergency_training.jsonl"
_PHRASES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = json.loads(
    (DATA / "emergency_phrases.json").read_text(encoding="utf-8")
)
"""For each language the phrases that fill a place."""
_PENALTY: Final = 1e-5
_RATE: Final = 0.05
_STEPS: Final = 500
_SEEDS: Final = (7, 8)
"""Each draws the fillings of all templates once."""
_RAREST: Final = 6
"""Questions that a feature must be in to count."""
_KNOWN: Final = 0.5
"""Share of the names that are those of medicines; the others are invented, as a name that is not known."""
_PLACE: Final = re.compile(r"\{([^{}]+)\}")
_SPACES: Final = re.compile(r"\s+(?=[,.?!])|(?<=\s)\s+")
_CONSONANTS: Final[tuple[str, ...]] = (*"bcdfghlmnprstvz", "br", "tr", "pr", "cl")
_VOWELS: Final = "aeiou"
_ENDINGS: Final[tuple[str, ...]] = ("", "l", "m", "n", "r", "x")
_AMOUNTS: Final = (2.5, 5, 10, 20, 25, 40, 50, 75, 100, 150, 200, 250, 400, 500, 600, 800, 1000)
_WORDS_PER_SLIP: Final = 6
_TYPED: Final = frozenset({"clinic", "typed"})
"""Groups of questions as people type them, whose misspelt copies lack words, so that none of them decides alone."""
_LEFT_OUT: Final = 0.3
"""Share of the words that such a copy lacks."""
_SHORTEST_MISSPELT: Final = 4
_WORD: Final = re.compile(r"[^\W_]{4,}")
_NOTE_WORDS: Final = (3, 8)
_PART_WORDS: Final = (4, 10)
_QUESTION_WORDS: Final = (5, 16)
_INVERTIBLE: Final = re.compile(
    r"([^.;:!?]+?) (is|are|was|were|has|have|can|should|may|must|does|do|will) (.+?)[.;]?", re.IGNORECASE
)
_INTERROGATIVES: Final = ("When", "How", "Why", "How often", "In whom", "For how long")

_JOINTS: Final = (". ", ", ", ": ")
_OVERDOSAGE: Final = "overdosage"
_BIAS: Final = ""


class Target(NamedTuple):
    """What a classifier recognises."""

    weights: Path
    kind: Literal["emergency", "exposure", "self_harm", "reaction"]
    threshold: float
    """Chosen by cross-validation; those of emergencies and exposures on the test set."""
    smallest: float
    """Weights below it are left out."""
    within: bool = False
    """Whether it is asked of recognised emergencies alone."""

    def judges(self, example: JudgedQuestion | None) -> bool:
        """Return whether ``example``, None for a sentence of the library, is learnt."""
        return not self.within or (example is not None and example.emergency)

    def holds(self, example: JudgedQuestion) -> bool:
        """Return whether ``example`` is to be recognised."""
        wanted: bool = getattr(example, self.kind)
        return wanted


EMERGENCIES: Final = Target(EMERGENCY, "emergency", threshold=0.55, smallest=0.04)
EXPOSURES: Final = Target(EXPOSURE, "exposure", threshold=0.3, smallest=0.1)
SELF_HARM: Final = Target(INTENT, "self_harm", threshold=0.5, smallest=0.1, within=True)
REACTIONS: Final = Target(REACTION, "reaction", threshold=0.5, smallest=0.1, within=True)


def filled(template: str, language: str, rng: random.Random) -> str:
    """Fill the places of a template at random."""
    while _PLACE.search(template):
        template = _PLACE.sub(lambda place: _phrase(place[1], language, rng), template)
    return _SPACES.sub("", template).strip(" ,")


def _phrase(place: str, language: str, rng: random.Random) -> str:
    match place:
        case "drug" if rng.random() < _KNOWN:
            return rng.choice(_known_names())
        case "drug":
            syllables = (rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(rng.randint(2, 4)))
            return "".join((*syllables, rng.choice(_ENDINGS)))
        case "clinical":
            return rng.choice(_clinical_terms(language))
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


@cache
def _known_names() -> Sequence[str]:
    return NAMES.read_text(encoding="utf-8").split()


@cache
def _clinical_terms(language: str) -> Sequence[str]:
    """Return the clinical words of ``language``; the English ones are the translations of the others."""
    if language in FOREIGN_LANGUAGES:
        return [words for words, _ in entries(f"{language}.tsv")]
    return sorted({term for other in FOREIGN_LANGUAGES for _, terms in entries(f"{other}.tsv") for term in terms})


def train(examples: Sequence[JudgedQuestion], *targets: Target) -> tuple[EmergencyModel, ...]:
    """Fit a classifier of each target: the mean of fits to several draws of ``examples``, so that none decides."""
    totals = [defaultdict[str, float](float) for _ in targets]
    for seed in _SEEDS:
        drawn = list(_drawn(examples, random.Random(seed), library=EMERGENCIES in targets))  # noqa: S311
        read = [(features(text), one) for text, one in drawn]
        for target, total in zip(targets, totals, strict=True):
            found, held = zip(*(each for each in read if target.judges(each[1])), strict=True)
            counted = Counter(name for names in found for name in names)
            kept = sorted(name for name, count in counted.items() if count >= _RAREST)
            wanted = np.array([one is not None and target.holds(one) for one in held], np.float32)
            for name, weight in zip((*kept, _BIAS), _fitted(found, wanted, kept), strict=True):
                total[name] += weight / len(_SEEDS)
    return tuple(_model(target, total) for target, total in zip(targets, totals, strict=True))


def _model(target: Target, weights: Mapping[str, float]) -> EmergencyModel:
    rounded = {
        name: round(weights[name], 2)
        for name in sorted(weights)
        if name != _BIAS and abs(weights[name]) >= target.smallest
    }
    return EmergencyModel(bias=round(weights[_BIAS], 3), threshold=target.threshold, weights=rounded)


def _drawn(
    examples: Sequence[JudgedQuestion], rng: random.Random, *, library: bool
) -> Iterator[tuple[str, JudgedQuestion | None]]:
    """Yield the texts of one draw, each also misspelt, with their examples; None for a sentence of the library."""
    drawn = [(filled(one.text, one.language, rng), one) for one in examples for _ in range(one.draws)]
    drawn += [(_then_a_dose(one, rng), one) for one in examples if one.emergency]
    sentences = ((text, None) for sentence in _library() for text in sentence_variants(sentence, rng))
    for text, one in (*drawn, *(sentences if library else ())):
        yield text, one
        yield (_thinned(_misspelt(text, rng), rng) if one and one.group in _TYPED else _misspelt(text, rng)), one


@cache
def _library() -> tuple[str, ...]:
    """Return the sentences and rows of the demonstration, which tell of no emergency, with ``{drug}`` for names."""
    texts = [file.read_text(encoding="utf-8").split("\n---\n", 1)[1] for file in sorted(DEMO_FOLDER.glob("*.md"))]
    names: set[str] = set()
    for record in demo.records():
        names.update(*(name.lower().split() for name in (record.generic_name, *record.brand_names)))
        sections = record.label.sections if record.label else {}
        texts += ["\n".join(said) for section, said in sections.items() if section != _OVERDOSAGE]
    found = (_WORD.sub(lambda word: "{drug}" if word[0].lower() in names else word[0], text) for text in texts)
    return tuple(unit.text for text in found for unit in units(text))


def sentence_variants(sentence: str, rng: random.Random) -> Iterator[str]:
    """Yield ``sentence``, a part of it, a run of its words without stop words, and the questions that it turns into."""
    yield filled(sentence, "en", rng)
    words = sentence.split()
    yield filled(_run(words, _PART_WORDS, rng) + rng.choice(("", "?")), "en", rng)
    yield filled(_run([word for word in words if word.lower() not in word_list("stop")], _NOTE_WORDS, rng), "en", rng)
    if inverted := _INVERTIBLE.fullmatch(sentence.strip()):
        subject, verb, rest = inverted.groups()
        asked = f"{verb} {subject[0].lower()}{subject[1:]} {rest}".split()
        question = f"{' '.join(asked[: rng.randint(*_QUESTION_WORDS)]).rstrip(' ,.;:')}?"
        yield filled(question.capitalize(), "en", rng)
        yield filled(f"{rng.choice(_INTERROGATIVES)} {question}", "en", rng)


def _run(words: Sequence[str], bounds: tuple[int, int], rng: random.Random) -> str:
    size = rng.randint(*bounds)
    start = rng.randint(0, max(0, len(words) - size))
    return " ".join(words[start : start + size]).strip(" .;:,")


def _then_a_dose(example: JudgedQuestion, rng: random.Random) -> str:
    """Return an emergency and a question about a dose behind it, which leaves it one."""
    joint = rng.choice(_JOINTS)
    text = f"{example.text.rstrip(' .?!')}{joint}{rng.choice(_PHRASES[example.language]['dose question'])}"
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


def _thinned(text: str, rng: random.Random) -> str:
    """Leave out words of ``text`` at random; unchanged where fewer than two would be left."""
    left = [word for word in text.split() if rng.random() >= _LEFT_OUT]
    return " ".join(left) if len(left) > 1 else text


def _fitted(found: Sequence[frozenset[str]], wanted: NDArray[np.float32], kept: Sequence[str]) -> list[float]:
    """Return the weight of each of ``kept`` and then the bias, by Adam on all questions at once."""
    places = {name: place for place, name in enumerate(kept)}
    columns = [[*(places[name] for name in names if name in places), len(kept)] for names in found]
    sizes = np.array([len(each) for each in columns])
    flat = np.fromiter((place for each in columns for place in each), np.int32)
    by_column = np.argsort(flat, kind="stable")
    of_column = np.repeat(np.arange(len(columns), dtype=np.int32), sizes)[by_column]
    starts, column_starts = (np.cumsum(counts) - counts for counts in (sizes, np.bincount(flat)))
    penalty = np.append(np.full(len(kept), _PENALTY, np.float32), np.float32(0))
    weights, mean, square = (np.zeros(len(kept) + 1, np.float32) for _ in range(3))
    for step in range(1, _STEPS + 1):
        scores = np.add.reduceat(weights[flat], starts)
        errors = 1.0 / (1.0 + np.exp(-np.clip(scores, -30.0, 30.0))) - wanted
        gradient = np.add.reduceat(errors[of_column], column_starts) / len(columns) + penalty * weights
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient * gradient - square)
        weights -= _RATE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    fitted: list[float] = weights.tolist()
    return fitted


def cross_validated(examples: Sequence[JudgedQuestion], *targets: Target) -> dict[str, list[tuple[int, int]]]:
    """Return for each group how many of its questions classifiers of the others recognise rightly and wrongly."""
    judged: dict[str, list[tuple[int, int]]] = {}
    for group in dict.fromkeys(one.group for one in examples if one.group):
        models = train([one for one in examples if one.group != group], *targets)
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
    """Return the words of names of medicines that are no other words, nor have a weight by ``examples``."""
    aliases = (alias for alias in shipped("aliases.json", AliasFile).names if alias.kind != "abbreviation")
    named = [name for record in demo.records() for name in (record.generic_name, *record.brand_names)]
    named += [name for alias in aliases for name in (alias.alias, *alias.names) if " " not in name]
    words = sorted({word for name in named for word in fold_name(name).split() if _WORD.fullmatch(word)})
    phrases = (phrase for places in _PHRASES.values() for listed in places.values() for phrase in listed)
    written = Counter(word for one in examples for word in set(_written(one.text)))
    others = {word for phrase in phrases for word in _written(phrase)} | salt_words().endings | salt_words().elements
    others |= {word for word, count in written.items() if count >= _RAREST or is_ordinary(word)}
    taken = set(international_keys(sorted(others)))
    pairs = zip(words, international_keys(words), strict=True)
    return [word for word, key in pairs if key not in taken and not is_ordinary(word)]


def _written(text: str) -> list[str]:
    return [fold_name(word) for word in _WORD.findall(_PLACE.sub(" ", text))]


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
