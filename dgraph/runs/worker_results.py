"""What a run leaves on the workers: the values of each partition's vertices, which worker holds them, and their
conversion to tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.cluster.workers import any_lost
from dgraph.partition.ids.numbering import Numbering


def single_call_row(fired: int, edges: int, busy: float, **others: Any) -> dict[str, Any]:
    """The row of a report for a superstep that is a single call, without messages or waiting. `others` override values
    such as the superstep, the partition or the device."""
    row: dict[str, Any] = {"superstep": 1, "partition": 0, "fired": fired, "edges": edges, "messages": 0, "bytes": 0}
    row |= {"skipped": False, "direction": "local", "device": "cpu", "busy": busy, "idle": 0.0}
    return row | others


class VertexValues(NamedTuple):
    """The numbers of some vertices, and columns of their values."""

    numbers: np.ndarray
    columns: dict[str, np.ndarray]


class WorkerResult:
    """What one worker holds after a run. This is a plain class because Dask searches dicts and dataclasses for
    tasks."""

    def __init__(
        self,
        parts: dict[int, VertexValues],
        missing: set[str],
        rows: list[dict[str, Any]],
        rounds: int,
        totals: dict[str, Any],
        found_end_in: float | None = None,
        shares: Sequence[float] = (),
    ):
        self.parts = parts  # {partition: values of the vertices that it owns}
        self.missing = missing  # columns of vertices in which some row has no vertex
        self.rows, self.rounds, self.totals = rows, rounds, totals
        self.shares = shares  # at a pause between two rounds: how to split the edges for the rest of the run
        self.found_end_in = found_end_in  # seconds from the worker's last work to the end, if not in rounds

    def without_values(self) -> WorkerResult:
        """What the client needs immediately, without the values."""
        summary = copy(self)
        summary.parts = {
            part: VertexValues(numbers[:0], {name: values[:0].copy() for name, values in columns.items()})
            for part, (numbers, columns) in self.parts.items()
        }
        return summary


@dataclass(frozen=True)
class WorkerResults:
    """The `WorkerResult` of all workers, and which of them holds each partition."""

    results: Sequence[Any]  # futures on a cluster
    homes: dict[int, int]

    @property
    def lost(self) -> bool:
        """Whether some results were lost with their worker."""
        return any_lost(self.results)

    def of(self, part: int) -> Any:
        """The `WorkerResult` that holds a partition."""
        return self.results[self.homes[part]]


def has_missing_vertex(numbers: np.ndarray, vertices: int) -> bool:
    """Whether one of these numbers is not the number of a vertex."""
    return bool(numbers.size) and int(numbers.view(np.uint64).max()) >= vertices  # negative ones are the largest


def numbered_table(result: WorkerResult, part: int, *rest: Any) -> tuple[np.ndarray, pd.DataFrame]:
    """The numbers of a partition's vertices, and their values as a table; `rest` are the arguments of `table`."""
    return result.parts[part].numbers, table(result.parts[part], *rest)


def table(owned: VertexValues, numbering: Numbering, vertex_columns: Sequence[str], missing: set[str]) -> pd.DataFrame:
    """Values of some vertices as a table with the user's ids. `missing` are the columns of vertices in which some rows
    have no vertex."""
    columns: dict[str, Any] = {"vertex": numbering.restored(owned.numbers)}
    for name, values in owned.columns.items():
        if name not in vertex_columns:
            columns[name] = values if values.ndim == 1 else pd.Series(list(values), dtype=object)
        elif values.ndim == 1:
            columns[name] = _ids(values, numbering, name in missing)
        else:
            columns[name] = [_ids(row, numbering, name in missing) for row in values]
    return pd.DataFrame(columns)


def vector_dtype(values: np.ndarray) -> pd.ArrowDtype:
    """The dtype that a lazy frame declares for a column of vectors, so that Dask can write it to Parquet. The column
    itself holds arrays."""
    return pd.ArrowDtype(pa.list_(pa.from_numpy_dtype(values.dtype)))


def _ids(numbers: np.ndarray, numbering: Numbering, some_missing: bool) -> Any:
    """The ids of some vertices, in a column that can hold missing values if some numbers are not those of a vertex."""
    if not some_missing:
        return numbering.restored(numbers)
    absent = (numbers < 0) | (numbers >= numbering.size)
    ids = pd.Series(numbering.restored(np.where(absent, 0, numbers)))
    if numbering.id_type.kind == "integer":
        ids = ids.astype("UInt64" if ids.dtype.kind == "u" else "Int64")
    return ids.mask(absent)


# -- tasks that read or change the values of a partition ---------------------------------------------------------------


def changed_values(change: Callable[..., Any], part: int, result: WorkerResult, *others: Any) -> WorkerResult:
    """What `RunResult.map` makes of a partition's values. `others` are results of the same partition, or the values of
    all vertices."""
    numbers, columns = result.parts[part]
    beside = []
    for other in others:
        if isinstance(other, WorkerResult):
            assert np.array_equal(other.parts[part].numbers, numbers), "results on the same graph have the same parts"
            beside.append(other.parts[part].columns)
        else:
            beside.append({name: values[numbers] for name, values in other.items()})
    changed = VertexValues(*change(numbers, columns, *beside))
    return WorkerResult({part: changed}, result.missing, [], result.rounds, result.totals)


def table_alone(*arguments: Any) -> pd.DataFrame:
    """The table of `numbered_table`."""
    return numbered_table(*arguments)[1]


def numbered_values(result: WorkerResult, part: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a partition's vertices, and their values in a column."""
    numbers, columns = result.parts[part]
    return numbers, columns[name]
