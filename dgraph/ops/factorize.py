"""Collaborative filtering by matrix factorization (Koren, Bell and Volinsky, 2009), which updates one vertex at a time
from the newest factors of the others (GraphABCD, Yang et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any, Literal

import numpy as np

from dgraph.arguments import AUTO, check_flag, check_integer, is_default, is_number
from dgraph.errors import ColumnError, OptionError
from dgraph.factors.factor_result import FactorResult
from dgraph.factors.factor_updates import PREFER
from dgraph.factors.feedback_fit import FeedbackFit
from dgraph.factors.fit_options import Gradient, LeastSquares, StopLike, UpdateLike, stop_value, update_value
from dgraph.factors.fit_place import FitPlace, RatingTest
from dgraph.factors.rating_fit import FitPlan, RatingFit
from dgraph.factors.rating_rows import RatingColumns, orient_by_side, ratings_of
from dgraph.factors.spread_fit import spread_fit
from dgraph.graph import Graph
from dgraph.keywords import engine_value
from dgraph.options import BlockDescent
from dgraph.phrases.phrases import warn
from dgraph.runs.execution import recoverable_result
from dgraph.runs.operation import operation
from dgraph.runs.run_options import RunOptions
from dgraph.runs.worker_results import WorkerResult

LARGEST_RANK = 4096  # because a larger one would exhaust the machine's memory
Pieces = list[tuple[np.ndarray, ...]]  # by partition: the ends of ratings, their values, and perhaps marks


@operation
def factorize(
    graph: Graph,
    *,
    rank: int = 8,
    biases: bool = True,
    regularization: float | Literal["auto"] = "auto",
    epochs: int = 30,
    test: float | str = 0.1,
    update: UpdateLike = "least_squares",
    stop: StopLike = "held_out",
    random_seed: int = 0,
    engine: Literal["auto", "block_descent"] | BlockDescent = "auto",
    device: Literal["auto", "cpu"] = "auto",
) -> FactorResult:
    """Collaborative filtering: factors and biases of users and items that reproduce their ratings.

    The graph's weights are the ratings; every edge joins a user and an item. A rating is approximately the mean of all
    ratings, plus the biases of its user and its item, plus the inner product of their factors.

    Parameters
    ----------
    graph : Graph
        The graph of ratings. Undirected edges may list their ends in either order.
    rank : int, default 8
        Length of the factor vectors.
    biases : bool, default True
        Whether each user and item has a number of its own, because some rate higher, or are rated higher, than others.
        With implicit feedback there are none.
    regularization : float or "auto", default "auto"
        How much large factors are penalized: each vertex's squared factors are multiplied by this, by its number of
        ratings plus 30, and by the standard deviation of what biases do not explain. ``"auto"`` takes 0.15 for eight
        epochs, and 0.7 times as much in each further one, down to 0.003; if nothing is held out, it takes 0.1. With
        implicit feedback, squared factors are multiplied by this alone, and ``"auto"`` is 0.01.
    epochs : int, default 30
        Maximum number of epochs; in each, every vertex is updated once.
    test : float or str, default 0.1
        Ratings to hold out, from which nothing is learned: a fraction of all ratings, each drawn by itself from
        `random_seed` (0 for none), or the name of an edge column that is true for them.
    update : {"gradient", "least_squares"}, Gradient or LeastSquares, default "least_squares"
        Take a gradient step, or solve for each vertex with the factors of the others fixed.
    stop : {"held_out"}, HeldOut or None, default "held_out"
        Stop when the error on the held-out ratings has not fallen (or ``ndcg`` has not grown) for three epochs, after
        the first eight. With None, take all epochs.
    random_seed : int, default 0
        Seed of the random number generator. It determines the initial factors and which ratings are held out.
    engine : {"auto", "block_descent"} or BlockDescent, default "auto"
        All users are updated from the newest factors of the items, and then the items. With
        ``dg.BlockDescent(mode="bsp")`` both are updated at once from the factors of the previous epoch.
    device : {"auto", "cpu"}, default "auto"
        The kernels run only on the CPU.

    Returns
    -------
    FactorResult
        One row per vertex: ``vertex``, ``factors`` and, with `biases`, ``bias``, from the epoch with the least error on
        the held-out ratings (if there are none, from the one with the least error and penalty). Vertices without
        training ratings have only zeros. ``totals`` has the ``mean`` of the training ratings, this ``epoch`` (0 if
        biases alone are best), and its errors. The report has one row per epoch with ``rmse``, the root-mean-square
        error on the training ratings, and ``held_out``, the same error on the held-out ratings. With implicit feedback
        these are errors of products that should be 1; ``recall@20``, ``precision@20`` and ``ndcg`` tell how the
        held-out items of at most 1,000 users are ranked, and the epoch with the largest ``ndcg`` is kept.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, all ratings are held out, the factors overflow, or a vertex is
        both a user and an item.
    ColumnError
        If the graph has no weights, or `test` is not a column of true and false.
    WeightError
        If a rating is not finite, or beyond 1e100, or implicit feedback is not above 0.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    On a cluster, all workers fit the ratings of a directed graph together, each with its users and items; undirected
    graphs and implicit feedback are fitted by one worker. With least squares, the same seed gives the same factors on
    any number of threads, and up to rounding on any number of workers and partitions. For gradient steps
    without a learning rate, factors are rotated before each epoch so that their components are uncorrelated, which does
    not change any inner product; for vertices with few ratings, the best step is found in a second pass over these
    ratings.

    Examples
    --------
    >>> G = dg.ratings(users=50, items=20, ratings=600, seed=1)
    >>> result = dg.factorize(G, rank=4)
    >>> result.compute()["factors"][0].shape
    (4,)
    >>> bool(result.totals["held_out"] < dg.factorize(G, rank=4, biases=False, epochs=1).totals["held_out"])
    True
    """
    if not is_default(device, AUTO) and not is_default(device, "cpu"):
        raise OptionError(f"device={device!r}: factorize runs only with device='cpu'; leave it out")
    descent = _descent(engine)
    check_integer("rank", rank, 1, LARGEST_RANK)
    check_integer("epochs", epochs, 1, 2**31 - 1)
    check_integer("random_seed", random_seed, 0, 2**63 - 1)
    check_flag("biases", biases)
    automatic = is_default(regularization, AUTO)
    is_real = is_number(regularization) and not isinstance(regularization, bool)
    if not automatic and not (is_real and 0 <= float(regularization) < np.inf):
        raise OptionError(f'regularization={regularization!r} must be a finite number >= 0, or "auto"')
    if not isinstance(test, str) and (isinstance(test, bool) or not (is_number(test) and 0 <= test < 1)):
        raise OptionError(
            f"test={test!r} must be a number >= 0 and < 1 (the fraction of ratings to hold out), or an edge column"
        )
    stronger = None if automatic else float(regularization)
    way, at_once = update_value(update), descent.mode == "bsp"
    if at_once and isinstance(way, LeastSquares):
        raise OptionError(
            f"engine={engine!r}: with least squares for all vertices at once, errors grow; leave it out, or use "
            'update="gradient"'
        )
    is_feedback = isinstance(way, LeastSquares) and way.implicit_alpha is not None
    chosen = RatingTest(test, random_seed)
    plan = FitPlan(rank, biases and not is_feedback, stronger, way, epochs, stop_value(stop), chosen, at_once)
    if graph.weight is None:
        raise graph.input_edges.edges.no_weight("factorize needs ratings, which are weights")
    columns = [name for name in graph.edge_columns if name != graph.weight]
    if isinstance(test, str) and test not in columns:
        has = ", ".join(map(repr, columns)) or "no other"
        raise ColumnError(
            f"test={test!r} is not a column of the edges that can mark ratings; they have {has}; keep it with columns= "
            "when you read edges from files"
        )
    result: Any = recoverable_result(graph, partial(_factorized, plan=plan))
    result.options = RunOptions(engine=descent, device="cpu")
    if not isinstance(test, str) and test and isnan(result.totals["held_out"]) and not isnan(result.totals["rmse"]):
        warn(
            f"test={test:g} has held out none of so few ratings, so nothing tells how good the factors are; "
            "pass a larger share, or test=0"
        )
    return result


def _descent(engine: Any) -> BlockDescent:
    """The option `engine=` as a value."""
    if is_default(engine, AUTO):
        return BlockDescent()
    descent = engine_value(engine) if not isinstance(engine, str) or engine == "block_descent" else None
    if not isinstance(descent, BlockDescent):
        raise OptionError(f"engine={engine!r}: factorize runs only with engine='block_descent'; leave it out")
    if descent != BlockDescent(mode=descent.mode):
        raise OptionError(
            f"engine={engine!r}: factorize updates all users and then all items, so only mode= matters; leave the rest "
            "out"
        )
    return descent


def _factorized(graph: Graph, plan: FitPlan) -> FactorResult:
    workers, share = graph.workers, plan.test.share
    columns = (graph.weight or "", *([share] if isinstance(share, str) else []))
    chosen = {"engine": "block_descent", "device": "cpu", "rank": plan.rank, "biases": plan.biases, **_told(plan)}
    chosen |= {"random_seed": plan.test.random_seed}
    if workers.client is not None and graph.num_parts > 1 and graph.directed and plan.way != PREFER:
        outcome = spread_fit(graph, plan, columns)
        chosen |= {"exchange": outcome.exchange, "repartitioned": "every rating at both of its ends"}
        return FactorResult(graph, outcome.results, [], chosen, summaries=outcome.summaries)
    partitions = graph.partitioned(("out",), columns).held
    pieces = workers.bring(workers.each(ratings_of, [(one, columns, graph.directed) for one in partitions]))
    job = FactorJob(graph.num_vertices, graph.directed, plan, workers.threads)
    return FactorResult(graph, workers.wait(workers.each(job, [(pieces,)])), [], chosen)


def _told(plan: FitPlan) -> dict[str, Any]:
    """How factors were updated, for the report."""
    if isinstance(plan.update, Gradient):
        rate = "searched" if plan.update.learning_rate is None else plan.update.learning_rate
        return {"update": "gradient", "learning rate": rate}
    alpha = plan.update.implicit_alpha
    return {"update": "least_squares", **({} if alpha is None else {"implicit alpha": alpha})}


@dataclass(frozen=True)
class FactorJob:
    """The whole computation, with all ratings on one worker."""

    vertices: int
    directed: bool
    plan: FitPlan
    threads: int

    def __call__(self, pieces: Pieces) -> WorkerResult:
        kind, place = FeedbackFit if self.plan.way == PREFER else RatingFit, self.place(pieces)
        return kind(self.plan, [place], self.threads).alone().result()

    def place(self, pieces: Pieces) -> FitPlace:
        u, v, values, *marks = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        if not self.directed:
            u, v = orient_by_side(u, v, self.vertices)
        columns, marked = [RatingColumns(u, v, values.astype(np.float64))], marks[0] if marks else None
        del u, v, values, marks, pieces
        numbers = np.arange(self.vertices, dtype=np.uint32 if self.vertices < 2**32 else np.int64)
        is_feedback = self.plan.way == PREFER
        return FitPlace.of(numbers, self.vertices, columns.pop(), marked, self.plan.test, is_feedback=is_feedback)
