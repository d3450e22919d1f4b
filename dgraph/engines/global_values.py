"""The global values of a program on one worker: folded over its vertices, then merged with those of other workers.

Sums of floats can be made exact, so that they do not depend on the order of addition: floats are added as integer
multiples of the smallest float, and the sum is rounded once at the end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.codegen.recipe import Recipe
from dgraph.programs.analysis import Analysis
from dgraph.programs.kernel_names import field_name
from dgraph.programs.monoid import SUM
from dgraph.vertex_state.partition_state import PartitionState

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


class GlobalValues:
    """The global values on one worker. All workers know `values`, which kernels read; `folded` is yet to be shared."""

    def __init__(self, states: Sequence[PartitionState], recipe: Recipe):
        self.states, self.recipe = states, recipe
        self.fields = {name: field for name, (field, _) in recipe.analysis.globals.items()}
        self.values = {name: field.identity for name, field in self.fields.items()}
        self.folded: list[tuple[str, Any]] = []  # what this worker folded since the last exchange
        self.unshared = False  # whether workers have folded values to share; a worker without vertices has none
        self.exact_names = exact_sums(recipe.analysis) if states[0].round_options.deterministic else []

    def fold(self, names: Sequence[str], parts: Sequence[tuple]) -> None:
        """Record what the vertices here fold to. Each of `parts` has a value for each of `names`."""
        self.unshared |= bool(names)
        found = [pair for values in parts for pair in zip(names, values, strict=True)]
        exactly = [name for name in names if name in self.exact_names]
        sums = {name: ExactSum(value for one, value in found if one == name) for name in exactly}
        self.folded += [pair for pair in found if pair[0] not in sums] + list(sums.items())

    def learn(self, told: Sequence[list[tuple[str, Any]]]) -> None:
        """Merge what all workers have folded, in the same order on every worker."""
        if not self.unshared:
            return
        merged: dict[str, Any] = {}
        for name, value in (pair for folded in told for pair in folded):
            merged[name] = self.fields[name].merge.merge(merged[name], value) if name in merged else value
        self.put({name: float(value) if isinstance(value, ExactSum) else value for name, value in merged.items()})

    def put(self, values: Mapping[str, Any]) -> None:
        """Set values that all workers know, so that none is left to share. Integers wrap around in their type."""
        values = {name: wrap_integer(value, self.fields[name].dtype) for name, value in values.items()}
        self.values |= values
        self.folded, self.unshared = [], False
        for state in self.states:
            state.values |= {field_name(name): value for name, value in values.items()}

    def stop(self, round: int) -> bool:
        """Whether the program's `stop` ends the run after this round."""
        known = {"round": round, "vertices": self.states[0].values["vertices"]}
        return self.recipe.should_stop({**known, **self.recipe.values, **self.values})


def wrap_integer(value: Any, dtype: np.dtype) -> Any:
    """An integer wrapped around to fit its type, as kernels expect; other values unchanged."""
    if dtype.kind != "i":
        return value
    span = 1 << (8 * dtype.itemsize)
    return (int(value) + span // 2) % span - span // 2
