"""The texts that the classifiers of emergencies learn, drawn from their training set.

A template's places, such as ``{adult}`` or ``{ask}``, are filled at random from ``emergency_phrases.json``;
``{took:many}`` puts a phrase of ``many`` at the ``{x}`` of a phrase of ``took``; ``{drug}`` becomes the name of a
medicine, all of which are one feature, or an invented one. Each question is also learnt misspelt, and each emergency
also before a question about a dose. The sentences of the demonstration's guidelines and labels are learnt as no
emergencies: whole, in part, as notes and turned into questions.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from chat_app.evaluation.emergency_evaluation import JudgedQuestion
from chat_app.safety.emergency_features import DATA, NAMES
from tools.drug_database.importers import demo
from tools.guidelines.library import DEMO_FOLDER
from tools.language.quotable_units import units
from tools.language.vocabulary.clinical_vocabulary import FOREIGN_LANGUAGES, entries
from tools.language.word_lists import word_list

PHRASES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = json.loads(
    (DATA / "emergency_phrases.json").read_text(encoding="utf-8")
)
"""For each language the phrases that fill a place."""
_KNOWN: Final = 0.5
"""Share of the names that are those of medicines; the others are invented, as a name that is not known."""
PLACE: Final = re.compile(r"\{([^{}]+)\}")
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
WORD: Final = re.compile(r"[^\W_]{4,}")
_NOTE_WORDS: Final = (3, 8)
_PART_WORDS: Final = (4, 10)
_QUESTION_WORDS: Final = (5, 16)
_INVERTIBLE: Final = re.compile(
    r"([^.;:!?]+?) (is|are|was|were|has|have|can|should|may|must|does|do|will) (.+?)[.;]?", re.IGNORECASE
)
_INTERROGATIVES: Final = ("When", "How", "Why", "How often", "In whom", "For how long")

_JOINTS: Final = (". ", ", ", ": ")
_OVERDOSAGE: Final = "overdosage"


def filled(template: str, language: str, rng: random.Random) -> str:
    """Fill the places of a template at random."""
    while PLACE.search(template):
        template = PLACE.sub(lambda place: _phrase(place[1], language, rng), template)
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
            phrase = rng.choice(PHRASES[language][outer])
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


def drawn(
    examples: Sequence[JudgedQuestion], rng: random.Random, *, library: bool
) -> Iterator[tuple[str, JudgedQuestion | None]]:
    """Yield the texts of one draw, each also misspelt, with their examples; None for a sentence of the library."""
    asked = [(filled(one.text, one.language, rng), one) for one in examples for _ in range(one.draws)]
    asked += [(_then_a_dose(one, rng), one) for one in examples if one.emergency]
    sentences = ((text, None) for sentence in _library() for text in sentence_variants(sentence, rng))
    for text, one in (*asked, *(sentences if library else ())):
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
    found = (WORD.sub(lambda word: "{drug}" if word[0].lower() in names else word[0], text) for text in texts)
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
    text = f"{example.text.rstrip(' .?!')}{joint}{rng.choice(PHRASES[example.language]['dose question'])}"
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
