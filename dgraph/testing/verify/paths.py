"""Distances and predecessors, verified along edges: no edge may give a vertex a shorter distance, and every distance
must be attained along edges that lead back to a source."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from dgraph.errors import AnswerError
from dgraph.testing.verify.edges import Edges, expect


def bfs(
    edges: Edges,
    *,
    source: int | np.ndarray,
    distance: np.ndarray | None = None,
    predecessor: np.ndarray | None = None,
    target: int | None = None,
    depth_limit: int | None = None,
    ties: str = "smallest",
) -> None:
    """Verify distances, predecessors or both, where every edge has length 1."""
    if distance is None:
        distance = levels(edges, predecessor, source)
    farthest = np.inf if depth_limit is None else float(depth_limit)
    _paths(edges, distance, predecessor, np.atleast_1d(source), None, target, farthest, ties, 0.0)


def sssp(
    edges: Edges,
    *,
    source: int | np.ndarray,
    distance: np.ndarray,
    predecessor: np.ndarray | None = None,
    target: int | None = None,
    ties: str = "smallest",
    rtol: float = 0.0,
) -> None:
    """Verify distances and predecessors of shortest paths by weight.

    With `ties="smallest"`, a predecessor must be the smallest of several; with "any", it may be any of them. `rtol` is
    the allowed relative error of sums, for libraries with less precision.
    """
    _paths(edges, distance, predecessor, np.atleast_1d(source), edges.arcs[2], target, np.inf, ties, rtol)


def levels(edges: Edges, predecessor: np.ndarray | None, source: int | np.ndarray) -> np.ndarray:
    """The distances that a tree implies: the number of steps along predecessors to the source."""
    if predecessor is None:
        raise AnswerError("the answer has neither distances nor predecessors")
    n, steps = edges.vertices, 0
    distance = np.full(n, np.inf)
    distance[source] = 0
    parent = np.where((predecessor < 0) | (predecessor >= n), -1, predecessor)
    open_ends = np.flatnonzero((parent >= 0) & (distance > 0))
    while len(open_ends):  # one level per step
        near = distance[parent[open_ends]] == steps
        if not near.any():
            raise AnswerError(f"vertex {open_ends[0]}: its predecessors do not lead to the source")
        steps += 1
        distance[open_ends[near]] = steps
        open_ends = open_ends[~near]
    return distance


def _paths(
    edges: Edges,
    distance: np.ndarray,
    predecessor: np.ndarray | None,
    sources: np.ndarray,
    weight: np.ndarray | None,
    target: int | None,
    farthest: float,
    ties: str,
    rtol: float,
) -> None:
    """Check distances and predecessors. Vertices farther than the target or `farthest` count as unreached, and edges to
    them are ignored."""
    distance = np.asarray(distance, np.float64)
    expect(distance > -np.inf, lambda v: f"vertex {v}: distance is {distance[v]}")
    expect(distance[sources] <= 0, lambda i: f"source {sources[i]}: distance is {distance[sources[i]]}, not 0")
    farthest = min(farthest, np.inf if target is None else distance[target]) * (1 + rtol)
    near = (distance <= farthest) | np.isinf(distance)
    expect(near, lambda v: f"vertex {v}: distance {distance[v]} exceeds {farthest}, where the search ends")
    starts, ends, _ = edges.arcs
    here, there = distance[starts], distance[ends]
    along = here + (1.0 if weight is None else weight)
    along = np.where(along > farthest, np.inf, along)
    slack = np.abs(np.where(np.isfinite(along), along, 0)) * rtol if rtol else 0.0

    def edge(i: int) -> str:
        return f"edge {starts[i]} -> {ends[i]}: leads to distance {along[i]}, but the distance given is {there[i]}"

    expect(there <= along + slack, edge)
    tight = np.flatnonzero(np.isfinite(here) & (there >= along - slack))  # edges of shortest paths
    starts, ends, nearer = starts[tight], ends[tight], (here < there)[tight]
    home = np.zeros(edges.vertices, bool)  # whether a chain of ever nearer vertices leads back to a source
    home[sources[distance[sources] == 0]] = True
    attained = home | np.isinf(distance)
    attained[ends[nearer]] = True
    if not attained.all():  # edges of length <= 0 continue the path
        attained = np.isinf(distance) | _reached(edges.vertices, starts, ends, np.flatnonzero(home))
    expect(attained, lambda v: f"vertex {v}: no path has length {distance[v]}")
    if predecessor is not None:
        _tree(edges.vertices, distance, predecessor, home, starts, ends, nearer, ties)


def _reached(n: int, starts: np.ndarray, ends: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """The vertices reached from the sources along these arcs. The search starts at an extra vertex n that leads to all
    sources."""
    starts = np.concatenate([starts, np.full(len(sources), n)])
    ends = np.concatenate([ends, sources])
    reached = np.zeros(n + 1, bool)
    arcs = coo_array((np.ones(len(starts)), (starts, ends)), (n + 1, n + 1)).tocsr()
    reached[breadth_first_order(arcs, n, return_predecessors=False)] = True
    return reached[:n]


def _tree(
    n: int,
    distance: np.ndarray,
    predecessor: np.ndarray,
    home: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    nearer: np.ndarray,
    ties: str,
) -> None:
    """Check that shortest paths pass through predecessors, and that predecessors lead to a source."""
    has = (predecessor >= 0) & (predecessor < n)
    needs = np.isfinite(distance) & ~home
    expect(has == needs, lambda v: f"vertex {v}: predecessor {predecessor[v]} at distance {distance[v]}")
    joined = ~needs
    joined[ends[predecessor[ends] == starts]] = True
    expect(joined, lambda v: f"vertex {v}: no shortest path passes through its predecessor {predecessor[v]}")
    if ties == "smallest":
        starts, ends = starts[nearer], ends[nearer]
        wrong = np.flatnonzero((starts < predecessor[ends]) & needs[ends])
        expect(
            not len(wrong),
            lambda _: f"vertex {ends[wrong[0]]}: predecessor is {predecessor[ends[wrong[0]]]}, not {starts[wrong[0]]}",
        )
    before = np.where(needs, predecessor, np.arange(n)).astype(np.int64)
    if not (distance[before] < distance)[needs].all():  # edges of length 0: follow predecessors, twice as far each time
        for _ in range(n.bit_length()):
            before = before[before]
        expect(~needs | home[before], lambda v: f"vertex {v}: its predecessors form a cycle")
