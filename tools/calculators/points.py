"""Scores that add up points: the sum, its items, and the items that were not stated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tools.calculators.models import InputNeeded
from tools.calculators.wording import translate


class Item(NamedTuple):
    """One criterion: None means that nothing was said about it."""

    label: str
    points: float
    present: bool | None


class Score(NamedTuple):
    """The sum of the items that are present, and what to say about the others."""

    total: float
    workings: tuple[str, ...]
    notes: tuple[str, ...]


def add_up(items: Sequence[Item], *, stated: Sequence[Item] = ()) -> Score:
    """Sum the points of ``stated`` (known from measurements) and ``items`` (yes or no criteria).

    A criterion that was not stated counts as absent and is listed, with the score that it could still give. Raise
    ``InputNeeded`` when none of ``items`` was stated.
    """
    open_items = [item for item in items if item.present is None]
    if items and len(open_items) == len(items):
        asked = "; ".join(translate(item.label) for item in items)
        raise InputNeeded(translate("State which of these are present or absent: {items}.", items=asked))
    everything = [*stated, *items]
    total = sum(item.points for item in everything if item.present)
    workings = tuple(f"{translate(item.label)}: {item.points:+g}" for item in everything if item.present)
    return Score(total, workings or (translate("No criterion is present: 0"),), _notes(open_items, total))


def _notes(open_items: Sequence[Item], total: float) -> tuple[str, ...]:
    if not open_items:
        return ()
    low = total + sum(item.points for item in open_items if item.points < 0)
    high = total + sum(item.points for item in open_items if item.points > 0)
    listed = "; ".join(translate(item.label) for item in open_items)
    told = "Not stated and counted as absent: {items}. Depending on these the score is {low} to {high}."
    return (translate(told, items=listed, low=f"{low:g}", high=f"{high:g}"),)
