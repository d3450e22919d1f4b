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

GROUPS = (set, frozenset, list, tuple)  # as other libraries return communities; no label is one
LARGEST = 2**53  # floats from here on do not tell all integers apart
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


@dataclass(frozen=True)
class PreviousDivision:
    """An earlier division, to go on from."""

    codes: np.ndarray  # int64: the earlier community of each vertex, by vertex number; -1 for none
    labels: np.ndarray  # int64: the vertex that names each of them; -1 if it is not in the graph

    @property
    def begun(self) -> np.ndarray:
        """Where the search begins: vertices without an earlier community are alone."""
        alone = self.codes < 0
        codes = self.codes.copy()
        codes[alone] = len(self.labels) + np.arange(alone.sum())
        return np.unique(codes, return_inverse=True)[1].astype(np.uint32)

    def names(self, communities: np.ndarray) -> np.ndarray:
        return kept_names(communities, self.codes, self.labels)


def read_previous(graph: PartitionedGraph, previous: Any) -> PreviousDivision:
    """An earlier division, perhaps of another graph: vertices may be new, and others may be gone. Communities are
    named by vertices, as `dgraph.leiden` names them."""
    if isinstance(previous, RunResult):
        previous = only_column("previous", previous)
    if isinstance(previous, ResultColumn) and not previous.has_vertices_of(graph):
        previous = previous.result.compute()[["vertex", previous.name]]
    if isinstance(previous, ResultColumn | str | np.ndarray | list | tuple):
        read = read_labels(graph, previous, "previous")
        codes, names = read.codes.astype(np.int64), read.names
    else:
        values, places, unknown = _by_vertex(graph, previous, "previous")
        if len(unknown) == len(values) > 0:
            raise IdError(f"previous= lists {unknown[0]!r} and other ids, none of which is a vertex of the graph")
        codes, names = _factorized(values, "previous")
        codes = np.where(places < 0, -1, np.append(codes, -1)[places])
    labels = pd.Index(graph.numbering.id_type.restore(graph.numbering.ids())).get_indexer(names)
    if len(labels) and (labels < 0).all():
        raise IdError(
            f"previous= names a community {names.tolist()[0]!r}, and none by a vertex of the graph: name each by one "
            "of its vertices, as leiden and louvain do"
        )
    return PreviousDivision(codes, labels.astype(np.int64))


def read_labels(graph: PartitionedGraph, labels: Any, name: str = "labels") -> Labels:
    """The labels of all vertices of a graph. Refuses labels that lack a vertex, or are for other vertices."""
    if isinstance(labels, RunResult):
        labels = only_column(name, labels)
    if isinstance(labels, ResultColumn):
        return _of_result(graph, labels, name)
    if isinstance(labels, list | tuple | set | frozenset) and any(isinstance(one, GROUPS) for one in labels):
        raise InputError(
            f"{name}= lists groups of vertices; pass the group of each vertex: "
            f"{name}={{v: i for i, group in enumerate(groups) for v in group}}"
        )
    if isinstance(labels, str):
        if labels not in graph.vertices.columns:
            raise ColumnError(f"{name}={labels!r}: there is no such vertex column; {FORMS}")
        return _coded(graph, vertex_table(graph, [labels])[labels], name)
    if isinstance(labels, np.ndarray | list | tuple):
        if isinstance(labels, np.ndarray) and labels.ndim != 1:
            raise ColumnError(f"{name}= has the shape {labels.shape}; pass one label for each vertex")
        values = pd.Series(labels, dtype=None if isinstance(labels, np.ndarray) else object)
        if len(values) != graph.num_vertices:
            raise ColumnError(
                f"{name}= lists {format_count(len(values), 'label')}; the graph has "
                f"{format_count(graph.num_vertices, 'vertex')}: pass one label for each, in ascending order"
            )
        return _coded(graph, values, name)
    values, places, unknown = _by_vertex(graph, labels, name)
    if (places < 0).any():
        raise _lacks(graph, places < 0, name)
    if len(unknown):
        raise IdError(f"{name}= lists {unknown[0]!r}, but the graph has no such vertex; leave it out")
    return _coded(graph, values.iloc[places], name)


def _of_result(graph: PartitionedGraph, column: ResultColumn, name: str) -> Labels:
    if not column.has_vertices_of(graph):
        raise ColumnError(f"{name}= is column {column.name!r} of a result for other vertices; pass {{vertex: label}}")
    values = column.by_number()
    if values.ndim > 1:
        raise ColumnError(f"{name}= is column {column.name!r}, which holds vectors; {FORMS}")
    if not column.holds_vertices:
        return _coded(graph, pd.Series(values), name)
    unknown = (values < 0) | (values >= graph.num_vertices)
    if unknown.any():
        raise _lacks(graph, unknown, name)
    present = np.zeros(graph.num_vertices, bool)
    present[values] = True
    codes = (np.cumsum(present, dtype=np.int64) - 1)[values].astype(np.uint32)
    ids = graph.numbering.restored(np.flatnonzero(present))
    return Labels(codes, pd.Index(ids))


def _by_vertex(graph: PartitionedGraph, labels: Any, name: str) -> tuple[pd.Series, np.ndarray, list[Any]]:
    """Labels from a mapping, a Series or a frame; for each vertex, the place of its label, below 0 for none; and ids
    that are not in the graph."""
    if hasattr(labels, "dask"):
        labels = labels.compute()
    if hasattr(labels, "to_pandas"):
        labels = labels.to_pandas()
    if isinstance(labels, Mapping):
        given, values = pd.Index(list(labels)), pd.Series(list(labels.values()), dtype=object)
    elif hasattr(labels, "columns"):
        if len(labels.columns) != 2:
            raise OptionError(
                f"{name}= is a table with the columns {list(labels.columns)}: give two, vertices and labels"
            )
        given, values = pd.Index(labels.iloc[:, 0]), labels.iloc[:, 1]
    elif hasattr(labels, "index") and hasattr(labels, "to_numpy"):
        given, values = labels.index, labels
    else:
        raise InputError(f"{name}= is a {type(labels).__name__}; {FORMS}")
    if isinstance(given, pd.MultiIndex):
        raise ColumnError(f"{name}= has an index of several levels; give one that holds the vertices")
    if given.has_duplicates:
        raise OptionError(
            f"{name}= lists vertex {given[given.duplicated()].tolist()[0]!r} more than once: give each vertex one label"
        )
    ids = pd.Index(graph.numbering.id_type.restore(graph.numbering.ids()))
    places = given.get_indexer(ids)
    unknown = given[~given.isin(ids)].tolist() if (places >= 0).sum() < len(given) else []
    return values.reset_index(drop=True), places, unknown


def _coded(graph: PartitionedGraph, values: pd.Series, name: str) -> Labels:
    codes, names = _factorized(values, name)
    if (codes < 0).any():
        raise _lacks(graph, codes < 0, name)
    return Labels(codes.astype(np.uint32), names)


def _factorized(values: pd.Series, name: str) -> tuple[np.ndarray, pd.Index]:
    """The number of each label, below 0 for a missing one, and the labels in ascending order."""
    try:
        codes, names = pd.factorize(values, sort=True)
    except TypeError as error:
        raise ColumnError(f"{name}= holds labels that cannot be compared ({error}); pass numbers or text") from error
    names = pd.Index(names).infer_objects()
    if names.dtype.kind == "f" and len(names) and max(abs(names.min()), abs(names.max())) >= LARGEST:
        raise ColumnError(f"{name}= holds floats beyond 2**53, which may be rounded; pass integers")
    return codes, names


def _lacks(graph: PartitionedGraph, missing: np.ndarray, name: str) -> ColumnError:
    """The error about vertices without a label."""
    first = np.flatnonzero(missing)[:1]
    vertex = np.asarray(graph.numbering.restored(first)).tolist()[0]
    count = int(missing.sum())
    return ColumnError(
        f"{name}= has no label for {format_count(count, 'vertex')}"
        f"{f', the first is {vertex!r}' if count > 1 else f', {vertex!r}'}; give every vertex a label"
    )


# -- names for communities that go on from an earlier division: each keeps that of which it is mostly made -------------


def kept_names(communities: np.ndarray, earlier: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The name of each community, a vertex.

    `communities` numbers the communities of all vertices without gaps. `earlier` are the numbers of their earlier ones,
    below 0 for none, and `labels` the vertices that those were named by, below 0 if that vertex is gone. A community
    keeps the label of the earlier one with which it shares most vertices (of several, the smallest label), if no other
    shares more of it. Every other takes the smallest of its vertices that does not name another.
    """
    count = int(communities.max()) + 1 if len(communities) else 0
    names = np.full(count, -1, np.int64)
    known = earlier >= 0
    known[known] = labels[earlier[known]] >= 0
    pairs, shared = np.unique(np.stack([communities[known], labels[earlier[known]]]), axis=1, return_counts=True)
    community, label = pairs
    best = np.lexsort((label, -shared, community))
    best = best[np.unique(community[best], return_index=True)[1]]  # for each community, the label of which it has most
    best = best[np.lexsort((community[best], -shared[best], label[best]))]
    best = best[np.unique(label[best], return_index=True)[1]]  # for each label, the community that has most of it
    names[community[best]] = label[best]
    taken = {*label[best].tolist()}
    waiting = np.flatnonzero(names < 0)
    if not len(waiting):
        return names
    order = np.argsort(communities, kind="stable")
    bounds = np.searchsorted(communities[order], np.arange(count + 1))
    spare = iter(range(len(communities)))
    for one in waiting.tolist():
        own = order[bounds[one] : bounds[one + 1]].tolist()
        free = next((vertex for vertex in own if vertex not in taken), None)
        if free is None:  # all of its vertices name others
            free = next(vertex for vertex in spare if vertex not in taken)
        names[one] = free
        taken.add(free)
    return names
