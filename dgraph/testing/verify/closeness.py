"""Closeness and harmonic centrality, from SciPy's distances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import dijkstra

from dgraph.testing.verify.betweenness import arcs_of_paths, starts_of
from dgraph.testing.verify.edges import Edges, expect

BATCH = 1 << 22  # distances at a time
SKETCHED = 6 * 1.04 / 16  # six standard errors of sketches of 256 registers
FEW, MOST = 4, 0.02  # so many vertices, and this share of all, may be farther off: two vertices may look like one


def closeness(
    edges: Edges,
    *,
    closeness: np.ndarray,
    sources: int | np.ndarray | None = None,
    direction: str = "in",
    wf_improved: bool = True,
    weighted: bool = False,
    method: str = "exact",
    random_seed: int = 0,
    rtol: float = 1e-9,
) -> None:
    """Verify 1 / the mean distance, within `rtol`, or most sketches within six standard errors. Vertices that are
    not among the sources, if there are some, must have no value."""

    def of(distance: np.ndarray) -> np.ndarray:
        reached = np.isfinite(distance).sum(axis=1) - 1
        total = np.where(np.isfinite(distance), distance, 0).sum(axis=1)
        values = np.divide(reached, total, out=np.zeros(len(total)), where=total > 0)
        return values * reached / max(edges.vertices - 1, 1) if wf_improved else values

    _expect_values("closeness", edges, closeness, of, sources, direction, weighted, method, random_seed, rtol)


def harmonic(
    edges: Edges,
    *,
    harmonic: np.ndarray,
    sources: int | np.ndarray | None = None,
    direction: str = "in",
    weighted: bool = False,
    method: str = "exact",
    random_seed: int = 0,
    rtol: float = 1e-9,
) -> None:
    """Verify the sums of 1 / distance, within `rtol`, or most sketches within six standard errors. Vertices that are
    not among the sources, if there are some, must have no value."""

    def of(distance: np.ndarray) -> np.ndarray:
        return np.divide(1, distance, out=np.zeros(distance.shape), where=distance > 0).sum(axis=1)

    _expect_values("harmonic", edges, harmonic, of, sources, direction, weighted, method, random_seed, rtol)


def _expect_values(
    name: str,
    edges: Edges,
    found: np.ndarray,
    of: Callable[[np.ndarray], np.ndarray],
    sources: int | np.ndarray | None,
    direction: str,
    weighted: bool,
    method: str,
    random_seed: int,
    rtol: float,
) -> None:
    """Compare with what `of` makes of the distances of a batch of sources."""
    n = edges.vertices
    starts = starts_of(n, sources, random_seed)
    matrix = arcs_of_paths(edges, weighted)[3]
    if edges.directed and direction == "in":
        matrix = matrix.T.tocsr()
    expected = np.full(n, np.nan)
    for batch in np.array_split(starts, max(1, len(starts) * n // BATCH)) if len(starts) else ():
        expected[batch] = of(np.atleast_2d(dijkstra(matrix, indices=batch, unweighted=not weighted)))
    values = np.asarray(found, np.float64)
    rtol = rtol if method == "exact" else SKETCHED
    near = np.isclose(values, expected, rtol=rtol, atol=1e-12, equal_nan=True)
    if method == "sketch" and np.array_equal(np.isnan(values), np.isnan(expected)):
        near |= np.count_nonzero(~near) <= FEW + MOST * len(starts)
    expect(near, lambda v: f"vertex {v}: {name} {values[v]}, not {expected[v]}")
