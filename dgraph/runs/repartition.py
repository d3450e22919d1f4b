"""Partitions made for one run: in which every owned vertex has all its edges, for programs that merge whole
neighbourhoods at once; or larger and smaller ones, as their workers are fast.

Where messages travel along the edges this is the incoming cut; of an undirected graph it is the outgoing cut, read the
other way round, and nothing is built. Where they travel against them too, an edge of a directed graph is placed twice:
with its destination and with its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.building import assembly
from dgraph.building.shares import shares_of
from dgraph.cluster.workers import any_lost
from dgraph.graph import Graph
from dgraph.partition import policies
from dgraph.partition.partition import Partition
from dgraph.partition.policies import Policy
from dgraph.programs.analysis import Analysis
from dgraph.tables.edge_tables import cached_on
from dgraph.vertex_state.partition_state import BLOCK
from dgraph.vertex_state.switches import RoundOptions

_made: WeakKeyDictionary[Graph, dict[tuple, list[Any]]] = WeakKeyDictionary()

INCOMING = Policy("incoming", policies.INCOMING)
TURNED = {"out": "incoming", "incoming": "out"}


def needs_neighbourhoods(graph: Graph, analysis: Analysis, *, gathers: bool) -> tuple[bool, bool]:
    """Whether a program cannot run on the graph's own partitions, and whether it needs each edge at both ends.
    `gathers`: every vertex gathers over all its edges in any case."""
    alongs = {phase.along if graph.directed else "out" for phase in analysis.phases}
    gathers |= not all(phase.combines for phase in analysis.phases)
    twice = alongs != {"out"}
    return gathers and graph.num_parts > 1 and (twice or graph.policy != "incoming"), twice


def will_turn(graph: Graph, *, in_order: bool) -> bool:
    """Whether the graph's own partitions, read the other way round, are those that are needed: they are of an
    undirected graph, whose vertices have all their edges where they are owned."""
    return graph.cut.sends_from_masters and not (graph.directed or in_order)


def neighbourhoods(
    graph: Graph, columns: Sequence[str], orders: Sequence[str], *, twice: bool, in_order: bool
) -> list[Any]:
    """The partitions, on the same workers as the graph's; kept as long as the graph lives. With `in_order`, so that
    sums do not depend on partitions: neighbours by number, and every partition owns whole blocks of numbers."""
    if will_turn(graph, in_order=in_order):
        sides = [TURNED[order] for order in orders]
        own = [(one,) for one in graph.partitioned(sides, columns).held]
        return graph.workers.wait(graph.workers.each(_turned, own))
    found = _made.setdefault(graph, {})
    key = (tuple(columns), tuple(orders), twice, in_order)
    if key not in found or any_lost(found[key]):
        found[key] = _build(graph, columns, orders, INCOMING, twice=twice, in_order=in_order)
    return found[key]


def _turned(partition: Partition) -> Partition:
    """The partition turned round, the same one each time, so that what is kept with it stays."""
    return cached_on(partition, "turned", partition.turned)


def by_shares(
    graph: Graph, columns: Sequence[str], orders: Sequence[str], switches: RoundOptions, shares: Sequence[float]
) -> list[Any]:
    """The partitions that this run has, but with these shares of the work; not kept."""
    policy, in_order = INCOMING if switches.whole else graph.cut, switches.deterministic
    return _build(graph, columns, orders, policy, twice=switches.twice, in_order=in_order, shares=shares)


def _build(
    graph: Graph,
    columns: Sequence[str],
    orders: Sequence[str],
    policy: Policy,
    *,
    twice: bool,
    in_order: bool,
    shares: Sequence[float] = (),
) -> list[Any]:
    workers, chunks, parts = graph.workers, graph.listed.by_number(columns), graph.num_parts
    arcs = graph.listed.rules.arc_options
    shares = shares or shares_of(workers, graph.division.asked.capacities, parts)
    where = assembly.plan_places(workers, chunks, graph.numbering, policy, shares, **arcs)
    bounds = np.minimum(-(-where.bounds // BLOCK) * BLOCK, where.bounds[-1]) if in_order else where.bounds
    where = replace(where, twice=twice, bounds=bounds)
    sort = graph.listed.sort
    found = assembly.partition(workers, chunks, graph.numbering, where, order=orders[0], sort=sort, **arcs)
    if len(orders) > 1:
        hosts = [workers.host(part, parts) for part in range(parts)]
        pairs = zip(found, hosts, strict=True)
        found = workers.hold(
            [workers.call(Partition.with_order, one, orders[1], sort=sort, on=host) for one, host in pairs]
        )
    if in_order:
        each = workers.threads_each(parts)
        found = workers.hold([workers.call(Partition.in_order, one, each) for one in found])
    return workers.wait(found)
