"""A maximal independent set by random priorities (Luby, SIAM Journal on Computing 15, 1986), which are drawn once: the
set of the greedy algorithm in random order (Blelloch, Fineman, Shun, SPAA 2012), in a logarithmic number of rounds
(Fischer, Noever, SODA 2018)."""

from __future__ import annotations

from numpy import int64

from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import MAX, SUM
from dgraph.programs.program import Global, Message, Result, State, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.independent_set import CHOSEN, LEFT_OUT, UNDECIDED, choose
from dgraph.solvers.random_order import LOTS
from dgraph.solvers.solver import Solver


class IndependentSet(VertexProgram):
    """A vertex is chosen once all its earlier neighbours are left out, and left out once one of them is chosen. `turn`
    is its place in the random order: lot * vertices + vertex."""

    operation = "maximal_independent_set"
    kind = "synchronous"
    along = "both"
    turn = State(int64)
    status = State("uint8", start=UNDECIDED)
    message = Message("uint8", MAX)
    solver = Solver(choose, orders=("out", "incoming"), reads_per_edge=2)

    def start(id, random, vertices):
        return int(random * LOTS) * vertices + id, UNDECIDED

    def send(turn, status, target_turn):
        return status if turn < target_turn else LEFT_OUT

    def apply(turn, message):
        return turn, LEFT_OUT if message == CHOSEN else UNDECIDED if message == UNDECIDED else CHOSEN

    @Global(int64, SUM)
    def size(status):
        return 1 if status == CHOSEN else 0

    @Result(bool)
    def in_set(status):
        return status == CHOSEN


@operation
def maximal_independent_set(
    graph: Graph,
    *,
    random_seed: int = 0,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Random maximal independent set: no edge joins two of its vertices, and no vertex can be added.

    Directions, self loops and repeated edges do not count. Isolated vertices are in the set.

    Parameters
    ----------
    graph : Graph
        The graph.
    random_seed : int, default 0
        Seed of the random number generator. The set depends only on this seed and the graph.
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
        One row per vertex: ``vertex``, ``in_set``. The result's ``totals["size"]`` is the number of vertices in the
        set.

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
    coloring : Divides all vertices into independent sets.

    Notes
    -----
    The set is the one that a greedy algorithm finds that takes the vertices in a random order, and adds each that has
    no neighbour in the set yet. It is rarely the largest one, which nobody can find in reasonable time.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "a", "a"], "dst": ["b", "c", "d"]})
    >>> dg.maximal_independent_set(G, random_seed=1).compute()
      vertex  in_set
    0      a   False
    1      b    True
    2      c    True
    3      d    True
    """
    options = RunOptions(
        engine=engine,
        device=device,
        daemons=daemons,
        checkpoint=checkpoint,
        progress=progress,
        random_seed=random_seed,
    )
    return execute(graph, IndependentSet(), options)
