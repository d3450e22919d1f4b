"""Whether the memory of a cluster's workers holds what is asked for, looked at before the work begins.

First by a bound that costs nothing; where that is near the limit, by an estimate. A worker over its limit takes no more
tasks, or is killed by its nanny: a run would stand still until `cluster/waits.py` ends it, or lose one worker after the
other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import dask
from dask.utils import format_bytes

from dgraph.errors import RoomError
from dgraph.estimates.estimate import POLICIES, of_policy
from dgraph.estimates.footprints import Footprint
from dgraph.estimates.sample import sample
from dgraph.partition import policies
from dgraph.partition.partition import stats
from dgraph.solvers.solver import LocalMethod
from dgraph.tables.vertex_tables import bytes_of_vertex

if TYPE_CHECKING:
    from dgraph.codegen.recipe import Recipe
    from dgraph.graph import Graph

SETTING = "dgraph.memory-check"  # of Dask's configuration; False: go on anyway
PROCESS = 240 << 20  # bytes of a worker that has run something, without any graph: Python, libraries, kernels
FAR = 16  # a bound of less than one part in so many of the limit is followed by no estimate


def check_build_memory(graph: Graph, what: str, need: Footprint) -> None:
    """Refuse to build partitions if a worker cannot hold one, with what the operation makes of it. (Others may be on
    disk meanwhile.)"""
    limit, workers = _limit(graph)
    edge = 4 * len(need.spread.orders) + 8 * need.weighted + need.spread.edge_bytes
    if limit is None or graph.listed.num_arcs * edge * FAR < limit * workers:
        return
    parts, name = graph.num_parts, graph.policy if graph.policy in POLICIES else "outgoing"
    row = of_policy(graph, sample(graph), need, policies.choose(name, parts), parts)
    _refuse(what, max(row["run"], row["build"]), limit, workers)


def check_run_memory(graph: Graph, partitions: Sequence[Any], recipe: Recipe, local_method: LocalMethod | None) -> None:
    """Refuse a run if the workers cannot hold its partitions, their states, and what the local method keeps."""
    (limit, workers), vertex, edge = _limit(graph), bytes_of_vertex(recipe), 0
    if local_method is not None:
        beside, edge = local_method.memory(len(recipe.analysis.edge_columns))
        vertex += beside
    least = graph.num_vertices * vertex + graph.listed.num_arcs * (4 + edge)
    if limit is None or least * FAR < limit * workers:
        return
    rows = graph.workers.bring(graph.workers.each(stats, [(one,) for one in partitions]))
    states = [vertex * (row["vertices"] + row["proxies"]) + edge * row["edges"] for row in rows]
    needs = sorted((row["bytes"] + more for row, more in zip(rows, states, strict=True)), reverse=True)
    _refuse(f"a run of {recipe.analysis.name}", sum(needs[: math.ceil(len(needs) / workers)]), limit, workers)


def _limit(graph: Graph) -> tuple[float | None, int]:
    """Bytes that a graph may take of each worker before that takes no more tasks (None: no limit), and the number of
    workers."""
    if graph.client is None or not dask.config.get(SETTING, True):
        return None, 1
    from dgraph.cluster.scheduler_calls import worker_infos  # a quarter of a second where there is no cluster

    share = dask.config.get("distributed.worker.memory.pause", None) or 1
    known = worker_infos(graph.client, fresh=False)
    least = _least.setdefault(graph.client, {})
    for address, worker in known.items():
        now = worker["metrics"].get("memory", 0) - worker["metrics"].get("managed_bytes", 0)
        least[address] = min(now, least.get(address, now))
    limits = {address: worker["memory_limit"] * share for address, worker in known.items() if worker["memory_limit"]}
    left = min((limit - max(PROCESS, least[address]) for address, limit in limits.items()), default=None)
    return left, max(1, len(known))


# The least that each worker's process was seen with beside what Dask keeps there: the latest number may be of a run
# that has just ended.
_least: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()


def _refuse(what: str, need: float, limit: float, workers: int) -> None:
    if need <= limit:
        return
    more = f"about {math.ceil(workers * need / limit)} of them, or " if limit > 0 else ""
    raise RoomError(
        f"{what} takes about {format_bytes(int(need))} on each of {workers} workers, of which each has "
        f"{format_bytes(max(0, int(limit)))} for it: the memory with which it takes tasks, less what it uses without a "
        f"graph. Start {more}larger ones; G.estimate() tells what each policy needs. To go on anyway: "
        f'dask.config.set({{"{SETTING}": False}}), or DASK_DGRAPH__MEMORY_CHECK=False'
    )
