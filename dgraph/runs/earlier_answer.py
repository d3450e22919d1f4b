"""An earlier answer by the present numbers of vertices, and what an answer that goes on from it consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from dgraph.changes.current_rows import CurrentRows
from dgraph.changes.fetched_rows import FetchedRows
from dgraph.changes.steps import Step
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.result import RunResult

TOO_MUCH = "too much depends on what changed"
TOO_FAR = "what depends on the changes is too many steps away from them"
TWO_TABLES = "the edges are too many to hold by source and by destination"


RowsOf: TypeAlias = Callable[
    [str | None], CurrentRows | FetchedRows
]  # the rows of a graph, with the weights in a column


class Repair(NamedTuple):
    """The values of an answer, and how many vertices and edges were looked at. `vertex_columns` hold vertices; those in
    `missing` have rows without one."""

    values: dict[str, np.ndarray]
    fired: int
    edges: int
    vertex_columns: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()
    lowest: float = 1.0
    rounds: int = 1
    totals: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class EarlierAnswer:
    """An earlier answer, what was touched since, and the number that each vertex of its graph has now; None if it has
    the same."""

    call: OperationCall
    result: RunResult
    touched: Step
    numbers: np.ndarray | None
    _known: dict[str, np.ndarray] = field(default_factory=dict)  # columns that were read

    @classmethod
    def of(cls, result: RunResult, touched: Step, num_vertices: int) -> Self:
        if not len(touched.vertices):
            return cls(result._answers, result, touched, None)
        is_old = np.ones(num_vertices, bool)
        is_old[touched.vertices] = False
        return cls(result._answers, result, touched, np.flatnonzero(is_old))

    def column(self, name: str, new: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Its values by present numbers, not to be changed; `new` makes those of new vertices."""
        values = self._by_number(name)
        if self.numbers is None:
            return values
        out = np.empty(len(self.numbers) + len(self.touched.vertices), values.dtype)
        out[self.numbers], out[self.touched.vertices] = values, new(self.touched.vertices)
        return out

    def vertices(self, name: str, new: Callable[[np.ndarray], Any]) -> np.ndarray:
        """The same of a column of vertices, in which numbers that are none stay."""
        out = self.column(name, new)
        if self.numbers is not None:
            old = out[self.numbers]
            valid = np.flatnonzero((old >= 0) & (old < len(self.numbers)))
            old[valid] = self.numbers[old[valid]]
            out[self.numbers] = old
        return out

    def _by_number(self, name: str) -> np.ndarray:
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def _found(self, name: str) -> np.ndarray:
        if self.result._values is not None:
            return self.result._values[name]
        held = self.result._available()
        if self.result._workers.client is not None:
            return self.result.by_number(name)
        if len(held.homes) > 1:
            return self.result.by_number(name)
        (part,) = held.homes
        numbers, columns = held.of(part).parts[part]
        if len(numbers) == len(columns[name]) and np.array_equal(numbers, np.arange(len(numbers), dtype=numbers.dtype)):
            return columns[name]
        out = np.empty_like(columns[name])
        out[numbers] = columns[name]
        return out
