"""Chooses the reading of a follow-up to answer, if none of those that were searched for has a clear answer."""

from __future__ import annotations

from collections.abc import Sequence

from chat_app.offline.composition.compose import share_of_newest
from chat_app.offline.reading.dialogue import ToolOutput
from chat_app.offline.reading.tool_outputs import gather
from tools.language.terms import terms


def tried_readings(readings: Sequence[str], outputs: Sequence[ToolOutput]) -> list[tuple[str, list[ToolOutput]]]:
    """Return the ``readings`` that were searched for, else the first, each with the outputs that are not another's."""
    given = [(output, output.given.values()) for output in outputs]
    tried = [reading for reading in readings if any(reading in each for _, each in given)] or readings[:1]
    return [
        (one, [output for output, each in given if not any(other in each for other in readings if other != one)])
        for one in tried
    ]


def closest_reading(question: str, tried: Sequence[tuple[str, list[ToolOutput]]]) -> tuple[str, list[ToolOutput]]:
    """Return the reading of ``question`` to answer where none of those ``tried`` is answered clearly, with its outputs.

    It is the one with the quote that holds most of the last words, of equal ones the first. If none holds
    any, it is the one that takes only the subject from the question before.
    """
    shares = [share_of_newest(reading, gather(outputs), newest=question) for reading, outputs in tried]
    if any(shares):
        return tried[shares.index(max(shares))]
    completed, own = set(terms(tried[0][0])), set(terms(question))
    return next((each for each in tried[1:] if own < set(terms(each[0])) <= completed), tried[0])
