"""Eigenvector centrality (Bonacich, 1972), by power iteration on A + g I, where g is by how much A made the scores grow
in the last round. The eigenvectors are those of A, but iteration converges also where A has two eigenvalues of the same
size, as in bipartite graphs, and whatever the unit of the weights.
"""

from __future__ import annotations

import math
from typing import Literal

from numpy import float64, int64

from dgraph.arguments import check_choice, check_flag, check_limits
from dgraph.building.weights import bounds, check_weights
from dgraph.errors import WeightError
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import MAX, SUM
from dgraph.programs.program import Global, Parameter, Result, State, VertexProgram
from dgraph.runs.early_end_warnings import warn_unsettled
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions


class FromInNeighbours(VertexProgram):
    """Each round adds to the scores, of norm 1, g times themselves and the sums of the in-neighbours, whose norm is the
    next g. Once the scores are an eigenvector, both parts are the same."""

    operation = "eigenvector"
    kind = "synchronous"
    score = State(float64)
    pulled = State(float64)  # the sum of the in-neighbours
    tol = Parameter(float64, 1e-6)
    max_iter = Parameter(int64, 100)
    merge = SUM

    def start(vertices):
        return 1 / math.sqrt(vertices), 0.0

    def send(score):
        return score

    def apply(score, message, squares, growth):
        norm = math.sqrt(squares)
        shift = math.sqrt(growth) if growth > 0 else 1.0
        return (message + shift * score) / norm, message / norm

    @Global(float64, SUM)
    def squares(score):
        return score * score

    @Global(float64, SUM)
    def growth(pulled):
        return pulled * pulled

    @Global(float64, SUM)
    def change(score, score_before, pulled, squares, growth):
        if growth > 0:
            return abs(score / (2 * math.sqrt(growth)) - score_before / math.sqrt(squares))
        return math.inf if pulled > 0 else 0.0

    def stop(change, tol, round, max_iter, vertices, squares, growth):
        return change < tol * vertices or round >= max_iter or not squares < math.inf or not growth < math.inf

    @Result(float64)
    def eigenvector(score, squares):
        return score / math.sqrt(squares)


class FromOutNeighbours(FromInNeighbours):
    along = "in"


class WeightedFromInNeighbours(FromInNeighbours):
    """The same, with each edge counted in proportion to its weight."""

    def send(score, weight):
        return score * weight


class WeightedFromOutNeighbours(WeightedFromInNeighbours):
    along = "in"


class LargestGrowth(FromInNeighbours):
    """The same for a few rounds, with the factor by which A makes the score of some vertex grow most. No eigenvalue of
    A is larger (Collatz, 1942)."""

    @Global(float64, MAX)
    def largest(pulled, score_before, squares):
        return pulled * math.sqrt(squares) / score_before if score_before > 0 else 0.0


class WeightedLargestGrowth(LargestGrowth, WeightedFromInNeighbours):
    pass


PROGRAMS = {  # by direction and whether edges count by weight
    ("in", False): FromInNeighbours,
    ("out", False): FromOutNeighbours,
    ("in", True): WeightedFromInNeighbours,
    ("out", True): WeightedFromOutNeighbours,
}


def most_growth(graph: Graph, rounds: int, options: RunOptions, *, weighted: bool) -> float:
    """A bound on the largest eigenvalue of the adjacency matrix, from some rounds of power iteration."""
    program = WeightedLargestGrowth if weighted else LargestGrowth
    return execute(graph, program(max_iter=rounds, tol=0.0), options.afterwards()).totals.get("largest", 0.0)


@operation
def eigenvector(
    graph: Graph,
    *,
    direction: Literal["in", "out"] = "in",
    max_iter: int = 100,
    tol: float | None = 1e-6,
    weighted: bool = False,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Eigenvector centrality: a vertex's score is proportional to the sum of the scores of its in-neighbours.

    The scores are an eigenvector of the adjacency matrix for its largest eigenvalue. If a graph is not strongly
    connected, there may be several such eigenvectors, and scores outside of some parts are 0, or tend to 0 slowly;
    PageRank and Katz centrality rank such graphs better.

    Parameters
    ----------
    graph : Graph
        The graph to rank.
    direction : {"in", "out"}, default "in"
        Which neighbours a vertex gets its score from. In an undirected graph both are the same.
    max_iter : int, default 100
        Maximum number of iterations. If the scores have not converged by then, a warning is issued.
    tol : float, default 1e-6
        Convergence tolerance: stop when scores, whose squares sum to 1, change by less than this per vertex on average.
        With ``tol=0`` or None, run exactly `max_iter` iterations.
    weighted : bool, default False
        Use the graph's weights: each edge counts in proportion to its weight. Weights must be finite and non-negative.
    engine : str, Gas or Bsp, default "auto"
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
        One row per vertex: ``vertex``, ``eigenvector``. The result's ``totals["eigenvalue"]`` is the eigenvalue of the
        adjacency matrix, and ``totals["change"]`` by how much the last round changed the scores.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or not finite, or the scores are too large.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 0, 0, 1], "dst": [1, 2, 3, 2]}, directed=False)
    >>> result = dg.eigenvector(G, tol=1e-9)
    >>> result.compute().round(3)
       vertex  eigenvector
    0       0        0.612
    1       1        0.523
    2       2        0.523
    3       3        0.282
    >>> round(result.totals["eigenvalue"], 3)
    2.17
    """
    check_choice("direction", direction, ("in", "out"))
    check_limits(max_iter, tol)
    weighted = check_flag("weighted", weighted)
    if weighted:
        check_weights(graph, "eigenvector", ("incoming" if direction == "in" else "out",))
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    result = execute(graph, PROGRAMS[direction, weighted](max_iter=max_iter, tol=tol or 0.0), options)
    totals = {name: result.totals.get(name, 0.0) for name in ("change", "growth", "squares")}
    if not totals["growth"] + totals["squares"] < math.inf:
        raise WeightError(
            f"column {graph.weight!r} holds weights of up to {bounds(graph)[1]:g}, so the squares of the scores add up "
            "to more than a float can hold: divide all weights by the largest, which does not change the result"
        )
    result.totals = {"change": totals["change"], "eigenvalue": math.sqrt(totals["growth"])}
    warn_unsettled(result, max_iter, totals["change"], (tol or 0.0) * graph.num_vertices, max_iter, tol)
    return result
