"""What one of several workers does: it has the edges of a range of the vertices, and moves only these.

All workers take a turn at the same time, and then exchange the moves and which vertices have to try again. Each vertex
has one turn in `TURNS`, and waits in the others: neighbours on two workers would otherwise change places for ever, and
what they find is better the fewer move at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dgraph.solvers.communities.aggregation import Room, members_of, merged
from dgraph.solvers.communities.moves import Spare, move_vertices, sums_of
from dgraph.solvers.communities.refinement import Parts, refine
from dgraph.solvers.communities.search import NO_NUMBERS
from dgraph.solvers.communities.ties import Level, VisitingOrder, connected

TURNS, REFINING_TURNS = 8, 4  # in which each vertex has one
GRAIN, FEWEST_GRAINS = 32, 64  # vertices that have the same turn, fewer in a small graph
Forest = tuple[np.ndarray, np.ndarray]  # vertices, and the root of each


class Moves(NamedTuple):
    """What has moved in a turn, and the vertices of other shares that have to try again."""

    vertices: np.ndarray
    labels: np.ndarray
    woken: np.ndarray


class TurnResult(NamedTuple):
    """What a turn has done: what the moves gain, and the number of edges read."""

    moves: Moves
    gain: float
    read: int


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

    def connected(self, labels: np.ndarray) -> Forest:
        """The connected components of communities by these edges, as trees."""
        return _tree(connected(self.level, labels))

    def coarser(self, numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The edges between communities: both ends, and the weight."""
        level = self.level
        members = members_of(numbers, count)
        return merged(*level.ties, numbers, members, level.loops, level.cores, Room(), NO_NUMBERS).listed()


class Mover:
    """A share while its vertices move. This is a plain class because Dask searches dataclasses for tasks."""

    def __init__(self, share: Share, labels: np.ndarray, place: int, places: int, seed: int):
        """Before the first turn of the share `place` of `places`. Labels are numbered without gaps."""
        self.share, self.place = share, place
        self.communities = sums_of(share.level.null, labels.copy())
        self.draw, unused = np.random.default_rng([seed, place]), Spare.beside(labels)
        bounds = np.linspace(unused.first, unused.end, places + 1).astype(int)
        self.spare = Spare(int(bounds[place]), int(bounds[place + 1]))
        self.pending = np.zeros(len(labels), np.bool_)
        self.pending[share.low : share.high] = True
        self.turn_of = np.zeros(len(labels), np.uint8)  # of each vertex

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill; the share is counted elsewhere
        sums = self.communities
        return sum(one.nbytes for one in (*sums, self.pending, self.turn_of))

    def turn(self, number: int) -> TurnResult:
        """One pass over the vertices that are pending and whose turn it is."""
        labels, pending, low, high = self.communities.labels, self.pending, self.share.low, self.share.high
        begun = labels[low:high].copy()
        pending[:low] = pending[high:] = False
        if number % TURNS == 0:
            self.turn_of = _turns(TURNS, len(labels), self.draw)
        order = VisitingOrder.drawn(len(labels), self.draw)
        waiting = self.turn_of != number % TURNS
        done = move_vertices(self.share.level, self.communities, order, 0.0, 1, pending, waiting, self.spare)
        self.spare = done.spare
        moved = low + np.flatnonzero(labels[low:high] != begun)
        woken = np.concatenate([np.flatnonzero(pending[:low]), high + np.flatnonzero(pending[high:])])
        pending[moved] = True  # the neighbour that it has joined may have left at the same time
        return TurnResult(Moves(moved.astype(np.uint32), labels[moved], woken.astype(np.uint32)), done.gain, done.read)

    def hear(self, moves: Moves) -> None:
        """Note what another share has moved, and which vertices of this one have to try again."""
        labels, totals, totals_into = self.communities
        strengths, into = self.share.level.null.strengths, self.share.level.null.into
        for sums, each in (totals, strengths), (totals_into, into):
            if len(each):
                np.subtract.at(sums, labels[moves.vertices], each[moves.vertices])
                np.add.at(sums, moves.labels, each[moves.vertices])
        labels[moves.vertices] = moves.labels
        self.pending[moves.woken] = True

    def found(self) -> np.ndarray | None:
        """The labels, which all shares have at the end: those of the first."""
        return self.communities.labels if self.place == 0 else None


class Refiner:
    """A share while communities are refined, in one turn for each vertex. None joins a vertex that is alone, of another
    share, and has its turn at the same time, for it may leave. Parts of several shares that have a vertex in common are
    one part."""

    def __init__(self, share: Share, labels: np.ndarray, seed: int):
        self.share, self.labels, self.draw = share, labels, np.random.default_rng([seed, share.low])
        self.parts = np.arange(len(labels), dtype=np.uint32)
        self.turn_of = _turns(REFINING_TURNS, len(labels), np.random.default_rng(seed))  # the same in all shares
        self.trees: list[Forest] = []

    def __sizeof__(self) -> int:  # see Mover
        return self.parts.nbytes + self.turn_of.nbytes

    def turn(self, number: int) -> TurnResult:
        waiting = self.turn_of != number
        begun = Parts.begin(self.share.level.null, self.parts, waiting)
        for others in (slice(self.share.low), slice(self.share.high, None)):
            begun.sizes[others][~waiting[others] & (begun.sizes[others] == 1)] = 0
        order = VisitingOrder.drawn(len(waiting), self.draw)
        above, read = refine(self.share.level, self.labels, order, begun)
        joined = np.flatnonzero(begun.parts != self.parts).astype(np.uint32)
        self.parts = begun.parts
        self.trees.append(_tree(above))
        return TurnResult(Moves(joined, self.parts[joined], np.zeros(0, np.uint32)), 0.0, read)

    def hear(self, moves: Moves) -> None:
        self.parts[moves.vertices] = moves.labels

    def found(self) -> list[Forest]:
        """The edges along which vertices have joined parts."""
        return self.trees


def _turns(turns: int, vertices: int, draw: np.random.Generator) -> np.ndarray:
    """A turn for each vertex: the same for neighbours by number, which is faster to read."""
    grain = max(1, min(GRAIN, vertices // FEWEST_GRAINS))
    return np.repeat(draw.integers(0, turns, -(-vertices // grain), np.uint8), grain)[:vertices]


def _tree(above: np.ndarray) -> Forest:
    children = np.flatnonzero(above != np.arange(len(above), dtype=np.uint32)).astype(np.uint32)
    return children, above[children]
