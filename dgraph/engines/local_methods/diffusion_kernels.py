"""What vertices are given and pass on, in one of several partitions: its rows gather from all that send to them here,
again and again, each block from the newest values of the blocks before (Gauss and Seidel's order).

The value of a row is all that it was ever given. So it may gather at any time and as often as it likes; what comes from
other partitions is added whenever it comes; and how much a look at all edges changes says how far there is to go. A
proxy is a row that keeps nothing: its master elsewhere is told by how much it has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import atomic_add, kernel, summed, team
from dgraph.solvers.ranks.gather import Layout, gather, lay_out
from dgraph.solvers.ranks.pagerank import dividing
from dgraph.tables.edge_tables import EdgeTables, cached_on

NOISE = 1e-13  # the share of all values that looks at the edges may change for ever, because numbers are rounded


class DiffusionArrays(NamedTuple):
    """Arrays by place."""

    share: np.ndarray  # of what a row passes on, along each edge; 0 where it has nobody to send to
    first: np.ndarray  # what it was given to begin with
    given: np.ndarray  # and since then, from other partitions
    known: np.ndarray  # all that it was given, as of the last look
    sent: np.ndarray
    gathered: np.ndarray  # when it last listened


class Diffusion:
    """Arrays are by place (see `solvers/ranks/gather.py`). Of those who have somebody to send to, `left` is how much
    may be here that was not passed on, at most, as of the last look, and `came` what has come since. `surplus` is the
    sum of what was not, and `mass` of all that is here: since they last listened."""

    def __init__(
        self, edges: EdgeTables, factor: float, strength: np.ndarray | None, given: np.ndarray, times: float = 0.0
    ):
        """Owned vertices are given something to begin with, and pass `factor` of all on; `strength` is the sum of the
        weights by which they divide it, None: alike. Suppose they have passed on so many `times` what they are given:
        looks put that right."""
        (table,) = edges.receivers("out", at_once=True)
        column = edges.columns.get("weight")
        make = partial(_laid_out, edges, table)
        self.layout, self.places = cached_on(table, ("layout of rows", column), make)
        columns = {} if strength is None else {"strength": strength}
        layout, divisor = dividing(self.layout, columns, np.float64)
        n, self.threads, self.owned, self.factor = len(layout.rows), edges.threads, len(given), factor
        self.edges, self.arrays = layout.edges, DiffusionArrays(*(np.empty(n) for _ in range(6)))
        self.told = np.zeros(n - self.owned)  # of each proxy, what its master knows
        self.rows = np.empty((self.threads, int(np.diff(layout.cuts).max(initial=0))))
        self.sums = np.zeros((len(layout.cuts) - 1, 3))
        self.supply, much = map(float, _begin(layout.rows, given, float(times), factor, divisor, self.arrays))
        self.noise, self.left, self.came, self.surplus, self.mass = 0.0, 0.0, much, 0.0, 0.0

    def take_in(self, ids: np.ndarray, values: np.ndarray) -> None:
        """Give owned vertices more, which has come from other partitions."""
        much, for_others, all_of_it = _take_in(ids, values, self.places, self.arrays)
        self.came, self.surplus, self.mass = self.came + much, self.surplus + for_others, self.mass + all_of_it

    def look(self) -> None:
        """Look once at all edges: everybody passes on what has come."""
        self.came = 0.0
        changed, size, _ = self._each(_look, self.rows)
        self.left, self.noise = self.factor * changed, NOISE * size  # what was changed may not have been seen by all

    def listen(self) -> None:
        """Look once at all edges while nobody passes on anything: from now on `left` is exact."""
        self.left, self.surplus, self.mass = self._each(_listen, self.layout.rows, self.owned)

    def news(self) -> np.ndarray:
        """By how much proxies have changed since this was last called, in the order of local ids."""
        known = self.arrays.known[self.places[self.owned :]]
        return known - self.told

    def scale(self, times: float) -> None:
        """Begin a stage from so many `times` what was passed on, here and in all partitions."""
        self.told *= times
        self.left, self.came = float(_scale(float(times), self.arrays)), 0.0

    def results(self, passed: np.ndarray, held: np.ndarray) -> None:
        """Add to these arrays what owned vertices have passed on, and what they hold: all of it, once they have
        listened."""
        _results(self.layout.rows, self.arrays, passed, held)

    def _each(self, kernel: Callable[..., Any], *more: Any) -> list[float]:
        """Run a kernel, whose threads take blocks of rows in turn; returns the sums that it takes of blocks."""
        team(kernel, self.threads, np.zeros(1, np.int64), self.sums, self.edges, self.arrays, *more)
        return self.sums.sum(axis=0).tolist()


def _laid_out(edges: EdgeTables, table: Any) -> tuple[Layout, np.ndarray]:
    """The layout of all rows, and the place of each local id."""
    layout = lay_out(table, edges.column(table, "weight"), edges.threads)
    places = np.empty_like(layout.rows)
    places[layout.rows] = np.arange(len(places), dtype=np.uint32)
    return layout, places


@kernel
def _begin(rows, to_owned, times, factor, divisor, arrays):
    """Proxies are given nothing. Returns the sum of what those are given who have somebody to send to, and how much."""
    share, first, given, known, sent, gathered = arrays
    supply, much = 0.0, 0.0
    for i in range(uint64(rows.size)):
        value = to_owned[rows[i]] if rows[i] < to_owned.size else 0.0
        share[i] = factor / divisor[i] if divisor[i] > 0 else 0.0
        first[i] = given[i] = value
        known[i] = times * value
        sent[i] = known[i] * share[i]
        gathered[i] = 0.0
        if share[i] > 0:
            supply += value
            much += abs(value)
    return supply, much


@kernel
def _look(rank, size, signals, turns, sums, edges, arrays, came):
    """The thread that takes a block writes it; others may read what its rows sent before, or what they send now."""
    while True:
        b = atomic_add(turns, 0, 1)
        if b >= edges.cuts.size - 1:
            break
        lo, hi = edges.cuts[b], edges.cuts[b + 1]
        gather(edges, arrays.sent, lo, hi, came[rank])
        sums[b, 0], sums[b, 1] = _pass_on(lo, hi, came[rank], arrays.share, arrays.given, arrays.known, arrays.sent)


@summed
def _pass_on(lo, hi, came, share, given, known, sent):
    """Returns by how much those change who have somebody to send to, and how much they know."""
    changed, size = 0.0, 0.0
    for i in range(uint64(lo), uint64(hi)):
        value, sends = given[i] + came[i - uint64(lo)], share[i] > 0
        changed += abs(value - known[i]) if sends else 0.0
        size += abs(value) if sends else 0.0
        known[i] = value
        sent[i] = value * share[i]
    return changed, size


@kernel
def _listen(rank, size, signals, turns, sums, edges, arrays, rows, owned):
    """Proxies alone change; a block is written by the thread that takes it."""
    share, _, given, known, sent, gathered = arrays
    while True:
        b = atomic_add(turns, 0, 1)
        if b >= edges.cuts.size - 1:
            break
        lo, hi = edges.cuts[b], edges.cuts[b + 1]
        gather(edges, sent, lo, hi, gathered[lo:hi])
        left, surplus, mass = 0.0, 0.0, 0.0
        for i in range(uint64(lo), uint64(hi)):
            if rows[i] >= owned:
                known[i] = gathered[i]
                continue
            value = given[i] + gathered[i]
            mass += value
            if share[i] > 0:
                left += abs(value - known[i])
                surplus += value - known[i]
        sums[b, 0], sums[b, 1], sums[b, 2] = left, surplus, mass


@kernel
def _take_in(ids, values, places, arrays):
    """Returns how much those were given who have somebody to send to, its sum, and that of all."""
    share, given = arrays.share, arrays.given
    much, for_others, all_of_it = 0.0, 0.0, 0.0
    for k in range(uint64(ids.size)):
        i = uint64(places[ids[k]])
        given[i] += values[k]
        all_of_it += values[k]
        if share[i] > 0:
            much += abs(values[k])
            for_others += values[k]
    return much, for_others, all_of_it


@kernel
def _scale(times, arrays):
    """Proxies are given nothing, and send to nobody. Returns how much was not passed on."""
    share, first, given, known, sent, gathered = arrays
    left = 0.0
    for i in range(uint64(share.size)):
        given[i] = times * given[i] + (1 - times) * first[i]
        known[i] *= times
        sent[i] *= times
        gathered[i] *= times
        left += abs(given[i] + gathered[i] - known[i]) if share[i] > 0 else 0.0
    return left


@kernel
def _results(rows, arrays, passed, held):
    given, known, gathered = arrays.given, arrays.known, arrays.gathered
    for i in range(uint64(rows.size)):
        v = rows[i]
        if v < passed.size:
            passed[v] += known[i]
            held[v] = given[i] + gathered[i] - known[i]
