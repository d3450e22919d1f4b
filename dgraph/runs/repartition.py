"""Partitions built for one run. One kind keeps all edges of a vertex in the partition that owns it, for programs that
merge whole neighbourhoods at once, and for what chooses among them; the other kind is sized by the speed of the
workers.

If messages travel along the edges, the first kind is the incoming cut. For an undirected graph, this is the outgoing
cut read in reverse, so nothing is built. If messages also travel against the edges, each edge of a directed graph is
placed twice: with its destination and with its source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.building import assembly
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.shares import shares_of
from dgraph.cluster.workers import any_lost
from dgraph.partition import policies
from dgraph.partition.partition import Partition
from dgraph.partition.policies import Policy
from dgraph.tables.edge_tables import cached_on
from dgraph.vertex_state.partition_state import FOLD_BLOCK
from dgraph.vertex_state.switches import RoundOptions

_built: WeakKeyDictionary[PartitionedGraph, dict[tuple, list[Any]]] = WeakKeyDictionary()

INCOMING, OUTGOING = policies.POLICIES["incoming"], policies.POLICIES["outgoing"]
REVERSED = {"out": "incoming", "incoming": "out"}


def can_reverse(graph: PartitionedGraph, *, in_order: bool) -> bool:
    """Whether the graph's own partitions can be read in reverse, which requires that the graph is undirected and that
    each partition has all edges of the vertices it owns."""
    return graph.cut.sends_from_masters and not (graph.directed or in_order)


def neighbourhood_partitions(
    graph: PartitionedGraph,
    columns: Sequence[str],
    orders: Sequence[str],
    *,
    twice: bool,
    in_order: bool,
    kept: bool = True,
) -> list[Any]:
    """The partitions, on the same workers as the graph's own; if `kept`, cached as long as the graph lives. With
    `in_order`, neighbours are sorted by number and every partition owns whole blocks of numbers, so that sums do not
    depend on partitions."""
    if can_reverse(graph, in_order=in_order):
        own = graph.partitioned([REVERSED[order] for order in orders], columns).held
        return graph.workers.wait(graph.workers.each(_reversed, [(one,) for one in own]))
    if not kept:
        return _build(graph, columns, orders, INCOMING, twice=twice, in_order=in_order)
    key = (tuple(columns), tuple(orders), twice, in_order)
    return _kept(graph, key, lambda: _build(graph, columns, orders, INCOMING, twice=twice, in_order=in_order))


def own_order(graph: PartitionedGraph, order: str) -> str | None:
    """The order in which the graph's own partitions have all out-edges of the vertices that they own, or all in-edges;
    None if they are not so."""
    for one in (order,) if graph.directed else ("out", "incoming"):
        if graph.num_parts == 1 or (graph.cut.sends_from_masters if one == "out" else graph.cut.gathers_at_masters):
            return one
    return None


def row_partitions(graph: PartitionedGraph, order: str, columns: Sequence[str]) -> tuple[list[Any], str]:
    """Partitions with all out-edges of the vertices that they own, or all in-edges, and the order to read: those of the
    graph itself if they are so, else others, cached as long as the graph lives."""
    if (own := own_order(graph, order)) is not None:
        return graph.partitioned((own,), columns).held, own
    built = (key for key in _built.get(graph, ()) if key[1:] == (order,) and set(columns) <= set(key[0]))
    policy, key = OUTGOING if order == "out" else INCOMING, next(built, (tuple(columns), order))
    columns = key[0]
    return _kept(graph, key, lambda: _build(graph, columns, (order,), policy, twice=False, in_order=False)), order


def _kept(graph: PartitionedGraph, key: tuple, build: Callable[[], list[Any]]) -> list[Any]:
    """What `build` returns, cached as long as the graph lives and nothing of it is lost."""
    built = _built.setdefault(graph, {})
    if key not in built or any_lost(built[key]):
        built[key] = build()
    return built[key]


def _reversed(partition: Partition) -> Partition:
    """The reversed partition. It is the same object each time, so that tables cached with it are reused."""
    return cached_on(partition, "turned", partition.reversed)


def partitions_by_shares(
    graph: PartitionedGraph,
    columns: Sequence[str],
    orders: Sequence[str],
    switches: RoundOptions,
    shares: Sequence[float],
) -> list[Any]:
    """The partitions of this run with different shares of the work; they are not cached."""
    policy, in_order = INCOMING if switches.whole else graph.cut, switches.deterministic
    return _build(graph, columns, orders, policy, twice=switches.twice, in_order=in_order, shares=shares)


def _build(
    graph: PartitionedGraph,
    columns: Sequence[str],
    orders: Sequence[str],
    policy: Policy,
    *,
    twice: bool,
    in_order: bool,
    shares: Sequence[float] = (),
) -> list[Any]:
    workers, chunks, parts = graph.workers, graph.input_edges.by_number(columns), graph.num_parts
    arcs = graph.input_edges.rules.arc_options
    shares = shares or shares_of(workers, graph.asked.capacities, parts)
    where = assembly.plan_places(workers, chunks, graph.numbering, policy, shares, **arcs)
    bounds = np.minimum(-(-where.bounds // FOLD_BLOCK) * FOLD_BLOCK, where.bounds[-1]) if in_order else where.bounds
    where = replace(where, twice=twice, bounds=bounds)
    sort = graph.input_edges.sort
    how: dict[str, Any] = {"order": orders[0], "sort": sort, "num_arcs": graph.input_edges.num_arcs, **arcs}
    held = assembly.build_partitions(workers, chunks, graph.numbering, where, **how)
    if len(orders) > 1:
        pairs = [(workers.host(part, parts), one) for part, one in enumerate(held)]
        held = workers.hold(
            [workers.call(Partition.with_order, one, orders[1], sort=sort, on=host) for host, one in pairs]
        )
    if in_order:
        threads = workers.threads_each(parts)
        held = workers.each(Partition.in_order, [(one, threads) for one in held])
    return workers.wait(held)
