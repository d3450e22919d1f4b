"""The subgraph that some vertices induce."""

from __future__ import annotations

from typing import Any

from dgraph.arguments import known_options
from dgraph.graph import Graph
from dgraph.subgraphs.chosen_vertices import read_mask
from dgraph.subgraphs.derived_graph import induced


@known_options()
def subgraph(graph: Graph, vertices: Any) -> Graph:
    """The subgraph of some vertices: these vertices, and all edges between them.

    Parameters
    ----------
    graph : Graph
        The graph.
    vertices : list, array, Series, frame, str or RunResult
        The vertices to keep, as one of these:

        * their ids, in any order and perhaps repeated: a list, an array or a Series, or a frame with a column
          ``vertex``, such as some rows of a result;
        * a boolean for each vertex: an array or a list in ascending order of the vertices, as in
          ``result.compute()``; a Series, whose index is that of ``result.compute()`` or the vertices themselves, or
          that comes from ``result.frame`` or ``graph.vertices``; or a column of a result, such as ``in_core``;
        * the name of a vertex column of booleans.

    Returns
    -------
    Graph
        Its vertices and edges keep their ids, attributes, columns and weights. Vertices without edges stay. It has the
        policy, the number of partitions, the memory and the workers of `graph`. No vertices give the empty graph.

    Raises
    ------
    IdError
        If a vertex is not in the graph.
    ColumnError
        If a mask has the wrong length, missing values or no booleans, or there is no such column.
    InputError
        If `vertices` is of an unsupported type.
    OptionError
        If `vertices` has several dimensions.
    RoomError
        If there is not enough memory for the edges that are kept.

    Notes
    -----
    The edges stay on their workers, to which the choice is sent, as two bits for each vertex. They are cut out when
    they are first needed. The new graph refers to the frames of `graph`, so these stay in memory as long as it lives.
    Edges of `graph` that are too many to hold are read twice; those that are kept must fit into memory, with 8 or 16
    bytes for each, and a byte for each edge of `graph`.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["ann", "ann", "bob", "dan"], "dst": ["bob", "cat", "cat", "eve"]})
    >>> dg.subgraph(G, ["ann", "cat", "dan"])
    <Graph: directed, 3 vertices, 1 edge, 1 partition by outgoing>
    >>> components = dg.wcc(G).frame
    >>> dg.subgraph(G, components["component"] == "dan").edges.compute()
       src  dst
    0  dan  eve
    >>> dg.subgraph(G, dg.k_core(G, 2)).num_vertices
    3
    """
    return induced(graph, read_mask(graph, vertices))
