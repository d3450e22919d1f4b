"""How alike vertices are, by the neighbours that they share.

The vertices most similar to one are among the neighbours of its neighbours. Each thread adds up what these share with
it in an array with an entry for each vertex, and keeps the best; for given pairs, sorted rows are intersected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, atomic_max, kernel, prefetch, team

# what is made of the sum over shared neighbours; ANGLE is the cosine of weights, each divided by the norm of its row
JACCARD, OVERLAP, COSINE, ANGLE, SUM, PRODUCT = range(6)
GRAIN = 64  # rows, and pairs, that a thread takes at a time
AHEAD = uint64(4)  # pairs later, whose rows are fetched
FEW = 8  # a row this many times as long as the other is searched, not read


class Rows(NamedTuple):
    """`others[bounds[r, 0]:bounds[r, 1]]` are the neighbours of row r, each once, ascending; `weights` are the sums of
    the weights of the edges to them."""

    bounds: np.ndarray
    others: np.ndarray
    weights: np.ndarray | None

    @property
    def lengths(self) -> np.ndarray:
        return self.bounds[:, 1] - self.bounds[:, 0]

    @property
    def nbytes(self) -> int:
        return sum(0 if one is None else one.nbytes for one in self)


class SimilarVertices(NamedTuple):
    """For each row, its best vertices and their scores, best first; `counts` says how many there are."""

    best: np.ndarray
    scores: np.ndarray
    counts: np.ndarray


def simple_rows(
    indptr: np.ndarray, neighbours: np.ndarray, weights: np.ndarray | None, own: np.ndarray, threads: int
) -> Rows:
    """Rows with each neighbour once, and without their own vertices, `own`: without a copy of what is so already."""
    rows, arcs, unlike = len(own), int(indptr[len(own)]), np.zeros(2, np.int64)
    team(_find_unlike, threads, unlike, indptr, neighbours, own)
    if not unlike[1]:
        return Rows(np.stack([indptr[:rows], indptr[1 : rows + 1]], axis=1).astype(np.int64), neighbours, weights)
    need = arcs * (4 if weights is None else 12) + rows * 16
    if not has_room(need):
        refuse_beyond_memory(f"the neighbours in {arcs:,} edges, each once,", need)
    sums = None if weights is None else np.empty(arcs)
    result = Rows(np.empty((rows, 2), np.int64), np.empty(arcs, np.uint32), sums)
    team(_simplify, threads, np.zeros(1, np.int64), indptr, neighbours, weights, own, *result)
    return result


@kernel
def _find_unlike(rank, size, signals, tally, indptr, neighbours, own):
    """Set tally[1] if a row does not ascend, or has its own vertex."""
    while atomic_load(tally, 1) == 0:
        begin = atomic_add(tally, 0, GRAIN)
        if begin >= own.size:
            break
        unlike = False
        for r in range(uint64(begin), uint64(min(begin + GRAIN, own.size))):
            before = np.int64(-1)
            for e in range(uint64(indptr[r]), uint64(indptr[r + ONE])):
                u = np.int64(neighbours[e])
                unlike = unlike or bool(u <= before or u == np.int64(own[r]))
                before = u
        if unlike:
            atomic_max(tally, 1, 1)


@kernel
def _simplify(rank, size, signals, cursor, indptr, neighbours, weights, own, bounds, others, sums):
    while True:
        begin = atomic_add(cursor, 0, GRAIN)
        if begin >= own.size or atomic_load(signals, STOP) != 0:
            break
        for r in range(uint64(begin), uint64(min(begin + GRAIN, own.size))):
            first, last, ascends = uint64(indptr[r]), uint64(indptr[r + ONE]), True
            for e in range(first, last):
                others[e] = neighbours[e]
                ascends = ascends and (e == first or others[e] >= others[e - ONE])
                if weights is not None:
                    sums[e] = weights[e]
            if not ascends:
                if weights is None:
                    others[first:last].sort()
                else:
                    order = np.argsort(others[first:last])
                    others[first:last] = others[first:last][order]
                    sums[first:last] = sums[first:last][order]
            end = first
            for e in range(first, last):
                u = others[e]
                if u != own[r]:
                    if end > first and others[end - ONE] == u:
                        if weights is not None:
                            sums[end - ONE] += sums[e]
                    else:
                        others[end] = u
                        if weights is not None:
                            sums[end] = sums[e]
                        end += ONE
            bounds[r, 0], bounds[r, 1] = first, end


def sizes_of(rows: Rows, share: np.ndarray, kind: int, threads: int) -> np.ndarray:
    """The number of the neighbours in each row that have a share, or the sum of their weights; for an ANGLE, 1 / the
    norm of these."""
    sizes = np.empty(len(rows.bounds))
    team(_add_up, threads, np.zeros(1, np.int64), *rows, share, kind, sizes)
    return sizes


@kernel
def _add_up(rank, size, signals, cursor, bounds, others, weights, share, kind, sizes):
    while True:
        begin = atomic_add(cursor, 0, GRAIN)
        if begin >= sizes.size or atomic_load(signals, STOP) != 0:
            break
        for r in range(uint64(begin), uint64(min(begin + GRAIN, sizes.size))):
            total, largest = 0.0, 0.0
            for e in range(uint64(bounds[r, 0]), uint64(bounds[r, 1])):
                if share[others[e]] > 0:
                    if weights is None:
                        total += 1
                    else:
                        total += weights[e]
                        largest = max(largest, weights[e])
            if weights is not None:  # noqa: SIM102, because Numba leaves out branches with this condition alone
                if kind == ANGLE and largest > 0:
                    total = 0.0
                    for e in range(uint64(bounds[r, 0]), uint64(bounds[r, 1])):
                        if share[others[e]] > 0:
                            total += (weights[e] / largest) ** 2
                    total = 1 / (largest * np.sqrt(total))
            sizes[r] = total


def most_similar(
    rows: Rows,
    own: np.ndarray,
    back: Rows,
    share: np.ndarray,
    sizes: np.ndarray,
    kind: int,
    how: tuple[int, float],
    threads: int,
) -> SimilarVertices:
    """The vertices most similar to each of `own`, whose neighbours `rows` lists. back[w] and share[w] are the vertices
    that have w as a neighbour, and what sharing it adds. `sizes` has an entry for each vertex of the graph, `how` the
    number of vertices and the least score."""
    most, at_least = how
    n, threads = len(sizes), max(1, min(threads, len(own)))

    def need_of(threads: int) -> int:
        return threads * n * (share.itemsize + 4) + len(own) * most * 12

    while threads > 1 and not has_room(need_of(threads)):
        threads -= 1
    if not has_room(need := need_of(threads)):
        refuse_beyond_memory(f"the {most} most similar vertices of {len(own):,}", need)
    sums, seen = np.zeros((threads, n), share.dtype), np.empty((threads, n + 1), np.uint32)
    found = SimilarVertices(
        np.empty((len(own), most), np.uint32), np.empty((len(own), most)), np.zeros(len(own), np.int64)
    )
    tables = *rows, own, *back, share, sizes
    team(_find_similar, threads, np.zeros(1, np.int64), *tables, kind, at_least, *found, sums, seen)
    return found


@kernel
def _find_similar(
    rank, size, signals,
    cursor, bounds, others, weights, own, back_bounds, back_others, back_weights, share, sizes, kind, at_least,
    best, scores, counts, sums, seen,
):  # fmt: skip
    shared, known, most = sums[rank], seen[rank], np.int64(best.shape[1])
    while True:
        begin = atomic_add(cursor, 0, GRAIN)
        if begin >= own.size or atomic_load(signals, STOP) != 0:
            break
        for r in range(uint64(begin), uint64(min(begin + GRAIN, own.size))):
            u, length = uint64(own[r]), uint64(0)
            for e in range(uint64(bounds[r, 0]), uint64(bounds[r, 1])):
                w = uint64(others[e])
                adds = share[w]
                if adds == 0:
                    continue
                first, last = uint64(back_bounds[w, 0]), uint64(back_bounds[w, 1])
                if weights is None:
                    for f in range(first, last):
                        v = uint64(back_others[f])
                        known[length] = v  # stays only if it is new
                        length += ONE if shared[v] == 0 else uint64(0)
                        shared[v] += adds
                else:
                    for f in range(first, last):
                        v = uint64(back_others[f])
                        part = min(weights[e], back_weights[f])
                        if kind == ANGLE:
                            part = (weights[e] * sizes[u]) * (back_weights[f] * sizes[v])
                        if part > 0:  # or the vertex would stay new
                            known[length] = v
                            length += ONE if shared[v] == 0 else uint64(0)
                            shared[v] += part
            own_size, kept = sizes[u], np.int64(0)
            row, row_scores = best[r], scores[r]
            enough = at_least
            for i in range(length):
                v = uint64(known[i])
                common = np.float64(shared[v])
                shared[v] = 0
                if v == u or not _may_reach(kind, common, own_size, sizes[v], enough):
                    continue
                score = _score(kind, common, own_size, sizes[v])
                if score < at_least:
                    continue
                if kept == most:
                    if score < row_scores[most - 1] or (score == row_scores[most - 1] and v > row[most - 1]):
                        continue
                    kept -= 1
                place = kept
                while place > 0 and (
                    score > row_scores[place - 1] or (score == row_scores[place - 1] and v < row[place - 1])
                ):
                    row[place], row_scores[place] = row[place - 1], row_scores[place - 1]
                    place -= 1
                row[place], row_scores[place] = v, score
                kept += 1
                if kept == most:
                    enough = row_scores[most - 1]
            counts[r] = kept


@inlined
def _may_reach(kind, common, one, other, least):
    """Whether the score may be at least this much: without a division, and in doubt, yes."""
    common *= 1 + 1e-9
    if kind == JACCARD:
        return common >= least * (one + other - common)
    if kind == OVERLAP:
        return common >= least * min(one, other)
    if kind == COSINE:
        return common * common >= least * least * one * other
    return common >= least


@inlined
def _score(kind, common, one, other):
    if common == 0:
        return 0.0
    if kind == JACCARD:
        return common / (one + other - common)
    if kind == OVERLAP:
        return common / min(one, other)
    if kind == COSINE:
        return common / np.sqrt(one * other)
    if kind == ANGLE and common > 1 - 1e-12:
        return 1.0  # but for rounding, the two are the same
    return common


def of_pairs(
    rows: Rows, first: np.ndarray, second: np.ndarray, share: np.ndarray, sizes: np.ndarray, kind: int, threads: int
) -> np.ndarray:
    """The scores of pairs of rows. `share` has an entry for each neighbour, `sizes` for each row."""
    scores = np.empty(len(first))
    threads = max(1, min(threads, len(first) // GRAIN))
    team(_compare, threads, np.zeros(1, np.int64), *rows, first, second, share, sizes, kind, scores)
    return scores


@kernel
def _compare(rank, size, signals, cursor, bounds, others, weights, firsts, seconds, share, sizes, kind, scores):
    while True:
        begin = atomic_add(cursor, 0, GRAIN)
        if begin >= firsts.size or atomic_load(signals, STOP) != 0:
            break
        for p in range(uint64(begin), uint64(min(begin + GRAIN, firsts.size))):
            one, other = uint64(firsts[p]), uint64(seconds[p])
            later = min(p + AHEAD, uint64(firsts.size - 1))
            prefetch(others, uint64(bounds[firsts[later], 0]))
            prefetch(others, uint64(bounds[seconds[later], 0]))
            if kind == PRODUCT:
                scores[p] = sizes[one] * sizes[other]
                continue
            a, a_end = uint64(bounds[one, 0]), uint64(bounds[one, 1])
            b, b_end = uint64(bounds[other, 0]), uint64(bounds[other, 1])
            short, long = one, other
            if a_end - a > b_end - b:
                a, a_end, b, b_end, short, long = b, b_end, a, a_end, other, one
            search = (a_end - a) * uint64(FEW) < b_end - b
            common = 0.0
            while a < a_end and b < b_end:
                u = others[a]
                if search:
                    b = _place(others, b, b_end, u)
                    if b == b_end:
                        break
                v = others[b]
                if u == v:
                    if weights is None:
                        common += share[u]
                    elif share[u] > 0:
                        part = min(weights[a], weights[b])
                        if kind == ANGLE:
                            part = (weights[a] * sizes[short]) * (weights[b] * sizes[long])
                        common += part
                a += ONE if u <= v else uint64(0)  # without a branch, which would be mispredicted
                b += ONE if v <= u else uint64(0)
            scores[p] = _score(kind, common, sizes[one], sizes[other])


@inlined
def _place(others, begin, end, u):
    """The first place from `begin` on whose entry is not below u."""
    step = ONE
    while begin + step < end and others[begin + step] < u:
        begin += step
        step += step
    last = min(begin + step, end)
    while begin < last:
        middle = (begin + last) >> ONE
        if others[middle] < u:
            begin = middle + ONE
        else:
            last = middle
    return begin


@kernel
def cut_rows(rank, size, signals, bounds, others, share, lengths, most, cuts, marks):
    """Write where to cut rows so that the distinct neighbours of each piece, as far as they have a share, have at most
    `most` neighbours of their own, unless it is one row; returns the number of cuts."""
    count, total, begin = 0, np.int64(0), np.int64(0)
    for r in range(bounds.shape[0]):
        more = np.int64(0)
        for e in range(uint64(bounds[r, 0]), uint64(bounds[r, 1])):
            u = others[e]
            if share[u] > 0 and marks[u] != count + 1:
                marks[u] = count + 1
                more += lengths[u]
        if total + more > most and r > begin:
            cuts[count], begin = r, np.int64(r)
            count += 1
            total = np.int64(0)
            for e in range(uint64(bounds[r, 0]), uint64(bounds[r, 1])):
                u = others[e]
                if share[u] > 0:
                    marks[u] = count + 1
                    total += lengths[u]
        else:
            total += more
    return count


def mutual(rows: Rows, back: Rows) -> int:
    """How often a neighbour in a row is in the same row of `back`, too."""
    return int(_count_mutual(*rows[:2], *back[:2]))


@kernel
def _count_mutual(bounds, others, back_bounds, back_others):
    count = 0
    for r in range(bounds.shape[0]):
        a, b = uint64(bounds[r, 0]), uint64(back_bounds[r, 0])
        a_end, b_end = uint64(bounds[r, 1]), uint64(back_bounds[r, 1])
        while a < a_end and b < b_end:
            u, v = others[a], back_others[b]
            if u == v:
                count += 1
            a += ONE if u <= v else uint64(0)
            b += ONE if v <= u else uint64(0)
    return count


def cut_pairs(first: np.ndarray, second: np.ndarray, lengths: np.ndarray, most: int, longest: int) -> list[int]:
    """Where to cut pairs so that a piece has at most `longest`, and the neighbours of its distinct vertices are at most
    `most`, unless it is one pair."""
    cuts, marks = np.empty(len(first) + 2, np.int64), np.zeros(len(lengths), np.int64)
    count = int(_cut_pairs(first, second, lengths, most, longest, cuts, marks))
    return [int(one) for one in cuts[:count]]


@kernel
def _cut_pairs(first, second, lengths, most, longest, cuts, marks):
    cuts[0], count, total, begin = 0, 1, np.int64(0), 0
    for p in range(first.size):
        u, v = first[p], second[p]
        more = np.int64(0)
        if marks[u] != count:
            more += lengths[u]
        if marks[v] != count and u != v:
            more += lengths[v]
        if p > begin and (total + more > most or p - begin >= longest):
            cuts[count], begin = p, p
            count += 1
            total, more = np.int64(0), lengths[u] + (lengths[v] if u != v else 0)
        marks[u] = marks[v] = count
        total += more
    cuts[count] = first.size
    return count + 1
