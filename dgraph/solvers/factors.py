"""Factors of vertices whose inner products are what edges say: gradient descent, or alternating least squares, block by
block from the newest factors of the others (collaborative filtering of GraphABCD; Koren, Bell and Volinsky 2009)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, atomic_add, barrier, kernel, part, share, team
from dgraph.solvers.subgraphs.components import flatten, link

LITTLE = 1e-9  # of the trace, on the diagonal: of fewer ratings than factors the shortest factors are found
SHORT = 1e-7  # of the longest component: shorter ones count as so long where factors are balanced
FLAT = 1e-6  # of a vertex's largest curvature: less counts as so much, for nothing is known along such a component
MANY = 16  # ratings for each factor, of which the best step is known beforehand
DESCEND, SEARCH, SOLVE = range(3)  # a step of a given length; one as long as is best; all the way


@dataclass(frozen=True)
class RatingRows:
    """The ratings of each vertex, from either end: who is at the other end, and how far the rating is from the mean."""

    indptr: np.ndarray
    others: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(u: np.ndarray, v: np.ndarray, values: np.ndarray, n: int) -> RatingRows:
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(u, minlength=n) + np.bincount(v, minlength=n), out=indptr[1:])
        found = RatingRows(indptr, np.empty(2 * len(u), np.uint32), np.empty(2 * len(u)))
        _rows(u, v, values, indptr[:-1].copy(), found.others, found.values)
        return found

    def looks(self, width: int, way: int) -> int:
        """How many looks at ratings, from either end, an epoch takes."""
        counts = np.diff(self.indptr)
        return int(counts.sum() + (counts[counts < MANY * width].sum() if way == SEARCH else 0))

    def epoch(self, factors: np.ndarray, way: int, step: float, penalty: float, block: int, threads: int) -> None:
        """Bring every vertex up to date once: by a step of this length, or by such a share of the best step. With one
        thread the result is always the same."""
        n, width = factors.shape
        whole = block >= n  # all from the values of the epoch before: slices are for the threads alone
        size = max(1, -(-n // (4 * threads))) if whole else block
        cuts = np.append(np.arange(0, n, size), n)
        scratch = np.zeros((threads, max(2, width), width + 1))
        fresh = np.empty_like(factors)
        rows = self.indptr, self.others, self.values
        team(_epoch, threads, np.zeros(1, np.int64), cuts, *rows, factors, fresh, scratch, way, step, penalty, whole)


def from_side_to_side(u: np.ndarray, v: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The ends of edges without a direction, on one side and on the other: the smallest vertex of each component is on
    the first. Where a circle of odd length leaves no sides they stay as they are."""
    above = np.arange(2 * n)
    _part(u, v, n, above)
    turned = above[u] > above[n:][u]
    return np.where(turned, v, u), np.where(turned, u, v)


def objective(u: np.ndarray, v: np.ndarray, values: np.ndarray, factors: np.ndarray, penalty: float) -> float:
    """What each turn of a vertex lowers: the squared errors of the products, and the penalty for the factors' size."""
    return float(_squares(u, v, values, factors)) + penalty * float(np.einsum("ij,ij", factors, factors))


def rmse(u: np.ndarray, v: np.ndarray, values: np.ndarray, factors: np.ndarray) -> float:
    """The root of the mean squared error of the products; NaN for no ratings."""
    return float(np.sqrt(_squares(u, v, values, factors) / len(u))) if len(u) else float("nan")


def balance(factors: np.ndarray, users: np.ndarray, items: np.ndarray) -> None:
    """Factors with the same products, of the least size: components at right angles, and as long on one side as on the
    other. Then each component has a curvature of its own, and a step by it is nearly Newton's (Tong, Ma and Chi,
    2021)."""
    lengths, turns = zip(*(np.linalg.eigh(_products(factors, side)) for side in (users, items)), strict=True)
    one, other = (np.sqrt(np.maximum(squares, 0)) for squares in lengths)
    one, other = (np.maximum(each, SHORT * each.max() or 1.0) for each in (one, other))  # so that nothing is lost
    turn, both, _ = np.linalg.svd((turns[0] * one).T @ (turns[1] * other))
    _turn(factors, users, turns[0] / one @ turn * np.sqrt(both))
    _turn(factors, items, turns[0] * one @ turn / np.sqrt(both))


@kernel
def _products(factors, side):
    """Inner products of components with each other. (For few columns loops are several times faster than BLAS.)"""
    width = factors.shape[1]
    found = np.zeros((width, width))
    for i in range(uint64(side.size)):
        v = uint64(side[i])
        for c in range(width):
            for d in range(width):
                found[c, d] += factors[v, c] * factors[v, d]
    return found


@kernel
def _turn(factors, side, matrix):
    width = factors.shape[1]
    turned = np.zeros(width)
    for i in range(uint64(side.size)):
        v = uint64(side[i])
        turned[:] = 0.0
        for c in range(width):
            for d in range(width):
                turned[d] += factors[v, c] * matrix[c, d]
        factors[v] = turned


@kernel
def _part(u, v, n, above):
    """Each vertex twice, on either side: an edge joins one side with the other."""
    for i in range(uint64(u.size)):
        link(u[i], n + v[i], above)
        link(n + u[i], v[i], above)
    flatten(0, above.size, above)


@kernel
def _rows(u, v, values, places, others, ratings):
    """Every rating into the rows of both its ends, in order; `places` are where rows begin."""
    for i in range(uint64(u.size)):
        for end, other in ((u[i], v[i]), (v[i], u[i])):
            place = places[end]
            others[place], ratings[place] = other, values[i]
            places[end] = place + 1


@kernel
def _squares(u, v, values, factors):
    total = 0.0
    for i in range(uint64(values.size)):
        miss = values[i]
        for c in range(factors.shape[1]):
            miss -= factors[u[i], c] * factors[v[i], c]
        total += miss * miss
    return total


@kernel
def _epoch(
    rank, size, signals, cursor, cuts, indptr, others, values, factors, fresh, scratch, way, step, penalty, whole
):
    """Threads take blocks. The thread that takes a block writes its `fresh` and `factors`."""
    while True:
        b = atomic_add(cursor, 0, 1)
        if b >= cuts.size - 1:
            break
        lo, hi = cuts[b], cuts[b + 1]
        for v in range(uint64(lo), uint64(hi)):
            if way == DESCEND:
                _descend(v, indptr, others, values, factors, fresh, step, penalty)
            elif way == SEARCH:
                _search(v, indptr, others, values, factors, fresh, scratch[rank], step, penalty)
            else:
                _solve(v, indptr, others, values, factors, fresh, scratch[rank], penalty)
        if not whole:
            factors[lo:hi] = fresh[lo:hi]
    if whole:
        barrier(size, signals)
        lo, hi = share(rank, size, len(factors))
        factors[lo:hi] = fresh[lo:hi]


@part
def _descend(v, indptr, others, values, factors, fresh, step, penalty):
    """A step down the gradient of v's squared error and penalty, by the mean over its ratings."""
    first, last = uint64(indptr[v]), uint64(indptr[v + ONE])
    width = factors.shape[1]
    for c in range(width):
        fresh[v, c] = -penalty * factors[v, c]
    for e in range(first, last):
        u, miss = uint64(others[e]), values[e]
        for c in range(width):
            miss -= factors[v, c] * factors[u, c]
        for c in range(width):
            fresh[v, c] += miss * factors[u, c]
    scale = step / (last - first) if last > first else 0.0
    for c in range(width):
        fresh[v, c] = factors[v, c] + scale * fresh[v, c]


@part
def _search(v, indptr, others, values, factors, fresh, scratch, share, penalty):
    """A share of the best step along the gradient, each component of which is divided by its own curvature. The best
    length is 1 for many ratings of balanced factors; a vertex with few ratings looks at them again to find it."""
    first, last = uint64(indptr[v]), uint64(indptr[v + ONE])
    width = factors.shape[1]
    gradient, curvature, direction = scratch[0, :width], scratch[1, :width], fresh[v]
    for c in range(width):
        gradient[c], curvature[c] = -penalty * factors[v, c], penalty
    for e in range(first, last):
        u, miss = uint64(others[e]), values[e]
        for c in range(width):
            miss -= factors[v, c] * factors[u, c]
        for c in range(width):
            gradient[c] += miss * factors[u, c]
            curvature[c] += factors[u, c] * factors[u, c]
    flat = FLAT * curvature.max()
    gain, bend = 0.0, 0.0
    for c in range(width):
        direction[c] = gradient[c] / max(curvature[c], flat) if flat > 0 else 0.0
        gain += direction[c] * gradient[c]
        bend += penalty * direction[c] * direction[c]
    length = share
    if last - first < MANY * width:
        for e in range(first, last):
            u, along = uint64(others[e]), 0.0
            for c in range(width):
                along += direction[c] * factors[u, c]
            bend += along * along
        length = share * gain / bend if bend > 0 else 0.0
    for c in range(width):
        fresh[v, c] = factors[v, c] + length * direction[c]


@part
def _solve(v, indptr, others, values, factors, fresh, system, penalty):
    """The best factors of v as the others are: the normal equations in the last column, by Cholesky."""
    width = factors.shape[1]
    system[:] = 0.0
    for c in range(width):
        system[c, c] = penalty
    for e in range(uint64(indptr[v]), uint64(indptr[v + ONE])):
        u = uint64(others[e])
        for c in range(width):
            for d in range(c + 1):
                system[c, d] += factors[u, c] * factors[u, d]
            system[c, width] += values[e] * factors[u, c]
    trace = 0.0
    for c in range(width):
        trace += system[c, c]
    for c in range(width):
        system[c, c] += trace * LITTLE
    for c in range(width):
        for d in range(c + 1):
            total = system[c, d]
            for k in range(d):
                total -= system[c, k] * system[d, k]
            system[c, d] = np.sqrt(max(total, 1e-300)) if c == d else total / system[d, d]
        total = system[c, width]
        for k in range(c):
            total -= system[c, k] * system[k, width]
        system[c, width] = total / system[c, c]
    for c in range(width - 1, -1, -1):
        total = system[c, width]
        for k in range(c + 1, width):
            total -= system[k, c] * fresh[v, k]
        fresh[v, c] = total / system[c, c]
