"""Topological generations, verified edge by edge: an edge leads to a later generation, and some in-edge of each vertex
comes from the one before its own."""

from __future__ import annotations

import numpy as np

from dgraph.errors import AnswerError
from dgraph.testing.verify.edges import Edges, expect


def topological_generations(edges: Edges, *, generation: np.ndarray) -> None:
    """Verify the length of the longest path to each vertex. No graph with a cycle passes."""
    if not edges.directed:
        raise AnswerError("an undirected graph has no topological generations")
    u, v, found = edges.source, edges.destination, np.asarray(generation)
    expect(found[u] < found[v], lambda i: f"edge {u[i]} -> {v[i]}: generation {found[u[i]]} to {found[v[i]]}")
    longest = np.zeros(edges.vertices, found.dtype)
    np.maximum.at(longest, v, found[u] + 1)
    expect(found == longest, lambda v: f"vertex {v}: generation {found[v]}, but its in-edges make it {longest[v]}")
