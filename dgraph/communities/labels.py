"""The community of each vertex, from any of the forms in which users give labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import ColumnError, IdError, InputError, OptionError
from dgraph.phrases.phrases import format_count
from dgraph.runs.result import RunResult
from dgraph.runs.result_column import ResultColumn, only_column
from dgraph.runs.vertex_columns import vertex_table

FORMS = (
    "pass a result, the name of a vertex column, {vertex: label}, a Series indexed by vertex, a frame of vertices and "
    "labels, or an array in ascending order of the vertices"
)


@dataclass(frozen=True)
class Labels:
    """The communities, numbered in ascending order of their labels."""

    codes: np.ndarray  # uint32: the community of each vertex, by vertex number
    names: pd.Index  # the label of each community

    @property
    def count(self) -> int:
        return len(self.names)


def read_labels(graph: PartitionedGraph, labels: Any) -> Labels:
    """The labels of all vertices of a graph. Refuses labels that lack a vertex, or are for other vertices."""
    if isinstance(labels, RunResult):
        labels = only_column("labels", labels)
    if isinstance(labels, ResultColumn):
        return _of_result(graph, labels)
    if isinstance(labels, str):
        if labels not in graph.vertices.columns:
            raise ColumnError(f"labels={labels!r}: there is no such vertex column; {FORMS}")
        return _coded(graph, vertex_table(graph, [labels])[labels])
    if isinstance(labels, np.ndarray | list | tuple):
        values = pd.Series(list(labels) if np.ndim(labels) > 1 else labels)
        if len(values) != graph.num_vertices:
            raise ColumnError(
                f"labels= lists {format_count(len(values), 'label')}; the graph has "
                f"{format_count(graph.num_vertices, 'vertex')}: pass one label for each, in ascending order"
            )
        return _coded(graph, values)
    return _coded(graph, _by_vertex(graph, labels))


def _of_result(graph: PartitionedGraph, column: ResultColumn) -> Labels:
    if not column.has_vertices_of(graph):
        raise ColumnError(f"labels= is column {column.name!r} of a result for other vertices; pass {{vertex: label}}")
    values = column.by_number()
    if values.ndim > 1:
        raise ColumnError(f"labels= is column {column.name!r}, which holds vectors; {FORMS}")
    if not column.holds_vertices:
        return _coded(graph, pd.Series(values))
    unknown = (values < 0) | (values >= graph.num_vertices)
    if unknown.any():
        raise _lacks(graph, unknown)
    present = np.zeros(graph.num_vertices, bool)
    present[values] = True
    codes = (np.cumsum(present, dtype=np.int64) - 1)[values].astype(np.uint32)
    ids = graph.numbering.id_type.restore(graph.numbering.take(np.flatnonzero(present)))
    return Labels(codes, pd.Index(ids))


def _by_vertex(graph: PartitionedGraph, labels: Any) -> pd.Series:
    """Labels in the order of the vertices' numbers, from a mapping, a Series or a frame."""
    if hasattr(labels, "dask"):
        labels = labels.compute()
    if hasattr(labels, "to_pandas"):
        labels = labels.to_pandas()
    if isinstance(labels, Mapping):
        given, values = pd.Index(list(labels)), pd.Series(list(labels.values()))
    elif hasattr(labels, "columns"):
        if len(labels.columns) != 2:
            raise OptionError(
                f"labels= is a table with the columns {list(labels.columns)}: give two, vertices and labels"
            )
        given, values = pd.Index(labels.iloc[:, 0]), labels.iloc[:, 1]
    elif hasattr(labels, "index") and hasattr(labels, "to_numpy"):
        given, values = labels.index, labels
    else:
        raise InputError(f"labels= is a {type(labels).__name__}; {FORMS}")
    if given.has_duplicates:
        raise OptionError(
            f"labels= lists vertex {given[given.duplicated()].tolist()[0]!r} more than once: give each vertex one label"
        )
    ids = pd.Index(graph.numbering.id_type.restore(graph.numbering.ids()))
    places = given.get_indexer(ids)
    if (places < 0).any():
        raise _lacks(graph, places < 0)
    if len(given) > len(ids):
        unknown = given[~given.isin(ids)].tolist()[0]
        raise IdError(f"labels= lists {unknown!r}, but the graph has no such vertex; leave it out")
    return values.reset_index(drop=True).iloc[places]


def _coded(graph: PartitionedGraph, values: pd.Series) -> Labels:
    codes, names = pd.factorize(values, sort=True)
    if (codes < 0).any():
        raise _lacks(graph, codes < 0)
    return Labels(codes.astype(np.uint32), pd.Index(names))


def _lacks(graph: PartitionedGraph, missing: np.ndarray) -> ColumnError:
    """The error about vertices without a label."""
    first = np.flatnonzero(missing)[:1]
    vertex = np.asarray(graph.numbering.id_type.restore(graph.numbering.take(first))).tolist()[0]
    count = int(missing.sum())
    return ColumnError(
        f"labels= has no label for {format_count(count, 'vertex')}"
        f"{f', the first is {vertex!r}' if count > 1 else f', {vertex!r}'}; give every vertex a label"
    )
