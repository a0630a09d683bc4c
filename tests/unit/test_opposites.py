"""Whether a text is on the contrary of what a question asks."""

from __future__ import annotations

import pytest

from tools.language.vocabulary.opposites import opposes


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("aspirin for primary prevention", "For secondary prevention give aspirin.", True),
        ("aspirin for primary prevention", "Aspirin in primary or secondary prevention.", False),
        ("aspirin in primary and secondary prevention", "For secondary prevention give aspirin.", False),
        ("insulin in type 1 diabetes", "Start basal insulin in type 2 diabetes.", True),
        ("insulin in type II diabetes", "Start basal insulin in type 2 diabetes.", False),
        ("dose in CKD stage 4", "In CKD stages 3-5 halve the dose.", False),
        ("dose in CKD stage 2", "In CKD stages 3 to 5 halve the dose.", True),
        ("chronic severe pain", "Opioids help in acute pain.", True),
        ("chronic pain", "Acute bleeding is treated first.", False),
        ("treatment of pain", "Opioids help in acute pain.", False),
        ("acute or chronic pain", "Opioids help in acute pain.", False),
    ],
)
def test_a_text_on_the_opposite_or_another_kind_is_told(question: str, text: str, *, expected: bool) -> None:
    assert opposes(question, text) is expected
