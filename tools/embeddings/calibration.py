"""Puts the cosines and the token matches of any embedding model on one scale.

What cosine means "this answers" differs from model to model: one gives unrelated texts .05, another .6. A few fixed
questions, each with a sentence that answers it, show where a model puts answers and where it puts the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.embeddings.embedders import Embedder
from tools.embeddings.late_interaction import TokenEmbedder, token_match

PROBES = (
    ("How is strep throat treated in children?", "Children with streptococcal pharyngitis receive penicillin."),
    ("When is a colonoscopy done after polyps?", "After removal of polyps, colonoscopy is repeated in three years."),
    ("What lowers high uric acid in gout?", "Allopurinol lowers uric acid and prevents attacks of gout."),
    ("How are burns of the hand cooled?", "Cool a burnt hand under running water for twenty minutes."),
    ("Which test confirms tuberculosis?", "Tuberculosis is confirmed by culture or a molecular test of sputum."),
    ("Can folic acid prevent neural tube defects?", "Folic acid before conception prevents neural tube defects."),
    ("How is a frozen shoulder treated?", "Frozen shoulder improves with exercises and steroid injection."),
    ("What helps against motion sickness?", "Scopolamine patches relieve nausea caused by travel and motion."),
)
REFERENCE_RELATED = 0.708
REFERENCE_UNRELATED = 0.11
"""Mean cosines of the model on which the confidence score was fitted (all-MiniLM-L6-v2)."""
REFERENCE_MATCHES = (0.683, 0.17)
"""Its mean token matches, of the related and the unrelated."""


@dataclass(frozen=True, slots=True)
class CosineScale:
    """Maps a model's cosine, or token match, to that of the reference model."""

    related: float
    unrelated: float
    reference: tuple[float, float] = (REFERENCE_RELATED, REFERENCE_UNRELATED)

    def __call__(self, cosine: float) -> float:
        spread = max(self.related - self.unrelated, 0.05)
        share = (cosine - self.unrelated) / spread
        related, unrelated = self.reference
        return unrelated + share * (related - unrelated)


def cosine_scale(embedder: Embedder) -> CosineScale:
    """Embeds the probes. Raises ``ToolUnavailable`` when the embedder cannot be used."""
    vectors = embedder.embed([text for probe in PROBES for text in probe])
    return CosineScale(*_related_and_not([[_cosine(q, a) for a in vectors[1::2]] for q in vectors[::2]]))


def match_scale(embedder: TokenEmbedder) -> CosineScale | None:
    """The same for token matches; None where the model does not tell tokens apart."""
    read = [embedder.tokens(text) for probe in PROBES for text in probe]
    tokens = [each for each in read if each is not None]
    if len(tokens) < len(read):
        return None
    matches = [[token_match(question, answer) for answer in tokens[1::2]] for question in tokens[::2]]
    return CosineScale(*_related_and_not(matches), REFERENCE_MATCHES)


def _related_and_not(table: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean of a square table's diagonal, and that of the rest."""
    related = [row[at] for at, row in enumerate(table)]
    rest = [value for at, row in enumerate(table) for other, value in enumerate(row) if at != other]
    return sum(related) / len(related), sum(rest) / len(rest)


def _cosine(first: list[float], second: list[float]) -> float:
    product = sum(a * b for a, b in zip(first, second, strict=True))
    lengths = sum(a * a for a in first) ** 0.5 * sum(b * b for b in second) ** 0.5
    return product / lengths if lengths else 0.0
