"""The search for communities by several workers, each with the edges of a range of the vertices.

The edges stay on the workers. This process has what each vertex has: its label, and the weight of its edges. Once the
graph of communities fits one worker, that worker does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dgraph.cluster.workers import Workers
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import StepReport
from dgraph.native import threads
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.partition import Partition
from dgraph.solvers.communities.aggregation import Members
from dgraph.solvers.communities.quality import roots
from dgraph.solvers.communities.search import NO_NUMBERS, CommunitySearch, Hierarchy, coarser_null
from dgraph.solvers.communities.shares import REFINING_TURNS, TURNS, Mover, Moves, Refiner, Share
from dgraph.solvers.communities.ties import Level, NullModel, Ties, inside, level_weights, row_sums
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps

MOST_SWEEPS = 20  # of one level; in a sweep, each vertex has one turn
LEAST_OF_TOTAL = 0.1  # sweeps go on while one gains this share of all; the next level does the rest faster
GATHERED_BYTES = 60  # that an edge of a gathered level takes
GATHERED_SHARE = 4  # a gathered level may take 1 / GATHERED_SHARE of a worker's memory
WEIGHTS = "weights"

NullModelOf = Callable[[Sequence[np.ndarray]], tuple[NullModel, float]]  # of the weight of each vertex's edges


@dataclass(frozen=True)
class SpreadLevel:
    """A level whose edges are divided among workers."""

    shares: Sequence[Any]  # held
    homes: Sequence[str | None]
    null: NullModel
    weight: float
    untied: np.ndarray
    edges: int

    @property
    def vertices(self) -> int:
        return len(self.null.strengths)


@dataclass(frozen=True)
class GatheredLevel:
    """A level whose edges one worker will gather."""

    edges: Sequence[Any]  # held, as listed edges
    null: NullModel
    weight: float


@dataclass
class SpreadSearch(CommunitySearch):
    """A search whose steps run on the workers."""

    workers: Workers = field(default_factory=Workers)
    most_edges: int = 0  # of a level that one worker gathers

    @classmethod
    def on(cls, workers: Workers, max_levels: int, tol: float, random_seed: int) -> SpreadSearch:
        most = (workers.memory or 1 << 62) // (GATHERED_SHARE * GATHERED_BYTES)
        return cls(max_levels, tol, np.random.default_rng(random_seed), workers=workers, most_edges=most)

    def first_level(
        self, partitions: Sequence[Any], weight: str | None, directed: bool, bounds: np.ndarray, null_of: NullModelOf
    ) -> SpreadLevel:
        """The level of the graph itself, from its partitions."""
        workers, loops = self.workers, 1.0 if directed else 2.0
        homes: Sequence[str | None] = workers.where(partitions) or [None] * len(partitions)
        ties = [
            self._ties(workers.each(_cut, [(one, weight, bounds, reverse) for one in partitions], homes), bounds, homes)
            for reverse in ([False, True] if directed else [False])
        ]
        ranges = list(pairwise(bounds.tolist()))
        found = [
            workers.bring(
                workers.each(_facts, [(one, loops, *of) for one, of in zip(table, ranges, strict=True)], homes)
            )
            for table in ties
        ]
        null, total = null_of([np.concatenate([sums for sums, _ in table]) for table in found])
        counts = np.sum([np.concatenate([counts for _, counts in table]) for table in found], axis=0)
        return self._level(ties, bounds, homes, null, loops, total, counts == 0, int(counts.sum()))

    def _ties(self, cuts: Sequence[Any], bounds: np.ndarray, homes: Sequence[str | None]) -> list[Any]:
        """The rows of each share, from held slices, each cut by share."""
        workers, last, threads = self.workers, int(bounds[-1]), self.threads_each(len(homes))
        slices = [[workers.item(one, place) for one in cuts] for place in range(len(homes))]
        return workers.each(_rows, [(some, last, threads) for some in slices], homes)

    def _level(
        self,
        ties: Sequence[Sequence[Any]],
        bounds: np.ndarray,
        homes: Sequence[str | None],
        null: NullModel,
        loops: float,
        weight: float,
        untied: np.ndarray,
        edges: int,
    ) -> SpreadLevel:
        workers = self.workers
        (sent,) = workers.send([null])
        cores = workers.kernel_threads(len(homes)) or workers.threads  # a worker's shares move one after the other
        how = loops, sent, weight, cores
        seconds = ties[1] if len(ties) > 1 else [None] * len(homes)
        all_ties = zip(ties[0], seconds, pairwise(bounds.tolist()), strict=True)
        shares = workers.each(_share, [(first, second, *how, *of) for first, second, of in all_ties], homes)
        return SpreadLevel(shares, homes, null, weight, untied, edges)

    # -- the steps -----------------------------------------------------------------------------------------------------

    def climb(self, level: Any, labels: np.ndarray | None, *, refines: bool, depth: int = 1) -> Hierarchy:
        if isinstance(level, SpreadLevel):
            return super().climb(level, labels, refines=refines, depth=depth)
        alone = CommunitySearch(self.max_levels, self.tol, np.random.default_rng(self.seed()))
        known = self.stage.numbers[depth - 1 :]  # found before the search was resumed
        alone.stage.numbers = [*[NO_NUMBERS] * (depth - 1), *known]
        alone.stage.labels = self.stage.labels if known else None
        workers = self.workers
        sent = workers.send([alone, level.null, labels])
        call = workers.call(_climb, list(level.edges), *sent, level.weight, workers.threads, refines, depth)
        ((found, rows),) = workers.get([call])
        self.rows += rows
        return found

    def is_last(self, level: SpreadLevel, count: int, depth: int) -> bool:
        """Where workers have joined nothing, one of them may."""
        return super().is_last(level, count, depth) and (depth == self.max_levels or level.edges > self.most_edges)

    def move(self, level: SpreadLevel, labels: np.ndarray) -> tuple[int, int]:
        places, seed = len(level.shares), self.seed()
        movers = self._each(Mover, level, labels, [(place, places, seed) for place in range(places)])
        first, *_ = Turns(self.tol * level.weight).take(self.workers, movers, level.homes)
        labels[:] = first.of_shares[0]
        return first.turns // TURNS, first.read

    def refine(self, level: SpreadLevel, labels: np.ndarray) -> tuple[np.ndarray, int]:
        refiners = self._each(Refiner, level, labels, [(self.seed(),)] * len(level.shares))
        found = Turns(0.0, REFINING_TURNS, most_sweeps=1).take(self.workers, refiners, level.homes)
        trees = [tree for one in found for trees in one.of_shares for tree in trees]
        return roots(level.vertices, trees), found[0].read

    def connected(self, level: SpreadLevel, labels: np.ndarray) -> np.ndarray:
        return roots(level.vertices, self.workers.bring(self._each(Share.connected, level, labels)))

    def inside(self, level: SpreadLevel, labels: np.ndarray) -> float:
        return float(sum(self.workers.bring(self._each(_inside, level, labels))))

    def coarser(self, level: SpreadLevel, numbers: np.ndarray, members: Members, depth: int) -> Any:
        workers, count = self.workers, len(members.starts) - 1
        null = coarser_null(level.null, numbers, count)
        (sent,) = workers.send([numbers])
        edges = workers.each(Share.coarser, [(share, sent, count) for share in level.shares], level.homes)
        size = sum(workers.get([workers.call(_size, one) for one in edges]))
        if size <= self.most_edges:
            return GatheredLevel(edges, null, level.weight)
        bounds = np.linspace(0, count, len(level.shares) + 1).astype(np.int64)
        cuts = workers.each(_cut_listed, [(one, bounds) for one in edges], level.homes)
        del edges
        ties = self._ties(cuts, bounds, level.homes)
        return self._level([ties], bounds, level.homes, null, 1.0, level.weight, np.zeros(count, np.bool_), size)

    def _each(
        self, function: Any, level: SpreadLevel, labels: np.ndarray, more: Sequence[tuple] | None = None
    ) -> list[Any]:
        """What a function makes of each share and the labels, held where the share is."""
        (sent,) = self.workers.send([labels])
        arguments = zip(level.shares, more or [()] * len(level.shares), strict=True)
        return self.workers.each(function, [(share, sent, *rest) for share, rest in arguments], level.homes)

    def threads_each(self, shares: int) -> int:
        """The threads of each of several shares that work at the same time."""
        return self.workers.kernel_threads(shares) or self.workers.threads_each(shares)

    def seed(self) -> int:
        return int(self.draw.integers(1 << 62))


# -- tasks -------------------------------------------------------------------------------------------------------------


def _cut(partition: Partition, weight: str | None, bounds: np.ndarray, reverse: bool) -> list[EdgeSlice]:
    """The edges of a partition by number, cut by the range of their first ends; of their second ends, if `reverse`."""
    rows, numbers = partition.by_source, np.asarray(partition.numbers, np.uint32)
    ends = numbers[rows.rows()], numbers[rows.neighbours]
    weights = np.zeros(0) if weight is None else rows.columns[weight]
    return _cut_listed((*(ends[::-1] if reverse else ends), weights), bounds)


def _cut_listed(listed: tuple[np.ndarray, np.ndarray, np.ndarray], bounds: np.ndarray) -> list[EdgeSlice]:
    """Edges cut by the range of their first ends."""
    keys, others, weights = listed
    columns = {WEIGHTS: weights} if len(weights) else {}
    found = []
    for low, high in pairwise(bounds.tolist()):
        within = (keys >= low) & (keys < high)
        chosen = slice(None) if within.all() else within
        found.append(EdgeSlice(keys[chosen], others[chosen], {k: column[chosen] for k, column in columns.items()}))
    return found


def _rows(slices: list[EdgeSlice], vertices: int, threads: int) -> Ties:
    weighted = any(one.columns for one in slices)
    rows = build([one for one in slices if one.columns or not weighted], vertices, workers=threads)  # others are empty
    return Ties.of(rows.indptr, rows.neighbours, level_weights(rows.columns.get(WEIGHTS), len(rows.neighbours)))


def _facts(ties: Ties, loops: float, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """What this process needs to know of the vertices of a share: the weight of their edges, and the number of them."""
    return row_sums(ties, loops, 1)[low:high], (ties.ends - ties.begins)[low:high]


def _share(
    first: Ties,
    second: Ties | None,
    loops: float,
    null: NullModel,
    weight: float,
    threads: int,
    low: int,
    high: int,
) -> Share:
    ties = first, Ties.none(first) if second is None else second
    return Share(Level(ties, loops, null, weight, threads), low, high)


def _inside(share: Share, labels: np.ndarray) -> float:
    return inside(share.level, labels)


def _size(listed: tuple[np.ndarray, ...]) -> int:
    return len(listed[0])


def _climb(
    edges: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    search: CommunitySearch,
    null: NullModel,
    labels: np.ndarray | None,
    weight: float,
    threads: int,
    refines: bool,
    depth: int,
) -> tuple[Hierarchy, list[dict[str, Any]]]:
    """The rest of an iteration, by the worker that runs this task."""
    ties = _rows([EdgeSlice(one[0], one[1], {WEIGHTS: one[2]}) for one in edges], len(null.strengths), threads)
    level = Level((ties, Ties.none(ties)), 1.0, null, weight, threads)
    return search.climb(level, labels, refines=refines, depth=depth), search.rows


# -- turns -------------------------------------------------------------------------------------------------------------
# All workers move vertices at the same time, as the steps of a run: moves go from worker to worker as mail, and this
# process does not see them.


class ShareResults(NamedTuple):
    """What the shares of a worker have found, and what that took on all workers."""

    of_shares: list[Any]
    turns: int
    read: int  # edges


@dataclass(frozen=True)
class Turns:
    """What the workers do: sweeps of some turns, until one gains at most `least`, or little beside those before."""

    least: float
    of_sweep: int = TURNS
    most_sweeps: int = MOST_SWEEPS

    def take(self, workers: Workers, shares: Sequence[object], homes: Sequence[str | None]) -> list[ShareResults]:
        """Take turns with held `Mover`s or `Refiner`s. Returns what each worker has found. The first task of a worker
        holds its thread until all others have begun, so what they begin with has to be there."""
        shares = workers.wait(list(shares))
        ends = None if workers.client is None else [str(home) for home in homes]
        steps = Steps(partial(AtWorker, until=self), AtWorker.step, AtWorker.finish, title="communities")
        outcome = run_steps(steps, shares, client=workers.client, homes=ends, threads=threads.cores())
        assert outcome is not None, "nothing stops the run"
        return workers.bring(outcome.results)


class AtWorker:
    """The shares of one worker, and what all have gained and read so far."""

    def __init__(self, exchange: Exchange, shares: Mapping[int, Mover | Refiner], until: Turns):
        self.exchange, self.shares, self.until = exchange, shares, until
        homes = exchange.route.homes
        self.first_shares = [homes.index(worker) for worker in sorted(set(homes))]  # of each worker
        self.turns = self.read = 0
        self.gains: list[float] = []

    def step(self, number: int, reports: list[StepReport]) -> StepReport:
        """Hear of the last turn, and take the next one unless it was enough. All workers decide alike."""
        self.turns = number
        if number > 0:
            self._hear(number - 1)
            self.gains.append(sum(report["gain"] for report in reports))
            self.read += sum(report["read"] for report in reports)
            if number % self.until.of_sweep == 0 and self._enough():
                return {"done": True}
        gain, read = 0.0, 0
        for place, share in self.shares.items():
            moves, gained, more = share.turn(number)
            gain, read = gain + gained, read + more
            buffer = _packed(moves)
            for receiver in self.first_shares:
                self.exchange.send(number, place, receiver, buffer)
        return {"gain": gain, "read": read}

    def _hear(self, number: int) -> None:
        for sender, buffer in self.exchange.collect(number, min(self.shares)):
            moves = _opened(buffer)
            for place, share in self.shares.items():
                if place != sender:
                    share.hear(moves)

    def _enough(self) -> bool:
        until, gained = self.until, sum(self.gains[-self.until.of_sweep :])
        is_last = self.turns == until.most_sweeps * until.of_sweep
        return is_last or gained <= max(until.least, LEAST_OF_TOTAL * sum(self.gains))

    def finish(self) -> ShareResults:
        return ShareResults([share.found() for share in self.shares.values()], self.turns, self.read)


def _packed(moves: Moves) -> np.ndarray:
    return np.concatenate([np.array([len(moves.vertices)], np.uint32), *moves])


def _opened(buffer: Any) -> Moves:
    numbers = buffer.view(np.uint32)
    first, second = 1 + int(numbers[0]), 1 + 2 * int(numbers[0])
    return Moves(numbers[1:first], numbers[first:second], numbers[second:])
