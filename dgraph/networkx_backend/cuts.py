"""Where a graph can be cut: bridges, articulation points and biconnected components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend.components import node_connected_component
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import original
from dgraph.trees import cuts


def bridges(G: NodeGraph, root: Any = None) -> Iterator[tuple[Any, Any]]:
    """In the order of the graph's edges, or of the frame of a `Graph`."""
    if root is not None and root not in G:
        raise nx.NodeNotFound(f"Root node {root} is not in graph")
    found = cuts.bridges(G.graph()).compute()
    first, second = (found.iloc[:, side].to_numpy() for side in (0, 1))
    if G.has_ends:
        source, target = G.ends()
        wanted = np.isin(_pairs(G, source, target), _pairs(G, first, second))
        first, second = source[wanted], target[wanted]
    edges: Iterable[tuple[Any, Any]] = zip(G.named(first.tolist()), G.named(second.tolist()), strict=True)
    yield from edges if root is None else _of_component(G, edges, node_connected_component(G, root))


def _of_component(G: NodeGraph, edges: Iterable[tuple[Any, Any]], near: set[Any]) -> Iterator[tuple[Any, Any]]:
    """The edges of one component, in the order of NetworkX's copy of it."""
    if not G.has_ends:
        yield from (edge for edge in edges if edge[0] in near)
        return
    found, whole = {frozenset(edge) for edge in edges}, original(G)
    simple = nx.Graph(whole) if G.multigraph else whole
    yield from (edge for edge in simple.subgraph(near).copy().edges() if frozenset(edge) in found)


def has_bridges(G: NodeGraph, root: Any = None) -> bool:
    return any(True for _ in bridges(G, root))


def articulation_points(G: NodeGraph) -> Iterator[Any]:
    yield from G.named(cuts.articulation_points(G.graph()).compute()["vertex"].tolist())


def biconnected_components(G: NodeGraph) -> Iterator[set[Any]]:
    for edges in _components(G):
        yield {node for edge in edges for node in edge}


def biconnected_component_edges(G: NodeGraph) -> Iterator[list[tuple[Any, Any]]]:
    for edges in _components(G, refuse_loops=True):
        yield list({frozenset(edge): edge for edge in edges}.values())


def is_biconnected(G: NodeGraph) -> bool:
    found = list(biconnected_components(G))
    return len(found) == 1 and len(found[0]) == len(G)


def _components(G: NodeGraph, *, refuse_loops: bool = False) -> Iterator[list[tuple[Any, Any]]]:
    """The edges of each component, without loops."""
    frame = cuts.biconnected_components(G.graph()).compute()
    if refuse_loops and (frame.iloc[:, 0] == frame.iloc[:, 1]).any():
        raise NotImplementedError("NetworkX lists loops in the components of their nodes, and dgraph does not")
    frame = frame.dropna(subset=["component"])
    numbers = frame["component"].to_numpy(np.int64)
    order = np.argsort(numbers, kind="stable")
    first, second = (G.named(frame.iloc[order, side].tolist()) for side in (0, 1))
    edges = list(zip(first, second, strict=True))
    starts = [*np.flatnonzero(np.diff(numbers[order], prepend=-1)).tolist(), len(edges)]
    yield from (edges[begin:end] for begin, end in pairwise(starts))


def _pairs(G: NodeGraph, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """One number for the two ends of each edge."""
    return np.minimum(first, second) * len(G) + np.maximum(first, second)
