"""A coloring: two colors for bipartite components, and a greedy one for the others, largest degree first, with ties in
random order (Jones, Plassmann: A parallel graph coloring heuristic, SIAM Journal on Scientific Computing 14, 1993;
Hasenplaug, Kaler, Schardl, Leiserson, SPAA 2014)."""

from __future__ import annotations

from dataclasses import replace

from numpy import int64

from dgraph.engines.local_methods.double_cover import DoubleCoverMethod
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.ops.k_core import graph_for_peeling
from dgraph.programs.monoid import MIN, UNREACHED, Monoid
from dgraph.programs.program import Global, Message, Result, State, VertexColumn, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.plan import choose
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.coloring import UNCOLORED, color_vertices
from dgraph.solvers.random_order import LOTS
from dgraph.solvers.solver import Solver
from dgraph.solvers.subgraphs.sides import NEITHER, sides

WINDOW = 62  # the colors that one message tells of, a bit for each
FULL = (1 << WINDOW) - 1
WAIT = 1 << WINDOW  # the bit of an earlier neighbour without a color


def _union(a, b):
    return a | b


def _larger(a, b):
    return b if b > a else a


UNION = Monoid("UNION", _union, lambda dtype: 0, idempotent=True)
LARGEST = Monoid("LARGEST", _larger, lambda dtype: 0, idempotent=True)  # of numbers >= 0: 0 if there are none


class Sides(VertexProgram):
    """On a graph without self loops: each vertex is there twice, as 2 * id and 2 * id + 1, and an edge joins opposite
    copies of its ends. Each copy sends on the smallest one that it has received. In a bipartite component, the two
    copies of a vertex end with different ones, and these are copies of the smallest vertex."""

    operation = "coloring"
    along = "both"
    even = State(int64, start=UNREACHED)
    odd = State(int64, start=UNREACHED)
    to_even = Message(int64, MIN)
    to_odd = Message(int64, MIN)
    solver = Solver(sides, orders=("out", "incoming"), local_method=DoubleCoverMethod())

    def seed(id):
        return 2 * id, 2 * id + 1

    def send(even, odd):
        return odd, even

    def apply(even, odd, to_even, to_odd):
        return min(even, to_even), min(odd, to_odd)

    @Result("uint8")
    def side(even, odd):
        return NEITHER if even == odd else even & 1


class GreedyColors(VertexProgram):
    """In a bipartite component, a vertex has its side as its color from the start. In the others, it takes the smallest
    color that no earlier neighbour has, once they all have one. `turn`, and in ties the vertex itself, tell who is
    earlier.

    A message is the set of the colors from `first_open` on, up to `WINDOW` of them; all colors below are taken. A
    vertex that hears that these are taken, too, goes on to the next ones."""

    operation = "coloring"
    kind = "synchronous"
    along = "both"
    side = VertexColumn("uint8")
    turn = State(int64)
    chosen = State(int64, start=UNCOLORED)
    first_open = State(int64)
    message = Message(int64, UNION)
    solver = Solver(color_vertices, orders=("out", "incoming"), reads_per_edge=4)

    def start(degree, random, vertices, side):
        return (vertices - degree) * LOTS + int(random * LOTS), UNCOLORED if side == NEITHER else side, 0

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
    """Coloring with few colors: no two neighbours have the same color.

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
    Connected components that two colors are enough for get two: their smallest vertex has color 0. In the others,
    vertices are colored in the order of their number of neighbours, largest first, with ties in random order, and each
    takes the smallest color that no neighbour has yet. The coloring is the same on every engine and any number of
    partitions. The number of colors is at most one more than the largest number of neighbours, and often far below; if
    it is above 2, it is rarely the smallest possible, which nobody can find in reasonable time.

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
    graph = graph_for_peeling(graph, program, options)
    choose(graph, program, options)  # which refuses engines that cannot run it
    found = execute(graph, Sides(), replace(options, engine="auto").for_part(0))
    return execute(graph, program, options.for_part(1), {"side": found.column("side")}).with_rounds_before(found)
