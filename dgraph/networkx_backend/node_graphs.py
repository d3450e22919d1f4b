"""Graphs as the functions of this folder see them: nodes in order, and the `Graph` whose vertices are their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from dgraph.building.input_edges import EdgeRules, InputEdges
from dgraph.cluster.workers import Workers
from dgraph.frames.sources import edge_source, vertex_source
from dgraph.graph import Graph
from dgraph.ops.degrees import degrees
from dgraph.partition.policies import PartitionOptions
from dgraph.runs.result import RunResult

EXACT = 2**53  # floats hold all integers that are smaller
Weights = np.ndarray | None  # None: no edge has the attribute, so each counts 1


class NodeGraph:
    """The nodes of a graph in their order, and what to call dgraph's operations with."""

    nodes: list[Any]
    directed: bool
    multigraph: bool
    has_ends = True  # whether all edges are in this process, for `ends`

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def numbers(self) -> dict[Any, int]:
        """The place of each node in `nodes`."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    def __contains__(self, node: Any) -> bool:
        try:
            return node in self.numbers
        except TypeError:  # not hashable, so no node; NetworkX's graphs say the same
            return False

    def number(self, node: Any, message: str = "Node {} is not in G") -> int:
        """The number of a node, or NetworkX's error with this message."""
        if node not in self:
            raise nx.NodeNotFound(message.format(node))
        return self.numbers[node]

    def bunch(self, nodes: Any) -> list[int]:
        """The numbers of one node, of several (those that are not in the graph are left out), or of all for None."""
        if nodes is None:
            return list(range(len(self)))
        if nodes in self:
            return [self.numbers[nodes]]
        try:
            listed = list(nodes)
        except TypeError as error:
            raise nx.NetworkXError(f"Node {nodes} is not in the graph.") from error
        for node in listed:
            try:
                hash(node)
            except TypeError as error:
                raise nx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.") from error
        return [self.numbers[node] for node in listed if node in self.numbers]

    def is_directed(self) -> bool:
        return self.directed

    def is_multigraph(self) -> bool:
        return self.multigraph

    def graph(self, weight: str | None = None, repeats: str = "keep") -> Graph:
        """The graph with these weights, and with its repeated edges merged where that can be had."""
        raise NotImplementedError

    def is_weighted(self, weight: str | None) -> bool:
        """Whether some edge has this attribute. If none has, NetworkX counts each edge as 1."""
        raise NotImplementedError

    def vertices(self, numbers: Iterable[int]) -> list[Any]:
        """The vertices of `graph()` that stand for these numbers."""
        raise NotImplementedError

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the two nodes of each edge."""
        raise NotImplementedError

    def has_loops(self) -> bool:
        """Whether some edge leads from a node to itself. Of a `Graph` it is not known: its loops do not count."""
        return self.has_ends and bool(np.equal(*self.ends()).any())

    def whole_weights(self, weight: str | None) -> bool:
        """Whether all weights are integers, so that sums of them are, too."""
        raise NotImplementedError

    def has_negative(self, weight: str | None) -> bool:
        """Whether some weight is known to be below zero."""
        raise NotImplementedError

    def check_lengths(self, weight: str | None) -> None:
        """Refuse weights if some are known to be missing, or if they are integers whose sum is so large that the length
        of a path may be rounded."""
        raise NotImplementedError

    def reversed(self) -> NodeGraph:
        """The graph with all edges reversed."""
        raise NotImplementedError

    def named(self, vertices: list[Any]) -> list[Any]:
        """The nodes that vertices of `graph()` stand for."""
        raise NotImplementedError

    def degrees(self, kind: str) -> np.ndarray:
        """``degree``, ``in_degree`` or ``out_degree`` of each node. Unlike ours, NetworkX's degrees count a loop of an
        undirected graph twice."""
        values = self.column(degrees(self.graph()), kind)
        if self.directed or not self.has_loops():
            return values
        source, target = self.ends()
        return values + np.bincount(source[source == target], minlength=len(self))

    def chosen(self, values: np.ndarray, nodes: Any) -> Any:
        """Values of all nodes for None, of several, or the value of one."""
        if nodes is not None and nodes in self:
            return values[self.numbers[nodes]].item()
        numbers = self.bunch(nodes)
        return dict(zip((self.nodes[number] for number in numbers), values[numbers].tolist(), strict=True))

    def sets(self, labels: np.ndarray) -> Iterator[set[Any]]:
        """The nodes of each label, in the order of the labels, which are whole numbers from 0 on."""
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        for numbers in np.split(order, starts[1:]) if len(order) else []:
            yield {self.nodes[number] for number in numbers.tolist()}

    def column(self, result: RunResult, name: str) -> np.ndarray:
        """A column of a result in the order of the nodes."""
        return result.by_number(name)

    def by_node(self, values: np.ndarray) -> dict[Any, Any]:
        """Values in the order of the nodes, by node."""
        return dict(zip(self.nodes, values.tolist(), strict=True))


class WeightRange(NamedTuple):
    """Which numbers the weights of a graph are."""

    whole: bool  # all are integers
    missing: bool  # some is nan
    negative: bool
    total: float  # the sum of their sizes

    @classmethod
    def of(cls, weights: np.ndarray) -> WeightRange:
        total = float(np.abs(weights).sum(dtype=np.float64))
        return cls(weights.dtype.kind != "f", bool(np.isnan(weights).any()), bool((weights < 0).any()), total)


class ConvertedGraph(NodeGraph):
    """A NetworkX graph as arrays of node numbers, and the graphs that are made of them when they are first needed.

    It holds no reference to the NetworkX graph, in whose cache it lives, but a weak one: `original` returns the graph,
    or None if it is gone.
    """

    __networkx_backend__ = "dgraph"

    def __init__(
        self,
        nodes: list[Any],
        ends: tuple[np.ndarray, np.ndarray],
        weights: dict[Any, Weights],
        *,
        directed: bool,
        multigraph: bool,
        original: Callable[[], Any],
    ):
        self.nodes, self._ends, self.weights = nodes, ends, weights
        self.directed, self.multigraph, self.original = directed, multigraph, original
        self._graphs: dict[tuple[str | None, str], Graph] = {}
        self._ranges: dict[str | None, WeightRange] = {}

    def __reduce__(self) -> tuple[Any, tuple]:
        """Copied or pickled in the cache of a NetworkX graph, it becomes None, which NetworkX takes for no graph."""
        return type(None), ()

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self._ends

    def is_weighted(self, weight: str | None) -> bool:
        return weight is not None and self.weights.get(weight) is not None

    def _numbers(self, weight: str | None) -> np.ndarray:
        """The weights; a single 1 if there are none."""
        values = None if weight is None else self.weights.get(weight)
        return np.ones(1, np.int64) if values is None else values

    def _range(self, weight: str | None) -> WeightRange:
        """What is known of these weights, which are read when it is first asked for."""
        if weight not in self._ranges:
            self._ranges[weight] = WeightRange.of(self._numbers(weight))
        return self._ranges[weight]

    def whole_weights(self, weight: str | None) -> bool:
        return self._range(weight).whole

    def has_negative(self, weight: str | None) -> bool:
        return self._range(weight).negative

    def check_lengths(self, weight: str | None) -> None:
        known = self._range(weight)
        if known.missing:
            raise NotImplementedError(f"{weight!r} is nan for some edge, and dgraph has no paths along that")
        if known.whole and known.total >= EXACT:
            raise NotImplementedError(f"integers in {weight!r} add up to 2**53 or more, so that lengths are not exact")

    def reversed(self) -> NodeGraph:
        return self._reversed if self.directed else self

    @cached_property
    def _reversed(self) -> ConvertedGraph:
        kind = {"directed": True, "multigraph": self.multigraph}
        return ConvertedGraph(self.nodes, self._ends[::-1], self.weights, original=self.original, **kind)

    def vertices(self, numbers: Iterable[int]) -> list[Any]:
        return list(numbers)

    def named(self, vertices: list[Any]) -> list[Any]:
        return [self.nodes[vertex] for vertex in vertices]

    def graph(self, weight: str | None = None, repeats: str = "keep") -> Graph:
        weight = weight if self.is_weighted(weight) else None
        repeats = repeats if self.multigraph else "keep"
        made = [graph for (used, rule), graph in self._graphs.items() if rule == repeats and weight in (None, used)]
        if not made:
            made = [self._graphs.setdefault((weight, repeats), self._make(weight, repeats))]
        return made[0]

    def _make(self, weight: str | None, repeats: str) -> Graph:
        """A graph in this process, also if there is a Dask cluster: the edges are here."""
        columns = dict(zip(("source", "destination"), self._ends, strict=True))
        if weight is not None:
            columns["weight"] = self._numbers(weight)
        edges = edge_source(columns, "source", "destination", None if weight is None else "weight")
        rules = EdgeRules(self.directed, "keep", repeats, False)
        input_edges = InputEdges(edges, vertex_source(len(self)), rules, Workers())
        return Graph.of(input_edges, PartitionOptions("auto", None, None))


class GivenGraph(NodeGraph):
    """A `Graph` that was passed to a function of NetworkX: its vertices are the nodes, in ascending order.

    Operations run where the graph is, and its edges are never gathered.
    """

    multigraph = False
    has_ends = False

    def __init__(self, graph: Graph):
        self._graph, self.directed = graph, graph.directed

    @cached_property
    def nodes(self) -> list[Any]:  # type: ignore[override]
        numbering = self._graph.numbering
        return np.asarray(numbering.id_type.restore(numbering.ids())).tolist()

    def __len__(self) -> int:
        return self._graph.num_vertices

    def is_weighted(self, weight: str | None) -> bool:
        if weight is not None and weight != self._graph.weight and weight in self._graph.edge_columns:
            raise NotImplementedError(f"{weight!r} is not the weight of this graph: make it with weight={weight!r}")
        return weight is not None and weight == self._graph.weight

    def whole_weights(self, weight: str | None) -> bool:
        return not self.is_weighted(weight)

    def has_negative(self, weight: str | None) -> bool:
        return False  # not known without reading all edges; sssp refuses or handles negative weights itself

    def check_lengths(self, weight: str | None) -> None:
        """Not known either."""

    def reversed(self) -> NodeGraph:
        if self.directed:
            raise NotImplementedError("paths to a node need the reversed graph: swap source= and destination=")
        return self

    def vertices(self, numbers: Iterable[int]) -> list[Any]:
        return [self.nodes[number] for number in numbers]

    def named(self, vertices: list[Any]) -> list[Any]:
        return list(vertices)

    def graph(self, weight: str | None = None, repeats: str = "keep") -> Graph:
        return self._graph

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError("this function needs all edges in one place, and the graph may be on a cluster")


def node_graph(graph: Any) -> NodeGraph:
    """The graph that a function was called with, as the functions of this folder see it."""
    if isinstance(graph, NodeGraph):
        return graph
    if isinstance(graph, Graph):
        return GivenGraph(graph)
    raise NotImplementedError(f"expected a graph of NetworkX or dgraph, got {type(graph).__name__}")
