"""Tests of reading which clauses of a question ask for a dose."""

import pytest

from tools.drug_database.names.overdosage_wording import dose_clauses


@pytest.mark.parametrize(
    "question",
    [
        "Anaphylaxie: Adrenalin i.m. wieviel?",
        "Overdose. Adrenalin i. m. dose?",
        "Reaktion: z.B. Adrenalin s.c. wieviel",
    ],
)
def test_the_full_stops_of_an_abbreviation_end_no_clause(question: str) -> None:
    assert "Adrenalin" in next(iter(dose_clauses(question)))


def test_a_full_stop_after_a_word_or_a_letter_ends_a_clause() -> None:
    assert [*dose_clauses("Overdose of vitamin K. How much naloxone i.v.?")] == [" How much naloxone i.v."]
