"""Makes a graph from edges that were cut out of another graph, whose policy and workers it keeps. If the other graph
has one partition, which has been built, the partition is cut too, so that no edge is sorted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph.building.derived_edges import Between, DerivedEdges, chosen_vertices
from dgraph.building.input_edges import InputEdges
from dgraph.building.partition_set import Partitions
from dgraph.cluster.retry import retry_on_loss
from dgraph.cluster.workers import any_lost
from dgraph.graph import Graph
from dgraph.partition.induced import induced_partition, ranks_of
from dgraph.partition.partition import Partition
from dgraph.partition.policies import is_saved_function


def derived(graph: Graph, edges: InputEdges) -> Graph:
    """A graph with these edges, partitioned like another. If that is a saved graph whose edges a function of the user
    placed, the policy is "auto", because the function was not saved."""
    asked = graph.asked._replace(parts=graph.num_parts)
    return Graph.of(edges, asked._replace(policy="auto") if is_saved_function(asked.policy) else asked)


@retry_on_loss
def induced(graph: Graph, mask: np.ndarray) -> Graph:
    """The subgraph of the vertices at whose numbers a mask is true."""
    edges, chosen = graph.input_edges, ranks_of(mask)
    numbering = graph.numbering.of(chosen)
    made = derived(graph, DerivedEdges(edges, Between(chosen), numbering, chosen_vertices(edges, chosen)))
    shared = [graph.workers.share(one) for one in (chosen, numbering)] if graph.built else []
    reuse_partition(graph, made, lambda held: (induced_partition, held, *shared))
    return made


def reuse_partition(
    graph: Graph,
    made: Graph,
    call: Callable[[Any], tuple[Any, ...]],
    names: Mapping[str, str] | None = None,
) -> None:
    """Give a graph the changed partition of the graph that it is made from, if each has all edges in one. `call` is
    what is called for it, with its arguments; `names` are the new names of orders, where they change."""
    built, whole = graph.built, graph.num_parts == made.num_parts == 1 and made.cut.by_range and graph.cut.by_range
    if not (built and whole) or any_lost(built.held):
        return
    workers, size = graph.workers, made.input_edges.num_vertices
    function, *arguments = call(built.held[0])
    held = workers.wait(workers.each(function, [tuple(arguments)]))
    kept = {(names or {}).get(order, order): columns for order, columns in built.kept.items()}
    made.built = Partitions(held, workers, kept, made.cut.name, size, {})
    (made.input_edges.num_edges,) = workers.bring(workers.each(_count_edges, [(held[0], graph.directed)]))


def _count_edges(partition: Partition, directed: bool) -> int:
    """The edges of a graph's only partition, in which an undirected edge has two arcs unless it is a loop."""
    if directed:
        return partition.num_edges
    table = partition.out or partition.incoming
    assert table is not None, "a partition has one order at least"
    loops = int(np.count_nonzero(table.rows() == table.neighbours))
    return (table.num_edges + loops) // 2
