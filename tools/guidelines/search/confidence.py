"""How sure the search is that its best passages answer the question: the score behind abstention.

Signs are looked at in the best three passages: the share of the question's weight that one passage holds; whether the
question is *gathered*; and, with an embedder, the largest cosine and by how much the best passage leads. A question is
gathered where one stretch of two sentences holds all of it, or where the best passage stands out from the ten that
come next: a long question is hardly ever held word by word, and no passage stands out where many answer a short one,
so either is enough. With an embedder the share is of squared weights, so that a rare term that none holds costs most:
the cosine already sees what a question is about, and misses a name. An embedder that tells the tokens apart (a local
model) also says how well the best passage meets the question token for token: near passages about the same thing have
much the same cosine, and only one of them has the like of all that was asked. A logistic model joins the signs.

Fitted on PubMedQA and BioASQ-mini with one half of the answering passages taken away, and on 109 questions about pages
of guidelines, weighed 6 : 2 : 2. What is rejected at 95 % is the mean of the halves (ten of PubMedQA), each of
questions left out of the fit; on PubMedQA they lie between 95 and 97 % with tokens, between 94 and 96 % with
cosines, and between 88 and 90 % by terms alone.

    signs              set           area under    unanswerable rejected at    at the threshold
                                     the curve     95 % of answerable kept     kept     rejected
    tokens             PubMedQA      .986          96 %                        96 %     94 %
                       BioASQ-mini   .88           57 %                        87 %     74 %
                       pages         .98           18 of 19                    93 %     18 of 19
    cosines            PubMedQA      .984          95 %                        96 %     93 %
                       BioASQ-mini   .88           53 %                        86 %     74 %
                       pages         .98           18 of 19                    92 %     18 of 19
    terms alone        PubMedQA      .973          89 %                        95 %     89 %
                       BioASQ-mini   .85           48 %                        89 %     61 %
                       pages         .94           18 of 19                    97 %     16 of 19

On BioASQ-mini many passages answer that are not marked so. The thresholds keep 95 % of PubMedQA's answerable questions
or a little more, for clinicians' questions are shorter and hold less that could tell.
More signs of the ranking add nothing to these: products of them and boosted trees, how crowded a passage's or the
question's surroundings are, pairs of neighbouring words, the rarest terms alone, agreement of the two searches, more
words that only ask, and cosines of a passage's parts all stay within noise on PubMedQA. ``asclepius eval retrieval DIR
--abstention`` measures it on any collection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.embeddings.calibration import CosineScale
from tools.guidelines.search.passage_index import K1
from tools.guidelines.search.ranking import Candidate, closeness
from tools.guidelines.search.retrieval import Found
from tools.language.question_words import telling
from tools.language.term_weights import Weight

ANSWERABLE_FROM = 0.5
"""The models are shifted so that the threshold of each is one half."""
LOOKED_AT = 3
NEXT = 10
"""Passages from which the best one by terms has to stand out."""


@dataclass(frozen=True, slots=True)
class _Model:
    coverage: float
    gathered: float
    constant: float
    power: int
    """Of the terms' weights in the coverage."""
    margin: float
    """What standing out by all of the question's weight counts as, against holding all of it in one stretch."""
    cosine: float = 0.0
    lead: float = 0.0
    match: float = 0.0


_WITH_TOKENS = _Model(coverage=2.5, gathered=2.7, cosine=7.2, lead=2.1, match=6.2, constant=-10.8, power=2, margin=1.0)
_WITH_COSINE = _Model(coverage=2.6, gathered=4.0, cosine=9.8, lead=2.4, constant=-10.0, power=2, margin=1.0)
_TERMS_ALONE = _Model(coverage=2.3, gathered=8.6, constant=-6.5, power=1, margin=2.0)


def confidence(
    found: Found,
    terms_of: Callable[[str], Sequence[str]],
    weight: Weight,
    scale: CosineScale | None = None,
    match: float | None = None,
) -> float:
    """0 to 1; from ``ANSWERABLE_FROM`` on the question counts as answered by the best passages.

    ``scale`` is that of the embedder which gave the cosines; ``match`` is that of the best passage's tokens.
    """
    best = [terms_of(candidate.id) for candidate in found.candidates[:LOOKED_AT]]
    question = telling(found.question, best)
    if not best or not any(weight(term) for term in question):
        return 0.0
    cosine = _best_cosine(found.candidates) if scale is not None else None
    model = _TERMS_ALONE if cosine is None else _WITH_COSINE if match is None else _WITH_TOKENS
    value = (
        model.constant
        + model.coverage * max(_coverage(question, passage, weight, model.power) for passage in best)
        + model.gathered
        * _gathered(
            max(closeness(question, passage, weight) for passage in best),
            model.margin * _margin(found.candidates, sum(map(weight, question))),
        )
    )
    if cosine is not None and scale is not None:
        value += model.cosine * scale(cosine) + model.lead * _lead(found.candidates) + model.match * (match or 0.0)
    return 1.0 / (1.0 + math.exp(-value))


def _coverage(question: Sequence[str], passage: Sequence[str], weight: Weight, power: int) -> float:
    """The share of the question's terms that the passage holds, each counted by its weight to ``power``."""
    weights = {term: weight(term) ** power for term in question}
    return sum(weights[term] for term in weights.keys() & set(passage)) / sum(weights.values())


def _gathered(closeness: float, margin: float) -> float:
    """One where either is one, and larger than each where neither is."""
    return 1.0 - (1.0 - closeness) * (1.0 - min(1.0, margin))


def _margin(candidates: Sequence[Candidate], weight: float) -> float:
    """By how much the best BM25 score leads the mean of the next ones, as a share of what a question of that weight can
    score; 0 to 1. What was not found by its terms scores nothing, so that a small library seems no surer than a large.
    """
    scores = sorted((candidate.bm25 for candidate in candidates if candidate.bm25 is not None), reverse=True)
    if not scores:
        return 0.0
    return (scores[0] - sum(scores[1 : NEXT + 1]) / NEXT) / (weight * (K1 + 1))


def _lead(candidates: Sequence[Candidate]) -> float:
    """By how much the best passage's score leads; 1 for the only one."""
    return candidates[0].score - candidates[1].score if len(candidates) > 1 else 1.0


def _best_cosine(candidates: Sequence[Candidate]) -> float | None:
    """The largest of the passages that are looked at; those that the vectors did not find have at most the least one.

    None when the search was by terms alone.
    """
    known = [candidate.cosine for candidate in candidates if candidate.cosine is not None]
    looked_at = [candidate.cosine for candidate in candidates[:LOOKED_AT] if candidate.cosine is not None]
    return max(looked_at, default=min(known, default=None))
