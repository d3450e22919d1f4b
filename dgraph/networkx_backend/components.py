"""Connected components, weak and strong: their nodes, their number, and whether there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress
from operator import itemgetter
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import csgraph, csr_array

from dgraph.graph import Graph
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.ops.scc import scc
from dgraph.ops.wcc import wcc
from dgraph.runs.result import RunResult

NO_NODES = "Connectivity is undefined for the null graph."


def connected_components(G: NodeGraph) -> Iterator[set[Any]]:
    yield from G.sets(_labels(G, wcc))


def strongly_connected_components(G: NodeGraph) -> Iterator[set[Any]]:
    """If all edges are in this process, in reverse topological order, on which NetworkX's condensation relies."""
    labels = _labels(G, scc)
    found = G.sets(labels)
    if not G.has_ends:
        yield from found
        return
    ranks = _topological_ranks(labels, *G.ends())
    for _, component in sorted(zip(ranks.tolist(), found, strict=True), key=itemgetter(0)):
        yield component


def number_connected_components(G: NodeGraph) -> int:
    return _number(G, wcc)


def number_strongly_connected_components(G: NodeGraph) -> int:
    return _number(G, scc)


def is_connected(G: NodeGraph) -> bool:
    return _is_one(G, wcc)


def is_strongly_connected(G: NodeGraph) -> bool:
    return _is_one(G, scc)


def node_connected_component(G: NodeGraph, n: Any) -> set[Any]:
    if n not in G:
        raise KeyError(n)  # as NetworkX, which looks the node up
    labels = _labels(G, wcc)
    return {G.nodes[number] for number in np.flatnonzero(labels == labels[G.numbers[n]]).tolist()}


weakly_connected_components = connected_components
number_weakly_connected_components = number_connected_components
is_weakly_connected = is_connected


def attracting_components(G: NodeGraph) -> Iterator[set[Any]]:
    """The strongly connected components that no edge leaves."""
    labels = _labels(G, scc)
    source, target = G.ends()
    left = np.zeros(len(labels), bool)
    left[labels[source[labels[source] != labels[target]]]] = True
    yield from compress(G.sets(labels), ~left[np.unique(labels)])


def number_attracting_components(G: NodeGraph) -> int:
    return sum(1 for _ in attracting_components(G))


def is_attracting_component(G: NodeGraph) -> bool:
    components = list(attracting_components(G))
    return len(components) == 1 and len(components[0]) == len(G)


def is_directed_acyclic_graph(G: NodeGraph) -> bool:
    """A directed graph has no cycle if each component is one node, without a loop."""
    if not G.directed:
        return False
    source, target = G.ends()
    return not (source == target).any() and number_strongly_connected_components(G) == len(G)


def is_tree(G: NodeGraph) -> bool:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return G.graph().num_edges == len(G) - 1 and _number(G, wcc) == 1


def is_forest(G: NodeGraph) -> bool:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return G.graph().num_edges == len(G) - _number(G, wcc)


def is_arborescence(G: NodeGraph) -> bool:
    return is_tree(G) and _has_one_parent(G)


def is_branching(G: NodeGraph) -> bool:
    return is_forest(G) and _has_one_parent(G)


def _topological_ranks(labels: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The rank of each component, in ascending order of labels: edges lead to components of lower rank.

    SciPy numbers the components of a graph as a depth-first search leaves them. Here each is one vertex.
    """
    first, component = np.unique(labels, return_inverse=True)
    ones = np.ones(len(source), np.int8)
    without_cycles = csr_array((ones, (component[source], component[target])), shape=(len(first), len(first)))
    return csgraph.connected_components(without_cycles, connection="strong")[1]


def _has_one_parent(G: NodeGraph) -> bool:
    return bool((G.degrees("in_degree") <= 1).all())


def _labels(G: NodeGraph, operation: Callable[[Graph], RunResult]) -> np.ndarray:
    """The number of the first node of each node's component."""
    return G.column(operation(G.graph()), "component")


def _number(G: NodeGraph, operation: Callable[[Graph], RunResult]) -> int:
    labels = _labels(G, operation)
    return int(np.count_nonzero(labels == np.arange(len(labels))))


def _is_one(G: NodeGraph, operation: Callable[[Graph], RunResult]) -> bool:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept(NO_NODES)
    return _number(G, operation) == 1
