"""How sure the search is that its best passages answer the question: the score behind abstention.

Signs are looked at in the best three passages: the share of the question's weight that one passage holds, the share
that one stretch of two sentences holds, and, with an embedder, the largest cosine and by how much the best passage
leads. With an embedder the share is of squared weights, so that a rare term that none holds costs most: the cosine
already sees what a question is about, and misses a name. A logistic model joins the signs.

Fitted on PubMedQA and BioASQ-mini with one half of the answering passages taken away, and on questions about pages of
guidelines, each set weighed the same; figures are of questions left out of the fit, the mean of several halves (on
PubMedQA 93 to 96 %). The model for terms alone was fitted on PubMedQA.

    signs              set           area under the curve    unanswerable rejected at 95 % of the answerable kept
    with an embedder   PubMedQA      .983                    95 %
                       BioASQ-mini   .90                     59 %  (many passages answer that are not marked so)
                       pages         1.00                    all of 15
    terms alone        PubMedQA      .964                    83 %
                       BioASQ-mini   .86                     49 %
                       pages         .99                     all of 15

With an embedder the threshold keeps 95 % of PubMedQA's answerable questions and rejects 94 % of the others. Without one
it is set for clinicians' questions, which are shorter: 97 % of those about pages are kept, and 91 % of PubMedQA's.
``asclepius eval retrieval DIR --abstention`` measures it on any collection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.guidelines.probes import CosineScale
from tools.guidelines.ranking import Candidate, Weight, closeness
from tools.guidelines.retrieval import Found
from tools.guidelines.text import terms

ANSWERABLE_FROM = 0.5
"""Both models are shifted so that their threshold is one half."""
LOOKED_AT = 3
_ASKING = frozenset(terms(
    "advice advise algorithm approach best choice choose consider criteria criterion evidence explain give given "
    "guidance guideline guidelines indication indications information know list main need ok okay option options "
    "patient patients people please possible preferred protocol recommend recommendation recommendations recommended "
    "regimen role rule rules safe should start strategy suggest suitable summary tell use used using versus"
))  # fmt: skip
"""Words that ask and name nothing: an answer need not hold them."""


@dataclass(frozen=True, slots=True)
class _Model:
    coverage: float
    closeness: float
    constant: float
    power: int
    """Of the terms' weights in the coverage."""
    cosine: float = 0.0
    lead: float = 0.0


_WITH_COSINE = _Model(coverage=4.8, closeness=1.9, cosine=11.3, lead=2.2, constant=-10.6, power=2)
_TERMS_ALONE = _Model(coverage=7.48, closeness=7.23, constant=-7.59, power=1)


def confidence(
    found: Found,
    terms_of: Callable[[str], Sequence[str]],
    weight: Weight,
    scale: CosineScale | None = None,
) -> float:
    """0 to 1; from ``ANSWERABLE_FROM`` on the question counts as answered by the best passages.

    ``scale`` is that of the embedder which gave the cosines.
    """
    best = [terms_of(candidate.id) for candidate in found.candidates[:LOOKED_AT]]
    question = _telling(found.question, best)
    if not best or not any(weight(term) for term in question):
        return 0.0
    cosine = _best_cosine(found.candidates) if scale is not None else None
    model = _TERMS_ALONE if cosine is None else _WITH_COSINE
    value = (
        model.constant
        + model.coverage * max(_coverage(question, passage, weight, model.power) for passage in best)
        + model.closeness * max(closeness(question, passage, weight) for passage in best)
    )
    if cosine is not None and scale is not None:
        value += model.cosine * scale(cosine) + model.lead * _lead(found.candidates)
    return 1.0 / (1.0 + math.exp(-value))


def _telling(question: Sequence[str], passages: Sequence[Sequence[str]]) -> list[str]:
    """The question's terms but for those that only ask and stand in none of ``passages``."""
    held = {term for passage in passages for term in passage}
    return [term for term in question if term in held or term not in _ASKING]


def _coverage(question: Sequence[str], passage: Sequence[str], weight: Weight, power: int) -> float:
    """The share of the question's terms that the passage holds, each counted by its weight to ``power``."""
    weights = {term: weight(term) ** power for term in question}
    return sum(weights[term] for term in weights.keys() & set(passage)) / sum(weights.values())


def _lead(candidates: Sequence[Candidate]) -> float:
    """By how much the best passage's score leads; 1 for the only one."""
    return candidates[0].score - candidates[1].score if len(candidates) > 1 else 1.0


def _best_cosine(candidates: Sequence[Candidate]) -> float | None:
    return max((candidate.cosine for candidate in candidates if candidate.cosine is not None), default=None)
