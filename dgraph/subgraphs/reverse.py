"""The graph with every edge turned around."""

from __future__ import annotations

from dataclasses import replace

from dgraph.arguments import known_options
from dgraph.building.derived_edges import DerivedEdges, Reversal, changed_frame
from dgraph.building.input_edges import InputEdges
from dgraph.cluster.retry import retry_on_loss
from dgraph.graph import Graph
from dgraph.partition.partition import Partition
from dgraph.subgraphs.derived_graph import derived, reuse_partition

OTHER = {"out": "incoming", "incoming": "out"}


@known_options()
@retry_on_loss
def reverse(graph: Graph) -> Graph:
    """The graph with every edge turned around: an edge from u to v becomes one from v to u.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    Graph
        The same vertices, with all columns and weights, the policy, the memory and the workers of `graph`; an
        undirected graph itself.

    Notes
    -----
    The only partition of a graph is read the other way round. Several partitions are built again, from edges that are
    already numbered.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["ann", "ann"], "dst": ["bob", "cat"], "km": [3, 5]})
    >>> dg.reverse(G).edges.compute()
       src  dst  km
    0  bob  ann   3
    1  cat  ann   5
    """
    if not graph.directed:
        return graph
    made = derived(graph, _reversed(graph.input_edges))
    reuse_partition(graph, made, lambda held: (Partition.reversed, held), OTHER)
    return made


def _reversed(whole: InputEdges) -> InputEdges:
    change, numbering = Reversal(whole.edges.source, whole.edges.destination), whole.numbering
    if whole.streamed is None:
        return DerivedEdges(whole, change, numbering, whole.vertices)
    frame = replace(whole.edges, frame=changed_frame(whole, change))  # too many edges to hold: they are read again
    return InputEdges(frame, whole.vertices, whole.rules, whole.workers)
