"""Check before the work begins that the workers of a cluster have enough memory.

A bound that costs nothing comes first, then an estimate if the bound is near the limit. A worker over its limit takes
no more tasks, or is killed by its nanny: a run would hang until `cluster/scheduler.py` ends it, or lose one worker
after another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import dask
from dask.utils import format_bytes

from dgraph.cluster.scheduler import worker_infos
from dgraph.errors import RoomError
from dgraph.estimates.estimate import estimate_policy
from dgraph.estimates.footprints import Footprint
from dgraph.estimates.sample import sample
from dgraph.frames.any_frame import count_rows, least_bytes
from dgraph.native.free_memory import refuse_beyond_memory, within
from dgraph.partition import policies
from dgraph.partition.partition import report_row

if TYPE_CHECKING:
    from dgraph.building.partitioned_graph import PartitionedGraph
    from dgraph.cluster.workers import Workers
    from dgraph.codegen.recipe import Recipe
    from dgraph.solvers.solver import LocalMethod

SETTING = "dgraph.memory-check"  # in Dask's configuration; False disables the check
PROCESS_BYTES = 240 << 20  # bytes of a worker without any graph: Python, libraries, kernels
EDGE_BYTES, VERTEX_BYTES = 6, 16  # measured at the peak of a build of one order in this process
NUMBER_BYTES = 8  # a row by number, beside the frame that lists it
ESTIMATE = "G.estimate() shows what each policy needs"
SAFE_FACTOR = 16  # no estimate is made if the bound is less than 1/16 of the limit


def check_frame_memory(cluster: Workers, frame: Any, what: str) -> None:
    """Refuse to send a frame to the workers if one cannot hold its slice and the numbers made of it: a slice arrives as
    a whole, and Dask could not move it to disk while it is read. Strings may need more than is known here."""
    limit, workers = _limit(cluster)
    if limit is not None:
        need = (least_bytes(frame) + NUMBER_BYTES * count_rows(frame)) / workers
        remedy = "or pass a Dask DataFrame, such as dd.read_parquet gives: the workers read it piece by piece"
        _refuse(f"sending the {what} to the workers", need, limit, workers, remedy)


def check_build_memory(
    graph: PartitionedGraph, what: str, need: Footprint, *, holds: bool = True, remedy: str = ESTIMATE
) -> None:
    """Refuse to build partitions if a worker cannot hold one and what the operation computes from it. (Other partitions
    may be on disk at that time.) Unless it `holds` the partition's edges at the same time, they are on disk, too."""
    if graph.client is None:  # only a graph that does not fit in any case is refused
        arcs, vertices = graph.input_edges.num_arcs, graph.num_vertices
        here = f"{what}: a graph of {vertices:,} vertices and {arcs:,} edges in this process"
        least = _on_one_worker(graph, need)
        if need.gathered is None or not _are_built(graph, need):
            least += EDGE_BYTES * arcs + VERTEX_BYTES * vertices
        refuse_beyond_memory(here, int(least))
        return
    limit, workers = _limit(graph.workers)
    edge = 4 * len(need.spread.orders) + 8 * need.weighted + need.spread.edge_bytes
    divided = graph.input_edges.num_arcs * edge + graph.num_vertices * need.spread.vertex_bytes
    undivided = graph.num_vertices * need.spread.everywhere + _on_one_worker(graph, need)
    if limit is None or (divided / workers + undivided) * SAFE_FACTOR < limit:
        return
    policy = graph.cut if graph.cut.by_rule else policies.POLICIES["outgoing"]
    row = estimate_policy(graph, sample(graph), need, policy, graph.num_parts)
    _refuse(what, max(row["run"], row["build"]) if holds else row["run"], limit, workers, remedy, undivided)


def _on_one_worker(graph: PartitionedGraph, need: Footprint) -> float:
    """The bytes that only the worker needs which gathers."""
    if need.gathered is None:
        return 0
    return need.gathered.vertex_bytes * graph.num_vertices + need.gathered.edge_bytes * graph.num_edges


def _are_built(graph: PartitionedGraph, need: Footprint) -> bool:
    """Whether the partitions already have their edges in these orders, so that free memory is what they leave."""
    return graph.built is not None and set(need.spread.orders) <= set(graph.built.orders)


def check_gathering_memory(graph: PartitionedGraph, what: str, need: Footprint) -> None:
    """Refuse to gather the edges of several partitions on one worker, or what is made of them, without enough memory
    there; in this process, within the user's limit. Nothing is gathered from a single partition."""
    if graph.num_parts == 1:
        return
    with within(graph.memory):
        check_build_memory(graph, what, need)


def check_run_memory(
    graph: PartitionedGraph, partitions: Sequence[Any], recipe: Recipe, vertex: int, local_method: LocalMethod | None
) -> None:
    """Refuse a run if the workers cannot hold its partitions, their states of `vertex` bytes per vertex, and the data
    of the local method."""
    (limit, workers), edge = _limit(graph.workers), 0
    if local_method is not None:
        beside, edge = local_method.memory(len(recipe.analysis.edge_columns))
        vertex += beside
    edge += 8 if recipe.analysis.draws else 0  # numbers of the edges in both orders
    least = graph.num_vertices * vertex + graph.input_edges.num_arcs * (4 + edge)
    if limit is None or least * SAFE_FACTOR < limit * workers:
        return
    rows = graph.workers.bring(graph.workers.each(report_row, [(one,) for one in partitions]))
    states = [vertex * (row["vertices"] + row["proxies"]) + edge * row["edges"] for row in rows]
    needs = sorted((row["bytes"] + more for row, more in zip(rows, states, strict=True)), reverse=True)
    _refuse(f"a run of {recipe.analysis.name}", sum(needs[: math.ceil(len(needs) / workers)]), limit, workers)


def _limit(cluster: Workers) -> tuple[float | None, int]:
    """Bytes per worker that a graph may use before the worker pauses, or reaches the user's limit (None: there is no
    limit), and the number of workers."""
    client = cluster.client
    if client is None or not dask.config.get(SETTING, True):
        return None, 1
    share = dask.config.get("distributed.worker.memory.pause", None) or 1
    known = worker_infos(client, fresh=False)
    least = _least.setdefault(client, {})
    for address, worker in known.items():
        now = worker["metrics"].get("memory", 0) - worker["metrics"].get("managed_bytes", 0)
        least[address] = min(now, least.get(address, now))
    limits = {address: worker["memory_limit"] * share for address, worker in known.items() if worker["memory_limit"]}
    if cluster.limit is not None:
        limits = {address: min(cluster.limit, limits.get(address, cluster.limit)) for address in known}
    left = min((limit - max(PROCESS_BYTES, least[address]) for address, limit in limits.items()), default=None)
    return left, max(1, len(known))


# The least memory that each worker's process was seen to use besides Dask's data: the latest number may include a run
# that has just ended.
_least: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()


def _refuse(what: str, need: float, limit: float, workers: int, remedy: str = ESTIMATE, undivided: float = 0) -> None:
    """Refuse what needs more bytes than the limit; `undivided` of them on one worker, however many there are."""
    if need <= limit:
        return
    enough = math.ceil(workers * (need - undivided) / (limit - undivided)) if limit > undivided else 0
    more = f"about {enough} of them, or " if enough > workers else ""
    raise RoomError(
        f"{what} needs about {format_bytes(int(need))} on each of {workers} workers, but each has only "
        f"{format_bytes(max(0, int(limit)))}: its limit before it pauses, minus what it uses without a graph. "
        f"Start {more}larger ones; {remedy}. To skip this check: "
        f'dask.config.set({{"{SETTING}": False}}), or DASK_DGRAPH__MEMORY_CHECK=False'
    )
