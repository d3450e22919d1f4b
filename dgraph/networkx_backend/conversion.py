"""Conversion between NetworkX's graphs and those of the backend, without a Python loop over edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain, compress
from numbers import Integral
from operator import itemgetter, methodcaller
from typing import Any
from weakref import ReferenceType, ref

import networkx as nx
import numpy as np

from dgraph.graph import Graph
from dgraph.io.library_graphs import to_networkx
from dgraph.networkx_backend.node_graphs import EXACT, ConvertedGraph, Weights

# How the neighbours of nodes are found. A subclass that overrides one may have other edges than its dictionaries say.
ADJACENCY = ("__iter__", "__getitem__", "neighbors", "adjacency", "adj")
AT_A_TIME = 4096  # pairs of nodes in a multigraph, whose edges are read at a time
BYTES_OF_AN_EDGE = 300  # what an edge takes in the dictionaries of a NetworkX graph, about


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: Mapping[str, Any] | None = None,
    preserve_edge_attrs: bool = False,
    **_: Any,
) -> ConvertedGraph:
    """A graph's edges as arrays, with the wanted attributes as weights; `edge_attrs` has their defaults.

    If all attributes are to be preserved, they are read when they are first needed.
    """
    _check_class(type(graph))
    nodes = list(graph)
    rows = _rows(graph, nodes)
    wanted = {} if preserve_edge_attrs else dict(edge_attrs or {})
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    source, target = np.repeat(np.arange(len(nodes)), lengths), _numbers(nodes, rows, lengths.sum())
    once = None
    if not graph.is_directed():  # both ends list an edge
        once = source <= target
        source, target = source[once], target[once]
    data: list[Mapping] = []
    if graph.is_multigraph():
        data, times = _repeated(graph, _data(rows, once), with_data=bool(wanted))
        source, target = np.repeat(source, times), np.repeat(target, times)
    elif wanted:
        data = _data(rows, once)
    weights = LazyWeights(ref(graph), once) if preserve_edge_attrs else {}
    weights |= {name: _weights(data, name, default) for name, default in wanted.items()}
    return ConvertedGraph(
        nodes,
        (source, target),
        weights,
        directed=graph.is_directed(),
        multigraph=graph.is_multigraph(),
        original=ref(graph),
    )


class LazyWeights(dict[str, Weights]):
    """The weights of a graph that stands for one with all attributes, which are read when they are first asked for."""

    def __init__(self, graph: ReferenceType[Any], once: np.ndarray | None):
        super().__init__()
        self.graph, self.once = graph, once

    def get(self, name: str, default: Any = None) -> Any:
        """The weights of this name; `default` is not used, because every attribute may be read."""
        if name not in self:
            graph = self.graph()
            if graph is None:
                raise NotImplementedError(f"the graph is gone whose edge attribute {name!r} would be read")
            data = _data(_rows(graph, graph), self.once)
            if graph.is_multigraph():
                data, _ = _repeated(graph, data, with_data=True)
            self[name] = _weights(data, name, 1)
        return self[name]


def convert_to_nx(result: Any) -> Any:
    """A NetworkX graph of a `Graph`, if it fits the memory that may be used; any other result unchanged."""
    if isinstance(result, ConvertedGraph):
        return result.original()
    if not isinstance(result, Graph):
        return result
    needed, limit = BYTES_OF_AN_EDGE * result.num_edges, result.workers.limit
    if limit is not None and needed > limit:  # not "not implemented", because NetworkX would say no more than that
        raise nx.NetworkXError(
            f"a NetworkX graph of {result.num_edges:,} edges takes about {needed:,} bytes, and memory= of the graph "
            f"allows {limit:,}; use functions that dgraph has, or make the graph with more memory="
        )
    return to_networkx(result)


def _check_class(kind: type) -> None:
    """Refuse a class that finds neighbours in its own way, such as that of complements in NetworkX."""
    for name in ADJACENCY:
        [first, *_] = [base for base in kind.__mro__ if name in vars(base)]
        if not first.__module__.startswith("networkx.classes."):
            raise NotImplementedError(f"{first.__qualname__}.{name} replaces that of NetworkX")


def _rows(graph: Any, nodes: Iterable[Any]) -> list[Mapping]:
    """The neighbours of each node, with the data of edges. Those in a view are copied: its length may be wrong."""
    rows = [graph._adj[node] for node in nodes]
    if all(isinstance(row, dict) for row in rows):
        return rows
    return [{other: dict(data) if graph.is_multigraph() else data for other, data in row.items()} for row in rows]


def _numbers(nodes: list[Any], rows: Iterable[Mapping], count: int) -> np.ndarray:
    """The number of each neighbour in the rows."""
    if set(map(type, nodes)) <= {int, np.int64}:
        with suppress(OverflowError, TypeError):  # large integers, and what only equals an integer
            ids, neighbours = np.array(nodes, np.int64), np.fromiter(chain.from_iterable(rows), np.int64, count)
            order = np.argsort(ids)
            return order[np.searchsorted(ids[order], neighbours)]  # a third of the time of a dictionary
    numbers = dict(zip(nodes, range(len(nodes)), strict=True))
    return np.fromiter(map(numbers.__getitem__, chain.from_iterable(rows)), np.int64, count)


def _data(rows: list[Mapping], once: np.ndarray | None) -> list[Mapping]:
    """What the rows hold, where `once` is true: the attributes of each edge, or in a multigraph, the edges of two nodes
    by their keys."""
    values = chain.from_iterable(map(methodcaller("values"), rows))
    return list(values if once is None else compress(values, once.tobytes()))


def _repeated(graph: Any, pairs: list[Mapping], *, with_data: bool) -> tuple[list[Mapping], np.ndarray]:
    """The attributes of each edge of a multigraph, if they are wanted, and how many edges two nodes have. Some
    dictionaries at a time are read twice, while they are in cache."""
    # the method of dictionaries itself takes half the time
    values: Any = dict.values if graph.edge_key_dict_factory is dict else methodcaller("values")
    data: list[Mapping] = []
    times = np.empty(len(pairs), np.int64)
    for begin in range(0, len(pairs), AT_A_TIME):
        some = pairs[begin : begin + AT_A_TIME]
        times[begin : begin + len(some)] = list(map(len, some))
        if with_data:
            data.extend(chain.from_iterable(map(values, some)))
    return data, times


def _weights(data: list[Mapping], name: str, default: Any) -> Weights:
    """An attribute of all edges; None if no edge has it and the default is 1."""
    try:
        values = list(map(itemgetter(name), data))
    except KeyError:  # some edge does not have it
        values = []
    if not values:
        if default == 1 and not any(name in one for one in data):
            return None
        values = [one.get(name, default) for one in data]
    return numeric(values, f"the edge attribute {name!r}")


def numeric(values: list[Any], what: str) -> np.ndarray:
    """The values as int64 or float64; both must hold each of them exactly, because sums of weights are floats."""
    try:
        array = np.array(values)
    except (TypeError, ValueError, OverflowError):  # sequences of several lengths, for instance
        array = np.array(None)
    if array.ndim != 1 or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise NotImplementedError(f"{what} is not a number of at most 64 bits on every edge")
    large = np.flatnonzero(np.abs(array.astype(np.float64)) >= EXACT)
    if any(isinstance(values[place], Integral) for place in large.tolist()):
        raise NotImplementedError(f"{what} has integers of 2**53 or more, which floats round")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)
