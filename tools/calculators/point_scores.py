"""Scores of yes or no criteria as tables: ``data/point_scores.json`` holds the inputs, criteria and bands of each."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import TypeAdapter

from tools.calculators.models import Band, Calculation, InputNeeded, Result, Source, band_of
from tools.calculators.quantities import AdultAge, CalfDifference, HeartRate, Quantity, Sex
from tools.calculators.wording import translate
from tools.types import Frozen

Value = Quantity[Any] | str | bool | None
_TABLES: Final = Path(__file__).parent / "data" / "point_scores.json"
_KINDS: Final[Mapping[str, Any]] = {
    "age": AdultAge,
    "sex": Sex,
    "heart rate": HeartRate,
    "calf difference": CalfDifference,
    "criterion": bool,
}


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


class Input(Frozen):
    """An input of a score; one that is not required may stay unknown."""

    kind: Literal["age", "sex", "heart rate", "calf difference", "criterion"]
    description: str
    required: bool = False


class Condition(Frozen):
    """What an input has to be: a criterion present, an option chosen, or a value within bounds."""

    input: str
    option: str | None = None
    least: float = float("-inf")
    above: float = float("-inf")
    below: float = float("inf")

    def is_met(self, value: Value) -> bool | None:
        """Return whether ``value`` meets the condition; None when it is not known."""
        if isinstance(value, Quantity):
            return self.least <= value.amount < self.below and value.amount > self.above
        return value == self.option if isinstance(value, str) else value


class Criterion(Condition):
    """A condition that gives points."""

    label: str
    points: float


class ScoreBand(Band):
    """A band, of those patients alone whose ``input`` is ``option`` where these are given."""

    input: str = ""
    option: str = ""


class PointScore(Frozen):
    """One score: the texts of its tool, its inputs, criteria and bands."""

    name: str
    title: str
    heading: str
    summary: str
    about: str
    inputs: dict[str, Input]
    criteria: tuple[Criterion, ...]
    result: str
    unit: str
    decimals: int = 0
    formula: str
    valid_for: str
    source: Source
    bands: tuple[ScoreBand, ...]
    bands_source: Source | None = None

    def calculate(self, **inputs: Value) -> Calculation:
        """Add up the points; a criterion that was not stated is listed and counts as absent."""
        score = add_up(self._items(inputs, required=False), stated=self._items(inputs, required=True))
        bands = tuple(band for band in self.bands if not band.input or inputs[band.input] == band.option)
        unnamed = translate("Below {low}: the guideline states no band", low=f"{bands[0].low:g}")
        return Calculation(
            title=self.heading,
            results=(Result(name=self.result, value=score.total, unit=self.unit, decimals=self.decimals),),
            formula=self.formula,
            valid_for=self.valid_for,
            source=self.source,
            workings=score.workings,
            bands=bands,
            bands_source=self.bands_source,
            interpretation=band_of(score.total, bands) or unnamed,
            notes=score.notes,
        )

    def _items(self, inputs: Mapping[str, Value], *, required: bool) -> tuple[Item, ...]:
        return tuple(
            Item(one.label, one.points, one.is_met(inputs.get(one.input)))
            for one in self.criteria
            if self.inputs[one.input].required is required
        )

    def function(self) -> Callable[..., Calculation]:
        """Return the score as a function with a parameter for each input, as a tool declares it."""

        def calculate(**inputs: Value) -> Calculation:
            return self.calculate(**inputs)

        described = "\n".join(f"    {name}: {one.description}" for name, one in self.inputs.items())
        calculate.__name__ = f"calculate_{self.name}"
        calculate.__doc__ = f"{self.summary}\n\n{self.about}\n\nArgs:\n{described}\n"
        hints = {
            name: _KINDS[one.kind] if one.required else _KINDS[one.kind] | None for name, one in self.inputs.items()
        }
        calculate.__annotations__ = {**hints, "return": Calculation}
        calculate.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [_parameter(name, one, hints[name]) for name, one in self.inputs.items()]
        )
        return calculate


def _parameter(name: str, one: Input, hint: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.required else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def point_scores() -> tuple[PointScore, ...]:
    """Return the scores of the tables."""
    return TypeAdapter(tuple[PointScore, ...]).validate_json(_TABLES.read_bytes())
