"""PageRank (Brin and Page, 1998): programs by power iteration, in rounds and in blocks, and the function that users
call, which chooses among them and the search by residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy import float64, inf, int64

from dgraph.arguments import change_within, check_flag, check_limits, is_number, values_by_vertex
from dgraph.engines.descent.over_relaxation import RelaxationFactor
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.ops import residuals
from dgraph.ops.strength import strength_of
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Global, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.runs.continuation import go_on, refuse_with
from dgraph.runs.early_end_warnings import warn_unsettled
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.plan import DESCENT, WITHOUT_COMMON_ROUNDS, refuse_without_common_rounds, sends_changes
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.ranks.pagerank import page_rank
from dgraph.solvers.ranks.rank_vectors import rank_vectors
from dgraph.solvers.solver import Solver


class PageRank(VertexProgram):
    """A random surfer follows an edge with probability `alpha`, and otherwise jumps. From a vertex without out-edges,
    the surfer always jumps, or is lost if `kept` is 0.

    A jump leads to a vertex with the probability in the column `restart`, or `spread` if the surfer's vertex has no
    out-edges. If `restarts_evenly` or `spreads_evenly` is 1, there is no such column, and all vertices are equally
    likely.
    """

    operation = "pagerank"
    kind = "synchronous"
    rank = State(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    kept = Parameter(float64, 1.0)
    tol = Parameter(float64, 1e-6)  # stop after a round that changes all ranks together by less than this
    max_iter = Parameter(int64, 100)
    restart = VertexColumn(float64, missing=0)
    spread = VertexColumn(float64, missing=0)
    restarts_evenly = Parameter(float64, 1.0)
    spreads_evenly = Parameter(float64, 1.0)
    solver = Solver(page_rank, orders=("incoming",), reads_per_edge=8)

    def start(vertices, restart, restarts_evenly):
        return restart + restarts_evenly / vertices

    def send(rank, degree):
        return rank / degree

    def apply(message, dangling, alpha, kept, vertices, restart, spread, restarts_evenly, spreads_evenly):
        jumps = (1 - alpha) * (restart + restarts_evenly / vertices)
        return jumps + alpha * kept * dangling * (spread + spreads_evenly / vertices) + alpha * message

    @Global(float64, SUM)
    def dangling(rank, degree):
        return rank if degree == 0 else 0.0

    @Global(float64, SUM)
    def change(rank, rank_before):
        return abs(rank - rank_before)

    def stop(change, tol, round, max_iter):
        return change < tol or round >= max_iter

    @Result(float64)
    def pagerank(rank):
        return rank


class WeightedPageRank(PageRank):
    """The surfer follows edges in proportion to their weights; `strength` is the sum of a vertex's out-weights."""

    strength = VertexColumn(float64)

    def send(rank, strength, weight):
        return rank * (weight / strength) if strength > 0 else 0.0

    @Global(float64, SUM)
    def dangling(rank, strength):
        return rank if strength == 0 else 0.0


class PageRankGoingOn(PageRank):
    """PageRank from earlier ranks, in several partitions."""

    earlier = VertexColumn(float64)
    solver = None  # type: ignore[assignment]

    def start(earlier):
        return earlier


class WeightedPageRankGoingOn(PageRankGoingOn, WeightedPageRank):
    """The same, with edges followed in proportion to their weights."""

    solver = None  # type: ignore[assignment]


GOING_ON = {False: PageRankGoingOn, True: WeightedPageRankGoingOn}
IN_ROUNDS = {False: PageRank, True: WeightedPageRank}  # keyed by `weighted`


class PageRanks(PageRank):
    """Several personalizations at once. Each rank vector stops changing once it has converged, so that it does not
    depend on the others."""

    several = Parameter(int64)
    rank = State(float64, shape="several")
    restart = VertexColumn(float64, shape="several")
    spread = VertexColumn(float64, shape="several")
    solver = Solver(rank_vectors, orders=("incoming",), reads_per_edge=512)

    def start(restart):
        return restart

    def apply(rank, message, dangling, alpha, kept, restart, spread, change, tol, round):
        if round > 1 and change < tol:
            return rank
        return (1 - alpha) * restart + alpha * kept * dangling * spread + alpha * message

    @Global(float64, SUM, shape="several")
    def dangling(rank, degree):
        return rank if degree == 0 else 0.0

    @Global(float64, SUM, shape="several")
    def change(rank, rank_before):
        return abs(rank - rank_before)


class WeightedPageRanks(PageRanks, WeightedPageRank):
    """The same, with edges followed in proportion to their weights."""

    @Global(float64, SUM, shape="several")
    def dangling(rank, strength):
        return rank if strength == 0 else 0.0


VECTOR_PROGRAMS = {False: PageRanks, True: WeightedPageRanks}


class ScaledPageRank(PageRank):
    """PageRank for block descent, where the newest ranks sum to `mass` instead of 1.

    Jumps get a share of `mass`, and in the end all ranks are divided by it. So an error that scales all ranks by one
    factor, which would fade slowly, does not matter.
    """

    relaxation = RelaxationFactor(float64, 1.0)

    def apply(
        rank,
        message,
        mass,
        dangling,
        alpha,
        kept,
        vertices,
        restart,
        spread,
        restarts_evenly,
        spreads_evenly,
        relaxation,
    ):
        jumps = (1 - alpha) * (mass if kept > 0 else 1.0) * (restart + restarts_evenly / vertices)
        jumps = jumps + alpha * kept * dangling * (spread + spreads_evenly / vertices)
        return rank + relaxation * (jumps + alpha * message - rank)

    @Global(float64, SUM)
    def mass(rank):
        return rank

    def stop(change, mass, tol, round, max_iter):
        return change < tol * mass or round >= max_iter

    @Result(float64)
    def pagerank(rank, mass, kept):
        return rank / mass if kept > 0 else rank


class WeightedScaledPageRank(ScaledPageRank, WeightedPageRank):
    """The same, with edges followed in proportion to their weights."""


BLOCK_PROGRAMS = {False: ScaledPageRank, True: WeightedScaledPageRank}


@operation
def pagerank(
    graph: Graph,
    *,
    alpha: float = 0.85,
    max_iter: int = 100,
    tol: float | None = 1e-6,
    personalization: Mapping[Any, float] | Sequence[Any] | Any | None = None,
    weighted: bool = False,
    dangling: str | Mapping[Any, float] | Any | None = None,
    dtype: str = "float64",
    previous: RunResult | None = None,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """PageRank of every vertex: how often a random surfer visits it.

    The surfer follows edges, and sometimes jumps to a random vertex instead.

    Parameters
    ----------
    graph : Graph
        The graph to rank.
    alpha : float, default 0.85
        Damping factor: the probability of following an edge rather than jumping to a random vertex.
    max_iter : int, default 100
        Maximum number of iterations. If the ranks have not converged by then, a warning is issued.
    tol : float, default 1e-6
        Convergence tolerance: stop when the ranks are within this L1 distance of the fixed point, as estimated from how
        much they still change (see docs/semantics.md). With ``tol=0`` or None, run exactly `max_iter` iterations.
    personalization : mapping, Series, DataFrame or list of these, optional
        Where the surfer jumps to: ``{vertex: weight}``, a Series of weights by vertex, or a frame of vertices and
        weights; uniform by default. A list computes one rank vector per entry, in a single run (in one run per entry
        with the engines ``"bulk_async"`` and ``"block_descent"``).
    weighted : bool, default False
        Use the graph's weights: the surfer follows edges in proportion to them. Weights must be finite and
        non-negative.
    dangling : {"uniform", "personalization", "none"}, mapping, Series or DataFrame, optional
        Where the surfer goes from a vertex without out-edges: to any vertex, where `personalization` says, nowhere
        (ranks then sum to less than 1), or in proportion to the given weights. By default, the same as for any other
        jump.
    dtype : {"float64", "float32"}, default "float64"
        Type of the ranks; 32 bits take half the memory and are faster.
    previous : RunResult, optional
        An earlier result of ``pagerank`` for a graph that `Graph.updated` has made this one from, with the same
        `alpha`, `personalization`, `weighted` and `dangling`. The run starts from its ranks, mostly takes far fewer
        iterations, and ends as near to the fixed point, if what changed is known. The report says so, or why the whole
        was computed.
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
        One row per vertex: ``vertex``, ``pagerank``. Ranks sum to 1. With a list of personalizations, ``pagerank``
        holds one vector per vertex.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, the engine cannot run this operation, or `previous` is a result of
        another operation, for another graph, or with other parameters.
    IdError
        If `personalization` or `dangling` names a vertex that is not in the graph.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or not finite.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["ann", "ann", "bob", "eve"], "dst": ["bob", "cat", "cat", "ann"]})
    >>> dg.pagerank(G).compute().round(3)
      vertex  pagerank
    0    ann     0.233
    1    bob     0.225
    2    cat     0.416
    3    eve     0.126

    >>> dg.pagerank(G, personalization={"eve": 1}).compute().round(3)
      vertex  pagerank
    0    ann     0.295
    1    bob     0.125
    2    cat     0.232
    3    eve     0.347
    """
    if not (is_number(alpha) and 0 <= alpha <= 1):
        raise OptionError(f"alpha={alpha!r} must be a number from 0 to 1")
    check_limits(max_iter, tol)
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    if not isinstance(dtype, str | np.dtype) or dtype not in ("float64", "float32"):
        raise OptionError(f'dtype={dtype!r} is not known; choose "float64" or "float32"')
    weighted, several = check_flag("weighted", weighted), isinstance(personalization, list | tuple)
    jumps = [_jumps(one, dangling) for one in (personalization if several else [personalization])]  # type: ignore[union-attr]
    if not jumps:
        raise OptionError("personalization=[] is empty: give at least one {vertex: weight}")
    values = {"alpha": alpha, "kept": 0.0 if isinstance(dangling, str) and dangling == "none" else 1.0}
    limits = {"tol": change_within(tol or 0.0, alpha), "max_iter": max_iter}
    name = options.engine_name
    by_block = name == DESCENT
    freely = sends_changes(graph, options) and not (by_block and graph.num_parts == 1)
    if name in WITHOUT_COMMON_ROUNDS and (what := _why_endless(tol, alpha, dtype if freely else None)):
        refuse_without_common_rounds(name, f"it ends when the ranks are within tol of the fixed point, but {what}")
    done, why = None, ""
    asked = {"alpha": alpha, "weighted": weighted, "personalization": jumps[0].get("restart")}
    asked |= {"dangling": values["kept"] and jumps[0].get("spread"), "weight": graph.weight if weighted else None}
    if several:
        refuse_with("personalization", list(personalization), previous)  # type: ignore[arg-type]
    elif previous is not None:
        program = _in_single_precision(IN_ROUNDS[weighted]) if dtype == "float32" else IN_ROUNDS[weighted]
        columns = {name: _by_number(graph, shares) for name, shares in jumps[0].items()}
        call = OperationCall.of(graph, "pagerank", asked)

        def run_from(known: np.ndarray) -> RunResult:
            program: Any = _in_single_precision(GOING_ON[weighted]) if dtype == "float32" else GOING_ON[weighted]
            evenly = {f"{name}s_evenly": float(name not in jumps[0]) for name in ("restart", "spread")}
            read = jumps[0] | {"earlier": known} | ({"strength": strength_of(graph, options)} if weighted else {})
            return execute(graph, program(**values, **limits, **evenly), options, read)

        done, why = go_on(graph, call, previous, program(**values, **limits), options, columns, run_from)
    shared = {"strength": strength_of(graph, options)} if weighted and done is None else {}
    if done is not None:
        result = done
    elif several and name not in WITHOUT_COMMON_ROUNDS:
        program = _in_single_precision(VECTOR_PROGRAMS[weighted]) if dtype == "float32" else VECTOR_PROGRAMS[weighted]
        columns = _together(graph, jumps) | shared
        result = execute(graph, program(**values, **limits, several=len(jumps)), options, columns)
    else:
        results = []
        programs: Any = residuals.BY_RESIDUALS if freely else BLOCK_PROGRAMS if by_block else IN_ROUNDS
        program = _in_single_precision(programs[weighted]) if dtype == "float32" else programs[weighted]
        for part, columns in enumerate(jumps):
            evenly = {f"{name}s_evenly": float(name not in columns) for name in ("restart", "spread")}
            one_run = options.for_part(part) if several else options
            if freely:
                result = residuals.ranks(graph, program, columns | shared, tol or 0.0, one_run, **values, **evenly)
            else:
                result = execute(graph, program(**values, **limits, **evenly), one_run, columns | shared)
            results.append(result)
        longest = max(results, key=lambda result: result.rounds)
        result = results[0].map(_side_by_side, *results[1:]).after(longest) if several else longest
    if not freely:
        limit = limits["tol"] * result.totals.get("mass", 1.0)
        warn_unsettled(result, max_iter, result.totals["change"], limit, max_iter, tol)
    if several or done is not None:
        return result
    return OperationCall.of(graph, "pagerank", asked).answered_by(result, why)


def _why_endless(tol: float | None, alpha: float, dtype: str | None) -> str:
    """Why ranks never reach `tol`, or why this type is too imprecise to show that they do; "" if they reach it."""
    if not tol:
        return f"tol={tol!r} runs a fixed number of rounds"
    if alpha == 1:
        return "with alpha=1 the ranks may never converge"
    if dtype and tol < np.finfo(dtype).eps:
        return f"tol={tol!r} is below the precision of {dtype}: give at least {np.finfo(dtype).eps:.1e}"
    return ""


def _jumps(personalization: Any, dangling: Any) -> dict[str, Any]:
    """The vertex columns `restart` and `spread`. Without a column, all vertices are equally likely."""
    columns = {} if personalization is None else {"restart": _shares("personalization", personalization)}
    if isinstance(dangling, str) and dangling not in ("uniform", "personalization", "none"):
        wanted = '"uniform", "personalization", "none", or {vertex: weight}'
        raise OptionError(f"dangling={dangling!r} is not known; choose one of {wanted}")
    if isinstance(dangling, str) and dangling == "personalization" and not columns:
        raise OptionError('dangling="personalization" needs personalization={vertex: weight}')
    if dangling is None or (isinstance(dangling, str) and dangling != "uniform"):
        return {name: columns["restart"] for name in ("restart", "spread") if columns}
    return columns if isinstance(dangling, str) else {**columns, "spread": _shares("dangling", dangling)}


def _together(graph: Graph, jumps: list[dict[str, Any]]) -> dict[str, Any]:
    """The vertex columns of several personalizations, as columns of vectors."""
    together = {name: np.zeros((graph.num_vertices, len(jumps))) for name in ("restart", "spread")}
    for name, vectors in together.items():
        for one, column in zip(jumps, vectors.T, strict=True):
            column[:] = _by_number(graph, one[name]) if name in one else 1 / max(graph.num_vertices, 1)
    return together


def _by_number(graph: Graph, shares: dict[Any, float]) -> np.ndarray:
    """The share of each vertex; 0 for those that are not named."""
    column = np.zeros(graph.num_vertices)
    column[[graph.numbering.find(vertex) for vertex in shares]] = list(shares.values())
    return column


def _shares(name: str, given: Any) -> dict[Any, float]:
    """Weights of vertices, scaled to sum to 1."""
    if (weights := values_by_vertex(name, given)) is None:
        raise OptionError(f"{name}={short(given)} must be {{vertex: weight}}, a Series or a frame")
    for vertex, weight in weights.items():
        if not is_number(weight):
            raise OptionError(f"{name}={short(weights)}: the weight of {vertex!r} is {weight!r}, not a number")
    largest = max(weights.values(), default=0)
    if not (largest > 0 and all(0 <= weight < inf for weight in weights.values())):
        raise OptionError(f"{name}={short(weights)}: weights must be finite and non-negative, and one > 0")
    shares = {vertex: weight / largest for vertex, weight in weights.items()}  # scaled so that their sum is finite
    total = sum(shares.values())
    return {vertex: share / total for vertex, share in shares.items()}


@cache
def _in_single_precision(program: Any) -> Any:
    """The same program with ranks and messages of 32 bits."""
    members: dict[str, Any] = {
        name: type(field)(np.float32, shape=field.shape)  # type: ignore[arg-type]
        for name, field in program.fields.items()
        if isinstance(field, State)
    }
    members["pagerank"] = Result(np.float32)(program.fields["pagerank"].function)
    if program.solver is not None:
        members["solver"] = replace(program.solver, solve=partial(program.solver.solve, dtype=np.float32))
    return type(f"{program.__name__}32", (program,), members)


def _side_by_side(numbers: np.ndarray, *values: dict[str, np.ndarray]) -> Any:
    """The columns `pagerank` of several results, combined into vectors."""
    return numbers, {"pagerank": np.stack([one["pagerank"] for one in values], axis=1)}
