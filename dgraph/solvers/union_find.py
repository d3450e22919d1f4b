"""Lock-free union-find: trees whose root is the smallest vertex."""

from __future__ import annotations

from numba import uint64

from dgraph.native.team import compare_and_swap, kernel, part, prefetch

AHEAD = uint64(16)  # prefetch distance, in vertices


@part
def link(u, v, above):
    """Join the trees of two vertices. Parents are never larger than their children, so a root is the smallest vertex
    of its tree."""
    a, b = above[u], above[v]
    while a != b:
        high, low = max(a, b), min(a, b)
        parent = above[high]
        if parent == low or (parent == high and compare_and_swap(above, high, high, low)):
            return
        a, b = above[above[high]], above[low]


@part
def flatten(first, last, above):
    """Make the root of every vertex in a range its parent. Other threads may do the same to vertices on the way."""
    for u in range(uint64(first), uint64(last)):
        if u + AHEAD < uint64(last):
            prefetch(above, above[u + AHEAD])
        root = above[u]
        while root != above[root]:
            root = above[root]
        above[u] = root


@kernel
def join_pairs(some, others, above):
    """Join the trees of these pairs of vertices, and flatten all trees."""
    for i in range(uint64(some.size)):
        link(uint64(some[i]), uint64(others[i]), above)
    flatten(0, above.size, above)
