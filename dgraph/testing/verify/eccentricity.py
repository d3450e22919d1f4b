"""Eccentricities, from SciPy's distances and components."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components, dijkstra

from dgraph.testing.verify.betweenness import arcs_of_paths
from dgraph.testing.verify.edges import Edges, expect

BATCH = 1 << 22  # distances at a time


def eccentricity(edges: Edges, *, eccentricity: np.ndarray, components: str = "all", weighted: bool = False) -> None:
    """Verify the largest distance from each vertex, or within the largest component. Vertices outside of it must have
    no value."""
    n = edges.vertices
    matrix = arcs_of_paths(edges, weighted)[3]
    inside = np.arange(n)
    if components == "largest" and n:
        labels = connected_components(matrix, directed=edges.directed, connection="strong")[1]
        _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
        best = np.lexsort([first, -sizes])[0]
        inside = np.flatnonzero(labels == labels[first[best]])
        matrix = matrix[inside][:, inside]
    expected = np.full(n, np.nan)
    for batch in np.array_split(np.arange(len(inside)), len(inside) * n // BATCH + 1) if n else ():
        distances = dijkstra(matrix, indices=batch, unweighted=not weighted)
        expected[inside[batch]] = np.atleast_2d(distances).max(axis=1)
    found = np.asarray(eccentricity, np.float64)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    expect(same, lambda v: f"vertex {v}: eccentricity {found[v]}, not {expected[v]}")
