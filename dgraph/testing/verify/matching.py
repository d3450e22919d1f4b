"""Matchings: mates agree and are joined by an edge, and no edge joins two vertices without a mate."""

from __future__ import annotations

import numpy as np

from dgraph.testing.verify.edges import Edges, expect


def matching(edges: Edges, *, mate: np.ndarray) -> None:
    """Verify a maximal matching. Directions and repeats do not count. A mate that is not a vertex, such as -1, means
    that the vertex has no mate.

    Any maximal matching passes, whatever the random choices. It has at least half as many pairs as the largest one.
    """
    n = edges.vertices
    mate = np.asarray(mate)
    has = (mate >= 0) & (mate < n)
    own = np.arange(n)
    # vertices without a mate become their own mate, so that looking up a mate's mate needs no special case
    mate = np.where(has, mate, own).astype(np.int64)
    expect(~has | (mate != own), lambda v: f"vertex {v}: is its own mate")
    expect(mate[mate] == own, lambda v: f"vertex {v}: its mate is {mate[v]}, whose mate is {mate[mate[v]]}")
    u, v = edges.source, edges.destination
    joined = ~has
    joined[u[mate[u] == v]] = True
    joined[v[mate[v] == u]] = True
    expect(joined, lambda v: f"vertex {v}: no edge joins it to its mate {mate[v]}")
    free = ~has[u] & ~has[v] & (u != v)
    expect(~free, lambda i: f"edge {u[i]} - {v[i]}: neither end has a mate, so the matching is not maximal")
