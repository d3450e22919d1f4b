"""Collaborative filtering by matrix factorization (Koren, Bell and Volinsky, 2009), which updates one vertex at a time
from the newest factors of the others (GraphABCD, Yang et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any, Literal

import numpy as np
import pandas as pd

from dgraph.arguments import AUTO, check_flag, check_integer, is_default, is_number
from dgraph.checkpoint.keeper import CheckpointPlan
from dgraph.cluster.scheduler import hearing_of_silence
from dgraph.devices.probe import CPU, INSTALL, KERNEL_PACKAGES, require_cuda
from dgraph.errors import OptionError
from dgraph.estimates.footprints import FOOTPRINTS, LARGEST_RANK
from dgraph.estimates.memory_check import check_build_memory
from dgraph.factors.factor_result import FactorResult
from dgraph.factors.feedback_fit import fit_of
from dgraph.factors.fit_checkpoints import FitCheckpoints, fit_checkpoints
from dgraph.factors.fit_options import Gradient, LeastSquares, StopLike, UpdateLike, stop_value, update_value
from dgraph.factors.fit_place import FitPlace
from dgraph.factors.gpu_updates import PieceQueue
from dgraph.factors.rating_fit import COUNTED, CPU_AND_CUDA, FitPlan
from dgraph.factors.rating_rows import RatingColumns, ratings_of
from dgraph.factors.rating_sides import orient_by_side
from dgraph.factors.rating_test import rating_test
from dgraph.factors.spread_fit import spread_fit
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DeviceLike, ProgressLike, device_value, engine_value
from dgraph.native.free_memory import refuse_beyond_memory
from dgraph.options import BlockDescent, Checkpoint, Cuda
from dgraph.phrases.phrases import format_count, warn
from dgraph.runs.execution import recoverable_result
from dgraph.runs.operation import operation
from dgraph.runs.progress import Progress
from dgraph.runs.resumption import forget
from dgraph.runs.run_options import RunOptions
from dgraph.runs.worker_results import WorkerResult

REMEDY = f'{INSTALL}; or use device="cpu"'  # if there is no GPU
FEWEST_COPIES = 3  # of all factors, which a fit has at the same time: the newest, the best, and the next best
Pieces = list[tuple[np.ndarray, ...]]  # by partition: the ends of ratings, their values, and perhaps marks


@operation
def factorize(
    graph: Graph,
    *,
    rank: int = 8,
    biases: bool = True,
    regularization: float | Literal["auto"] = "auto",
    epochs: int = 30,
    test: float | str | dict[str, Any] | pd.DataFrame = 0.1,
    update: UpdateLike = "least_squares",
    stop: StopLike = "held_out",
    random_seed: int = 0,
    engine: Literal["auto", "block_descent"] | BlockDescent = "auto",
    device: DeviceLike = "auto",
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
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
    test : float, str, frame or dict, default 0.1
        Ratings to hold out, from which nothing is learned: a fraction of all ratings, each drawn by itself from
        `random_seed` (0 for none), the name of an edge column that is true for them, or a frame of their users and
        items, in two columns, or in those that the graph's edges have for them.
    update : {"gradient", "least_squares"}, Gradient or LeastSquares, default "least_squares"
        Take a gradient step, or solve for each vertex with the factors of the others fixed.
    stop : {"held_out"}, HeldOut or None, default "held_out"
        Stop when the error on the held-out ratings has not fallen (or ``ndcg`` has not grown) for three epochs, after
        the first eight. With None, take all epochs.
    random_seed : int, default 0
        Seed of the random number generator. It determines the initial factors and which ratings are held out.
    engine : {"auto", "block_descent"} or BlockDescent, default "auto"
        All users are updated from the newest factors of the items, and then the items, in any order and on any number
        of threads. With ``dg.BlockDescent(mode="bsp")`` both are updated at once from the factors of the previous
        epoch, which is only for gradient steps. Other values of its options are refused, because they would have no
        effect.
    device : {"auto", "cpu", "cuda"} or Cuda, default "auto"
        ``"auto"`` is the CPU. With ``"cuda"`` (experimental), the GPU of each worker that has one takes users and items
        from the same queue as the threads of its CPU. The results are the same up to rounding, and the report says
        how many each device took.
    checkpoint : path, URL or Checkpoint, optional
        Where to save the factors after every tenth epoch, and where to go on from; see `dgraph.run`. Without a path,
        nothing is saved: after the loss of a worker, the fit begins again.
    progress : bool or callable, optional
        Whether to show progress, or a function that receives a dict of counts. Epochs count as supersteps. If one
        worker of a cluster fits all ratings, only its last epoch is shown.

    Returns
    -------
    FactorResult
        One row per vertex: ``vertex``, ``factors`` and, with `biases`, ``bias``, from the epoch with the least error on
        the held-out ratings (if there are none, from the one with the least error and penalty). Vertices without
        training ratings have only zeros. ``totals`` has the ``mean`` of the training ratings, this ``epoch`` (0 if
        biases alone are best), and its errors. The report has one row per epoch (after the one that it went on from)
        with ``rmse``, the root-mean-square
        error on the training ratings, and ``held_out``, the same error on the held-out ratings. With implicit feedback
        these are errors of products that should be 1; ``recall@20``, ``precision@20`` and ``ndcg`` tell how the
        held-out items of at most 1,000 users are ranked, and the epoch with the largest ``ndcg`` is kept.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, all ratings are held out, the factors overflow, or a vertex is
        both a user and an item.
    ColumnError
        If the graph has no weights, `test` is not a column of true and false, or a frame lacks the two columns.
    IdError
        If `test` names a vertex that the graph does not have, or a pair without a rating.
    WeightError
        If a rating is not finite, or beyond 1e100, or implicit feedback is not above 0.
    DeviceError
        If a GPU (experimental) is asked for and no worker has one, or the ratings do not fit in its memory.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    On a cluster, all workers fit the ratings together, each with its users and items. With least squares, the same seed
    gives the same factors on any number of threads, and up to rounding on any number of workers and partitions (with
    implicit feedback, another epoch may be kept if items are nearly equally good). In an undirected graph, the users
    are, of each connected component, the side of the smallest vertex. For gradient steps without a learning rate,
    factors are rotated before each epoch so that their components are uncorrelated, which does not change any inner
    product; for vertices with few ratings, the best step is found in a second pass over these ratings.

    Examples
    --------
    >>> G = dg.ratings(users=50, items=20, ratings=600, seed=1)
    >>> result = dg.factorize(G, rank=4)
    >>> result.compute()["factors"][0].shape
    (4,)
    >>> bool(result.totals["held_out"] < dg.factorize(G, rank=4, biases=False, epochs=1).totals["held_out"])
    True
    """
    cuda = _cuda(graph, device)
    descent = _descent(engine)
    check_integer("rank", rank, 1, LARGEST_RANK)
    check_integer("epochs", epochs, 1, 2**31 - 1)
    check_integer("random_seed", random_seed, 0, 2**63 - 1)
    check_flag("biases", biases)
    automatic = is_default(regularization, AUTO)
    is_real = is_number(regularization) and not isinstance(regularization, bool)
    if not automatic and not (is_real and 0 <= float(regularization) < np.inf):
        raise OptionError(f'regularization={regularization!r} must be a finite number >= 0, or "auto"')
    stronger = None if automatic else float(regularization)
    way, at_once = update_value(update), descent.mode == "bsp"
    if at_once and isinstance(way, LeastSquares):
        raise OptionError(
            f"engine={engine!r}: with least squares for all vertices at once, errors grow; leave it out, or use "
            'update="gradient"'
        )
    is_feedback = isinstance(way, LeastSquares) and way.implicit_alpha is not None
    stops = stop_value(stop)
    if graph.weight is None:
        raise graph.input_edges.edges.no_weight("factorize needs ratings, which are weights")
    held = rating_test(graph, test, random_seed)
    plan = FitPlan(rank, biases and not is_feedback, stronger, way, epochs, stops, held, at_once)
    options, again = RunOptions(checkpoint=checkpoint, progress=progress), RunOptions(progress=False)
    work = partial(_factorized, plan=plan, cuda=cuda)
    result: Any = recoverable_result(graph, partial(work, options=options), later=partial(work, options=again))
    result.options = RunOptions(engine=descent, device=cuda or CPU)
    if (
        isinstance(held.what, float)
        and held.what
        and isnan(result.totals["held_out"])
        and not isnan(result.totals["rmse"])
    ):
        warn(
            f"test={held.what:g} has held out none of so few ratings, so nothing tells how good the factors are; "
            "pass a larger share, or test=0"
        )
    return result


def _cuda(graph: Graph, device: DeviceLike) -> Cuda | None:
    """The option `device=` as the GPU of each worker; None for CPUs alone."""
    found = device_value(device)
    if not isinstance(found, Cuda):
        return None
    if found != Cuda(memory=found.memory):
        raise OptionError(
            f"device={device!r}: factorize copies all ratings to the GPU, and not blocks of them; leave out block="
        )
    graph.workers.capabilities.that_have(f"device={device!r}", KERNEL_PACKAGES, REMEDY)
    return found


def _descent(engine: Any) -> BlockDescent:
    """The option `engine=` as a value."""
    if is_default(engine, AUTO):
        return BlockDescent()
    descent = engine_value(engine) if not isinstance(engine, str) or engine == "block_descent" else None
    if not isinstance(descent, BlockDescent):
        raise OptionError(f"engine={engine!r}: factorize runs only with engine='block_descent'; leave it out")
    if descent not in (BlockDescent(), BlockDescent(mode="bsp")):
        raise OptionError(
            f"engine={engine!r}: factorize updates all users and then all items, and threads wait for each other in "
            'between; leave the engine out, or use dg.BlockDescent(mode="bsp") to update all at once'
        )
    return descent


def _factorized(graph: Graph, plan: FitPlan, cuda: Cuda | None, options: RunOptions) -> FactorResult:
    with closing(Progress.of(options.progress, "factorize")) as shown, hearing_of_silence(shown.silent):
        shown.prepare("building partitions")
        with graph.input_edges.stopwatch.told_to(shown.building if shown.active else None):
            result, checkpoints = _fitted(graph, plan, cuda, options.checkpoint, shown)
        if checkpoints is not None:
            forget(graph, checkpoints.store)
        shown.end(result.rounds)
    return result


def _fitted(
    graph: Graph, plan: FitPlan, cuda: Cuda | None, option: Checkpoint | None, shown: Progress
) -> tuple[FactorResult, CheckpointPlan | None]:
    workers = graph.workers
    _check_memory(graph, plan.rank)
    columns = tuple(one for one in (graph.weight, plan.test.column) if one is not None)
    device = CPU if cuda is None else CPU_AND_CUDA
    chosen = {"engine": "block_descent", "device": device, "rank": plan.rank, "biases": plan.biases, **_told(plan)}
    chosen |= {"random_seed": plan.test.random_seed}
    if workers.client is not None and graph.num_parts > 1:
        outcome, checkpoints = spread_fit(graph, plan, columns, option, cuda, shown)
        twice = {"repartitioned": "every rating at both of its ends"} if graph.directed else {}
        chosen |= {"exchange": outcome.exchange, "mail route": outcome.mail_route, **twice}
        return FactorResult(graph, outcome.results, [], chosen, summaries=outcome.summaries), checkpoints
    partitions = graph.partitioned(("out",), columns).held
    pieces = workers.bring(workers.each(ratings_of, [(one, columns, graph.directed) for one in partitions]))
    checkpoints = fit_checkpoints(graph, plan, columns, partitions, option)
    tell = None
    if workers.client is not None:
        shown.prepare("one worker fits the factors; its epochs are not shown")
    elif shown.active:
        tell = shown.after_counts
    job = FactorJob(graph.num_vertices, graph.directed, plan, workers.threads, checkpoints, cuda, tell)
    result = FactorResult(graph, workers.wait(workers.each(job, [(pieces,)])), [], chosen)
    if workers.client is not None:
        shown.after_counts([{"round": result.rounds, **{name: int(result.report[name].sum()) for name in COUNTED}}])
    return result, checkpoints


def _check_memory(graph: Graph, rank: int) -> None:
    """Refuse vectors that are too long for the memory there is, which depends on how many vertices have one."""
    factors = f"factors of {format_count(graph.num_vertices, 'vertex')}"
    if graph.client is None:
        need, remedy = FEWEST_COPIES * 8 * rank * graph.num_vertices, "use a smaller rank, or more memory"
        refuse_beyond_memory(f"rank={rank}: the {factors}", need, remedy=remedy)
    else:
        remedy = f'or use a smaller rank; G.estimate("factorize", rank={rank}) shows what each policy needs'
        what = f"rank={rank}: fitting the {factors}"
        check_build_memory(graph, what, FOOTPRINTS["factorize"].of_rank(rank), remedy=remedy)


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
    checkpoints: CheckpointPlan | None
    cuda: Cuda | None
    tell: Callable[[list[dict[str, int]]], None] | None

    def __call__(self, pieces: Pieces) -> WorkerResult:
        fit = fit_of(self.plan)(self.plan, [self.place(pieces)], self.threads)
        if self.cuda is not None:
            require_cuda(remedy=REMEDY)  # other workers of the cluster may have a GPU, but not this one
        fit.queue = PieceQueue.of(self.cuda)
        if self.checkpoints is not None:
            fit.checkpoints = FitCheckpoints(self.checkpoints)
        tell = self.tell
        return (fit.alone() if tell is None else fit.alone(lambda counts: tell([counts]))).result()

    def place(self, pieces: Pieces) -> FitPlace:
        u, v, values, *marks = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        if not self.directed:
            u, v = orient_by_side(u, v, self.vertices)
        columns, marked = [RatingColumns(u, v, values.astype(np.float64))], marks[0] if marks else None
        del u, v, values, marks, pieces
        numbers = np.arange(self.vertices, dtype=np.uint32 if self.vertices < 2**32 else np.int64)
        test, is_feedback = self.plan.test, self.plan.is_feedback
        # not by **, which would keep the columns until the call returns
        return FitPlace.of(numbers, self.vertices, columns.pop(), marked, test, is_feedback=is_feedback)
