"""Clinical calculators: published formulas with units, ranges, interpretation and source."""

from tools.calculators.calculator_tools import calculator_tools

__all__ = ["calculator_tools"]
