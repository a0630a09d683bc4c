"""How well a passage meets a question token for token: late interaction, as in ColBERT (Khattab and Zaharia, 2020).

One vector for a whole passage says what it is about, and blurs each single thing that it says. A model's vectors of the
tokens, made in their context, tell whether the passage has something like each part of the question. Only the sentences
that hold most of the question's weight are read: a search has no time for more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tools.language.sentences import sentences
from tools.language.term_weights import Weight
from tools.language.terms import terms

READ = 250
"""Characters of a passage, about two sentences; 400 and 800 tell no more, and take two and four times as long."""

Tokens = NDArray[np.float32]
"""One row for each token."""


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that can tell the tokens apart. Calls block; they raise ``ToolUnavailable``."""

    def tokens(self, text: str) -> Tokens | None:
        """The vectors of the tokens that ``embed`` takes the mean of; None for a model that gives the mean alone."""
        ...


def token_match(question: Tokens, text: Tokens) -> float:
    """1 where ``text`` has the like of each token of the question, less for each that it lacks.

    A token counts by the square of its vector's length: by it the model itself says how much of the meaning it bears.
    What is lacking is squared before it is joined: one thing that is not there tells more than many that are nearly so.
    """
    if not len(question) or not len(text):
        return 0.0
    lengths = np.linalg.norm(question, axis=1, keepdims=True)
    cosines = (question / np.maximum(lengths, 1e-9)) @ _of_length_one(text).T
    lacking = 1.0 - cosines.max(axis=1)
    shares = lengths[:, 0] ** 2 / max(float((lengths**2).sum()), 1e-9)
    return 1.0 - float(np.sqrt((shares * lacking**2).sum()))


def _of_length_one(vectors: Tokens) -> Tokens:
    made: Tokens = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return made


def telling_sentences(text: str, question: Sequence[str], weight: Weight) -> str:
    """Sentences of ``text``, together ``READ`` characters or less, each chosen for what the ones before it lack.

    They stay in their order. Of one that is longer than that, its beginning is read.
    """
    weights = {term: weight(term) for term in question}
    found = [sentence for line in text.split("\n") for sentence in sentences(line)]
    held = [weights.keys() & terms(sentence) for sentence in found]
    open_terms = set(weights)
    chosen: list[int] = []
    room = READ
    while fitting := [at for at in range(len(found)) if at not in chosen and (len(found[at]) <= room or not chosen)]:
        best = max(fitting, key=lambda at: (math.fsum(weights[term] for term in held[at] & open_terms), -at))
        chosen.append(best)
        room -= len(found[best])
        # Once all is held, sentences that hold it again are the next best.
        open_terms = (open_terms - held[best]) or set(weights)
    return " ".join(found[at] for at in sorted(chosen))[:READ]
