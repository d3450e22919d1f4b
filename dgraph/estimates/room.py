"""Whether the memory of a cluster's workers holds what is asked for: looked at before the work begins.

A bound that costs nothing comes first, and where that is near the limit, an estimate. A worker that is over its limit
takes no tasks any more, or is killed by its nanny: a run would stand still, or lose one worker after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dask
from dask.utils import format_bytes

from dgraph.agents.vertex_tables import bytes_of_vertex
from dgraph.errors import RoomError
from dgraph.estimates.estimate import POLICIES, of_policy, sample
from dgraph.estimates.footprints import Footprint
from dgraph.partition import policies
from dgraph.partition.partition import stats

if TYPE_CHECKING:
    from dgraph.codegen.recipe import Recipe
    from dgraph.graph import Graph

SETTING = "dgraph.memory-check"  # of Dask's configuration; False: go on anyway
FAR = 16  # a bound of less than one part in so many of the limit is followed by no estimate


def admit_build(graph: Graph, what: str, need: Footprint) -> None:
    """Refuse partitions of which a worker cannot hold one, with what an operation makes of it; others may be on disk
    meanwhile."""
    limit, workers = _limit(graph), max(1, len(graph.workers.addresses))
    edge = 4 * len(need.spread.orders) + 8 * need.weighted + need.spread.edge_bytes
    if limit is None or graph.listed.num_arcs * edge * FAR < limit * workers:
        return
    parts, name = graph.num_parts, graph.policy if graph.policy in POLICIES else "outgoing"
    row = of_policy(graph, sample(graph), need, policies.choose(name, parts), parts)
    _refuse(what, max(row["run"], row["build"]), limit, workers)


def admit_run(graph: Graph, partitions: Sequence[Any], recipe: Recipe) -> None:
    """Refuse a run of a program whose partitions and states the workers cannot hold."""
    limit, workers, vertex = _limit(graph), max(1, len(graph.workers.addresses)), bytes_of_vertex(recipe)
    least = graph.num_vertices * vertex + graph.listed.num_arcs * 4
    if limit is None or least * FAR < limit * workers:
        return
    rows = graph.workers.get([graph.workers.call(stats, one) for one in partitions])
    needs = sorted((row["bytes"] + vertex * (row["vertices"] + row["proxies"]) for row in rows), reverse=True)
    _refuse(f"a run of {recipe.analysis.name}", sum(needs[: math.ceil(len(needs) / workers)]), limit, workers)


def _limit(graph: Graph) -> float | None:
    """Bytes that each worker may use before it takes no more tasks; None where nothing says so."""
    if not dask.config.get(SETTING, True):
        return None
    memory = graph.workers.memory
    return None if memory is None else memory * (dask.config.get("distributed.worker.memory.pause", None) or 1)


def _refuse(what: str, need: float, limit: float, workers: int) -> None:
    if need <= limit:
        return
    raise RoomError(
        f"{what} takes about {format_bytes(int(need))} on each of {workers} workers, of which each may use "
        f"{format_bytes(int(limit))} before it takes no more tasks: start about {math.ceil(workers * need / limit)} of "
        f"them, or larger ones; G.estimate() tells what each policy needs. To go on anyway: "
        f'dask.config.set({{"{SETTING}": False}}), or DASK_DGRAPH__MEMORY_CHECK=False'
    )
