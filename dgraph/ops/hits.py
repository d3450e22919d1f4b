"""Hubs and authorities (Kleinberg, 1999)."""

from __future__ import annotations

import math

from numpy import float64, int64

from dgraph.arguments import check_flag, check_limits
from dgraph.building.weights import bounds, check_weights
from dgraph.errors import WeightError
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Global, Message, Parameter, Phase, Result, State, VertexProgram
from dgraph.runs.early_end_warnings import warn_unsettled
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.ranks.hits import hubs_and_authorities
from dgraph.solvers.solver import Solver


class HubsAndAuthorities(VertexProgram):
    """Hub and authority scores in turn. Each phase divides by the sum of the scores it reads, to keep them bounded."""

    operation = "hits"
    kind = "synchronous"
    hub_score = State(float64, start=1)
    authority_score = State(float64)
    tol = Parameter(float64, 1e-8)
    max_iter = Parameter(int64, 100)
    solver = Solver(hubs_and_authorities, orders=("incoming", "out"), reads_per_edge=8)

    class Authorities(Phase):
        message = Message(float64, SUM)

        def send(hub_score):
            return hub_score

        def apply(hub_score, message, hubs):
            return hub_score, (message / hubs if hubs > 0 else 0.0)

    class Hubs(Phase):
        along = "in"
        message = Message(float64, SUM)

        def send(authority_score):
            return authority_score

        def apply(authority_score, message, authorities):
            return (message / authorities if authorities > 0 else 0.0), authority_score

    @Global(float64, SUM)
    def hubs(hub_score):
        return hub_score

    @Global(float64, SUM)
    def authorities(authority_score):
        return authority_score

    @Global(float64, SUM)
    def change(hub_score, hub_score_before):
        return abs(hub_score - hub_score_before)

    def stop(change, hubs, tol, round, max_iter):
        return change < tol * hubs or round >= 2 * max_iter or not hubs > 0 or not hubs < math.inf

    @Result(float64)
    def hub(hub_score, hubs):
        return hub_score / hubs if hubs > 0 else 0.0

    @Result(float64)
    def authority(authority_score, authorities):
        return authority_score / authorities if authorities > 0 else 0.0


class WeightedHubsAndAuthorities(HubsAndAuthorities):
    """The same, with each edge counted in proportion to its weight."""

    class Authorities(HubsAndAuthorities.Authorities):
        message = Message(float64, SUM)

        def send(hub_score, weight):
            return hub_score * weight

        apply = HubsAndAuthorities.Authorities.apply

    class Hubs(HubsAndAuthorities.Hubs):
        message = Message(float64, SUM)

        def send(authority_score, weight):
            return authority_score * weight

        apply = HubsAndAuthorities.Hubs.apply


@operation
def hits(
    graph: Graph,
    *,
    max_iter: int = 100,
    tol: float | None = 1e-8,
    weighted: bool = False,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Hubs and authorities (HITS): a hub score and an authority score of every vertex.

    A vertex's hub score is proportional to the sum of the authority scores of the vertices its out-edges point to; its
    authority score is proportional to the sum of the hub scores of the vertices its in-edges come from.

    Parameters
    ----------
    graph : Graph
        The graph to rank.
    max_iter : int, default 100
        Maximum number of iterations, of two rounds each. If the scores have not converged by then, a warning is issued.
    tol : float, default 1e-8
        Convergence tolerance: stop when the hub scores change by less than this in total. With ``tol=0`` (or None),
        run exactly `max_iter` iterations.
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
        One row per vertex: ``vertex``, ``hub``, ``authority``. Each kind of score sums to 1, or is 0 if the graph has
        no edges.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or not finite, or the scores overflow.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 0, 1], "dst": [1, 2, 2]})
    >>> dg.hits(G).compute().round(3)
       vertex    hub  authority
    0       0  0.618      0.000
    1       1  0.382      0.382
    2       2  0.000      0.618
    """
    check_limits(max_iter, tol)
    weighted = check_flag("weighted", weighted)
    program = WeightedHubsAndAuthorities if weighted else HubsAndAuthorities
    if weighted:
        check_weights(graph, "hits", ("incoming", "out"))
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    result = execute(graph, program(max_iter=max_iter, tol=tol or 0.0), options)
    for name in ("hubs", "authorities"):
        if not result.totals[name] < math.inf:
            raise WeightError(
                f"column {graph.weight!r} holds weights of up to {bounds(graph)[1]:g}, so the scores of {name} add up "
                f"to {result.totals[name]}: divide all weights by the largest, which does not change the result"
            )
    if hubs := result.totals["hubs"]:
        warn_unsettled(result, 2 * max_iter, result.totals["change"], (tol or 0.0) * hubs, max_iter, tol)
    return result
