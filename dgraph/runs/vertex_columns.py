"""The vertex columns that a program reads. Each partition receives its share of them on its own worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dgraph.arguments import values_by_vertex
from dgraph.building.graph_frames import vertex_tables
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import ColumnError
from dgraph.partition.partition import Partition
from dgraph.programs.analysis import Analysis
from dgraph.programs.program import VertexColumn
from dgraph.runs.result_column import ResultColumn
from dgraph.runs.worker_results import WorkerResult

ColumnValues = Mapping[str, Any]  # {column: values by vertex, or an array by number, or a column of an earlier result}

SMALL = 1 << 14  # bytes up to which values travel with the tasks that read them


@dataclass(frozen=True)
class SparseColumn:
    """A column with values for some vertices; the others get `missing`."""

    numbers: np.ndarray  # ascending
    values: np.ndarray
    missing: Any

    def of(self, owned: np.ndarray) -> np.ndarray:
        """The share of a partition that owns these numbers (ascending)."""
        share = np.full((len(owned), *self.values.shape[1:]), self.missing, self.values.dtype)
        places = np.searchsorted(owned, self.numbers)
        here = places < len(owned)
        here[here] = owned[places[here]] == self.numbers[here]
        share[places[here]] = self.values[here]
        return share


@dataclass(frozen=True)
class FullColumn:
    """A column with a value for each number."""

    values: np.ndarray

    def of(self, owned: np.ndarray) -> np.ndarray:
        """The share of a partition that owns these numbers (ascending). If it owns all, this is the array itself,
        provided that kernels accept it."""
        flags = self.values.flags
        unchanged = len(owned) == len(self.values) and flags.c_contiguous and flags.writeable
        return self.values if unchanged else self.values[owned]


def attach_columns(
    graph: PartitionedGraph,
    analysis: Analysis,
    partitions: Sequence[Any],
    given: ColumnValues,
    homes: Sequence[str] | None,
    *,
    anew: bool = False,
) -> Sequence[Any]:
    """Each partition paired with its share of the vertex columns, if the program reads any. On a cluster, a share is a
    future on the partition's worker, possibly not computed yet; a task on another worker would copy the partition.
    With `anew`, the partitions were made for this run and are not the graph's own."""
    read = {column.name: column for column in analysis.vertex_columns}
    for name in given:
        if name not in read:
            known = ", ".join(read) or "none"
            raise ColumnError(f"{analysis.title} reads no vertex column {name!r}; it reads {known}")
    held = {
        name: one
        for name, one in given.items()
        if isinstance(one, ResultColumn) and not anew and one.is_beside(graph) and _fits(read[name].dtype, one.dtype)
    }
    others = {name: values for name, values in given.items() if name not in held}
    sent = {name: _by_number(graph, read[name], analysis.width, values) for name, values in others.items()}
    sent |= _attributes(graph, analysis.title, [column for column in analysis.attributes if column.name not in given])
    if not sent and not held:
        return partitions
    workers = graph.workers
    small = all(isinstance(values, SparseColumn) and values.values.nbytes < SMALL for values in sent.values())
    (shared,) = [sent] if small else workers.send([sent])
    shares = [
        (partition, part, shared, {name: (one.name, one.result._held.of(part)) for name, one in held.items()})
        for part, partition in enumerate(partitions)
    ]
    return workers.each(_share_of, shares, homes)


def _by_number(graph: PartitionedGraph, column: VertexColumn, width: int, values: Any) -> SparseColumn | FullColumn:
    each = () if column.shape is None else (width,)
    if isinstance(values, ResultColumn):
        if not values.has_vertices_of(graph):
            raise ColumnError(f"column {column.name!r} belongs to a result for other vertices; pass {{vertex: value}}")
        values = _cast_exactly(column, values.by_number())
    elif isinstance(values, np.ndarray):
        values = _cast(graph, column, values)
    if isinstance(values, np.ndarray):
        if values.shape != (graph.num_vertices, *each):
            raise ColumnError(
                f"column {column.name!r} has shape {values.shape}; expected {(graph.num_vertices, *each)}"
            )
        return FullColumn(values.astype(column.dtype, copy=False))
    mapping = values_by_vertex(column.name, values)
    if mapping is None:
        raise ColumnError(
            f"column {column.name!r} is a {type(values).__name__}; pass {{vertex: value}}, a Series indexed by vertex, "
            "a frame of vertices and values, an array in ascending order of the vertices, or result.column(name)"
        )
    numbers = np.array([graph.numbering.find(vertex) for vertex in mapping], np.int64)
    order = np.argsort(numbers)
    rows = _cast(graph, column, list(mapping.values())).reshape(len(mapping), *each)
    return SparseColumn(numbers[order], rows[order], column.missing)


def _fits(dtype: np.dtype, other: np.dtype) -> bool:
    """Whether values of the other dtype can be cast to this one without a check."""
    return dtype.kind == "f" or np.can_cast(other, dtype)


def _cast(graph: PartitionedGraph, column: VertexColumn, values: Any) -> np.ndarray:
    """Values in the column's dtype, with vertices as numbers. Raises an error if the conversion would change them."""
    if column.is_vertex:
        return np.array([graph.numbering.find(vertex) for vertex in values], np.int64)
    return _cast_exactly(column, np.asarray(values))


def _cast_exactly(column: VertexColumn, values: np.ndarray) -> np.ndarray:
    try:
        with np.errstate(invalid="ignore"):  # NaN cast to an integer; the comparison below rejects it
            cast = values.astype(column.dtype)
    except (TypeError, ValueError) as error:
        raise ColumnError(f"column {column.name!r} is declared {column.dtype}: {error}; pass numbers") from error
    if cast.dtype.kind != "f" and (changed := np.flatnonzero(cast.ravel() != values.ravel())).size:
        value = values.ravel()[changed[0]]
        raise ColumnError(
            f"column {column.name!r} is declared {column.dtype}, which cannot hold {value}; declare another dtype"
        )
    return cast


def _attributes(graph: PartitionedGraph, reader: str, columns: Sequence[VertexColumn]) -> dict[str, FullColumn]:
    """The columns that are attributes of the graph's vertices. Optional columns that the graph lacks are left out; any
    other missing column raises an error."""
    known = graph.input_edges.vertices.columns
    absent = [one.name for one in columns if not one.optional and (one.shape is not None or one.name not in known)]
    if absent:
        has = ", ".join(map(repr, known)) or "none"
        raise ColumnError(
            f"{reader} reads the vertex column {absent[0]!r}; the vertices have {has}. "
            f"Pass columns={{{absent[0]!r}: ...}}, or declare a default: VertexColumn(..., missing=0)"
        )
    columns = [one for one in columns if one.shape is None and one.name in known]
    if not columns:
        return {}
    table, attributes = vertex_table(graph, [one.name for one in columns]), {}
    for column in columns:
        known = table[column.name].notna().to_numpy()
        values = np.full(len(table), column.missing, column.dtype)
        values[known] = _cast(graph, column, table[column.name][known].to_numpy())
        attributes[column.name] = FullColumn(values)
    return attributes


def vertex_table(graph: PartitionedGraph, columns: list[str]) -> pd.DataFrame:
    """Columns of the graph's vertices in this process, with a row for each vertex in the order of their numbers."""
    table = pd.concat(graph.workers.get(vertex_tables(graph)[0]), ignore_index=True)[columns]
    if (numbers := graph.placement.numbers) is None:
        return table
    rows = np.empty_like(numbers)
    rows[numbers] = np.arange(len(numbers))
    return table.iloc[rows]


def _share_of(
    partition: Partition,
    part: int,
    sent: Mapping[str, SparseColumn | FullColumn],
    held: Mapping[str, tuple[str, WorkerResult]],
) -> tuple[Partition, dict[str, np.ndarray]]:
    """The partition with its share of the columns that were `sent`, and of those that the worker has `held` as a column
    of an earlier result."""
    owned = partition.numbers[: partition.num_owned]
    share = {name: values.of(owned) for name, values in sent.items()}
    for name, (column, result) in held.items():
        numbers, columns = result.parts[part]
        assert numbers is owned or np.array_equal(numbers, owned), (
            "a result is held with the partitions it is made from"
        )
        share[name] = columns[column]
    return partition, share
