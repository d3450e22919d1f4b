"""Betweenness: paths and their dependencies are counted with NumPy, source by source, from SciPy's distances."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from dgraph.testing.verify.edges import Edges, expect


def betweenness(
    edges: Edges,
    *,
    betweenness: np.ndarray,
    sources: int | np.ndarray | None = None,
    normalized: bool = True,
    weighted: bool = False,
    endpoints: bool = False,
    random_seed: int = 0,
    rtol: float = 1e-9,
) -> None:
    """Verify the shares of shortest paths that pass through each vertex, within `rtol` of the largest.

    Each of several edges between two vertices makes a path of its own. With `sources`, these are the starts of paths,
    or as many as NumPy's generator draws with this seed.
    """
    n = edges.vertices
    starts = starts_of(n, sources, random_seed)
    total = np.zeros(n)
    arcs = arcs_of_paths(edges, weighted)
    for source in starts.tolist():
        total += _dependencies(source, *arcs, endpoints)
    expected = total * _factors(n, starts, normalized, edges.directed, endpoints)
    found = np.asarray(betweenness, np.float64)
    near = np.abs(found - expected) <= rtol * max(1.0, float(expected.max(initial=0)))
    expect(near, lambda v: f"vertex {v}: betweenness {found[v]}, not {expected[v]}")


def starts_of(vertices: int, sources: int | np.ndarray | None, random_seed: int) -> np.ndarray:
    """The numbers of the vertices where paths start, ascending."""
    if sources is None:
        return np.arange(vertices)
    if np.ndim(sources) == 0:
        sources = np.random.default_rng(random_seed).choice(vertices, sources, replace=False)
    return np.unique(np.asarray(sources))


def arcs_of_paths(edges: Edges, weighted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, csr_array]:
    """Both ends and the length of each arc but loops, and a matrix of the shortest."""
    u, v, weight = edges.arcs
    length = np.ones(len(u)) if weight is None or not weighted else weight
    keep = u != v
    u, v, length = u[keep], v[keep], length[keep]
    order = np.lexsort([length, v, u])
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(u[order]) != 0) | (np.diff(v[order]) != 0)
    least = order[first]
    return u, v, length, coo_array((length[least], (u[least], v[least])), (edges.vertices, edges.vertices)).tocsr()


def _dependencies(
    source: int, u: np.ndarray, v: np.ndarray, length: np.ndarray, matrix: csr_array, endpoints: bool
) -> np.ndarray:
    distance = dijkstra(matrix, indices=source)
    tight = np.flatnonzero(np.isfinite(distance[u]) & (distance[u] + length == distance[v]))
    tight = tight[np.argsort(distance[v[tight]], kind="stable")]
    cuts = [0, *(np.flatnonzero(np.diff(distance[v[tight]])) + 1).tolist(), len(tight)]
    groups = [tight[a:z] for a, z in pairwise(cuts)]  # by the distance of their ends
    paths, share = np.zeros(len(distance)), np.zeros(len(distance))
    paths[source] = 1
    for group in groups:
        np.add.at(paths, v[group], paths[u[group]])
    for group in reversed(groups):
        np.add.at(share, u[group], paths[u[group]] / paths[v[group]] * (1 + share[v[group]]))
    share[source] = 0
    if endpoints:
        reached = np.isfinite(distance)
        share += reached
        share[source] = reached.sum() - 1
    return share


def _factors(n: int, starts: np.ndarray, normalized: bool, directed: bool, endpoints: bool) -> np.ndarray | float:
    """Pairs of vertices: (others - 1) ends of paths for each of the starts that count for a vertex, which is no start
    of the paths through itself."""
    others = n if endpoints else n - 1
    if others < 2:
        return 1.0
    counted = np.full(n, others if len(starts) == n else len(starts), np.float64)
    if not endpoints and len(starts) < n:
        counted[starts] -= 1
    pairs = counted * (others - 1)
    return 1 / pairs if normalized else others * (others - 1) / pairs / (1 if directed else 2)
