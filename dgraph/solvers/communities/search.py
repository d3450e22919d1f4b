"""Louvain and Leiden: local moves, and then the same again on a graph of the communities, level by level.

Louvain: Blondel, Guillaume, Lambiotte, Lefebvre 2008. Leiden: Traag, Waltman, van Eck 2019. In parallel, where moves
read the newest labels: GVE-Louvain and GVE-Leiden, Sahu 2023.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dgraph.solvers.communities.aggregation import Members, Room, members_of, merged
from dgraph.solvers.communities.moves import move_vertices, sums_of
from dgraph.solvers.communities.refinement import refine
from dgraph.solvers.communities.ties import Level, NullModel, Ties, VisitingOrder, connected, inside

NO_NUMBERS = np.zeros(0, np.int64)
MOST_PASSES = 100  # of moves on one level
ITERATIONS = 10  # at most
LEAST_GAIN = 0.01  # the search goes on while an iteration raises the quality by this share


@dataclass(frozen=True)
class Hierarchy:
    """The communities of each level, from fine to coarse: the number that each vertex of a level has in the next one.
    `ends` are the communities of the vertices of the last level, numbered without gaps; their quality is the weight
    inside them minus that of chance, in both directions."""

    numbers: list[np.ndarray]
    ends: np.ndarray
    quality: float

    @property
    def divisions(self) -> list[np.ndarray]:
        """For each level that joins some, the community of each vertex of the graph, numbered without gaps; the last
        are the final communities."""
        first, *more = *self.numbers, self.ends
        found = [first]
        for numbers in more:
            found.append(numbers[found[-1]])
        joins = [int(numbers.max(initial=0)) + 1 < len(numbers) for numbers in (first, *more)]
        return [one for one, joined in zip(found, joins, strict=True) if joined] or found[-1:]


@dataclass
class Stage:
    """What a search has found, from which it can go on after any level."""

    iteration: int = 0
    begun: np.ndarray | None = None  # the communities with which this iteration began
    quality: float = 0.0  # theirs
    levels: list[np.ndarray] = field(default_factory=list)  # the communities of all levels but the last
    numbers: list[np.ndarray] = field(default_factory=list)  # of this iteration so far, as in a Hierarchy
    labels: np.ndarray | None = None  # with which the next level begins


def _tell_nobody(search: CommunitySearch) -> None:
    pass


@dataclass
class CommunitySearch:
    """The options of a search, what it has found, and a row for each level. `after_level` is called after each level
    but the last of an iteration, and after each iteration but the last."""

    max_levels: int
    tol: float
    draw: np.random.Generator
    rows: list[dict[str, Any]] = field(default_factory=list)
    rooms: tuple[Room, Room] = field(default_factory=lambda: (Room(), Room()))  # one level is made of the other
    stage: Stage = field(default_factory=Stage)
    resumed_after: int = 0  # the number of levels before those that have a row
    after_level: Callable[[CommunitySearch], None] = _tell_nobody

    @property
    def levels_done(self) -> int:
        return self.resumed_after + len(self.rows)

    def search(self, level: Any, labels: np.ndarray | None, *, refines: bool) -> tuple[list[np.ndarray], Hierarchy]:
        """The communities of all levels but the last, and the last iteration. Without `labels` to go on from, the first
        iteration does not refine, which is faster. The next ones, which refine if asked to, go on from what it found,
        until they gain little."""
        stage = self.stage
        if stage.iteration == 0 and labels is not None:  # a vertex without edges is alone
            own = np.where(level.untied, level.vertices + np.arange(level.vertices), labels)
            stage.begun = np.unique(own, return_inverse=True)[1].astype(np.uint32)
            stage.quality = self.quality(level, stage.begun)
        while True:
            found = self.climb(level, stage.begun, refines=refines and stage.begun is not None)
            if refines or stage.iteration == 0:
                stage.levels = found.divisions[:-1]
            gain, enough = found.quality - stage.quality, LEAST_GAIN * abs(found.quality)
            if stage.iteration == ITERATIONS - 1 or (stage.begun is not None and gain <= enough):
                return stage.levels, found
            self.stage = stage = Stage(stage.iteration + 1, found.divisions[-1], found.quality, stage.levels)
            self.after_level(self)

    def climb(self, level: Any, labels: np.ndarray | None, *, refines: bool, depth: int = 1) -> Hierarchy:
        """One iteration, from the vertices of a level to the coarsest. It begins with `labels`, which are numbered
        without gaps, or with each vertex alone."""
        if depth > len(self.stage.numbers):  # or else it was found before the search was resumed
            if (last := self._find(level, labels, refines, depth)) is not None:
                return last
            self.after_level(self)
        parts = self.stage.numbers[depth - 1]
        members = members_of(parts, int(parts.max()) + 1 if len(parts) else 0)
        coarse = self.coarser(level, parts, members, depth)
        found = self.climb(coarse, self.stage.labels, refines=refines, depth=depth + 1)
        return Hierarchy([parts, *found.numbers], found.ends, found.quality)

    def _find(self, level: Any, labels: np.ndarray | None, refines: bool, depth: int) -> Hierarchy | None:
        """The communities of a level, if it is the last one; else they are added to the stage."""
        begun = time.perf_counter()
        labels = np.arange(level.vertices, dtype=np.uint32) if labels is None else labels.copy()
        passes, read = self.move(level, labels)
        labels, count = numbered(labels)
        is_last = self.is_last(level, count, depth)
        parts, parts_count = labels, count
        if refines and not is_last:
            parts, more = self.refine(level, labels)
            parts, parts_count = numbered(parts)
            read, is_last = read + more, self.is_last(level, parts_count, depth)
        busy = time.perf_counter() - begun
        self.rows.append({"vertices": level.vertices, "passes": passes, "edges": read, "busy": busy})
        if is_last:
            ends = numbered(self.connected(level, labels))[0] if refines else labels
            return Hierarchy([], ends, self.quality(level, ends))
        self.stage.numbers.append(parts)
        self.stage.labels = None
        if refines:  # a part begins in the community that it is a part of
            self.stage.labels = np.empty(parts_count, np.uint32)
            self.stage.labels[parts] = labels
        return None

    def quality(self, level: Any, labels: np.ndarray) -> float:
        """The quality of a division, as in a Hierarchy."""
        return self.inside(level, labels) - of_chance(level.null, labels)

    # -- the steps, for a level of which one worker has all edges ------------------------------------------------------

    def is_last(self, level: Any, count: int, depth: int) -> bool:
        """Whether a level that is left with so many communities is the last one."""
        return bool(count == level.vertices or depth == self.max_levels)

    def move(self, level: Any, labels: np.ndarray) -> tuple[int, int]:
        """Move vertices, changing `labels`. Returns the number of passes and of edges read."""
        done = move_vertices(level, sums_of(level.null, labels), self.order(level), self.tol, MOST_PASSES)
        return done.passes, done.read

    def refine(self, level: Any, labels: np.ndarray) -> tuple[np.ndarray, int]:
        """The part of each vertex, named by a vertex of it, and the number of edges read."""
        return refine(level, labels, self.order(level))

    def connected(self, level: Any, labels: np.ndarray) -> np.ndarray:
        return connected(level, labels)

    def inside(self, level: Any, labels: np.ndarray) -> float:
        return inside(level, labels)

    def coarser(self, level: Any, numbers: np.ndarray, members: Members, depth: int) -> Any:
        """The graph whose vertices are these communities."""
        (first, second), room = level.ties, self.rooms[depth % 2]
        ties = merged(first, second, numbers, members, level.loops, level.cores, room, NO_NUMBERS)
        null = coarser_null(level.null, numbers, len(members.starts) - 1)
        return replace(level, ties=(ties, Ties.none(ties)), loops=1.0, null=null)

    def order(self, level: Level) -> VisitingOrder:
        return VisitingOrder.drawn(level.vertices, self.draw)


def coarser_null(null: NullModel, numbers: np.ndarray, count: int) -> NullModel:
    """What chance expects of the edges of these communities."""
    into = np.bincount(numbers, null.into, count) if len(null.into) else null.into
    return null._replace(strengths=np.bincount(numbers, null.strengths, count), into=into)


def of_chance(null: NullModel, labels: np.ndarray) -> float:
    """The weight that chance would give to the edges inside communities, in both directions."""
    totals = np.bincount(labels, null.strengths)
    into = np.bincount(labels, null.into) if len(null.into) else totals / 2
    return float(2 * null.factor * (totals * into).sum())


def numbered(labels: np.ndarray) -> tuple[np.ndarray, int]:
    """The labels, which are below their count, without gaps; and how many are different."""
    present = np.zeros(len(labels), np.uint32)
    present[labels] = 1
    numbers = np.cumsum(present, dtype=np.uint32)
    return numbers[labels] - np.uint32(1), int(numbers[-1]) if len(labels) else 0


def smallest_of(labels: np.ndarray) -> np.ndarray:
    """The smallest vertex with the same label, for each vertex. Labels are numbered without gaps."""
    first = np.empty(int(labels.max()) + 1 if len(labels) else 0, np.uint32)
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1, dtype=np.int64)
    return first[labels]
