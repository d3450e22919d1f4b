"""The entry point of execution: runs a program on a graph, in this process or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from dgraph.arguments import check_flag, known_options
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.retry import retry
from dgraph.cluster.scheduler import hearing_of_silence
from dgraph.devices.probe import CPU
from dgraph.errors import OptionError
from dgraph.estimates.footprints import OPERATIONS
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.phrases.suggestions import suggestion
from dgraph.programs.program import VertexProgram
from dgraph.runs.early_end_warnings import warn_unsent
from dgraph.runs.law_checks import try_once
from dgraph.runs.old_keywords import old_keywords
from dgraph.runs.plan import choose, uses_solver
from dgraph.runs.progress import Progress
from dgraph.runs.result import RunResult
from dgraph.runs.result_column import ResultColumn
from dgraph.runs.resumption import forget_on_failure
from dgraph.runs.run_in_rounds import in_rounds
from dgraph.runs.run_options import LOCAL, RunOptions, engine_with_limit
from dgraph.runs.solver_run import solve
from dgraph.runs.vertex_columns import ColumnValues


@known_options(old=old_keywords, runs=True)
def run(
    graph: PartitionedGraph,
    program: VertexProgram,
    *,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
    columns: Mapping[str, Any] | None = None,
    random_seed: int = 0,
    max_rounds: int | None = None,
    check_laws: bool = True,
) -> RunResult:
    """Run a vertex program on a graph: on the cluster that holds the graph, or in this process.

    Parameters
    ----------
    graph : Graph
        The graph to run on.
    program : VertexProgram
        An instance of a class derived from `dgraph.VertexProgram`.
    engine : str, Gas, Bsp, BulkAsync or BlockDescent, default "auto"
        The order in which vertices fire. ``"bsp"``: send, merge, apply; ``"gas"``: merge, apply, send;
        ``"bulk_async"``: each partition at its own pace; ``"block_descent"``: one block of vertices at a time;
        ``"local"``: the program's own solver, on one partition; ``"auto"``: whichever is fastest. A value, such as
        ``dg.Gas(direction="pull")``, sets options of an engine.
    device : {"auto", "cpu", "cuda"} or Cuda, default "auto"
        Where kernels run. ``"cuda"`` (experimental) is an NVIDIA GPU of each worker; with ``"auto"`` each worker uses
        its GPU if it has one, and its CPU otherwise.
    daemons : str, list, mapping or Daemons, optional
        Devices or processes that compute in place of the worker, in blocks of edges; see `dgraph.Daemons`.
    checkpoint : path, URL or Checkpoint, optional
        Folder or URL in which to save the run every 10 supersteps, and from which to resume it when it is started again
        or a worker is lost. Pass a `dgraph.Checkpoint` to set the interval, or to keep checkpoints in the workers'
        memory.
    progress : bool or callable, optional
        Whether to show progress, or a function that receives a dict of counts (with ``"silent"``, the address of a
        worker that does not answer; and with ``"building"``, what is done, and ``"done"``, the share of it that is
        done, while the graph is built). By default progress is shown on a terminal and in notebooks.
    columns : mapping, optional
        Values of the vertex columns that the program reads: ``{column: {vertex: value}}``, ``{column: array}`` in
        ascending order of the vertices, or ``{column: result.column(name)}`` of an earlier run, which stays on
        its workers. By default the graph's own columns.
    random_seed : int, default 0
        Seed of the random number generator. Draws depend only on this seed, the round, and the vertex or edge.
    max_rounds : int, optional
        Stop after this many rounds; short for ``engine=dg.Gas(max_rounds=...)``. By default the program decides, and a
        run that takes ten times as many rounds as there are vertices (and 10,000 more) is taken to be endless and ends
        with a RunError.
    check_laws : bool, default True
        Try once, on small graphs, whether the answer of an accumulative program depends on the order of messages, and
        refuse the program if it does; with block descent, also try whether the fixed point of a synchronous program
        does. This takes a few milliseconds when a program is new.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, then the program's values.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this program.
    ProgramError
        If the program cannot be compiled, or breaks a law.
    ColumnError
        If the program reads a column that the graph lacks, or a column has a type or shape that does not fit.
    IdError
        If a parameter or a column names a vertex that is not in the graph.
    DeviceError
        If the requested device is not available.
    StorageError
        If a checkpoint is damaged, or cannot be written.
    RunError
        If the run cannot finish: it takes so many rounds that it seems endless, a sum does not fit into its type
        (`SumError`), or data that cannot be recomputed was lost with a worker (`LostError`).
    RoomError
        If there is not enough memory, on the workers or in this process.

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
    options = RunOptions(
        engine=engine_with_limit(engine, max_rounds),
        device=device,
        daemons=daemons,
        checkpoint=checkpoint,
        progress=progress,
        random_seed=random_seed,
    )
    if not isinstance(columns, Mapping | None):
        raise OptionError(f"columns is a {type(columns).__name__}; expected a mapping {{column: values}}")
    if check_flag("check_laws", check_laws) and isinstance(program, VertexProgram):
        try_once(program, one_by_one=(blocks := options.block_descent) is not None and blocks.mode != "bsp")
    return execute(graph, program, options, columns)


def execute(
    graph: PartitionedGraph, program: VertexProgram, options: RunOptions, columns: ColumnValues | None = None
) -> RunResult:
    """Run a program for `run` or for an operation, with options that are already checked."""
    if not isinstance(program, VertexProgram):
        raise OptionError(f"expected an instance of a dgraph.VertexProgram subclass, got {program!r}{_meant(program)}")
    columns = columns or {}
    if graph.built is not None and uses_solver(graph, program, options):
        return _solved(graph, program, options, columns)
    with closing(Progress.of(options.progress, program.title)) as shown, _telling(graph, shown):
        if uses_solver(graph, program, options):
            return _solved(graph, program, options, columns)
        plan = choose(graph, program, options)
        silent: list[str] = []  # workers that did not answer in any attempt
        # `first` and `again` take the graph as an argument, because a result must not keep its graph alive.
        how: dict[str, Any] = {"program": program, "options": options, "columns": columns, "silent": silent}
        first = partial(in_rounds, plan=plan, shown=shown, **how)
        again = partial(in_rounds, plan=replace(plan, rebalance=False), shown=Progress(None), **how)
        forgetting = nullcontext() if plan.checkpoints is None else forget_on_failure(graph, plan.checkpoints)
        with forgetting, hearing_of_silence(silent.append):
            result = recoverable_result(graph, first, columns, again)
    result.options = options.decided(plan.engine, plan.device)
    warn_unsent(program, result)
    return result


def _telling(graph: PartitionedGraph, shown: Progress) -> AbstractContextManager[None]:
    """Show how far the graph has been built, if it has not been yet."""
    watched = graph.built is None and shown.active
    return graph.input_edges.stopwatch.told_to(shown.building) if watched else nullcontext()


def _solved(
    graph: PartitionedGraph, program: VertexProgram, options: RunOptions, columns: Mapping[str, Any]
) -> RunResult:
    work: Callable[[PartitionedGraph], RunResult] = partial(
        solve, program=program, columns=columns, random_seed=options.random_seed
    )
    result = work(graph) if graph.client is None else recoverable_result(graph, work, columns)
    result.options = replace(options, engine=LOCAL, device=CPU, progress=None)
    return result


def recoverable_result(
    graph: PartitionedGraph,
    work: Callable[[PartitionedGraph], RunResult],
    columns: Mapping[str, Any] | None = None,
    later: Callable[[PartitionedGraph], RunResult] | None = None,
) -> RunResult:
    """The result of `work` on a graph. `work` is retried if a worker is lost meanwhile; if values of the result are
    lost later, `later` (by default `work`) recomputes them. Both first recompute lost values of earlier results whose
    columns are in `columns`. No long chain of results, each made from columns of the one before, is kept for this."""
    before = [column.result for column in (columns or {}).values() if isinstance(column, ResultColumn)]

    def after_those(work: Callable[[PartitionedGraph], RunResult], graph: PartitionedGraph) -> RunResult:
        for result in before:
            result._available()
        return work(graph)

    first, later = (partial(after_those, one) if before else one for one in (work, later or work))
    result = retry(graph.client, partial(first, graph), graph.forget_lost)
    result._follows = bool(before)
    if not any(one._follows and one._work is not None for one in before):  # or the chain would only grow
        result._work = later
    return result


def _meant(program: Any) -> str:
    """A suggestion for a value that is not a program but a class, an operation, or the name of one."""
    if isinstance(program, type) and issubclass(program, VertexProgram):
        return f"; make an instance: {program.__name__}(...)"
    name = program if isinstance(program, str) else getattr(program, "__name__", "")
    said = (
        suggestion(name, sorted(OPERATIONS), said="did you mean dgraph.{}(G)?".format, operations=True) if name else ""
    )
    return said and f"; {said}"
