"""How sure the search is that its best passages answer the question: the score behind abstention.

Three signs are looked at in the best three passages: the share of the question's weight that one passage holds (a
rare term that none holds costs most), the share that one stretch of two sentences holds, and, with an embedder, the
largest cosine. A logistic model joins them. Its weights were fitted on PubMedQA's questions over a corpus from which
half of the answering passages had been taken away, and tried on another half and on questions about guidelines:

    signs                       area under the curve    unanswerable rejected at 95 % of the answerable kept
    terms and cosine            .982                    95 %
    terms alone                 .962                    82 %

The threshold keeps 95 % of the answerable with an embedder. Without one it is set higher: clinicians' questions are
shorter than those of PubMedQA, and at this threshold 98 % of 147 answerable ones on guidelines are kept.
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
    cosine: float
    constant: float


_WITH_COSINE = _Model(coverage=4.35, closeness=5.13, cosine=14.62, constant=-13.04)
_TERMS_ALONE = _Model(coverage=7.48, closeness=7.23, cosine=0.0, constant=-7.59)


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
    wanted = {term: weight(term) for term in question}
    total = sum(wanted.values())
    if not total or not best:
        return 0.0
    coverage = max(sum(wanted[term] for term in wanted.keys() & set(passage)) for passage in best) / total
    close = max(closeness(question, passage, weight) for passage in best)
    cosine = _best_cosine(found.candidates)
    if cosine is None or scale is None:
        return _logistic(_TERMS_ALONE, coverage, close, 0.0)
    return _logistic(_WITH_COSINE, coverage, close, scale(cosine))


def _telling(question: Sequence[str], passages: Sequence[Sequence[str]]) -> list[str]:
    """The question's terms but for those that only ask and stand in none of ``passages``."""
    held = {term for passage in passages for term in passage}
    return [term for term in question if term in held or term not in _ASKING]


def _best_cosine(candidates: Sequence[Candidate]) -> float | None:
    return max((candidate.cosine for candidate in candidates if candidate.cosine is not None), default=None)


def _logistic(model: _Model, coverage: float, close: float, cosine: float) -> float:
    value = model.constant + model.coverage * coverage + model.closeness * close + model.cosine * cosine
    return 1.0 / (1.0 + math.exp(-value))
