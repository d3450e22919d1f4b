"""The entry point of execution: runs a program on a graph, in this process or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from dgraph.arguments import AUTO, check_flag, known_options
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import OptionError
from dgraph.estimates.footprints import OPERATIONS
from dgraph.phrases.suggestions import suggestion
from dgraph.programs.program import VertexProgram
from dgraph.runs.choice import choose
from dgraph.runs.early_end_warnings import warn_unsent
from dgraph.runs.law_checks import try_once
from dgraph.runs.option_values import USUAL, BlockDescent, BulkAsync, Gpu, Optimisations
from dgraph.runs.result import RunResult, recoverable_result
from dgraph.runs.resumption import forget_on_failure
from dgraph.runs.run_in_rounds import in_rounds
from dgraph.runs.run_options import RunOptions
from dgraph.runs.solver_run import solve
from dgraph.runs.vertex_columns import ColumnValues


@known_options()
def run(
    graph: PartitionedGraph,
    program: VertexProgram,
    *,
    engine: str | BlockDescent | BulkAsync = "auto",
    device: str | Gpu = "auto",
    max_rounds: int | None = None,
    random_seed: int = 0,
    columns: ColumnValues | None = None,
    progress: bool | Callable[[dict[str, Any]], Any] | None = None,
    deterministic: bool = False,
    checkpoint: Any = None,
    rebalance: bool = False,
    local_rounds: int | None = None,
    pipeline_block: int | str | None = "auto",
    daemons: Any = "auto",
    optimisations: Optimisations = USUAL,
    check_laws: bool = True,
) -> RunResult:
    """Run a vertex program on a graph: on the cluster that holds the graph, or in this process.

    Parameters
    ----------
    graph : Graph
        The graph to run on.
    program : VertexProgram
        An instance of a class derived from `dgraph.VertexProgram`.
    engine : {"auto", "bsp", "gas", "bulk_async", "block_descent", "local"}, BlockDescent or BulkAsync
        The order in which vertices fire. ``"bsp"``: send, merge, apply; ``"gas"``: merge, apply, send;
        ``"bulk_async"``: each partition at its own pace; ``"block_descent"``: one block of vertices at a time;
        ``"local"``: the program's own solver, on one partition; ``"auto"``: whichever is fastest.
    device : {"auto", "cpu", "cuda"} or Gpu
        Where kernels run. ``"cuda"`` (experimental) is an NVIDIA GPU of each worker; with ``"auto"`` each worker uses
        its GPU if it has one, and its CPU otherwise.
    max_rounds : int, optional
        Stop after this many rounds. By default the program decides, and a run that takes ten times as many rounds as
        there are vertices (and 10,000 more) is taken to be endless and ends with a RunError.
    random_seed : int, default 0
        Random draws depend only on this seed, the round, and the vertex or edge for which they are drawn.
    columns : mapping, optional
        Values of the vertex columns that the program reads: ``{column: {vertex: value}}``, ``{column: array}`` in
        ascending order of the vertices, or ``{column: result.column(name)}`` of an earlier run, which stays on
        its workers. By default the graph's own columns.
    progress : bool or callable, optional
        Whether to show progress, or a function that receives a dict of counts. By default progress is shown on a
        terminal and in notebooks.
    deterministic : bool, default False
        Make sums of floats the same to the last bit for any number of partitions, workers and threads. This builds
        partitions in which every vertex has all its edges, in one order.
    checkpoint : path, URL or Checkpoint, optional
        Save the run there every 10 supersteps, and resume from there when the run is started again or a worker is
        lost. Pass a `dgraph.Checkpoint` to set the interval, or to keep checkpoints in the workers' memory.
    rebalance : bool, default False
        Move edges between supersteps if the measured imbalance of the workers costs more than the move.
    local_rounds : int, optional
        Shorthand for ``engine=dgraph.BulkAsync(local_rounds=...)``.
    pipeline_block : int, "auto" or None, default "auto"
        Shorthand for ``daemons=dgraph.Daemons(..., block=...)``; with ``dgraph.Gpu(memory_budget=...)``, the number
        of edges in each block that passes through the GPU.
    daemons : str, list, mapping or Daemons, default "in process"
        What computes on each worker; see `dgraph.Daemons`.
    optimisations : Optimisations, optional
        How rounds are run; the answer does not depend on this. See `dgraph.Optimisations`.
    check_laws : bool, default True
        Try once, on small graphs, whether the answer of an accumulative program depends on the order of messages, and
        refuse the program if it does; on block descent, the same for the fixed point of a synchronous program. This
        takes a few milliseconds when a program is new.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, then the program's values.

    Examples
    --------
    >>> class Neighbours(dg.VertexProgram):
    ...     kind = "synchronous"
    ...     count = dg.State("int64")
    ...     one = dg.Message("int64", dg.SUM)
    ...     def send():
    ...         return 1
    ...     def apply(one):
    ...         return one
    ...     def stop(round):
    ...         return round == 1
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [2, 2, 0]})
    >>> dg.run(G, Neighbours()).compute()
       vertex  count
    0       0      1
    1       1      0
    2       2      2
    """
    options = {name: value for name, value in locals().items() if name not in ("graph", "program", "check_laws")}
    chosen = RunOptions(**options)
    check_flag("check_laws", check_laws)
    if check_laws and isinstance(program, VertexProgram):
        try_once(program, one_by_one=(blocks := chosen.block_descent) is not None and blocks.mode != "bsp")
    return execute(graph, program, chosen)


def execute(graph: PartitionedGraph, program: VertexProgram, options: RunOptions, **changes: Any) -> RunResult:
    """Run a program for an operation, which has checked the user's options already; `changes` replace some of them."""
    if not isinstance(program, VertexProgram):
        raise OptionError(f"expected an instance of a dgraph.VertexProgram subclass, got {program!r}{_meant(program)}")
    options = replace(options, **changes)
    if options.solves(graph, program):
        if options.engine != AUTO:
            choose(graph, program, options)  # refuses options that need rounds
        work: Callable[[PartitionedGraph], RunResult] = partial(solve, program=program, options=options)
        return work(graph) if graph.client is None else recoverable_result(graph, work, options.columns)
    plan = choose(graph, program, options)
    # `first` and `again` take the graph as an argument, because a result must not keep its graph alive.
    first = partial(in_rounds, program=program, options=options, plan=plan)
    again = partial(first, options=replace(options, progress=False), plan=replace(plan, rebalance=False))
    with nullcontext() if plan.checkpoints is None else forget_on_failure(graph, plan.checkpoints):
        result = recoverable_result(graph, first, options.columns, again)
    warn_unsent(program, result)
    return result


def _meant(program: Any) -> str:
    """What to write instead of something that is not a program: a class, an operation, or its name."""
    if isinstance(program, type) and issubclass(program, VertexProgram):
        return f"; make an instance: {program.__name__}(...)"
    name = program if isinstance(program, str) else getattr(program, "__name__", "")
    said = (
        suggestion(name, sorted(OPERATIONS), said="did you mean dgraph.{}(G)?".format, operations=True) if name else ""
    )
    return said and f"; {said}"
