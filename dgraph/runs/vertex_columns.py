"""The vertex columns that a program reads: each partition's share of them, brought to where the partition is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dgraph.errors import ColumnError, OptionError
from dgraph.graph import Graph
from dgraph.options import by_vertex
from dgraph.partition.partition import Partition
from dgraph.programs.analysis import Analysis
from dgraph.programs.program import VertexColumn
from dgraph.runs.result import ResultColumn
from dgraph.runs.worker_results import WorkerResult

GivenColumns = Mapping[str, Any]  # {column: values by vertex, or an array by number, or a column of an earlier result}

SMALL = 1 << 14  # bytes of a few values, which travel with the tasks that read them


@dataclass(frozen=True)
class SparseColumn:
    """A column with values for some vertices; the others have `missing`."""

    numbers: np.ndarray  # ascending
    values: np.ndarray
    missing: Any

    def of(self, owned: np.ndarray) -> np.ndarray:
        """The share of a partition that owns these numbers (ascending)."""
        found = np.full((len(owned), *self.values.shape[1:]), self.missing, self.values.dtype)
        places = np.searchsorted(owned, self.numbers)
        here = places < len(owned)
        here[here] = owned[places[here]] == self.numbers[here]
        found[places[here]] = self.values[here]
        return found


@dataclass(frozen=True)
class DenseColumn:
    """A column with a value for each number."""

    values: np.ndarray

    def of(self, owned: np.ndarray) -> np.ndarray:
        """The share of a partition that owns these numbers (ascending): where it owns all, the array itself, if kernels
        take that."""
        flags = self.values.flags
        as_it_is = len(owned) == len(self.values) and flags.c_contiguous and flags.writeable
        return self.values if as_it_is else self.values[owned]


def check_columns(given: Any) -> None:
    """Check the option before anything begins."""
    if not (given is None or isinstance(given, Mapping)):
        raise OptionError(f"columns is a {type(given).__name__}; give {{column: values}}, one for each vertex column")


def attach_columns(
    graph: Graph,
    analysis: Analysis,
    partitions: Sequence[Any],
    given: GivenColumns,
    homes: Sequence[str] | None,
    *,
    anew: bool = False,
) -> Sequence[Any]:
    """Each partition together with its share of the vertex columns, if the program reads any. On a cluster a share is a
    future on the partition's worker, which need not be there yet: a task on another worker would copy the partition.
    `anew`: these are not the graph's own partitions, but were made for this run."""
    read = {column.name: column for column in analysis.vertex_columns}
    for name in given:
        if name not in read:
            known = ", ".join(read) or "none"
            raise ColumnError(f"{analysis.title} reads no vertex column {name!r}; it reads {known}")
    there = {
        name: one
        for name, one in given.items()
        if isinstance(one, ResultColumn)
        and not anew
        and one.lies_with(graph)
        and _has_room(read[name].dtype, one.dtype)
    }
    others = {name: values for name, values in given.items() if name not in there}
    sent = {name: _by_number(graph, read[name], analysis.width, values) for name, values in others.items()}
    sent |= _attributes(graph, analysis.title, [column for name, column in read.items() if name not in given])
    if not sent and not there:
        return partitions
    workers = graph.workers
    small = all(isinstance(values, SparseColumn) and values.values.nbytes < SMALL for values in sent.values())
    (shared,) = [sent] if small else workers.send([sent])
    shares = [
        (partition, part, shared, {name: (one.name, one.held.of(part)) for name, one in there.items()})
        for part, partition in enumerate(partitions)
    ]
    return workers.each(_share_of, shares, homes)


def detach_columns(given: Any) -> tuple[Partition, dict[str, np.ndarray]]:
    """A partition, and its share of the vertex columns, of what `attach_columns` has returned."""
    return given if isinstance(given, tuple) else (given, {})


def _by_number(graph: Graph, column: VertexColumn, width: int, values: Any) -> SparseColumn | DenseColumn:
    each = () if column.shape is None else (width,)
    if isinstance(values, ResultColumn):
        if not values.is_of(graph):
            raise ColumnError(f"column {column.name!r} is of a result for other vertices; give {{vertex: value}}")
        values = _exactly(column, values.by_number())
    elif isinstance(values, np.ndarray):
        values = _cast(graph, column, values)
    if isinstance(values, np.ndarray):
        if values.shape != (graph.num_vertices, *each):
            raise ColumnError(f"column {column.name!r}: {values.shape} values for {graph.num_vertices} vertices")
        return DenseColumn(values.astype(column.dtype, copy=False))
    found = by_vertex(column.name, values)
    if found is None:
        raise ColumnError(
            f"column {column.name!r} is a {type(values).__name__}; give {{vertex: value}}, a Series by vertex, a frame "
            "of vertices and values, an array in ascending order of the vertices, or result.column(name)"
        )
    numbers = np.array([graph.numbering.find(vertex) for vertex in found], np.int64)
    order = np.argsort(numbers)
    rows = _cast(graph, column, list(found.values())).reshape(len(found), *each)
    return SparseColumn(numbers[order], rows[order], column.missing)


def _has_room(dtype: np.dtype, other: np.dtype) -> bool:
    """Whether values of the other type need not be looked at before they are of this one."""
    return dtype.kind == "f" or np.can_cast(other, dtype)


def _cast(graph: Graph, column: VertexColumn, values: Any) -> np.ndarray:
    """Values in the column's dtype, vertices as numbers; refused where that would change them."""
    if column.is_vertex:
        return np.array([graph.numbering.find(vertex) for vertex in values], np.int64)
    return _exactly(column, np.asarray(values))


def _exactly(column: VertexColumn, found: np.ndarray) -> np.ndarray:
    try:
        with np.errstate(invalid="ignore"):  # NaN as a whole number, which is not the same
            cast = found.astype(column.dtype)
    except (TypeError, ValueError) as error:
        raise ColumnError(f"column {column.name!r} is declared {column.dtype}: {error}; give numbers") from error
    if cast.dtype.kind != "f" and (changed := np.flatnonzero(cast.ravel() != found.ravel())).size:
        value = found.ravel()[changed[0]]
        raise ColumnError(f"column {column.name!r} is declared {column.dtype}, which {value} is not; declare another")
    return cast


def _attributes(graph: Graph, reader: str, columns: Sequence[VertexColumn]) -> dict[str, DenseColumn]:
    """The columns that are attributes of the graph's vertices. Of the others, those that the program can do without are
    left out, and the first that it needs is an error."""
    known = graph.listed.vertices.columns
    absent = [one.name for one in columns if not one.optional and (one.shape is not None or one.name not in known)]
    if absent:
        has = ", ".join(map(repr, known)) or "none"
        raise ColumnError(
            f"{reader} reads the vertex column {absent[0]!r}; the vertices have {has}: "
            f"give columns={{{absent[0]!r}: ...}}, or declare what stands in its place: VertexColumn(..., missing=0)"
        )
    columns = [one for one in columns if one.shape is None and one.name in known]
    if not columns:
        return {}
    table, found = vertex_table(graph, [one.name for one in columns]), {}
    for column in columns:
        there = table[column.name].notna().to_numpy()
        values = np.full(len(table), column.missing, column.dtype)
        values[there] = _cast(graph, column, table[column.name][there].to_numpy())
        found[column.name] = DenseColumn(values)
    return found


def vertex_table(graph: Graph, columns: list[str]) -> pd.DataFrame:
    """Columns of the graph's vertices in this process, a row for each by its number."""
    table = pd.concat(graph.workers.get(graph.vertices.to_delayed()), ignore_index=True)[columns]
    if (numbers := graph.placement.numbers) is None:
        return table
    rows = np.empty_like(numbers)
    rows[numbers] = np.arange(len(numbers))
    return table.iloc[rows]


def _share_of(
    partition: Partition,
    part: int,
    sent: Mapping[str, SparseColumn | DenseColumn],
    there: Mapping[str, tuple[str, WorkerResult]],
) -> tuple[Partition, dict[str, np.ndarray]]:
    """The partition with its share of the columns: of those that were `sent`, and of those that lie `there`, each as a
    column of an earlier result."""
    owned = partition.numbers[: partition.num_owned]
    share = {name: values.of(owned) for name, values in sent.items()}
    for name, (column, found) in there.items():
        numbers, columns = found.parts[part]
        assert numbers is owned or np.array_equal(numbers, owned), "a result lies with the partitions it was made from"
        share[name] = columns[column]
    return partition, share
