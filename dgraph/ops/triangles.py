"""Triangles through each vertex, from counts of the edges opposite each vertex in its triangles, for a graph in any
number of partitions.

Edges are divided into blocks by their higher end, round-robin: block p has rows p, p + 2**shift, p + 2 * 2**shift, and
so on. The edges of a triangle are in the blocks of its highest and its middle vertex, so there is one task for each
pair of blocks. A task holds only these two blocks and one number per vertex.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dgraph.cluster.tasks import pick
from dgraph.errors import OptionError
from dgraph.estimates.footprints import FOOTPRINTS, Footprint
from dgraph.estimates.memory_check import check_build_memory
from dgraph.graph import Graph
from dgraph.keywords import DeviceLike, EngineLike
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.native.threads import cores
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.partition import Partition
from dgraph.runs.continuation import go_on
from dgraph.runs.execution import recoverable_result
from dgraph.runs.operation import operation
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row
from dgraph.solvers.subgraphs.higher_ends import ANY, FROM_HIGHER, FROM_LOWER, by_higher_end
from dgraph.solvers.subgraphs.neighbours import ALL, LOWER, Neighbours, by_degree, distinct
from dgraph.solvers.subgraphs.triangles import are_short, count, ends, of_short_rows
from dgraph.tables.edge_tables import EdgeTables

LOOKS = 4  # counting visits neighbours of neighbours, so it takes about this many times as long as a search

# (count opposite each vertex, its degree in the simple graph or None, sum of the counts) -> columns, totals
Finish = Callable[[np.ndarray, Any, int], tuple[dict[str, np.ndarray], dict[str, Any]]]


@operation
def triangles(
    graph: Graph,
    *,
    previous: RunResult | None = None,
    engine: Literal["auto", "local", "cugraph"] = "auto",
    device: DeviceLike = "auto",
) -> RunResult:
    """Number of triangles through each vertex. A triangle is three vertices with an edge between every two of them.

    Directions, self loops and repeated edges do not count. The time grows with the number of edges, and with how
    many neighbours of higher degree their ends have, so dense graphs take a long time.

    Parameters
    ----------
    graph : Graph
        The graph.
    previous : RunResult, optional
        An earlier result of ``triangles`` for a graph that `Graph.updated` has made this one from. The answer is the
        same; only the neighbours of changed edges are read, if they are known. The report says so, or why the whole was
        computed.
    engine : {"auto", "local", "cugraph"}, default "auto"
        No vertex program runs, so no other engine applies. ``"local"`` is for a graph with one partition.
    device : {"auto", "cpu", "cuda"}, default "auto"
        ``"cuda"`` (experimental) is for cuGraph alone.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``triangles``. The result's ``totals["triangles"]`` counts each triangle once.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, the engine cannot run this operation, or `previous` is a result of
        another operation or for another graph.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]})
    >>> dg.triangles(G).compute()
       vertex  triangles
    0       0          1
    1       1          1
    2       2          1
    3       3          0
    """
    options, call = _checked(graph, engine, device), OperationCall.of(graph, "triangles", {})
    done, why = go_on(graph, call, previous, None, options)
    return done or call.answered_by(count_across(graph, _counted, engine=engine, device=device), why)


def _counted(counts: np.ndarray, degree: np.ndarray | None, total: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Each edge opposite a vertex closes a triangle, which is counted at its three vertices."""
    return {"triangles": counts}, {"triangles": total // 3}


class TriangleCounts:
    """Counts of some tasks, indexed by new vertex numbers, and their rows of the report. This is a plain class because
    Dask would search a dataclass for tasks."""

    def __init__(self, across: np.ndarray, degree: np.ndarray | None, rows: list[dict[str, Any]]):
        self.across, self.degree, self.rows = across, degree, rows

    def __add__(self, other: TriangleCounts) -> TriangleCounts:
        degree = None if self.degree is None else self.degree + other.degree
        return TriangleCounts(self.across + other.across, degree, self.rows + other.rows)

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.across.nbytes + (0 if self.degree is None else self.degree.nbytes)

    def result(self, partition: Partition, order: np.ndarray | None, finish: Finish) -> WorkerResult:
        """The result for the vertices that a partition owns."""
        numbers = partition.numbers[: partition.num_owned]
        mine: Any = numbers if order is None else order[numbers]
        if partition.parts == 1 and order is None:
            mine = slice(None)  # a local id is a vertex's number
        degree = None if self.degree is None else self.degree[mine]
        values, totals = finish(self.across[mine], degree, int(self.across.sum()))
        rows = self.rows if partition.index == 0 else []
        return WorkerResult({partition.index: VertexValues(numbers, values)}, set(), rows, 1, totals)


def count_across(
    graph: Graph,
    finish: Finish,
    *,
    directions: bool = False,
    degrees: bool = False,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
) -> RunResult:
    """Count, for each vertex, the edges opposite it in its triangles (with `directions`, the arcs), and let `finish`
    turn the counts into columns. With `degrees`, also count degrees."""
    options = _checked(graph, engine, device)
    result = recoverable_result(graph, partial(_across, finish=finish, directions=directions, degrees=degrees))
    result.options = replace(options, device="cpu")
    return result


def _checked(graph: Graph, engine: EngineLike, device: DeviceLike) -> RunOptions:
    options, parts = RunOptions(engine=engine, device=device), graph.num_parts
    if engine not in ("auto", "local") or (engine == "local" and parts > 1):
        remedy = '"auto"' if parts > 1 else '"auto" or "local"'
        raise OptionError(f"engine={engine!r} is not available, because no vertex program runs; choose {remedy}")
    if device not in ("auto", "cpu"):
        raise OptionError(f"device={device!r} is not available, because the kernels run only on the CPU; leave it out")
    return options


def _across(graph: Graph, finish: Finish, directions: bool, degrees: bool) -> RunResult:
    parts, workers = graph.num_parts, graph.workers
    chosen = {"engine": "local" if parts == 1 else "blocks", "device": "cpu"}
    if parts == 1:
        (partition,) = graph.partitioned(("out", "incoming") if graph.directed else ("out",)).held
        how = graph.directed, directions, degrees, workers.threads, finish
        return RunResult(graph, workers.wait(workers.each(_whole, [(partition, *how)])), [], chosen)
    shift = shift_of(graph)
    order, blocks = blocks_of(graph, directions=directions)
    of_pair = shift, graph.num_vertices, degrees, threads_of_pair(graph)
    tally = workers.reduce(add_up, over_pairs(graph, blocks, _pair, *of_pair))
    tasks = [workers.call(TriangleCounts.result, tally, one, order, finish) for one in graph.partitions.held]
    return RunResult(graph, workers.wait(workers.hold(tasks)), [], chosen | {"blocks": len(blocks)})


def _whole(
    partition: Partition, directed: bool, directions: bool, degrees: bool, threads: int, finish: Finish
) -> WorkerResult:
    """Do all the work in one task, for a graph with one partition."""
    threads, size = worthwhile_threads(threads, LOOKS * partition.num_edges), partition.num_owned
    tables = [table for table in (partition.out, partition.incoming if directed else None) if table is not None]

    def by_team() -> WorkerResult:
        begun, order = time.perf_counter(), None
        if not directed and are_short(tables[0]):
            counts, degree, read = of_short_rows(tables[0], threads, degrees=degrees)
            tally = TriangleCounts(counts, degree, [])
        else:
            order = by_degree(EdgeTables(partition, directed, {}, threads).degrees("both"))
            lower = distinct(tables, size, threads, kept=LOWER, order=order, ways=directions)
            counts, read = count(lower, 0, lower, 0, 0, size, threads)
            read += sum(table.num_edges for table in tables)
            tally = TriangleCounts(counts, ends(lower, 0, 0, size) if degrees else None, [])
        tally.rows.append(single_call_row(size, read, time.perf_counter() - begun))
        return tally.result(partition, order, finish)

    return call_team(threads, by_team)


# -- blocks ------------------------------------------------------------------------------------------------------------


def shift_of(graph: Graph) -> int:
    """The number of bits that tell the blocks apart: there are 2**shift of them, at least one for each partition."""
    return (graph.num_parts - 1).bit_length()


def blocks_of(
    graph: Graph,
    *,
    directions: bool = False,
    bits: bool = False,
    what: str = "counting triangles",
    need: Footprint = FOOTPRINTS["triangles"],
) -> tuple[Any, list[Any]]:
    """New numbers for the vertices, and the blocks, all left on the workers that computed them. Blocks have the `ways`
    of neighbours with `directions`, as `bits` or numbers. `need` is the memory for counting with them, and errors say
    `what` needs it."""
    check_build_memory(graph, what, need)
    workers, partitions, size, shift = graph.workers, graph.partitions.held, graph.num_vertices, shift_of(graph)
    degree = workers.reduce(add_up, [workers.call(_degrees, one, size, graph.directed) for one in partitions])
    (order,) = workers.hold([workers.call(by_degree, degree)])
    splits = workers.hold([workers.call(_split, one, order, shift, graph.directed, directions) for one in partitions])
    blocks = []
    for part in range(1 << shift):
        pieces = [workers.call(pick, split, part) for split in splits]
        host = workers.host(part, 1 << shift)
        blocks.append(workers.call(_block, part, shift, size, pieces, bits, workers.client is None, on=host))
    return order, workers.wait(workers.hold(blocks))


def _degrees(partition: Partition, size: int, directed: bool) -> np.ndarray:
    """The number of arcs of a partition at each vertex; in an undirected graph, only outgoing arcs."""
    numbers, degree = partition.numbers, np.zeros(size, np.int64)
    tables = [table for table in (partition.out, partition.incoming) if table is not None]
    for table in tables:
        degree[numbers] += np.diff(table.indptr)
    if directed and len(tables) == 1:
        degree[numbers] += np.bincount(tables[0].neighbours, minlength=len(numbers))
    return degree


def _split(
    partition: Partition, order: np.ndarray | None, shift: int, directed: bool, directions: bool
) -> list[list[EdgeSlice]]:
    """The edges of a partition for each block, higher end first, in one piece or in one piece per direction."""
    turned = partition.out is None
    edges: Any = partition.incoming if turned else partition.out
    numbers = partition.numbers
    names = (numbers if order is None else order[numbers]).astype(np.uint32, copy=False)
    # an undirected edge is stored in both directions
    which = (FROM_HIGHER, FROM_LOWER) if directions else (ANY,) if directed else (FROM_HIGHER,)
    which = which[::-1] if turned else which  # a row of incoming edges is where they lead
    ways = [by_higher_end(edges, names, shift, way) for way in which]
    return [[EdgeSlice(*ends) for ends in mine] for mine in zip(*ways, strict=True)]


def _block(
    part: int, shift: int, size: int, pieces: Sequence[list[EdgeSlice]], bits: bool, in_place: bool
) -> Neighbours:
    """Build a block from its pieces of all partitions. With `in_place`, no other task reads the pieces: free them."""
    rows = max(0, size - part + (1 << shift) - 1) >> shift
    tables = [build(list(sides), rows) for sides in zip(*pieces, strict=True)]
    for piece in pieces if in_place else ():
        piece.clear()
    return distinct(tables, size, 1, kept=ALL, ways=len(tables) > 1, bits=bits)


# -- pairs of blocks ---------------------------------------------------------------------------------------------------


def threads_of_pair(graph: Graph) -> int:
    """The threads of the task that counts with two blocks."""
    return max(1, cores() >> shift_of(graph)) if graph.client is None else 1


def over_pairs(graph: Graph, blocks: Sequence[Any], function: Callable[..., Any], *how: Any) -> list[Any]:
    """A chain of tasks for each block, which counts with each other block in turn and adds up: `function(before, part,
    mine, other, theirs, *how)`, where `before` is None for the first."""
    workers, parts = graph.workers, len(blocks)
    chains = []
    for part, mine in enumerate(blocks):
        host = workers.host(part, parts)
        tally = None
        for step in range(parts):
            other = (part + step) % parts
            tally = workers.call(function, tally, part, mine, other, blocks[other], *how, on=host)
        chains.append(tally)
    return chains


def _pair(
    before: TriangleCounts | None,
    part: int,
    mine: Neighbours,
    other: int,
    theirs: Neighbours,
    shift: int,
    size: int,
    degrees: bool,
    each: int,
) -> TriangleCounts:
    begun = time.perf_counter()
    counts, read = count(mine, part, theirs, other, shift, size, each)
    if before is None:
        degree = ends(mine, part, shift, size) if degrees else None
        row = single_call_row(len(mine), mine.num_edges + read, time.perf_counter() - begun, partition=part)
        return TriangleCounts(counts, degree, [row])
    counts += before.across
    row = before.rows[0]
    more = {"edges": row["edges"] + read, "busy": row["busy"] + time.perf_counter() - begun}
    return TriangleCounts(counts, before.degree, [row | more])


def add_up(counts: Sequence[Any]) -> Any:
    return sum(counts[1:], start=counts[0])
