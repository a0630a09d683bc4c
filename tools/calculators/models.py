"""The result of a calculation, and what it rests on: formula, inputs, interpretation bands and source."""

from collections.abc import Sequence

from tools.calculators.wording import translate
from tools.errors import ToolError
from tools.types import Frozen


class InputNeeded(ToolError):
    """An input is missing, implausible or ambiguous; the message asks for it."""


class Source(Frozen):
    """The publication of a formula or of its interpretation."""

    title: str
    citation: str
    """Authors, journal, year, volume and pages."""
    year: str
    url: str


class Band(Frozen):
    """One range of the result and its meaning, in the words of the source."""

    label: str
    """The range as the source writes it."""
    low: float
    """The lowest value of the range; the range ends where the next one begins."""
    meaning: str

    @property
    def text(self) -> str:
        """The range and its meaning."""
        return f"{translate(self.label)}: {translate(self.meaning)}"


class Result(Frozen):
    """One computed number, rounded as it is reported."""

    name: str
    value: float
    unit: str = ""
    decimals: int = 0

    @property
    def text(self) -> str:
        """The number with its unit."""
        return f"{self.value:.{self.decimals}f} {translate(self.unit)}".strip()


class Calculation(Frozen):
    """A finished calculation; the inputs are added by the tool that ran it."""

    title: str
    results: tuple[Result, ...]
    formula: str
    valid_for: str
    source: Source
    workings: tuple[str, ...] = ()
    """The points or terms that make up the result."""
    bands: tuple[Band, ...] = ()
    bands_source: Source | None = None
    interpretation: str = ""
    """The band of the result, in the words of the source."""
    notes: tuple[str, ...] = ()


def band_of(value: float, bands: Sequence[Band]) -> str:
    """Return the label and meaning of the band that holds ``value``; ``bands`` ascend."""
    found = [band for band in bands if value >= band.low]
    return found[-1].text if found else ""
