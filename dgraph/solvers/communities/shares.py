"""What one of several workers does: it has the edges of a range of the vertices, and moves only these.

All workers take a turn at the same time, and then exchange the moves and which vertices have to try again. After the
first turn, half of the vertices wait in each, and the other half in the next one: neighbours on two workers would
otherwise change places for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dgraph.solvers.communities.aggregation import Room, members_of, merged
from dgraph.solvers.communities.moves import Spare, move_vertices
from dgraph.solvers.communities.refinement import refine
from dgraph.solvers.communities.search import NO_NUMBERS
from dgraph.solvers.communities.ties import Level, VisitingOrder, connected

Forest = tuple[np.ndarray, np.ndarray]  # vertices, and the root of each


class Moves(NamedTuple):
    """The moves of a turn, and the vertices of other workers that have to try again."""

    vertices: np.ndarray
    labels: np.ndarray
    woken: np.ndarray


class Turn:
    """What a worker knows after a turn. This is a plain class because Dask searches dataclasses for tasks."""

    def __init__(self, labels: np.ndarray, pending: np.ndarray, halves: np.ndarray, spare: Spare):
        self.labels, self.pending, self.spare = labels, pending, spare
        self.halves = halves  # whether a vertex waits in an even turn, or else in the odd one after it
        self.number, self.read, self.gain = 0, 0, 0.0
        self.moves = Moves(*(np.zeros(0, np.uint32) for _ in Moves._fields))

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill
        return sum(one.nbytes for one in (self.labels, self.pending, self.halves, *self.moves))

    def summary(self) -> tuple[float, int]:
        """What the moves have gained, and the number of edges read."""
        return self.gain, self.read

    def final_labels(self, others: list[Moves]) -> np.ndarray:
        """The labels once the last turns of the other workers are known."""
        labels = self.labels.copy()
        for one in others:
            labels[one.vertices] = one.labels
        return labels


@dataclass(frozen=True)
class Share:
    """The vertices from `low` to `high` and their edges: a level in which the others have none."""

    level: Level
    low: int
    high: int

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill
        level = self.level
        arrays = (array for ties in level.ties for array in ties)
        return sum(array.nbytes for array in (*arrays, level.null.strengths, level.null.into))

    def begin(self, labels: np.ndarray, place: int, places: int) -> Turn:
        """Before the first turn of the worker `place` of `places`. Labels are numbered without gaps."""
        n, unused = self.level.vertices, Spare.beside(labels)
        bounds = np.linspace(unused.first, unused.end, places + 1).astype(int)
        pending = np.zeros(n, np.bool_)
        pending[self.low : self.high] = True
        return Turn(labels, pending, np.zeros(n, np.bool_), Spare(int(bounds[place]), int(bounds[place + 1])))

    def turn(self, before: Turn, others: list[Moves], seed: int) -> Turn:
        """One pass over the pending vertices, but for those that wait, after the moves of the other workers."""
        labels, pending, low, high = before.final_labels(others), before.pending.copy(), self.low, self.high
        begun = labels[low:high].copy()
        pending[:low] = pending[high:] = False
        for one in others:
            pending[one.woken[(one.woken >= low) & (one.woken < high)]] = True
        number, draw = before.number, np.random.default_rng(seed)
        halves = ~before.halves if number % 2 else _halves(len(pending), draw)
        waits = pending & halves & (number > 0)
        pending &= ~waits
        after = Turn(labels, pending, halves, before.spare)
        order = VisitingOrder.drawn(self.level.vertices, draw)
        done = move_vertices(self.level, labels, order, 0.0, 1, pending, before.spare)
        after.number, after.read, after.gain, after.spare = number + 1, done.read, done.gain, done.spare
        moved = low + np.flatnonzero(labels[low:high] != begun)
        woken = np.concatenate([np.flatnonzero(pending[:low]), high + np.flatnonzero(pending[high:])])
        after.moves = Moves(moved.astype(np.uint32), labels[moved], woken.astype(np.uint32))
        pending |= waits
        pending[moved] = True  # the neighbour that it has joined may have left at the same time
        return after

    def refined(self, labels: np.ndarray, seed: int) -> tuple[Forest, int]:
        """The parts of communities that these edges join, as trees, and the number of edges read. Parts of several
        workers that share a vertex are one part."""
        order = VisitingOrder.drawn(self.level.vertices, np.random.default_rng(seed))
        above, read = refine(self.level, labels, order)
        return _tree(above), read

    def connected(self, labels: np.ndarray) -> Forest:
        """The connected components of communities by these edges, as trees."""
        return _tree(connected(self.level, labels))

    def coarser(self, numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The edges between communities: both ends, and the weight."""
        level = self.level
        members = members_of(numbers, count)
        return merged(*level.ties, numbers, members, level.loops, level.cores, Room(), NO_NUMBERS).listed()


def _halves(vertices: int, draw: np.random.Generator) -> np.ndarray:
    return draw.integers(0, 2, vertices, np.uint8).astype(np.bool_)


def _tree(above: np.ndarray) -> Forest:
    children = np.flatnonzero(above != np.arange(len(above), dtype=np.uint32)).astype(np.uint32)
    return children, above[children]
