"""Finds the edges of a forest among listed edges: each once, though it may be listed several times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, kernel
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.rules import FLIPPED, ROW
from dgraph.solvers.trees.chunk_slices import look_at_slices
from dgraph.solvers.trees.spanning import KEY
from dgraph.solvers.trees.weight_keys import keys_of, weights_of

NEVER = (1 << 64) - 1  # later than any edge


class KeyedWeights(NamedTuple):
    """What the keys of edges were made of."""

    name: str
    dtype: np.dtype
    minimum: bool


class Sightings:
    """The edges of a chunk that are in the forest: their rows in the chunk, their places in the forest, and when they
    are listed. A plain class because Dask would search a tuple for tasks."""

    def __init__(self, rows: np.ndarray, places: np.ndarray, times: np.ndarray):
        self.rows, self.places, self.times = rows, places, times

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.rows.nbytes + self.places.nbytes + self.times.nbytes


class ForestByEnds:
    """A forest with a row for each lower end, to look listed edges up. `weights` is None if all weigh 1. Plain, too."""

    def __init__(self, edges: Adjacency, weights: KeyedWeights | None):
        self.edges, self.weights = edges, weights

    def __len__(self) -> int:
        return self.edges.num_edges

    def __sizeof__(self) -> int:
        return self.edges.nbytes

    def total(self) -> int | float:
        """The sum of all weights: a float, or an integer of any size."""
        if self.weights is None:
            return len(self)
        values = weights_of(self.edges.columns[KEY], self.weights.dtype, minimum=self.weights.minimum)
        if values.dtype.kind == "f":
            with np.errstate(invalid="ignore", over="ignore"):  # infinity minus infinity has no value
                return float(values.sum())
        half = np.array(32, values.dtype)
        return (int((values >> half).sum()) << 32) + int((values & values.dtype.type((1 << 32) - 1)).sum())

    def seen_in(self, chunk: NumberedChunk) -> Sightings:
        """Which edges of a chunk have the ends and the weight of one of the forest."""

        def find(sources: np.ndarray, destinations: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
            rows, places = np.empty(len(sources), np.int64), np.empty(len(sources), np.uint32)
            count = _find(sources, destinations, self.edges.indptr, self.edges.neighbours, rows, places)
            rows, places = rows[:count] + start, places[:count].copy()
            if self.weights is None:
                return rows, places
            weights = chunk.columns[self.weights.name][rows].astype(self.weights.dtype, copy=False)
            same = keys_of(weights, minimum=self.weights.minimum) == self.edges.columns[KEY][places]
            return rows[same], places[same]

        rows, places = look_at_slices(chunk, find)
        times = 2 * chunk.columns[ROW][rows].astype(np.uint64) + chunk.columns[FLIPPED][rows]
        return Sightings(rows, places, times)

    def first_seen(self, seen: Sequence[Sightings]) -> np.ndarray | None:
        """When each edge of the forest is listed first; None if each is listed once."""
        if sum(len(one.places) for one in seen) == len(self):
            return None
        first = np.full(len(self), NEVER, np.uint64)
        for one in seen:
            _earliest(one.places, one.times, first)
        return first


@kernel
def _find(sources, destinations, indptr, neighbours, rows, places):
    """Write which of the edges are in a table, and where there; returns how many."""
    count = uint64(0)
    for i in range(uint64(sources.size)):
        u, v = uint64(sources[i]), uint64(destinations[i])
        low, high = min(u, v), max(u, v)
        begin, end = uint64(indptr[low]), uint64(indptr[low + ONE])
        last = end
        while begin < last:
            middle = (begin + last) >> ONE
            if uint64(neighbours[middle]) < high:
                begin = middle + ONE
            else:
                last = middle
        if begin < end and uint64(neighbours[begin]) == high:
            rows[count], places[count] = i, begin
            count += ONE
    return count


@kernel
def _earliest(places, times, first):
    for i in range(uint64(places.size)):
        place = uint64(places[i])
        first[place] = min(first[place], times[i])
