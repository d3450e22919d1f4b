"""Katz centrality (Katz, 1953)."""

from __future__ import annotations

import math

from numpy import float64, int64

from dgraph.arguments import check_flag, check_limits, is_number
from dgraph.building.weights import bounds, check_weights
from dgraph.errors import OptionError, WeightError
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.ops.eigenvector import most_growth
from dgraph.programs.monoid import MAX, SUM
from dgraph.programs.program import Delta, Global, Parameter, Result, State, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.plan import WITHOUT_COMMON_ROUNDS, refuse_without_common_rounds, sends_changes
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.ranks.pagerank import katz as solve
from dgraph.solvers.solver import Solver

BOUND_ROUNDS = 10  # of the power iteration that bounds the largest eigenvalue
SHARE = 0.9  # of the largest alpha for which scores certainly converge
WITHOUT_EDGES = 0.1  # where any alpha will do


class Walks:
    """The parameters that the programs with and without rounds share."""

    alpha = Parameter(float64)
    beta = Parameter(float64, 1.0)
    normalized = Parameter(bool, True)
    tol = Parameter(float64, 1e-6)
    max_iter = Parameter(int64, 1000)

    @Global(int64, MAX)
    def largest(degree):
        return degree


class Katz(Walks, VertexProgram):
    """Sum over all walks that end at a vertex; a walk of k edges counts beta * alpha**k."""

    operation = "katz"
    kind = "synchronous"
    score = State(float64)
    merge = SUM
    solver = Solver(solve, orders=("incoming",), reads_per_edge=8)

    def send(score):
        return score

    def apply(message, alpha, beta):
        return beta + alpha * message

    @Global(float64, SUM)
    def change(score, score_before):
        return abs(score - score_before)

    @Global(float64, SUM)
    def squares(score):
        return score * score

    def stop(change, tol, round, max_iter, vertices):
        return change < tol * vertices or round >= max_iter or not change <= math.inf

    @Result(float64)
    def katz(score, squares, normalized):
        return score / math.sqrt(squares) if normalized and squares > 0 else score


class WeightedKatz(Katz):
    """The same, with each edge counted in proportion to its weight."""

    def send(score, weight):
        return score * weight


class Gains(Walks, VertexProgram):
    """The same without rounds: a vertex sends what it has gained since it last sent, once that would change its
    neighbours by more than `tol` in total. If scores grow without bound, it stops after sending `max_iter` times and
    counts as `unsettled`."""

    operation = "katz"
    score = State(float64)
    held = State(float64)  # gained, and not sent yet
    times = State(int64)
    gain = Delta(float64)
    merge = SUM

    def seed(beta):
        return beta

    def send(gain, alpha):
        return alpha * gain

    def apply(score, held, times, message, alpha, degree, tol, max_iter):
        gained = held + message
        if alpha * degree * gained > tol and times < max_iter:
            return score + gained, 0.0, times + 1, gained
        return score, gained, times, 0.0

    @Global(float64, SUM)
    def squares(score, held):
        return (score + held) * (score + held)

    @Global(int64, SUM)
    def unsettled(held, alpha, degree, tol):
        return 1 if not alpha * degree * held <= tol else 0

    @Result(float64)
    def katz(score, held, squares, normalized):
        return (score + held) / math.sqrt(squares) if normalized and squares > 0 else score + held


@operation
def katz(
    graph: Graph,
    *,
    alpha: float | None = None,
    beta: float = 1.0,
    normalized: bool = True,
    max_iter: int = 1000,
    tol: float | None = 1e-6,
    weighted: bool = False,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Katz centrality: beta plus alpha times the sum of the scores of a vertex's in-neighbours.

    Parameters
    ----------
    graph : Graph
        The graph to rank.
    alpha : float, optional
        Damping factor: each step along an edge multiplies a score by it. It must be less than 1 / the largest
        eigenvalue of the adjacency matrix. By default nine tenths of 1 / a bound on that eigenvalue, which a few rounds
        of power iteration find; the result's ``totals["alpha"]`` tells the value.
    beta : float, default 1.0
        Score that every vertex starts with.
    normalized : bool, default True
        Divide the scores by the square root of the sum of their squares.
    max_iter : int, default 1000
        Maximum number of iterations. If the scores have not converged by then, an error is raised.
    tol : float, default 1e-6
        Convergence tolerance: stop when the scores change by less than this per vertex on average. With ``tol=0`` or
        None, run exactly `max_iter` iterations.
    weighted : bool, default False
        Use the graph's weights: each edge counts in proportion to its weight. Weights must be finite and non-negative.
    engine : str, Gas, Bsp, BulkAsync or BlockDescent, default "auto"
        The order in which vertices fire; see `dgraph.run`.
    device : {"auto", "cpu", "cuda"} or Cuda, default "auto"
        Where kernels run; see `dgraph.run`. GPUs are experimental.
    daemons : str, list, mapping or Daemons, optional
        Devices or processes that compute in place of the worker; see `dgraph.Daemons`.
    checkpoint : path, URL or Checkpoint, optional
        Where to save the run, and where to resume it from; see `dgraph.run`.
    progress : bool or callable, optional
        Whether to show progress, or a function that receives a dict of counts.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``katz``.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, the engine cannot run this operation, or the scores do not
        converge (choose a smaller `alpha`).
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or not finite, or the scores are too large to be normalized.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 0, 1], "dst": [1, 2, 2]})
    >>> dg.katz(G, alpha=0.1).compute().round(3)
       vertex   katz
    0       0  0.522
    1       1  0.574
    2       2  0.631
    """
    for name, value in (("alpha", 0.0 if alpha is None else alpha), ("beta", beta)):
        if not (is_number(value) and value >= 0 and value < math.inf):
            raise OptionError(f"{name}={value!r} must be a finite number >= 0")
    check_limits(max_iter, tol)
    weighted, normalized = check_flag("weighted", weighted), check_flag("normalized", normalized)
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    name, blocks = options.engine_name, options.block_descent
    freely = sends_changes(graph, options) and not (weighted and blocks and blocks.operator != "push")
    if (freely and weighted) or (name in WITHOUT_COMMON_ROUNDS and not tol):
        why = f"tol={tol!r} runs a fixed number of rounds" if not tol else "weighted=True needs rounds"
        if tol and blocks:
            why = 'operator="push" works only for unweighted scores: leave it out'
        refuse_without_common_rounds(name, why)
    if weighted:
        check_weights(graph, "katz", ("incoming",))
    if alpha is None:
        bound = most_growth(graph, BOUND_ROUNDS, options, weighted=weighted)
        alpha = float(f"{SHARE / bound:.6g}") if bound > 0 else WITHOUT_EDGES  # the same on any partitions
    values = {"alpha": alpha, "beta": beta, "normalized": normalized, "max_iter": max_iter, "tol": tol or 0.0}
    program = WeightedKatz if weighted else Gains if freely else Katz
    result = execute(graph, program(**values), options)
    result.totals["alpha"] = alpha
    largest, named = result.totals["largest"], "the largest degree"
    if weighted:
        largest, named = largest * bounds(graph)[1], "the largest degree times the largest weight"
    if freely:
        settled = not result.totals["unsettled"]
    else:
        change, limit = result.totals["change"], (tol or 0.0) * graph.num_vertices
        settled = change < limit if limit else change < math.inf
    if not settled and options.rounds.max_rounds is None:
        raise OptionError(
            f"alpha={alpha!r}: Katz centrality did not converge in {result.rounds} rounds. It converges if alpha is "
            f"less than 1 / the largest eigenvalue of the adjacency matrix. Any alpha below 1 / {named} "
            f"({1 / (largest or 1):.3g} here) is small enough. Choose a smaller alpha=, or a larger max_iter= or tol="
        )
    squares = result.totals["squares"]
    if normalized and not squares < math.inf:
        wrong = f"alpha={alpha!r} and beta={beta!r}"
        if weighted:
            wrong += f" with weights of up to {bounds(graph)[1]:g} in column {graph.weight!r}"
        raise (WeightError if weighted else OptionError)(
            f"{wrong}: the squares of the scores add up to {squares}, so scores cannot be normalized; choose smaller "
            "values, or normalized=False"
        )
    return result
