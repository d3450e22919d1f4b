"""The largest weakly connected component, as a graph."""

from __future__ import annotations

import numpy as np

from dgraph.arguments import known_options
from dgraph.graph import Graph
from dgraph.ops.wcc import wcc
from dgraph.subgraphs.derived_graph import induced


@known_options()
def largest_component(graph: Graph) -> Graph:
    """The subgraph of the largest weakly connected component; of several, the one with the smallest vertex.

    Parameters
    ----------
    graph : Graph
        The graph. Edge directions are ignored.

    Returns
    -------
    Graph
        The vertices of the component and all edges between them, as by `dgraph.subgraph`. The component of an empty
        graph is empty.

    Raises
    ------
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["ann", "bob", "dan"], "dst": ["bob", "cat", "eve"]})
    >>> dg.largest_component(G).vertices.compute()["id"].tolist()
    ['ann', 'bob', 'cat']
    """
    component = wcc(graph).by_number("component")  # the number of its smallest vertex
    largest = np.bincount(component).argmax() if len(component) else 0
    return induced(graph, component == largest)
