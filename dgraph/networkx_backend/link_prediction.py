"""Scores of pairs of nodes that may become neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dgraph.measures.similarity import Name, similarity
from dgraph.networkx_backend.node_graphs import NodeGraph

Pairs = Iterable[tuple[Any, Any]]
PairScores = Iterator[tuple[Any, Any, float]]


def jaccard_coefficient(G: NodeGraph, ebunch: Pairs | None = None) -> PairScores:
    return _scores(G, ebunch, "jaccard")


def adamic_adar_index(G: NodeGraph, ebunch: Pairs | None = None) -> PairScores:
    return _scores(G, ebunch, "adamic_adar")


def resource_allocation_index(G: NodeGraph, ebunch: Pairs | None = None) -> PairScores:
    return _scores(G, ebunch, "resource_allocation")


def preferential_attachment(G: NodeGraph, ebunch: Pairs | None = None) -> PairScores:
    return ((u, v, round(score)) for u, v, score in _scores(G, ebunch, "preferential_attachment"))


def _scores(G: NodeGraph, ebunch: Pairs | None, measure: Name) -> PairScores:
    if G.has_loops():
        raise NotImplementedError("a node with a loop is its own neighbour in NetworkX, but not in dgraph")
    pairs = _not_joined(G) if ebunch is None else _numbered(G, ebunch)
    ends = [G.vertices(side.tolist()) for side in pairs]
    if not ends[0]:
        return iter(())
    found = similarity(G.graph(), {"first": ends[0], "second": ends[1]}, measure=measure).compute()
    first, second = (map(G.nodes.__getitem__, side.tolist()) for side in pairs)
    return zip(first, second, found["similarity"].tolist(), strict=True)


def _numbered(G: NodeGraph, ebunch: Pairs) -> tuple[np.ndarray, np.ndarray]:
    message = "Node {} not in G."
    listed = [(G.number(u, message), G.number(v, message)) for u, v in ebunch]
    if any(u == v for u, v in listed):
        raise NotImplementedError("a node is compared with itself")
    numbers = np.array(listed, np.int64).reshape(-1, 2)
    return numbers[:, 0], numbers[:, 1]


def _not_joined(G: NodeGraph) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of nodes without an edge."""
    apart = np.triu(np.ones((len(G), len(G)), bool), 1)
    source, target = G.ends()
    apart[np.minimum(source, target), np.maximum(source, target)] = False
    return np.nonzero(apart)  # type: ignore[return-value]
