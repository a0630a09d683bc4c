"""The calculators as tables: ``data/calculators.json`` holds the texts, inputs, results and bands of each.

A score of yes or no criteria adds up the points of its table; the other calculators have a function in ``formulas``.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from tools.calculators.formulas import FORMULAS, INPUTS, Computed
from tools.calculators.quantities import DATA, KINDS, InputNeeded, Quantity
from tools.calculators.wording import translate
from tools.types import Frozen

Value = Any
"""A checked input: a quantity, an option, a yes or no, a list of doses, or None for an optional one."""


class Source(Frozen):
    """The publication of a formula or of its interpretation."""

    title: str
    citation: str
    """Authors, journal, year, volume and pages."""
    url: str

    @property
    def text(self) -> str:
        """The publication as a passage cites it."""
        return f"{self.citation}. {self.title}."


class Input(Frozen):
    """An input; one that is not required may stay unknown."""

    kind: str
    """A key of ``KINDS`` or ``INPUTS``."""
    description: str
    required: bool = False
    unstated: str = ""
    """A note on the result where the input was not stated."""

    @property
    def hint(self) -> Any:
        """The type of the input."""
        return KINDS.get(self.kind) or INPUTS[self.kind]


class Condition(Frozen):
    """What an input has to be: a criterion present, an option chosen, or a value within bounds."""

    input: str
    option: str | None = None
    least: float = float("-inf")
    above: float = float("-inf")
    below: float = float("inf")
    most: float = float("inf")
    excludes: bool = True
    """False where another value leaves it open: an ejection fraction of 55 % excludes no heart failure."""

    def is_met(self, value: Value) -> bool | None:
        """Return whether ``value`` meets the condition; None when it is not known."""
        if isinstance(value, Quantity):
            met = self.least <= value.amount <= self.most and self.above < value.amount < self.below
            return met if met or self.excludes else None
        return value == self.option if isinstance(value, str) else value


class Criterion(Condition):
    """A condition that gives points, met also by one of its alternatives."""

    label: str
    points: float
    alternatives: tuple[Condition, ...] = ()

    @property
    def inputs(self) -> frozenset[str]:
        """The inputs that it depends on."""
        return frozenset(one.input for one in (self, *self.alternatives))

    def is_present(self, inputs: Mapping[str, Value]) -> bool | None:
        """Return whether the criterion is present; None when nothing was said about it."""
        met = [one.is_met(inputs[one.input]) for one in (self, *self.alternatives)]
        known = [one for one in met if one is not None]
        return any(known) if known else None


class Result(Frozen):
    """How one computed number is reported."""

    name: str
    unit: str
    decimals: int = 0

    def text(self, value: float) -> str:
        """Return the rounded number with its unit."""
        return f"{round(value, self.decimals):.{self.decimals}f} {translate(self.unit)}"


class Band(Frozen):
    """One range of the first result and its meaning, in the words of the source.

    It is only of those patients whose ``input`` is ``option``, where these are given.
    """

    label: str
    """The range as the source writes it."""
    low: float
    """The lowest value of the range; the range ends where the next one begins."""
    meaning: str
    input: str = ""
    option: str = ""

    @property
    def text(self) -> str:
        """The range and its meaning."""
        return f"{translate(self.label)}: {translate(self.meaning)}"


class Calculated(NamedTuple):
    """A finished calculation, in the language of the call."""

    results: tuple[tuple[str, str], ...]
    """The name of each result, and its value with the unit."""
    workings: tuple[str, ...]
    """The points or terms that make up the result."""
    bands: tuple[Band, ...]
    interpretation: str
    notes: tuple[str, ...]


class Calculator(Frozen):
    """One calculator: the texts of its tool, its inputs, results and bands."""

    name: str
    title: str
    heading: str
    summary: str
    about: str
    inputs: dict[str, Input]
    criteria: tuple[Criterion, ...] = ()
    unstated: str = ""
    """The question for the criteria where none was stated; they are listed when it is empty."""
    results: tuple[Result, ...]
    formula: str
    valid_for: str
    source: Source
    bands: tuple[Band, ...] = ()
    """Ascending."""
    bands_source: Source | None = None
    """The publication of the bands, where it is not that of the formula."""
    interpretation: str = "{band}"
    """Empty where the bands are only to compare with."""
    no_band: str = "Below {low}: the guideline states no band"
    """The interpretation of a result in no band, and where the bands depend on an input that was not stated."""
    notes: tuple[str, ...] = ()

    def calculate(self, inputs: Mapping[str, Value]) -> Calculated:
        """Compute the results of checked inputs. Raise ``InputNeeded`` where more must be known."""
        amounts = {name: one.amount if isinstance(one, Quantity) else one for name, one in inputs.items()}
        computed = self._points(inputs) if self.criteria else FORMULAS[self.name](**amounts)
        unstated = (one.unstated for name, one in self.inputs.items() if one.unstated and inputs[name] is None)
        bands = tuple(one for one in self.bands if not one.input or inputs[one.input] in {None, one.option})
        return Calculated(
            results=tuple(
                (translate(result.name), result.text(value))
                for result, value in zip(self.results, computed.values, strict=True)
                if value is not None
            ),
            workings=computed.workings,
            bands=bands,
            interpretation=self._interpretation(computed, bands, inputs) if bands and self.interpretation else "",
            notes=(
                *filter(None, [computed.left_out]),
                *self._open_criteria(inputs),
                *map(translate, (*unstated, *self.notes)),
            ),
        )

    def _interpretation(self, computed: Computed, bands: tuple[Band, ...], inputs: Mapping[str, Value]) -> str:
        value = round(computed.values[0] or 0.0, self.results[0].decimals)
        decided = not any(one.input and inputs[one.input] is None for one in bands)
        found = [one for one in bands if decided and value >= one.low]
        if found:
            return translate(self.interpretation, band=found[-1].text)
        return "" if computed.left_out else translate(self.no_band, low=f"{bands[0].low:g}")

    def _points(self, inputs: Mapping[str, Value]) -> Computed:
        """Add up the points; raise ``InputNeeded`` when none of the criteria that may stay unknown was stated."""
        optional = self._optional_criteria()
        if optional and all(one.is_present(inputs) is None for one in optional):
            asked = "; ".join(translate(one.label) for one in optional)
            told = translate("State which of these are present or absent: {items}.", items=asked)
            raise InputNeeded(translate(self.unstated) if self.unstated else told)
        present = [one for one in self.criteria if one.is_present(inputs)]
        workings = tuple(f"{translate(one.label)}: {one.points:+g}" for one in present)
        return Computed((sum(one.points for one in present),), workings or (translate("No criterion is present: 0"),))

    def _optional_criteria(self) -> list[Criterion]:
        required = {name for name, one in self.inputs.items() if one.required}
        return [one for one in self.criteria if required.isdisjoint(one.inputs)]

    def _open_criteria(self, inputs: Mapping[str, Value]) -> tuple[str, ...]:
        """List the criteria that were not stated and count as absent, with the score that they could still give."""
        unknown = [one for one in self._optional_criteria() if one.is_present(inputs) is None]
        if not unknown:
            return ()
        total = sum(one.points for one in self.criteria if one.is_present(inputs))
        low = total + sum(one.points for one in unknown if one.points < 0)
        high = total + sum(one.points for one in unknown if one.points > 0)
        items = "; ".join(translate(one.label) for one in unknown)
        told = "Not stated and counted as absent: {items}. Depending on these the score is {low} to {high}."
        return (translate(told, items=items, low=f"{low:g}", high=f"{high:g}"),)


def calculators() -> tuple[Calculator, ...]:
    """Return the calculators of the tables."""
    return TypeAdapter(tuple[Calculator, ...]).validate_json((DATA / "calculators.json").read_bytes())
