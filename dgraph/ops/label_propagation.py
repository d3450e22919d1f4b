"""Communities by label propagation, until every vertex has one of the most frequent labels among its neighbours.

Raghavan, Albert, Kumara: Near linear time algorithm to detect community structures in large-scale networks, Physical
Review E 76, 2007. There, vertices change one after another, because neighbours that change at once may swap labels
forever. Here all vertices may change at once, but labels are put in a random order: in odd rounds a vertex only changes
to an earlier label, in even rounds to a later one. Neighbours therefore never swap labels, nor do the sides of a
bipartite graph. Longer cycles are rare; from the 17th round on, some vertices wait at random, which breaks them.

With weights, an edge has votes in proportion to its weight. Votes are integers, because integer sums do not depend on
the order of addition. Their unit is so small that, if every edge had the largest weight, all votes would just fit into
62 bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import float64, int64

from dgraph.arguments import check_flag, check_integer
from dgraph.building.weights import bounds, check_weights
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import HEAVIEST, MOST_FREQUENT, NONE, SUM
from dgraph.programs.program import Global, Message, Parameter, Result, State, VertexProgram, vertex
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.compiled_draws import draw, sort_drawn
from dgraph.solvers.label_propagation import PATIENT_ROUNDS, WAITING_SHARE, spread
from dgraph.solvers.solver import Problem, Solution, Solver

ORDERS = ("out", "incoming")
VOTES = 62  # the number of bits for the sum of all votes
DRAWN = 1 << 30  # labels are ordered by a random number below this, then by vertex


def _solve(problem: Problem) -> Solution:
    """Work with positions in the random order instead of labels, which takes half the memory."""
    n, seed = problem.vertices, problem.values["random_seed"]
    labels = (draw(seed, 0, np.empty(n)) * DRAWN).astype(np.int64) * n + np.arange(n)
    vertices = sort_drawn(labels, DRAWN * max(n, 1)) % max(n, 1)
    places = np.empty(n, np.uint32)
    places[vertices] = np.arange(n, dtype=np.uint32)
    rounds, restless, edges = spread(problem, places, takes_turns=True, random_seed=seed)
    return Solution({"label": vertices[places]}, rounds, edges, {"restless": restless})


class LabelPropagation(VertexProgram):
    """`held` combines a label (a vertex) with its position in the order: position * vertices + vertex. A message is
    held + 1, or 0 if the target holds the same label, so that a tie goes to the target's own label."""

    operation = "label_propagation"
    kind = "synchronous"
    held = State(int64)
    wanted = State(int64)
    merge = MOST_FREQUENT
    along = "both"
    max_iter = Parameter(int64, 100)
    solver = Solver(_solve, orders=ORDERS, reads_per_edge=8)

    def start(id, random, vertices):
        label = int(random * DRAWN) * vertices + id
        return label, label

    def send(held, target_held):
        return 0 if held == target_held else held + 1

    def apply(held, message, round, random):
        best = held if message < 1 else message - 1
        has_turn = (best < held) == (round % 2 == 1) and (round <= PATIENT_ROUNDS or random >= WAITING_SHARE)
        return (best if has_turn else held), best

    @Global(int64, SUM)
    def restless(held_before, wanted):
        return 1 if wanted != held_before else 0

    def stop(restless, round, max_iter):
        return restless == 0 or round >= max_iter

    @Result(vertex)
    def label(held, vertices):
        return held % vertices


class WeightedLabelPropagation(LabelPropagation):
    """The label with the largest sum of votes wins; an edge of weight 0 has no votes."""

    message = Message(int64, HEAVIEST)
    votes = Message(int64, HEAVIEST)
    unit = Parameter(float64, 1.0)  # votes of a weight of 1

    def send(held, target_held, weight, unit):
        label = NONE if weight == 0 else 0 if held == target_held else held + 1
        return label, math.ceil(weight * unit)


@operation
def label_propagation(
    graph: Graph,
    *,
    max_iter: int = 100,
    random_seed: int = 0,
    weighted: bool = False,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Communities by label propagation, until no vertex wants another label.

    In- and out-neighbours both vote, once per edge. A vertex whose label is among the most frequent keeps it.

    Parameters
    ----------
    graph : Graph
        The graph to divide into communities.
    max_iter : int, default 100
        Maximum number of iterations. The labels of the last iteration are returned.
    random_seed : int, default 0
        Seed of the random number generator. It determines the order of labels, which decides ties.
    weighted : bool, default False
        Use the graph's weights: an edge has votes in proportion to its weight. Weights must be finite and non-negative.
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
        One row per vertex: ``vertex``, ``label``. Vertices with the same label form a community, named after the vertex
        where the label started. The result's ``totals["restless"]`` is the number of vertices that still wanted another
        label in the last round: 0 if the labels are stable.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or not finite.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    See Also
    --------
    cdlp : Synchronous label propagation, as in LDBC Graphalytics and GraphX.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 3, 4, 5], "dst": [1, 2, 0, 4, 5, 3]})
    >>> dg.label_propagation(G).compute()["label"].tolist()
    [0, 0, 0, 3, 3, 3]
    """
    values: dict[str, Any] = {"max_iter": check_integer("max_iter", max_iter)}
    if weighted := check_flag("weighted", weighted):
        check_weights(graph, "label_propagation", ORDERS)
        values["unit"] = _unit(graph)
    program = WeightedLabelPropagation if weighted else LabelPropagation
    options = RunOptions(
        engine=engine,
        device=device,
        daemons=daemons,
        checkpoint=checkpoint,
        progress=progress,
        random_seed=random_seed,
    )
    return execute(graph, program(**values), options)


def _unit(graph: Graph) -> float:
    """The number of votes of a weight of 1: the largest power of two for which sums fit. An arc votes at both ends."""
    bits = math.frexp(bounds(graph, ORDERS)[1])[1] + (4 * graph.num_edges).bit_length()
    return 2.0 ** min(VOTES - bits, 1000)
