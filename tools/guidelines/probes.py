"""Puts the cosines of any embedding model on one scale.

What cosine means "this answers" differs from model to model: one gives unrelated texts .05, another .6. A few fixed
questions, each with a sentence that answers it, show where a model puts answers and where it puts the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.guidelines.embedders import Embedder

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


@dataclass(frozen=True, slots=True)
class CosineScale:
    """Maps a model's cosine to that of the reference model."""

    related: float
    unrelated: float

    def __call__(self, cosine: float) -> float:
        spread = max(self.related - self.unrelated, 0.05)
        share = (cosine - self.unrelated) / spread
        return REFERENCE_UNRELATED + share * (REFERENCE_RELATED - REFERENCE_UNRELATED)


def cosine_scale(embedder: Embedder) -> CosineScale:
    """Embeds the probes. Raises ``ToolUnavailable`` when the embedder cannot be used."""
    vectors = embedder.embed([text for probe in PROBES for text in probe])
    questions, answers = vectors[::2], vectors[1::2]
    related = [_cosine(question, answer) for question, answer in zip(questions, answers, strict=True)]
    unrelated = [
        _cosine(question, answer)
        for at, question in enumerate(questions)
        for other, answer in enumerate(answers)
        if at != other
    ]
    return CosineScale(sum(related) / len(related), sum(unrelated) / len(unrelated))


def _cosine(first: list[float], second: list[float]) -> float:
    product = sum(a * b for a, b in zip(first, second, strict=True))
    lengths = sum(a * a for a in first) ** 0.5 * sum(b * b for b in second) ** 0.5
    return product / lengths if lengths else 0.0
