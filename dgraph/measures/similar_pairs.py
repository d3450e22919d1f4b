"""The work of comparing vertices, where their neighbours are.

Each partition lists the neighbours of its vertices, each once. Where there are several, work is cut into pieces that
need a bounded number of other vertices' neighbours, which the other partitions send.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from dgraph.cluster.workers import Workers
from dgraph.measures.neighbourhoods import Neighbourhoods
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import team, worthwhile_threads
from dgraph.partition.ids.numbering import Numbering
from dgraph.solvers.similarity import Rows, cut_pairs, cut_rows, most_similar, of_pairs

FIRST, SECOND, COLUMN = "first", "second", "similarity"
PIECE = 1 << 25  # neighbours of others that a piece of work asks for, unless one vertex needs more
PAIRS = 1 << 20  # pairs in a piece
NO_LIMIT = np.iinfo(np.int64).max


class Shares:
    """What sharing a vertex adds, the size of each vertex's neighbourhood, and the number of neighbours of each: by
    vertex number. This is a plain class because Dask would search a dataclass or a tuple for tasks."""

    def __init__(self, share: np.ndarray, sizes: np.ndarray, lengths: np.ndarray):
        self.share, self.sizes, self.lengths = share, sizes, lengths

    def __sizeof__(self) -> int:
        return self.share.nbytes + self.sizes.nbytes + self.lengths.nbytes


class SimilarPairs:
    """Pairs of vertices by number, and their similarity. A plain class, as `Shares`."""

    def __init__(self, first: np.ndarray, second: np.ndarray, score: np.ndarray, start: int = 0):
        self.first, self.second, self.score, self.start = first, second, score, start

    def table(self, ids: Numbering) -> pd.DataFrame:
        """With the user's ids."""
        ends = (ids.restored(end) for end in (self.first, self.second))
        rows = pd.RangeIndex(self.start, self.start + len(self.score))
        return pd.DataFrame(dict(zip((FIRST, SECOND, COLUMN), (*ends, self.score), strict=True))).set_axis(rows)

    def __sizeof__(self) -> int:
        return self.first.nbytes + self.second.nbytes + self.score.nbytes


# -- the most similar to each vertex -----------------------------------------------------------------------------------


def best_of_each(
    workers: Workers, near: list[Any], told: Any, kind: int, how: tuple[int, float], threads: int
) -> list[Any]:
    """The most similar to each vertex of each partition, left on the workers. `how` is the number of vertices and the
    least score."""
    if len(near) == 1:
        return workers.each(_best_here, [(near[0], told, kind, how, threads)])
    tasks = []
    for one, cuts in zip(near, workers.bring(workers.each(_cut, [(one, told) for one in near])), strict=True):
        for begin, end in pairwise(cuts):
            wanted = workers.call(_wanted, one, begin, end)
            sent = [workers.call(_picked, other, wanted, told) for other in near]
            tasks.append(workers.call(_best_of_piece, one, (begin, end), wanted, sent, told, kind, how, threads))
    return workers.hold(tasks)


@explain_lack_of_memory("the most similar vertices", "find them")
def _best_here(near: Neighbourhoods, told: Shares, kind: int, how: tuple[int, float], threads: int) -> SimilarPairs:
    return _best(near.numbers, near.rows, near.back, told.share, told.sizes, kind, how, threads)


def _best(
    own: np.ndarray,
    rows: Rows,
    back: Rows,
    share: np.ndarray,
    sizes: np.ndarray,
    kind: int,
    how: tuple[int, float],
    threads: int,
) -> SimilarPairs:
    looks = int((back.lengths.astype(np.float64) ** 2).sum())  # each two vertices that share a neighbour
    threads = worthwhile_threads(threads, looks)
    found = call_team(threads, partial(most_similar, rows, own, back, share, sizes, kind, how, threads), looks)
    filled = np.arange(found.best.shape[1]) < found.counts[:, None]
    return SimilarPairs(np.repeat(own, found.counts), found.best[filled], found.scores[filled])


def _cut(near: Neighbourhoods, told: Shares) -> list[int]:
    """Where to cut the rows of a partition into pieces."""
    rows, marks = len(near.numbers), np.zeros(len(told.share), np.int64)
    cuts = np.empty(rows, np.int64)
    count = team(cut_rows, 1, near.rows.bounds, near.rows.others, told.share, told.lengths, PIECE, cuts, marks)
    return [0, *cuts[:count].tolist(), rows]


def _wanted(near: Neighbourhoods, begin: int, end: int) -> np.ndarray:
    """The neighbours in some rows, ascending."""
    return np.unique(_subset(near.rows, np.arange(begin, end)).others)


def _picked(near: Neighbourhoods, wanted: np.ndarray, told: Shares, *, back: bool = True) -> tuple[np.ndarray, Rows]:
    """Those of some vertices that a partition owns, and their rows. What is ignored has none."""
    wanted = wanted[told.share[wanted] > 0] if back else wanted
    order = np.argsort(near.numbers)
    places = np.searchsorted(near.numbers, wanted, sorter=order)
    places = order[np.minimum(places, len(order) - 1)] if len(order) else np.zeros(0, np.int64)
    here = places[near.numbers[places] == wanted] if len(order) else places
    return near.numbers[here], _subset(near.back if back else near.rows, here)


def _subset(rows: Rows, chosen: np.ndarray) -> Rows:
    """Some rows, without gaps between them."""
    begin, lengths = rows.bounds[chosen, 0], rows.lengths[chosen]
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(begin - (ends - lengths), lengths)
    weights = None if rows.weights is None else rows.weights[places]
    return Rows(np.stack([ends - lengths, ends], axis=1), rows.others[places], weights)


def _joined(wanted: np.ndarray, sent: list[tuple[np.ndarray, Rows]]) -> Rows:
    """The rows of `wanted`, from all partitions; those that no partition sends are empty."""
    bounds, start = np.zeros((len(wanted), 2), np.int64), 0
    for numbers, rows in sent:
        bounds[np.searchsorted(wanted, numbers)] = rows.bounds + start
        start += len(rows.others)
    weights = [rows.weights for _, rows in sent if rows.weights is not None]
    return Rows(bounds, np.concatenate([rows.others for _, rows in sent]), np.concatenate(weights) if weights else None)


@explain_lack_of_memory("the most similar vertices", "find them")
def _best_of_piece(
    near: Neighbourhoods,
    piece: tuple[int, int],
    wanted: np.ndarray,
    sent: list[tuple[np.ndarray, Rows]],
    told: Shares,
    kind: int,
    how: tuple[int, float],
    threads: int,
) -> SimilarPairs:
    rows = _subset(near.rows, np.arange(*piece))
    rows = rows._replace(others=np.searchsorted(wanted, rows.others).astype(np.uint32))  # what they are called here
    own = near.numbers[slice(*piece)]
    return _best(own, rows, _joined(wanted, sent), told.share[wanted], told.sizes, kind, how, threads)


# -- given pairs -------------------------------------------------------------------------------------------------------


def similar_pairs(
    workers: Workers,
    near: list[Any],
    told: Any,
    kind: int,
    pairs: tuple[np.ndarray, np.ndarray],
    lengths: np.ndarray,
    threads: int,
) -> list[Any]:
    """The similarities of pairs, left on the workers. `lengths` are the numbers of neighbours of all vertices."""
    pieces = []
    for start, end in pairwise(cut_pairs(*pairs, lengths, NO_LIMIT if len(near) == 1 else PIECE, PAIRS)):
        first, second = (one[start:end] for one in pairs)
        pieces.append(SimilarPairs(first, second, np.empty(0), start))
    sent = workers.send(pieces)
    if len(near) == 1:
        return workers.each(_compared_here, [(one, near[0], told, kind, threads) for one in sent])
    wanted = [workers.call(_ends, one) for one in sent]
    rows = [[workers.call(_picked, one, ends, told, back=False) for one in near] for ends in wanted]
    each = zip(sent, wanted, rows, strict=True)
    return workers.hold([workers.call(_compared, *one, told, kind, threads) for one in each])


def _ends(pairs: SimilarPairs) -> np.ndarray:
    return np.unique(np.concatenate([pairs.first, pairs.second]))


@explain_lack_of_memory("the neighbours of pairs of vertices", "compare them")
def _compared_here(pairs: SimilarPairs, near: Neighbourhoods, told: Shares, kind: int, threads: int) -> SimilarPairs:
    return _scored(pairs, near.rows, (pairs.first, pairs.second), told, told.sizes, kind, threads)


@explain_lack_of_memory("the neighbours of pairs of vertices", "compare them")
def _compared(
    pairs: SimilarPairs,
    wanted: np.ndarray,
    sent: list[tuple[np.ndarray, Rows]],
    told: Shares,
    kind: int,
    threads: int,
) -> SimilarPairs:
    """Rows have the places of their vertices in `wanted`."""
    places = tuple(np.searchsorted(wanted, end).astype(np.uint32) for end in (pairs.first, pairs.second))
    return _scored(pairs, _joined(wanted, sent), places, told, told.sizes[wanted], kind, threads)


def _scored(
    pairs: SimilarPairs,
    rows: Rows,
    places: tuple[np.ndarray, ...],
    told: Shares,
    sizes: np.ndarray,
    kind: int,
    threads: int,
) -> SimilarPairs:
    looks = 4 * int(np.minimum(told.lengths[pairs.first], told.lengths[pairs.second]).sum())
    threads = worthwhile_threads(threads, looks)
    first, second = places
    scores = call_team(threads, partial(of_pairs, rows, first, second, told.share, sizes, kind, threads), looks)
    return SimilarPairs(pairs.first, pairs.second, scores, pairs.start)
