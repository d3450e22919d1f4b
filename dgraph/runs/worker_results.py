"""What a run leaves on the workers: the values of each partition's vertices; and which worker has which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dgraph.cluster.workers import any_lost


class VertexValues(NamedTuple):
    """Some vertices by number, and columns of their values."""

    numbers: np.ndarray
    columns: dict[str, np.ndarray]


class WorkerResult:
    """What one worker has in the end. A plain class, because Dask would look through a dict or a dataclass for
    tasks."""

    def __init__(
        self,
        parts: dict[int, VertexValues],
        missing: set[str],
        rows: list[dict[str, Any]],
        rounds: int,
        totals: dict[str, Any],
        found_end_in: float | None = None,
    ):
        self.parts = parts  # of the vertices that each partition owns
        self.missing = missing  # columns of vertices in which some vertex has none
        self.rows, self.rounds, self.totals = rows, rounds, totals
        self.found_end_in = found_end_in  # seconds from the last work on the worker, where there were no common rounds

    def without_values(self) -> WorkerResult:
        """What the client needs at once; the values stay on the worker."""
        empty = {
            part: VertexValues(numbers[:0], {name: values[:0].copy() for name, values in columns.items()})
            for part, (numbers, columns) in self.parts.items()
        }
        return WorkerResult(empty, self.missing, self.rows, self.rounds, self.totals, self.found_end_in)


@dataclass(frozen=True)
class DistributedResult:
    """The `WorkerResult` of all workers, and which of them has each partition."""

    found: Sequence[Any]  # futures on a cluster
    homes: dict[int, int]

    @property
    def lost(self) -> bool:
        """Whether some went away with their worker."""
        return any_lost(self.found)

    def of(self, part: int) -> Any:
        """The `WorkerResult` that has a partition."""
        return self.found[self.homes[part]]


def has_missing_vertex(numbers: np.ndarray, vertices: int) -> bool:
    """Whether some of these numbers is that of no vertex."""
    return bool(numbers.size) and int(numbers.view(np.uint64).max()) >= vertices  # negative ones are the largest
