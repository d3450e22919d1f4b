"""Collaborative filtering by matrix factorization (Koren, Bell and Volinsky, 2009), which updates one block of vertices
at a time from the newest factors of the others (GraphABCD, Yang et al. 2020)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, Literal

import numpy as np

from dgraph.arguments import check_choice, check_integer, is_default, is_number
from dgraph.errors import OptionError, WeightError
from dgraph.graph import Graph
from dgraph.runs.execution import recoverable_result
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row
from dgraph.solvers.factors import DESCEND, SEARCH, SOLVE, RatingRows, balance, objective, orient_by_side, rmse

UPDATES = ("gradient", "least_squares")
BLOCKS = 64  # the default; many, because the ends of an edge within one block do not see each other's update
HALVES = 0.5 ** np.arange(60)  # factors to try in the search for a step length
MOST = 4096  # limit on rank and threads, because more would exhaust the machine's memory
LARGEST = 1e100  # largest rating for which sums of squared errors stay finite


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
    engine: Literal["auto", "block_descent"] = "auto",
    device: Literal["auto", "cpu"] = "auto",
) -> RunResult:
    """Collaborative filtering: factor vectors of users and items that reproduce their ratings.

    The graph's weights are the ratings; every edge joins a user and an item. A rating is approximately the mean of all
    ratings plus the inner product of the factors at its ends.

    Parameters
    ----------
    graph : Graph
        The graph of ratings. Undirected edges may list their ends in either order.
    rank : int, default 8
        Length of the factor vectors.
    regularization : float, default 0.05
        Weight of the squared factors relative to the squared errors.
    learning_rate : float, optional
        Length of a gradient step, where 1 would solve for a vertex if factors were distributed evenly; if it is too
        large, an error is raised. By default each vertex takes its best step, halved if an epoch would increase the
        error.
    epochs : int, default 30
        Number of epochs; in each, every vertex is updated once.
    test : float, default 0.1
        Fraction of the ratings to hold out for testing, chosen by `random_seed`; 0 for none.
    update : {"gradient", "least_squares"}, default "gradient"
        Take a gradient step, or solve for each vertex with the factors of the others fixed.
    block_size : int or "auto", optional
        Vertices to update together from the newest factors of the others. By default, 1/64 of all vertices. With one
        block of all vertices, this is ordinary gradient descent.
    threads : int, optional
        Number of threads; all by default. With one thread, the same seed always gives the same factors.
    random_seed : int, default 0
        Seed of the random number generator. It determines the initial factors and which ratings are held out.
    engine : {"auto", "block_descent"}, default "auto"
        No other engine applies.
    device : {"auto", "cpu"}, default "auto"
        The kernels run only on the CPU.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``factors``. Vertices without training ratings have factors of 0. The mean is
        ``totals["mean"]``, and the report has one row per epoch with ``rmse``, the root-mean-square error on the
        training ratings, and ``held_out``, the same error on the held-out ratings.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, the factors overflow, or a vertex is both a user and an item.
    ColumnError
        If the graph has no weights.
    WeightError
        If a rating is not finite, or beyond 1e100.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    The work runs on one worker. For gradient steps without a `learning_rate`, factors are rotated before each epoch so
    that their components are uncorrelated, which does not change any inner product; for vertices with few ratings, the
    best step is found in a second pass over these ratings.

    Examples
    --------
    >>> G = dg.ratings(users=50, items=20, ratings=600, seed=1)
    >>> result = dg.factorize(G, rank=4, epochs=5, threads=1)
    >>> result.compute()["factors"][0].shape
    (4,)
    """
    for option, given, only in (("engine", engine, "block_descent"), ("device", device, "cpu")):
        if not any(is_default(given, one) for one in ("auto", only)):
            raise OptionError(f"{option}={given!r}: factorize does not use the engines of dgraph.run; leave it out")
    check_integer("rank", rank, 1, MOST)
    check_integer("epochs", epochs, 1, 2**31 - 1)
    auto = isinstance(block_size, str) and block_size == "auto"
    block = None if auto else check_integer("block_size", block_size, or_none=True)
    check_integer("threads", threads, 1, MOST, or_none=True)
    check_integer("random_seed", random_seed, 0)
    rate = 1.0 if learning_rate is None else learning_rate
    for name, value, low in (("regularization", regularization, 0.0), ("learning_rate", rate, 1e-300)):
        if not (is_number(value) and not isinstance(value, bool) and low <= value < np.inf):
            raise OptionError(f"{name}={value!r} must be a finite number {'> 0' if low else '>= 0'}")
    if not (is_number(test) and 0 <= test < 1):
        raise OptionError(f"test={test!r} must be a number >= 0 and < 1: the fraction of ratings to hold out")
    check_choice("update", update, UPDATES)
    if graph.weight is None:
        raise graph.input_edges.edges.no_weight("factorize needs ratings, which are weights")
    way = SOLVE if update == "least_squares" else SEARCH if learning_rate is None else DESCEND
    job = Factorization(graph.num_vertices, graph.directed, rank, float(regularization), way, float(rate), epochs, test)
    how = block, threads or graph.workers.threads, random_seed
    chosen = {"update": update, "rank": rank, "block size": block or "auto", "random_seed": random_seed}
    chosen = {"engine": "block_descent", "device": "cpu", **chosen}
    result = recoverable_result(graph, partial(_factorized, job=job, how=how, chosen=chosen))
    result.options = RunOptions(engine="block_descent", device="cpu")
    return result


def _factorized(graph: Graph, job: Factorization, how: tuple, chosen: dict[str, Any]) -> RunResult:
    workers, partitions = graph.workers, graph.partitioned(("out",), (graph.weight or "",)).held
    pieces = workers.bring(workers.each(_ratings_of, [(one, graph.weight, graph.directed) for one in partitions]))
    return RunResult(graph, workers.wait(workers.each(job, [(pieces, *how)])), [], chosen)


RatingColumns = tuple[np.ndarray, np.ndarray, np.ndarray]  # numbers of both ends, and the rating


def _ratings_of(partition: Any, weight: str, directed: bool) -> RatingColumns:
    """The ratings of one partition; an undirected edge, stored twice, counts once."""
    rows = partition.out
    numbers = partition.numbers.astype(np.uint32)
    u, v, values = numbers[rows.rows()], numbers[rows.neighbours], rows.columns[weight].astype(np.float64)
    if directed:
        return u, v, values
    return u[u <= v], v[u <= v], values[u <= v]


@dataclass(frozen=True)
class Factorization:
    """The whole computation, with all ratings on one worker.

    Without a learning rate, each vertex takes the step that is best for it alone, so steps are halved until an epoch
    reduces the error.
    """

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
        ratings = RatingRows.from_edges(*known, self.vertices)
        factors, spread = self.drawn(known[2], mean, draw)
        factors[np.diff(ratings.indptr) == 0] = 0
        users, items = (np.flatnonzero(np.bincount(side, minlength=self.vertices)) for side in known[:2])
        step, rows = self.step / (spread if self.way == DESCEND else 1.0), list[dict[str, Any]]()
        far, once = objective(*known, factors, self.penalty), ratings.ratings_read(self.rank, self.way)
        how, begun = (self.penalty, block or max(1, self.vertices // BLOCKS), threads), time.perf_counter()
        for epoch in range(1, self.epochs + 1):
            opened, looks = time.perf_counter(), once
            if self.way != SEARCH:
                ratings.epoch(factors, self.way, step, *how)
            else:
                balance(factors, users, items)
                before = factors.copy()
                for tries, shorter in enumerate(step * HALVES, 1):  # until the error falls
                    factors[:], step, looks = before, shorter, tries * once
                    ratings.epoch(factors, self.way, step, *how)
                    now = objective(*known, factors, self.penalty)
                    if now <= far * (1 + 1e-9):  # up to rounding; False if it is NaN
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
        """The ratings to learn from and those held out, both minus the mean of the first, and that mean."""
        u, v, values = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        if not self.directed:
            u, v = orient_by_side(u, v, self.vertices)
        _check(u, v, values)
        order = np.lexsort((values, v, u))  # an order that does not depend on the partitions
        u, v, values = u[order], v[order], values[order]
        del order
        learned = draw.random(len(u)) >= self.test
        mean = float(values[learned].mean()) if learned.any() else 0.0
        values -= mean
        known, held = ((u[some], v[some], values[some]) for some in (learned, ~learned))
        return known, held, mean

    def drawn(self, values: np.ndarray, mean: float, draw: np.random.Generator) -> tuple[np.ndarray, float]:
        """The initial factors for these centred ratings, and the expected variance of the final factors."""
        varied = len(values) > 0 and bool(values.std() > 1e-12 * abs(mean))
        spread = float(np.sqrt(values.var() / self.rank)) if varied else 1.0
        return draw.normal(0, 0.5 * np.sqrt(spread) if varied else 0.0, (self.vertices, self.rank)), spread

    def problem(self, epoch: int) -> str:
        """Why the factors are no longer finite."""
        if self.way == SOLVE:
            return f"regularization={self.penalty:g} is too small: the factors of epoch {epoch} are not finite"
        if self.way == SEARCH:
            return f"regularization={self.penalty:g} is too large: in epoch {epoch} no step is small enough"
        return (
            f"learning_rate={self.step:g} is too large: factors overflow in epoch {epoch}; use {self.step / 4:g}, "
            'leave it out to search for a step, or use update="least_squares", which needs none'
        )

    def row(self, epoch: int, busy: float, begun: float, learned: float, held: float, edges: int) -> dict[str, Any]:
        """A row of the report; edges are read from both ends."""
        row = single_call_row(self.vertices, edges, busy, superstep=epoch, direction="pull")
        more = {"epochs": float(epoch), "rmse": learned, "held_out": held, "seconds": time.perf_counter() - begun}
        return row | more


def _check(u: np.ndarray, v: np.ndarray, values: np.ndarray) -> None:
    """Reject ratings that are not finite or too large, and graphs that are not bipartite."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise WeightError(
            f"{len(bad)} of {len(values)} ratings are not finite; the first is {values[bad[0]]}: drop or fill them"
        )
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if len(large):
        raise WeightError(
            f"{len(large)} of {len(values)} ratings are beyond {LARGEST:g}; the first is {values[large[0]]:g}: drop or "
            "scale them, because squared errors must be finite"
        )
    both = np.intersect1d(u, v)
    if len(both):
        who = "1 vertex is" if len(both) == 1 else f"{len(both)} vertices are"
        raise OptionError(f"{who} both a user and an item: every edge must lead from a user to an item")
