"""Collaborative filtering: factors of users and items whose inner products come near the ratings (Koren, Bell and
Volinsky, 2009), by blocks of vertices from the newest factors of the others (GraphABCD, Yang et al. 2020)."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from dgraph.errors import ColumnError, OptionError, WeightError
from dgraph.graph import Graph
from dgraph.options import check_choice, check_integer, is_number
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult, lasting
from dgraph.runs.run_report import row_at_once
from dgraph.runs.worker_results import VertexValues, WorkerResult
from dgraph.solvers.factors import DESCEND, SEARCH, SOLVE, RatingRows, balance, from_side_to_side, objective, rmse

UPDATES = ("gradient", "least_squares")
BLOCKS = 64  # of "auto", at least: few edges lie within one, whose ends would not hear of each other
HALVES = 0.5 ** np.arange(60)  # of a step that is not given
MOST = 4096  # factors of a vertex, and threads: more would take the machine's memory
LARGEST = 1e100  # a rating: squares of errors, and their sums, are numbers yet
STANDS = {"engine": "block_descent", "device": "cpu", "daemons": "in process", "progress": False}  # what else is so


@operation
def factorize(
    graph: Graph,
    *,
    rank: int = 8,
    regularization: float = 0.05,
    learning_rate: float | None = None,
    epochs: int = 30,
    test: float = 0.1,
    update: str = "gradient",
    block_size: int | str | None = None,
    threads: int | None = None,
    random_seed: int = 0,
    **options: Any,
) -> RunResult:
    """Collaborative filtering: the column `factors` is a vector of each vertex, so that a rating is about the mean of
    all and the inner product of those at its ends. The mean is in `totals`. The report has a row for each epoch, in
    which every vertex has one turn: `rmse` of the ratings learned from, `held_out` of those that were kept for the
    test.

    rank:           the length of the vectors.
    regularization: how much the squares of factors weigh beside the squares of errors.
    learning_rate:  the length of a step; 1 would solve for a vertex if factors were spread evenly. Too large: an error.
                    By default each vertex takes the best for itself, for which who has few ratings looks at them again;
                    halved whenever an epoch would end further from the ratings than it began. Before each epoch factors
                    are turned so that their components do not mix, which changes no product.
    epochs:         how many.
    test:           the share of ratings that is held out, drawn by `random_seed`; 0 for none.
    update:         "gradient", a step down; or "least_squares": solve for a vertex as the others are, in turn.
    block_size:     vertices that are brought up to date together, from the newest factors of the others; by default, or
                    "auto", a 64th of all. One block of all vertices is gradient descent as usual.
    threads:        with 1, the same factors every time for a seed; by default all.
    random_seed:    decides what is drawn: the first factors, and the ratings that are held out.

    Edges lead from one side to the other, undirected ones either way, and the graph's weights are the ratings. Who has
    no rating to learn from, a cold user or an item, has factors of 0: the mean is what is known.
    """
    _nothing_else(options)
    check_integer("rank", rank, 1, MOST)
    check_integer("epochs", epochs, 1, 2**31 - 1)
    auto = isinstance(block_size, str) and block_size == "auto"
    block = None if auto else check_integer("block_size", block_size, or_none=True)
    check_integer("threads", threads, 1, MOST, or_none=True)
    check_integer("random_seed", random_seed, 0)
    rate = 1.0 if learning_rate is None else learning_rate
    for name, value, low in (("regularization", regularization, 0.0), ("learning_rate", rate, 1e-300)):
        if not (is_number(value) and not isinstance(value, bool) and low <= value < np.inf):
            raise OptionError(f"{name}={value!r} must be a finite number{' above zero' if low else ', zero or more'}")
    if not (is_number(test) and 0 <= test < 1):
        raise OptionError(f"test={test!r} is the share of ratings that is held out: from 0 to less than 1")
    check_choice("update", update, UPDATES)
    if graph.weight is None:
        raise ColumnError("factorize reads ratings, and the edges have no weights: name their column with weight=")
    way = SOLVE if update == "least_squares" else SEARCH if learning_rate is None else DESCEND
    job = Factorization(graph.num_vertices, graph.directed, rank, float(regularization), way, float(rate), epochs, test)
    how = block, threads or graph.workers.threads, random_seed
    chosen = {"update": update, "rank": rank, "block size": block or "auto", "random_seed": random_seed}
    chosen = {"engine": "block_descent", "device": "cpu", **chosen}
    return lasting(graph, partial(_factorized, job=job, how=how, chosen=chosen))


def _factorized(graph: Graph, job: Factorization, how: tuple, chosen: dict[str, Any]) -> RunResult:
    workers, partitions = graph.workers, graph.partitioned(("out",), (graph.weight or "",)).held
    pieces = workers.bring(workers.each(_ratings_of, [(one, graph.weight, graph.directed) for one in partitions]))
    return RunResult(graph, workers.wait(workers.each(job, [(pieces, *how)])), [], chosen)


def _nothing_else(options: dict[str, Any]) -> None:
    """Refuse options of `dgraph.run` unless they say what is so anyway."""
    known = inspect.signature(run).parameters
    for name, value in options.items():
        if not (value is None or (isinstance(value, str | bool) and value in (known[name].default, STANDS.get(name)))):
            raise OptionError(f"{name}={value!r}: factorize has blocks of its own; leave it out")


RatingColumns = tuple[np.ndarray, np.ndarray, np.ndarray]  # both ends by number, and the value


def _ratings_of(partition: Any, weight: str, directed: bool) -> RatingColumns:
    """The ratings of one partition; an undirected edge has two rows, and counts once."""
    rows = partition.out
    numbers = partition.numbers.astype(np.uint32)
    u, v, values = numbers[rows.rows()], numbers[rows.neighbours], rows.columns[weight].astype(np.float64)
    if directed:
        return u, v, values
    return u[u <= v], v[u <= v], values[u <= v]


@dataclass(frozen=True)
class Factorization:
    """The work, with all ratings in one place. A step whose length is searched for is best for its vertex alone, so it
    is halved as often as need be."""

    vertices: int
    directed: bool
    rank: int
    penalty: float
    way: int
    step: float
    epochs: int
    test: float

    def __call__(self, pieces: list[RatingColumns], block: int | None, threads: int, seed: int) -> WorkerResult:
        draw = np.random.default_rng(seed)
        known, held, mean = self.divided(pieces, draw)
        ratings = RatingRows.of(*known, self.vertices)
        factors, spread = self.drawn(known[2], mean, draw)
        factors[np.diff(ratings.indptr) == 0] = 0
        users, items = (np.flatnonzero(np.bincount(side, minlength=self.vertices)) for side in known[:2])
        step, rows = self.step / (spread if self.way == DESCEND else 1.0), list[dict[str, Any]]()
        far, once = objective(*known, factors, self.penalty), ratings.looks(self.rank, self.way)
        how, begun = (self.penalty, block or max(1, self.vertices // BLOCKS), threads), time.perf_counter()
        for epoch in range(1, self.epochs + 1):
            opened, looks = time.perf_counter(), once
            if self.way != SEARCH:
                ratings.epoch(factors, self.way, step, *how)
            else:
                balance(factors, users, items)
                before = factors.copy()
                for tries, shorter in enumerate(step * HALVES, 1):  # until one leads nearer
                    factors[:], step, looks = before, shorter, tries * once
                    ratings.epoch(factors, self.way, step, *how)
                    now = objective(*known, factors, self.penalty)
                    if now <= far * (1 + 1e-9):  # all but rounding; not if it is NaN
                        break
                far = now
            busy = time.perf_counter() - opened
            rows.append(self.row(epoch, busy, begun, rmse(*known, factors), rmse(*held, factors), looks))
            if len(known[0]) and not isfinite(rows[-1]["rmse"]):
                raise OptionError(self.problem(epoch))
        values = VertexValues(np.arange(self.vertices), {"factors": factors})
        return WorkerResult({0: values}, set(), rows, self.epochs, {"mean": mean})

    def divided(
        self, pieces: list[RatingColumns], draw: np.random.Generator
    ) -> tuple[RatingColumns, RatingColumns, float]:
        """The ratings to learn from and those that are held out, both less the mean of the first, and that mean."""
        u, v, values = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        if not self.directed:
            u, v = from_side_to_side(u, v, self.vertices)
        _check(u, v, values)
        order = np.lexsort((values, v, u))  # the same for any partitions
        u, v, values = u[order], v[order], values[order]
        del order
        learned = draw.random(len(u)) >= self.test
        mean = float(values[learned].mean()) if learned.any() else 0.0
        values -= mean
        known, held = ((u[some], v[some], values[some]) for some in (learned, ~learned))
        return known, held, mean

    def drawn(self, values: np.ndarray, mean: float, draw: np.random.Generator) -> tuple[np.ndarray, float]:
        """The first factors, for such values about the mean, and the square of how far from 0 the last will be."""
        varied = len(values) > 0 and bool(values.std() > 1e-12 * abs(mean))
        spread = float(np.sqrt(values.var() / self.rank)) if varied else 1.0
        return draw.normal(0, 0.5 * np.sqrt(spread) if varied else 0.0, (self.vertices, self.rank)), spread

    def problem(self, epoch: int) -> str:
        """Why factors are not numbers any more."""
        if self.way == SOLVE:
            return f"regularization={self.penalty:g} is too small: epoch {epoch} finds no finite factors"
        if self.way == SEARCH:
            return f"regularization={self.penalty:g} is too large: in epoch {epoch} no step is small enough"
        return (
            f"learning_rate={self.step:g} is too large: factors grew beyond all bounds in epoch {epoch}; "
            f'take {self.step / 4:g}, leave it out and it is found, or take update="least_squares", which needs none'
        )

    def row(self, epoch: int, busy: float, begun: float, learned: float, held: float, edges: int) -> dict[str, Any]:
        """The row of the report; edges are looked at from both ends."""
        row = row_at_once(self.vertices, edges, busy, superstep=epoch, direction="pull")
        more = {"epochs": float(epoch), "rmse": learned, "held_out": held, "seconds": time.perf_counter() - begun}
        return row | more


def _check(u: np.ndarray, v: np.ndarray, values: np.ndarray) -> None:
    """Refuse ratings that nothing can be learned from."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise WeightError(
            f"{len(bad)} of {len(values)} ratings are not finite, the first is {values[bad[0]]}: drop or fill them"
        )
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if len(large):
        raise WeightError(
            f"{len(large)} of {len(values)} ratings are beyond {LARGEST:g}, the first is {values[large[0]]:g}: drop "
            "or scale them, for squares of errors must be numbers, too"
        )
    both = np.intersect1d(u, v)
    if len(both):
        who = "1 vertex is rated and rates" if len(both) == 1 else f"{len(both)} vertices are rated and rate"
        raise OptionError(f"{who}: users and items are two sets, with edges from one to the other")
