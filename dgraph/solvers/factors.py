"""Matrix factorisation: vertices get factors whose inner products approximate the ratings on edges. Gradient descent or
alternating least squares update the factors block by block, from the newest factors of the other vertices
(collaborative filtering of GraphABCD; Koren, Bell and Volinsky 2009)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, atomic_add, barrier, kernel, part, share, team
from dgraph.solvers.union_find import flatten, link

DIAGONAL_SHARE = 1e-9  # a share of the trace, added to the diagonal: with few ratings, the shortest factors are found
MIN_LENGTH = 1e-7  # the minimum length of components when factors are balanced, as a share of the longest component
MIN_CURVATURE = 1e-6  # the minimum curvature of components without information, as a share of the vertex's largest one
MANY_RATINGS = 16  # with this many ratings per factor, the best step length is known in advance
DESCEND, SEARCH, SOLVE = range(3)  # a step of fixed length, a step of the best length, or least squares


@dataclass(frozen=True)
class RatingRows:
    """The ratings of each vertex, from both sides: the vertex at the other end, and the rating minus the mean."""

    indptr: np.ndarray
    others: np.ndarray
    values: np.ndarray

    @staticmethod
    def from_edges(u: np.ndarray, v: np.ndarray, values: np.ndarray, n: int) -> RatingRows:
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(u, minlength=n) + np.bincount(v, minlength=n), out=indptr[1:])
        rows = RatingRows(indptr, np.empty(2 * len(u), np.uint32), np.empty(2 * len(u)))
        _rows(u, v, values, indptr[:-1].copy(), rows.others, rows.values)
        return rows

    def ratings_read(self, width: int, way: int) -> int:
        """How many ratings an epoch reads, counting both sides."""
        counts = np.diff(self.indptr)
        return int(counts.sum() + (counts[counts < MANY_RATINGS * width].sum() if way == SEARCH else 0))

    def epoch(self, factors: np.ndarray, way: int, step: float, penalty: float, block: int, threads: int) -> None:
        """Update every vertex once, by a step of length `step`, or by that share of the best step. Results are
        deterministic with one thread."""
        n, width = factors.shape
        whole = block >= n  # then all vertices read the values of the previous epoch, and blocks only serve threads
        size = max(1, -(-n // (4 * threads))) if whole else block
        cuts = np.append(np.arange(0, n, size), n)
        scratch = np.zeros((threads, max(2, width), width + 1))
        fresh = np.empty_like(factors)
        rows = self.indptr, self.others, self.values
        team(_epoch, threads, np.zeros(1, np.int64), cuts, *rows, factors, fresh, scratch, way, step, penalty, whole)


def orient_by_side(u: np.ndarray, v: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The ends of undirected edges on the first and on the second side of a bipartite graph. The smallest vertex of
    each component is on the first side. Components with a cycle of odd length have no sides, so their edges keep their
    order."""
    above = np.arange(2 * n)
    _find_sides(u, v, n, above)
    reverse = above[u] > above[n:][u]
    return np.where(reverse, v, u), np.where(reverse, u, v)


def objective(u: np.ndarray, v: np.ndarray, values: np.ndarray, factors: np.ndarray, penalty: float) -> float:
    """The sum of squared errors plus the penalty for large factors. Every update of a vertex lowers it."""
    return float(_squares(u, v, values, factors)) + penalty * float(np.einsum("ij,ij", factors, factors))


def rmse(u: np.ndarray, v: np.ndarray, values: np.ndarray, factors: np.ndarray) -> float:
    """The root mean squared error of the inner products; NaN without ratings."""
    return float(np.sqrt(_squares(u, v, values, factors) / len(u))) if len(u) else float("nan")


def balance(factors: np.ndarray, users: np.ndarray, items: np.ndarray) -> None:
    """Transform factors to the smallest ones with the same products: components are orthogonal, and equally long on
    both sides. Then each component has its own curvature, and a step scaled by it is nearly Newton's (Tong, Ma and Chi,
    2021)."""
    lengths, turns = zip(*(np.linalg.eigh(_products(factors, side)) for side in (users, items)), strict=True)
    one, other = (np.sqrt(np.maximum(squares, 0)) for squares in lengths)
    # The minimum keeps every component from vanishing.
    one, other = (np.maximum(each, MIN_LENGTH * each.max() or 1.0) for each in (one, other))
    turn, both, _ = np.linalg.svd((turns[0] * one).T @ (turns[1] * other))
    _turn(factors, users, turns[0] / one @ turn * np.sqrt(both))
    _turn(factors, items, turns[0] * one @ turn / np.sqrt(both))


@kernel
def _products(factors, side):
    """Inner products of all pairs of components. (With few columns, loops are several times faster than BLAS.)"""
    width = factors.shape[1]
    products = np.zeros((width, width))
    for i in range(uint64(side.size)):
        v = uint64(side[i])
        for c in range(width):
            for d in range(width):
                products[c, d] += factors[v, c] * factors[v, d]
    return products


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
def _find_sides(u, v, n, above):
    """Every vertex is in the union-find twice, once for each side; edges join one side with the other."""
    for i in range(uint64(u.size)):
        link(u[i], n + v[i], above)
        link(n + u[i], v[i], above)
    flatten(0, above.size, above)


@kernel
def _rows(u, v, values, places, others, ratings):
    """Copy every rating to the rows of both its ends, in order. `places` are the starts of rows, and are modified."""
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
    """The thread that takes a block writes its `fresh` and `factors`."""
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
    """Take a step down the gradient of v's squared error and penalty, averaged over its ratings."""
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
    """Take a share of the best step along the gradient, with each component divided by its curvature. With many ratings
    and balanced factors, the best length is 1; with few ratings, read them again to find it."""
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
    flat = MIN_CURVATURE * curvature.max()
    gain, bend = 0.0, 0.0
    for c in range(width):
        direction[c] = gradient[c] / max(curvature[c], flat) if flat > 0 else 0.0
        gain += direction[c] * gradient[c]
        bend += penalty * direction[c] * direction[c]
    length = share
    if last - first < MANY_RATINGS * width:
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
    """Compute the best factors of v, given those of the others: solve the normal equations by Cholesky decomposition,
    with the right-hand side in the last column."""
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
        system[c, c] += trace * DIAGONAL_SHARE
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
