"""Sums of floats that do not depend on the order of addition: floats are added as integer multiples of the smallest
float, and the sum is rounded once at the end."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dgraph.programs.analysis import Analysis
from dgraph.programs.monoid import SUM

UNIT = 1074  # every float is an integer multiple of 2 ** -1074


class ExactSum:
    """Adds floats without rounding. Infinities and NaN are added separately, and take precedence."""

    __slots__ = ("total", "unbounded")

    def __init__(self, values: Iterable[float] = ()):
        self.total, self.unbounded = 0, 0.0
        for value in values:
            if math.isfinite(value):
                numerator, denominator = float(value).as_integer_ratio()
                self.total += numerator << (UNIT + 1 - denominator.bit_length())
            else:
                self.unbounded += value

    def __add__(self, other: ExactSum) -> ExactSum:
        both = ExactSum()
        both.total, both.unbounded = self.total + other.total, self.unbounded + other.unbounded
        return both

    def __float__(self) -> float:
        """The float nearest to the sum, or an infinity if the sum exceeds the range of floats."""
        if self.unbounded:
            return self.unbounded
        try:
            return self.total / (1 << UNIT)
        except OverflowError:
            return math.inf if self.total > 0 else -math.inf


def exact_sums(analysis: Analysis) -> list[str]:
    """The global values that must be added exactly so as not to depend on the order: sums of floats."""
    fields = {name: field for name, (field, _) in analysis.globals.items() if field.dtype.kind == "f"}
    return [name for name, field in fields.items() if field.merge.name == SUM.name]
