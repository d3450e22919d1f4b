"""The items with the best predictions for each user: exact, by blocks that fit into caches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numba import uint64

from dgraph.errors import OptionError
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import STOP, atomic_add, atomic_load, kernel, part, team, worthwhile_threads
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.numbering import Numbering
from dgraph.phrases.phrases import format_count

USER, ITEM, PREDICTION = "user", "item", "prediction"
TILE, GROUP = 512, 64  # items whose predictions are made at once; those that are looked at together
FEW = 4  # users for whom they are made at once
TASK, ROWS = 1 << 14, 1 << 22  # users of one task, and the rows that it makes at most
SLICE = 1 << 16  # pairs whose products are made at once
MOST_KEPT = 256  # items of a user that are kept in order while all are looked at


class FactorTable(NamedTuple):
    """Factors and biases by vertex number."""

    factors: np.ndarray
    biases: np.ndarray
    mean: float

    def of_pairs(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Predictions. A vertex that the graph does not have counts as one without ratings."""
        found = np.full(len(one), self.mean)
        for end in (one, other):
            found += np.where(end >= 0, self.biases[end], 0.0)
        both = np.flatnonzero((one >= 0) & (other >= 0))
        for begin in range(0, len(both), SLICE):  # or the factors of all pairs would be in memory
            some = both[begin : begin + SLICE]
            found[some] += np.einsum("ij,ij->i", self.factors[one[some]], self.factors[other[some]])
        return found


class KnownItems:
    """The items, and for each user those that it has rated, by their places among the items. A plain class because Dask
    would search a dataclass or a tuple for tasks."""

    def __init__(self, users: np.ndarray, items: np.ndarray, bounds: np.ndarray, rated: np.ndarray):
        self.users, self.items, self.bounds, self.rated = users, items, bounds, rated

    @classmethod
    def of(cls, chunks: list[NumberedChunk], vertices: int) -> KnownItems:
        """From edges as they were listed: users first, directed or not."""
        u, v = (np.concatenate(ends) for ends in zip(*map(_ends_of, chunks), strict=True))
        u, v = u[u != v], v[u != v]  # loops, which the graph may have dropped
        users, items = np.unique(u), np.unique(v)
        if len(mixed := np.intersect1d(users, items)):
            raise OptionError(
                f"the graph's edges list {format_count(len(mixed), 'vertex')} as both source and destination, so users "
                "cannot be told from items: list the users first in every edge"
            )
        order = np.lexsort((v, u))
        bounds = np.searchsorted(u[order], np.append(users, vertices)).astype(np.int64)
        return cls(users, items, bounds, np.searchsorted(items, v[order]).astype(np.int64))

    @staticmethod
    def sides(known: KnownItems) -> tuple[np.ndarray, np.ndarray]:
        return known.users, known.items

    def __sizeof__(self) -> int:
        return self.users.nbytes + self.items.nbytes + self.bounds.nbytes + self.rated.nbytes


def _ends_of(chunk: NumberedChunk) -> tuple[np.ndarray, np.ndarray]:
    return chunk.ranks.number(chunk.sources), chunk.ranks.number(chunk.destinations)


@dataclass(frozen=True)
class Recommendation:
    """What is asked for each user."""

    k: int
    exclude_known: bool
    threads: int

    def __call__(self, table: FactorTable, known: KnownItems, users: np.ndarray, ids: Numbering) -> pd.DataFrame:
        """A row for each user and item, the best first."""
        places = np.minimum(np.searchsorted(known.users, users), max(len(known.users) - 1, 0))
        bounds = np.zeros((len(users), 2), np.int64)
        if self.exclude_known and len(known.users):
            has = known.users[places] == users
            bounds[has] = np.stack([known.bounds[places[has]], known.bounds[places[has] + 1]], axis=1)
        left, right = table.factors[users], table.factors[known.items]
        how = bounds, known.rated, self.k, self.threads
        best, counts = best_items(left, right, table.biases[known.items], *how)
        filled = np.arange(best.shape[1]) < counts[:, None]
        rows, chosen = np.repeat(users, counts), known.items[best[filled]]
        return predictions(ids, rows, chosen, table.of_pairs(rows, chosen))


def best_items(
    left: np.ndarray, right: np.ndarray, biases: np.ndarray, bounds: np.ndarray, rated: np.ndarray, k: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each row of `left`, the k rows of `right` with the largest products, plus their biases, compared in 32 bits,
    without those that `rated` lists for it; and how many there are."""
    k = min(k, len(right))
    scales = [float(np.abs(one).max(initial=0.0)) for one in (left, right)]
    product = scales[0] * scales[1]
    unit = max(product, float(np.abs(biases).max(initial=0.0))) or 1.0
    scales = [scale or 1.0 for scale in scales]
    sides = (
        (left / scales[0]).astype(np.float32),
        np.ascontiguousarray((right / scales[1] * (product / unit)).T, np.float32),
    )
    offsets = (biases / unit).astype(np.float32)
    if k > MOST_KEPT:
        return _by_sorting(*sides, offsets, bounds, rated, k)
    best, scores = np.zeros((len(left), k), np.int64), np.zeros((len(left), k), np.float32)
    counts, looks = np.zeros(len(left), np.int64), len(left) * len(right) // 4
    threads = worthwhile_threads(threads, looks)
    scratch, cursor = np.zeros((threads, FEW, TILE), np.float32), np.zeros(1, np.int64)
    if k and len(left):
        these = *sides, offsets, bounds, rated, best, scores, counts, scratch
        call = partial(team, _best_of_users, threads, cursor, *these)
        call_team(threads, call, looks)
    return best, counts


def _by_sorting(
    left: np.ndarray, right: np.ndarray, biases: np.ndarray, bounds: np.ndarray, rated: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """As `best_items`, for so many that an insertion would take longer than to sort all."""
    best, counts = np.zeros((len(left), k), np.int64), np.zeros(len(left), np.int64)
    for user, (begin, end) in enumerate(bounds):
        scores = left[user] @ right + biases
        known = np.unique(rated[begin:end])
        scores[known] = -np.inf
        best[user] = np.argsort(-scores, kind="stable")[:k]
        counts[user] = min(k, len(scores) - len(known))
    return best, counts


def predictions(ids: Numbering, users: np.ndarray, items: np.ndarray, values: np.ndarray) -> pd.DataFrame:
    """With the user's ids."""
    ends: list[Any] = [ids.restored(end.astype(np.int64)) for end in (users, items)]
    return pd.DataFrame({USER: ends[0], ITEM: ends[1], PREDICTION: values.astype(np.float64)})


@kernel
def _best_of_users(rank, size, signals, cursor, left, right, biases, bounds, rated, best, scores, counts, scratch):
    """Of equally good items, the one with the smaller number comes first. A thread takes a few users at once, which
    share what they read of the items."""
    tile, items, users = scratch[rank], right.shape[1], len(left)
    while True:
        first = atomic_add(cursor, 0, FEW)
        if first >= users or atomic_load(signals, STOP):
            break
        places = bounds[first : first + FEW, 0].copy()
        for begin in range(0, items, TILE):
            many = min(TILE, items - begin)
            _predict(first, begin, many, left, right, biases, tile)
            for i in range(min(FEW, users - first)):
                _choose(i, first + i, begin, many, tile, places, bounds, rated, best, scores, counts)


@part
def _predict(first, begin, many, left, right, biases, tile):
    """The predictions of a tile of items for a few users; the last stands in for those that are missing."""
    last = len(left) - 1
    a, b = left[first], left[min(first + 1, last)]
    c, d = left[min(first + 2, last)], left[min(first + 3, last)]
    one, two, three, four = tile[0], tile[1], tile[2], tile[3]
    start = uint64(begin)
    for j in range(uint64(many)):
        one[j] = two[j] = three[j] = four[j] = biases[start + j]
    for component in range(right.shape[0]):
        row = right[component]
        e, f, g, h = a[component], b[component], c[component], d[component]
        for j in range(uint64(many)):
            value = row[start + j]
            one[j] += e * value
            two[j] += f * value
            three[j] += g * value
            four[j] += h * value


@part
def _choose(i, user, begin, many, tile, places, bounds, rated, best, scores, counts):
    """Keep those of a tile that are among the user's best so far. Most groups of items have none."""
    k, last = best.shape[1], bounds[user, 1]
    for group in range(0, many, GROUP):
        end, better = min(group + GROUP, many), 0
        least = scores[user, k - 1] if counts[user] == k else np.float32(-np.inf)
        for j in range(uint64(group), uint64(end)):
            better += tile[i, j] > least
        if better == 0:
            continue
        for j in range(group, end):
            score, found = tile[i, j], counts[user]
            if found == k and not score > scores[user, k - 1]:
                continue
            item = begin + j
            while places[i] < last and rated[places[i]] < item:
                places[i] += 1
            if places[i] < last and rated[places[i]] == item:
                continue
            spot = min(found, k - 1)
            while spot > 0 and score > scores[user, spot - 1]:
                scores[user, spot], best[user, spot] = scores[user, spot - 1], best[user, spot - 1]
                spot -= 1
            scores[user, spot], best[user, spot] = score, item
            counts[user] = min(found + 1, k)
