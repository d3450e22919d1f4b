"""Who rates whom in an undirected graph: of each connected component, the side of its smallest vertex has the users.

The label of a vertex is the least of twice the number of a vertex from which a walk leads there, plus 1 if the walk has
an odd length. Its last bit is the side. Both ends of an edge have the same one only in a component with an odd cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import uint64

from dgraph.errors import OptionError
from dgraph.exchange.proxy_post import BROADCAST, ProxyMail
from dgraph.factors.rating_fit import Facts
from dgraph.native.team import kernel
from dgraph.solvers.union_find import flatten, link


class SideSearch:
    """The labels of the vertices in one place, by the edges in this place."""

    def __init__(self, u: np.ndarray, v: np.ndarray, numbers: np.ndarray):
        self.ends, self.labels = (u, v), 2 * numbers.astype(np.int64)
        self.roots = np.arange(2 * len(numbers))
        _join_sides(u, v, len(numbers), self.roots)

    def settle(self) -> np.ndarray:
        """Give every vertex the least label that follows from those here; returns which have changed."""
        before = self.labels.copy()
        _settle(self.roots, self.labels)
        return self.labels != before

    def is_item(self) -> np.ndarray:
        """Which vertices are on the second side."""
        found = (self.labels & 1).astype(bool)
        u, v = self.ends
        if (found[u] == found[v]).any():
            raise OptionError(
                "some edges form a cycle of odd length (or are loops), so a vertex is both a user and an item: every "
                "edge must join a user and an item"
            )
        return found


def orient_by_side(u: np.ndarray, v: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The users and items at the ends of all edges of an undirected graph."""
    search = SideSearch(u, v, np.arange(n))
    search.settle()
    reverse = search.is_item()[u]
    return np.where(reverse, v, u), np.where(reverse, u, v)


def settle_together(searches: Sequence[SideSearch], posts: Sequence[ProxyMail]) -> Facts:
    """Tell copies which labels have changed, until none does."""
    changed = [one.settle() for one in searches]
    while (yield {"changed": sum(int(one.sum()) for one in changed)})["changed"]:
        for search, post, mask in zip(searches, posts, changed, strict=True):
            post.broadcast(BROADCAST, "any", [search.labels], mask)
        yield {}
        for search, post in zip(searches, posts, strict=True):
            for found in post.collect({BROADCAST: "any"}):
                search.labels[found.locals] = np.minimum(search.labels[found.locals], found.values[0])
        changed = [one.settle() for one in searches]


@kernel
def _join_sides(u, v, n, roots):
    """Every vertex is in the union-find twice, once for each side; edges join one side with the other."""
    for i in range(uint64(u.size)):
        link(u[i], n + v[i], roots)
        link(n + u[i], v[i], roots)
    flatten(0, roots.size, roots)


@kernel
def _settle(roots, labels):
    n = labels.size
    least = np.full(roots.size, np.iinfo(np.int64).max)
    for v in range(n):
        one, other = roots[v], roots[n + v]
        least[one] = min(least[one], labels[v])
        least[other] = min(least[other], labels[v] ^ 1)
    for v in range(n):
        labels[v] = least[roots[v]]
