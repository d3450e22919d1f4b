"""Ratings as columns, and by vertex from both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import kernel

PIECES = 8  # for each thread, so that none waits long for another


class RatingColumns(NamedTuple):
    """Ratings: the numbers of users and items, and the values."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray

    def chosen(self, some: np.ndarray) -> RatingColumns:
        return RatingColumns(*(column[some] for column in self))


@dataclass(frozen=True)
class RatingSide:
    """The users, or the items, that have ratings; no two of them rate each other. Threads take them in pieces with
    about as many ratings."""

    vertices: np.ndarray
    ratings: np.ndarray  # how many each has

    def cuts(self, threads: int) -> np.ndarray:
        before = np.cumsum(self.ratings)
        shares = np.arange(1, PIECES * threads) * (before[-1] if len(before) else 0) // (PIECES * threads)
        return np.concatenate([[0], np.searchsorted(before, shares), [len(before)]]).astype(np.int64)


@dataclass(frozen=True)
class RatingRows:
    """The ratings of each vertex: the vertex at the other end, and the value."""

    indptr: np.ndarray
    others: np.ndarray
    values: np.ndarray
    sides: tuple[RatingSide, RatingSide]  # users and items

    @classmethod
    def of(cls, of_users: RatingColumns, of_items: RatingColumns, vertices: int) -> RatingRows:
        """From the ratings of some users, and those of some items."""
        counts = [np.bincount(one, minlength=vertices) for one in (of_users.users, of_items.items)]
        indptr, size = np.zeros(vertices + 1, np.int64), len(of_users.values) + len(of_items.values)
        np.cumsum(counts[0] + counts[1], out=indptr[1:])
        sides = [RatingSide(np.flatnonzero(one), one[one > 0]) for one in counts]
        rows = cls(indptr, np.empty(size, np.uint32), np.empty(size), (sides[0], sides[1]))
        places = indptr[:-1].copy()
        _fill(*of_users, places, rows.others, rows.values)
        _fill(of_items.items, of_items.users, of_items.values, places, rows.others, rows.values)
        return rows


def ratings_of(partition: Any, columns: Sequence[str], directed: bool) -> tuple[np.ndarray, ...]:
    """The ends of the ratings of one partition, and some columns; an undirected edge, stored twice, counts once."""
    rows, numbers = partition.out, partition.numbers.astype(np.uint32)
    u, v = numbers[rows.rows()], numbers[rows.neighbours]
    found = u, v, *(rows.columns[name] for name in columns)
    return found if directed else tuple(one[u <= v] for one in found)


@kernel
def _fill(u, v, values, places, others, ratings):
    """Copy every rating to the row of its first end, in order. `places` are the starts of rows, and are modified."""
    for i in range(uint64(u.size)):
        place = places[u[i]]
        others[place], ratings[place] = v[i], values[i]
        places[u[i]] = place + 1
