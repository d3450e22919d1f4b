"""Communities, and how good they are."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from random import Random
from typing import Any

import networkx as nx
import numpy as np

from dgraph.communities.quality import modularity as our_modularity
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.ops.label_propagation import label_propagation
from dgraph.ops.leiden import leiden
from dgraph.ops.louvain import louvain


def louvain_communities(
    G: NodeGraph,
    weight: str | None = "weight",
    resolution: float = 1,
    threshold: float = 0.0000001,
    max_level: int | None = None,
    seed: Random | None = None,
) -> list[set[Any]]:
    return _communities(louvain, G, weight, resolution, max_level, seed, tol=threshold)


def leiden_communities(
    G: NodeGraph,
    weight: str | None = "weight",
    resolution: float = 1,
    max_level: int | None = None,
    seed: Random | None = None,
) -> list[set[Any]]:
    return _communities(leiden, G, weight, resolution, max_level, seed)


def asyn_lpa_communities(G: NodeGraph, weight: str | None = None, seed: Random | None = None) -> Iterator[set[Any]]:
    yield from _by_labels(G, weight, seed)


def fast_label_propagation_communities(
    G: NodeGraph, *, weight: str | None = None, seed: Random | None = None
) -> Iterator[set[Any]]:
    yield from _by_labels(G, weight, seed)


def modularity(
    G: NodeGraph, communities: Iterable[Collection[Any]], weight: str | None = "weight", resolution: float = 1
) -> float:
    listed = [list(community) for community in communities]
    members = [node for community in listed for node in community]
    if len(members) != len(G) or not all(node in G for node in members) or len(set(members)) != len(G):
        raise nx.community.quality.NotAPartition(G, listed)
    labels = np.empty(len(G), np.int64)
    for label, community in enumerate(listed):
        labels[[G.numbers[node] for node in community]] = label
    graph, weighted = G.graph(weight), G.is_weighted(weight)
    if graph.num_edges == 0:
        raise ZeroDivisionError("division by zero")  # as in NetworkX: there is no share of no edges
    return float(our_modularity(graph, labels, resolution=resolution, weighted=weighted))


def _communities(
    search: Any,
    G: NodeGraph,
    weight: str | None,
    resolution: float,
    max_level: int | None,
    seed: Random | None,
    **options: Any,
) -> list[set[Any]]:
    """With a seed of the user's, the same communities every time; without one, on all threads."""
    if max_level is not None:
        if max_level <= 0:
            raise ValueError("max_level argument must be a positive integer or None")
        options["max_levels"] = max_level
    found = search(
        G.graph(weight),
        resolution=resolution,
        weighted=G.is_weighted(weight),
        random_seed=_drawn(seed),
        deterministic=not _is_unseeded(seed),
        **options,
    )
    return list(G.sets(G.column(found, "community")))


def _by_labels(G: NodeGraph, weight: str | None, seed: Random | None) -> Iterator[set[Any]]:
    found = label_propagation(G.graph(weight), weighted=G.is_weighted(weight), random_seed=_drawn(seed))
    return G.sets(G.column(found, "label"))


def _drawn(seed: Random | None) -> int:
    """A seed of ours from a random number generator of NetworkX."""
    return 0 if seed is None else seed.randrange(1 << 31)


def _is_unseeded(seed: Random | None) -> bool:
    """Whether NetworkX passes Python's global generator, because the user has given no seed."""
    return seed is None or seed is random._inst
