"""Kernels that improve factors: gradient descent, or alternating least squares.

A rating is about the inner product of the factors at its ends, plus the biases of both, plus the mean. A row of
`factors` holds a vertex's factors and, if there are biases, its bias at the end. The rows at the other ends of its
ratings, with a 1 in place of the bias, are what it is fitted to.

Users rate items only. So all users are updated from the items' newest factors, on any number of threads, and then all
items; the results do not depend on the threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numba import uint64

from dgraph.factors.rating_rows import RatingColumns, RatingRows
from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, kernel, part, summed, team

PRIOR = 30  # the penalty of a vertex's factors counts as many ratings more than it has
BIAS_PRIOR = 10.0  # the weight of a squared bias: so many ratings would have to say that there is none
DIAGONAL_SHARE = 1e-9  # a share of the trace, added to the diagonal: with few ratings, the shortest factors are found
MIN_LENGTH = 1e-7  # the minimum length of components when factors are balanced, as a share of the longest component
MIN_CURVATURE = 1e-6  # the minimum curvature of components without information, as a share of the vertex's largest one
MANY_RATINGS = 16  # with this many ratings per factor, the best step length is known in advance
NEARLY_SOLVED = 1e-20  # the squared length of a gradient that ends these steps
FINER = 8  # times as many pieces if a GPU takes some, so that it need not wait long for the last piece of a thread
PIECE = 1 << 14  # ratings whose errors one thread adds up
TWO, THREE, FOUR = uint64(2), uint64(3), uint64(4)
AT_ONCE = 4  # ratings that are added to a system of equations together
HIGH_RANK = 32  # from here on, implicit feedback takes conjugate gradients, which are faster and rank as well
STEPS = 3  # of these, for each vertex and epoch
# a step of fixed length, a step of the best length, least squares, these for implicit feedback, or steps towards these
DESCEND, SEARCH, SOLVE, PREFER, APPROACH = range(5)
NO_PRODUCTS = np.zeros((0, 0))


@dataclass(frozen=True)
class FactorUpdate:
    """How all vertices are updated once."""

    way: int
    rank: int
    threads: int
    at_once: bool = False  # users and items both from the values before
    queue: Any = None  # the `PieceQueue` from which GPUs take pieces as well, if there are any

    def ratings_read(self, rows: RatingRows, width: int) -> int:
        """How many ratings an update reads, counting both sides."""
        counts = np.diff(rows.indptr)
        again = counts[counts < MANY_RATINGS * width].sum() if self.way == SEARCH else 0
        return int(counts.sum() + again)

    def update(
        self,
        rows: RatingRows,
        factors: np.ndarray,
        penalty: float,
        step: float = 1.0,
        variance: float = 1.0,
        alpha: float = 0.0,
        products: np.ndarray = NO_PRODUCTS,
        sides: tuple[int, ...] = (0, 1),
    ) -> None:
        """Update the users (side 0) and items (side 1) once, by a step of some length for factors of this variance, or
        by that share of the best step; for implicit feedback, with `alpha` and the Gram matrix of the other side."""
        width = factors.shape[1]
        fresh = factors.copy() if self.at_once else factors
        scratch = np.zeros((self.threads, AT_ONCE + width + 1, max(AT_ONCE, width + 1)))
        held = rows.indptr, rows.others, rows.values
        how = float(penalty), float(step), float(variance), float(alpha)
        for number in sides:
            side = rows.sides[number]
            cuts = side.cuts(self.threads if self.queue is None else FINER * self.threads)
            cursor = np.zeros(1, np.int64)
            mine = cursor, cuts, side.vertices, *held, factors, fresh, products, scratch
            way = APPROACH if self.way == PREFER and self.rank >= HIGH_RANK else self.way
            beside = []
            if self.queue is not None:
                arrays = rows, side, cuts, cursor, factors, fresh, products
                beside = self.queue.members(*arrays, way, self.rank, how)
            team(_update, self.threads, *mine, way, self.rank, how, beside=beside)
            for member in beside:
                member.check()
        if self.at_once:
            factors[:] = fresh

    def squares(self, ratings: RatingColumns, factors: np.ndarray) -> float:
        """The sum of squared errors, added up in one order."""
        cuts = np.append(np.arange(0, len(ratings.values), PIECE), len(ratings.values))
        sums = np.zeros(len(cuts))
        team(_squares, self.threads, np.zeros(1, np.int64), cuts, *ratings, factors, self.rank, sums)
        return float(sums.sum())

    def penalty(self, rows: RatingRows, factors: np.ndarray, penalty: float) -> float:
        """What large factors and biases, of the first vertices, add to the squared errors."""
        squares = np.einsum("ij,ij->i", factors[:, : self.rank], factors[:, : self.rank])
        biases = BIAS_PRIOR * float(np.sum(factors[:, self.rank :] ** 2))
        return penalty * float(np.sum(weights_of(rows)[: len(factors)] * squares)) + biases


def weights_of(rows: RatingRows) -> np.ndarray:
    """By how much each vertex's squared factors are penalized, relative to the others."""
    return np.diff(rows.indptr) + float(PRIOR)


def products_of(factors: np.ndarray, vertices: np.ndarray, rows: RatingRows, rank: int) -> np.ndarray:
    """The products of all pairs of components, summed over some vertices, weighted as their penalties are."""
    return _products(factors, vertices, weights_of(rows), rank)


def balancing_turns(of_users: np.ndarray, of_items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By which matrices to multiply the factors of users and of items, given `products_of` both, so that their products
    stay the same, and the penalty is the least: components become orthogonal, and equally long on both sides. Then each
    component has its own curvature, and a step scaled by it is nearly Newton's (Tong, Ma and Chi, 2021)."""
    lengths, turns = zip(*map(np.linalg.eigh, (of_users, of_items)), strict=True)
    one, other = (np.sqrt(np.maximum(squares, 0)) for squares in lengths)
    # The minimum keeps every component from vanishing.
    one, other = (np.maximum(each, MIN_LENGTH * each.max() or 1.0) for each in (one, other))
    turn, both, _ = np.linalg.svd((turns[0] * one).T @ (turns[1] * other))
    return turns[0] / one @ turn * np.sqrt(both), turns[0] * one @ turn / np.sqrt(both)


@kernel
def _products(factors, side, weights, rank):
    """Weighted inner products of all pairs of components. (With few columns, loops are several times faster than
    BLAS.)"""
    products = np.zeros((rank, rank))
    for i in range(uint64(side.size)):
        v = uint64(side[i])
        for c in range(rank):
            for d in range(rank):
                products[c, d] += weights[v] * factors[v, c] * factors[v, d]
    return products


@kernel
def turn(factors, side, matrix):
    """Multiply the factors of some vertices by a matrix."""
    rank = matrix.shape[0]
    turned = np.zeros(rank)
    for i in range(uint64(side.size)):
        v = uint64(side[i])
        turned[:] = 0.0
        for c in range(rank):
            for d in range(rank):
                turned[d] += factors[v, c] * matrix[c, d]
        for c in range(rank):
            factors[v, c] = turned[c]


@kernel
def next_piece(cuts, cursor, signals):
    """The number of the next piece, or -1 if there is none. GPUs take pieces as well (`gpu_updates.py`)."""
    piece = atomic_add(cursor, 0, 1)
    return -1 if piece >= cuts.size - 1 or atomic_load(signals, STOP) else piece


@kernel
def _squares(rank, size, signals, cursor, cuts, u, v, values, factors, components, sums):
    width = factors.shape[1]
    while True:
        b = next_piece(cuts, cursor, signals)
        if b < 0:
            break
        total = 0.0
        for i in range(uint64(cuts[b]), uint64(cuts[b + 1])):
            one, other = uint64(u[i]), uint64(v[i])
            miss = values[i]
            for c in range(components):
                miss -= factors[one, c] * factors[other, c]
            for c in range(components, width):
                miss -= factors[one, c] + factors[other, c]
            total += miss * miss
        sums[b] = total


@kernel
def _update(
    rank,
    size,
    signals,
    cursor,
    cuts,
    vertices,
    indptr,
    others,
    values,
    factors,
    fresh,
    products,
    scratch,
    way,
    components,
    how,
):
    """Write the fresh factors of the vertices in some pieces. `fresh` may be `factors`: nobody else reads them now."""
    mine, (penalty, step, variance, alpha) = scratch[rank], how
    mine[0, :] = 1.0  # where there are biases, what they are multiplied by
    while True:
        b = next_piece(cuts, cursor, signals)
        if b < 0:
            break
        for i in range(uint64(cuts[b]), uint64(cuts[b + 1])):
            v = uint64(vertices[i])
            if way == DESCEND:
                _descend(v, indptr, others, values, factors, fresh, mine, components, penalty, step, variance)
            elif way == SEARCH:
                _search(v, indptr, others, values, factors, fresh, mine, components, penalty, step)
            elif way == SOLVE:
                _solve(v, indptr, others, values, factors, fresh, mine, components, penalty)
            elif way == PREFER:
                _prefer(v, indptr, others, values, factors, fresh, products, mine, penalty, alpha)
            else:
                _approach(v, indptr, others, values, factors, products, mine, penalty, alpha)


@inlined
def _read(e, others, values, factors, components, row):
    """Read a rating: `row` becomes what this vertex is fitted to, and the value is without the other's bias."""
    u, rest = uint64(others[e]), values[e]
    for c in range(components):
        row[c] = factors[u, c]
    for c in range(components, factors.shape[1]):
        rest -= factors[u, c]
    return rest


@inlined
def _weight(c, components, penalty, ratings):
    return penalty * (ratings + PRIOR) if c < components else BIAS_PRIOR


@part
def _descend(v, indptr, others, values, factors, fresh, scratch, components, penalty, step, variance):
    """Take a step down the gradient of v's squared error and penalty. A length of 1 would solve for v if the factors at
    the other ends were independent and had this variance."""
    first, last = uint64(indptr[v]), uint64(indptr[v + ONE])
    width, ratings = factors.shape[1], np.float64(last - first)
    row, gradient = scratch[0], scratch[1]
    for c in range(width):
        gradient[c] = -_weight(c, components, penalty, ratings) * factors[v, c]
    for e in range(first, last):
        miss = _read(e, others, values, factors, components, row)
        for c in range(width):
            miss -= factors[v, c] * row[c]
        for c in range(width):
            gradient[c] += miss * row[c]
    for c in range(width):
        curvature = ratings * (variance if c < components else 1.0) + _weight(c, components, penalty, ratings)
        fresh[v, c] = factors[v, c] + step / curvature * gradient[c]


@part
def _search(v, indptr, others, values, factors, fresh, scratch, components, penalty, share):
    """Take a share of the best step along the gradient, with each component divided by its curvature. With many ratings
    and balanced factors, the best length is 1; with few ratings, read them again to find it."""
    first, last = uint64(indptr[v]), uint64(indptr[v + ONE])
    width, ratings = factors.shape[1], np.float64(last - first)
    row, gradient, curvature, direction = scratch[0], scratch[1], scratch[2], scratch[3]
    for c in range(width):
        curvature[c] = _weight(c, components, penalty, ratings)
        gradient[c] = -curvature[c] * factors[v, c]
    for e in range(first, last):
        miss = _read(e, others, values, factors, components, row)
        for c in range(width):
            miss -= factors[v, c] * row[c]
        for c in range(width):
            gradient[c] += miss * row[c]
            curvature[c] += row[c] * row[c]
    most = 0.0
    for c in range(width):
        most = max(most, curvature[c])
    flat = MIN_CURVATURE * most
    gain, bend = 0.0, 0.0
    for c in range(width):
        direction[c] = gradient[c] / max(curvature[c], flat) if flat > 0 else 0.0
        gain += direction[c] * gradient[c]
        bend += _weight(c, components, penalty, ratings) * direction[c] * direction[c]
    length = share
    if last - first < MANY_RATINGS * width:
        for e in range(first, last):
            _read(e, others, values, factors, components, row)
            along = 0.0
            for c in range(width):
                along += direction[c] * row[c]
            bend += along * along
        length = share * gain / bend if bend > 0 else 0.0
    for c in range(width):
        fresh[v, c] = factors[v, c] + length * direction[c]


@part
def _solve(v, indptr, others, values, factors, fresh, scratch, components, penalty):
    """Compute the best factors of v, given those of the others: solve the normal equations."""
    first, last = uint64(indptr[v]), uint64(indptr[v + ONE])
    width, ratings = factors.shape[1], np.float64(last - first)
    rows, system = scratch[:AT_ONCE], scratch[AT_ONCE:]
    for c in range(width):
        for d in range(c, width + 1):
            system[c, d] = 0.0
        system[c, c] = _weight(c, components, penalty, ratings)
    for begin in range(first, last, uint64(AT_ONCE)):
        for i in range(uint64(AT_ONCE)):
            if begin + i < last:
                rows[i, width] = _read(begin + i, others, values, factors, components, rows[i])
                for c in range(components, width):
                    rows[i, c] = 1.0
            else:
                for c in range(width + 1):
                    rows[i, c] = 0.0
        _add_products(system, rows, width, 1.0, 1.0, 1.0, 1.0)
    _solve_system(system, width, fresh[v])


@part
def _prefer(v, indptr, others, values, factors, fresh, products, scratch, penalty, alpha):
    """Compute the best factors of v for implicit feedback (Hu, Koren and Volinsky, 2008): products should be 1 where
    there is feedback, the more so the larger `alpha` times its value, and 0 elsewhere. What all vertices add to the
    equations, as if there were no feedback, is in `products`."""
    width = factors.shape[1]
    rows, system = scratch[:AT_ONCE], scratch[AT_ONCE:]
    more = scratch[AT_ONCE + width]
    for c in range(width):
        for d in range(c, width):
            system[c, d] = products[c, d]
        system[c, c] += penalty
        system[c, width] = 0.0
    last = uint64(indptr[v + ONE])
    for begin in range(uint64(indptr[v]), last, uint64(AT_ONCE)):
        for i in range(uint64(AT_ONCE)):
            more[i] = 0.0
            if begin + i < last:
                more[i] = max(alpha * _read(begin + i, others, values, factors, width, rows[i]), 1e-300)
                rows[i, width] = (1 + more[i]) / more[i]
            else:
                for c in range(width + 1):
                    rows[i, c] = 0.0
        _add_products(system, rows, width, more[0], more[1], more[2], more[3])
    _solve_system(system, width, fresh[v])


@part
def _approach(v, indptr, others, values, factors, products, scratch, penalty, alpha):
    """Improve the factors of v for implicit feedback by a few conjugate gradients, without writing its equations down
    (Takacs, Pilaszy and Tikk, 2011)."""
    width = factors.shape[1]
    mine, rest, direction, bend = factors[v], scratch[0, :width], scratch[1, :width], scratch[2, :width]
    _equations(v, indptr, others, values, factors, products, mine, rest, penalty, alpha, -1.0, 1.0)
    far = 0.0
    for c in range(width):
        direction[c] = rest[c]
        far += rest[c] * rest[c]
    for _ in range(STEPS):
        _equations(v, indptr, others, values, factors, products, direction, bend, penalty, alpha, 1.0, 0.0)
        curvature = 0.0
        for c in range(width):
            curvature += direction[c] * bend[c]
        if curvature <= 0 or far < NEARLY_SOLVED:
            break
        length, before, far = far / curvature, far, 0.0
        for c in range(width):
            mine[c] += length * direction[c]
            rest[c] -= length * bend[c]
            far += rest[c] * rest[c]
        for c in range(width):
            direction[c] = rest[c] + far / before * direction[c]


@part
def _equations(v, indptr, others, values, factors, products, vector, out, penalty, alpha, sign, base):
    """`sign` times the product of the matrix in the equations of v and a vector, plus `base` times their right-hand
    side. Rows are added four at a time, because that reads and writes `out` less often."""
    width, last = uint64(factors.shape[1]), uint64(indptr[v + ONE])
    for c in range(width):
        out[c] = sign * penalty * vector[c]
    whole = width - width % FOUR
    for c in range(uint64(0), whole, FOUR):
        one, two, three, four = vector[c], vector[c + ONE], vector[c + TWO], vector[c + THREE]
        _add_rows(products, c, c + ONE, c + TWO, c + THREE, sign * one, sign * two, sign * three, sign * four, out)
    for c in range(whole, width):
        _add_rows(products, c, c, c, c, sign * vector[c], 0.0, 0.0, 0.0, out)
    for e in range(uint64(indptr[v]), last, FOUR):
        end = last - ONE
        first, second = uint64(others[e]), uint64(others[min(e + ONE, end)])
        third, fourth = uint64(others[min(e + TWO, end)]), uint64(others[min(e + THREE, end)])
        one, two, three, four = _products_with(factors, first, second, third, fourth, vector)
        one = _share(e, last, values, alpha, one, sign, base)
        two = _share(e + ONE, last, values, alpha, two, sign, base)
        three = _share(e + TWO, last, values, alpha, three, sign, base)
        four = _share(e + THREE, last, values, alpha, four, sign, base)
        _add_rows(factors, first, second, third, fourth, one, two, three, four, out)


@inlined
def _share(e, last, values, alpha, along, sign, base):
    """How much of the row at the other end of a rating is added; nothing after the last rating."""
    if e >= last:
        return 0.0
    more = max(alpha * values[e], 1e-300)
    return base * (1.0 + more) + sign * more * along


@inlined
def _add_rows(rows, first, second, third, fourth, one, two, three, four, out):
    for c in range(uint64(out.size)):
        out[c] += (one * rows[first, c] + two * rows[second, c]) + (three * rows[third, c] + four * rows[fourth, c])


@summed
def _products_with(rows, first, second, third, fourth, vector):
    """The inner products of four rows with a vector."""
    one = two = three = four = 0.0
    for c in range(uint64(vector.size)):
        one += rows[first, c] * vector[c]
        two += rows[second, c] * vector[c]
        three += rows[third, c] * vector[c]
        four += rows[fourth, c] * vector[c]
    return one, two, three, four


@inlined
def _add_products(system, rows, width, one, two, three, four):
    """Add the weighted products of all pairs in each row to the upper triangle; the right-hand side is the last
    column."""
    first, second, third, fourth = rows[0], rows[1], rows[2], rows[3]
    for c in range(uint64(width)):
        e, f, g, h = one * first[c], two * second[c], three * third[c], four * fourth[c]
        row = system[c]
        for d in range(c, uint64(width + 1)):
            row[d] += (e * first[d] + f * second[d]) + (g * third[d] + h * fourth[d])


@part
def _solve_system(system, width, found):
    """Solve linear equations by Cholesky decomposition of the upper triangle; the last column is the right-hand
    side."""
    trace = 0.0
    for c in range(width):
        trace += system[c, c]
    for c in range(width):
        system[c, c] += trace * DIAGONAL_SHARE
    for j in range(uint64(width)):
        pivot = system[j]
        pivot[j] = max(pivot[j], 1e-300)
        scale = 1 / sqrt(pivot[j])
        for d in range(j, uint64(width + 1)):
            pivot[d] *= scale
        for i in range(j + ONE, uint64(width)):
            row, factor = system[i], pivot[i]
            for d in range(i, uint64(width + 1)):
                row[d] -= factor * pivot[d]
    for c in range(width - 1, -1, -1):
        total = system[c, width]
        for k in range(c + 1, width):
            total -= system[c, k] * found[k]
        found[c] = total / system[c, c]
