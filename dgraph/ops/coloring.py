"""A greedy coloring, largest degree first, with ties in random order (Jones, Plassmann: A parallel graph coloring
heuristic, SIAM Journal on Scientific Computing 14, 1993; Hasenplaug, Kaler, Schardl, Leiserson, SPAA 2014)."""

from __future__ import annotations

from numpy import int64

from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.ops.k_core import graph_for_peeling
from dgraph.programs.monoid import Monoid
from dgraph.programs.program import Global, Message, Result, State, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.coloring import UNCOLORED, color_vertices
from dgraph.solvers.random_order import LOTS
from dgraph.solvers.solver import Solver

WINDOW = 62  # the colors that one message tells of, a bit for each
FULL = (1 << WINDOW) - 1
WAIT = 1 << WINDOW  # the bit of an earlier neighbour without a color


def _union(a, b):
    return a | b


def _larger(a, b):
    return b if b > a else a


UNION = Monoid("UNION", _union, lambda dtype: 0, idempotent=True)
LARGEST = Monoid("LARGEST", _larger, lambda dtype: 0, idempotent=True)  # of numbers >= 0: 0 if there are none


class GreedyColors(VertexProgram):
    """A vertex takes the smallest color that no earlier neighbour has, once they all have one. `turn`, and in ties the
    vertex itself, tell who is earlier.

    A message is the set of the colors from `first_open` on, up to `WINDOW` of them; all colors below are taken. A
    vertex that hears that these are taken, too, goes on to the next ones."""

    operation = "coloring"
    kind = "synchronous"
    along = "both"
    turn = State(int64)
    chosen = State(int64, start=UNCOLORED)
    first_open = State(int64)
    message = Message(int64, UNION)
    solver = Solver(color_vertices, orders=("out", "incoming"), reads_per_edge=4)

    def start(degree, random, vertices):
        return (vertices - degree) * LOTS + int(random * LOTS), UNCOLORED, 0

    def send(id, turn, chosen, target_id, target_turn, target_first_open):
        if turn > target_turn or (turn == target_turn and id >= target_id):
            return 0
        if chosen == UNCOLORED:
            return WAIT
        bit = chosen - target_first_open
        return 1 << bit if bit >= 0 and bit < WINDOW else 0

    def apply(turn, chosen, first_open, message):
        taken = message & FULL
        if chosen != UNCOLORED:
            return turn, chosen, first_open
        if taken == FULL:
            return turn, UNCOLORED, first_open + WINDOW
        if message != taken:
            return turn, UNCOLORED, first_open
        smallest = first_open
        while taken & 1 == 1:
            taken = taken >> 1
            smallest += 1
        return turn, smallest, first_open

    @Global(int64, LARGEST)
    def colors(chosen):
        return chosen + 1

    @Result(int64)
    def color(chosen):
        return chosen


@operation
def coloring(
    graph: Graph,
    *,
    random_seed: int = 0,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Greedy coloring: no two neighbours have the same color.

    Directions, self loops and repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        The graph.
    random_seed : int, default 0
        Seed of the random number generator. It determines the order of vertices with equally many neighbours.
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
        One row per vertex: ``vertex``, ``color``: 0, 1, 2, ... The result's ``totals["colors"]`` is the number of
        colors.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    See Also
    --------
    maximal_independent_set : One set of vertices of which no two are neighbours.

    Notes
    -----
    Vertices are colored in the order of their number of neighbours, largest first, with ties in random order. Each
    takes the smallest color that no neighbour has yet. The coloring is the same on every engine and any number of
    partitions. The number of colors is at most one more than the largest number of neighbours, and often far below, but
    rarely the smallest possible, which nobody can find in reasonable time.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "a", "b", "c"], "dst": ["b", "c", "c", "d"]})
    >>> result = dg.coloring(G)
    >>> result.totals["colors"]
    3
    >>> result.compute().query("vertex == 'c'")
      vertex  color
    2      c      0
    """
    options = RunOptions(
        engine=engine,
        device=device,
        daemons=daemons,
        checkpoint=checkpoint,
        progress=progress,
        random_seed=random_seed,
    )
    program = GreedyColors()
    return execute(graph_for_peeling(graph, program, options), program, options)
