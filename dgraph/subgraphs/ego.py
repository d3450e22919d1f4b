"""The neighbourhood of a vertex, as a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.arguments import check_choice, check_integer, known_options, vertex_list
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.ops.bfs import bfs
from dgraph.subgraphs.derived_graph import derived, induced
from dgraph.subgraphs.reverse import reverse

DIRECTIONS = ("out", "in", "both")

_searched: WeakKeyDictionary[Graph, dict[str, Graph]] = WeakKeyDictionary()  # by direction


@known_options()
def ego(graph: Graph, vertex: Any, radius: int = 1, *, direction: Literal["out", "in", "both"] = "out") -> Graph:
    """The subgraph of all vertices within some hops of a vertex.

    Parameters
    ----------
    graph : Graph
        The graph.
    vertex : vertex or list of vertices
        Where the hops begin. With several vertices, every vertex that is near one of them is kept.
    radius : int, default 1
        The largest number of hops; 0 gives a graph of `vertex` only.
    direction : {"out", "in", "both"}, default "out"
        Which edges hops follow in a directed graph: those that leave a vertex, those that enter it, or all.

    Returns
    -------
    Graph
        These vertices and all edges between them, as by `dgraph.subgraph`.

    Raises
    ------
    IdError
        If `vertex` is not in the graph.
    OptionError
        If `vertex` is None or empty, `radius` is not an integer >= 0, or `direction` is not known.

    Notes
    -----
    The first call with direction "in" or "both" makes the graph to search, which is cached as long as `graph` lives.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 3, 0], "dst": [1, 2, 3, 0, 2]})
    >>> dg.ego(G, 0).edges.compute()
       src  dst
    0    0    1
    1    1    2
    2    0    2
    >>> dg.ego(G, 0, direction="in").vertices.compute()["id"].tolist()
    [0, 3]
    """
    check_integer("radius", radius, 0)
    check_choice("direction", direction, DIRECTIONS)
    sources = vertex_list("vertex", vertex)
    if any(one is None for one in sources):
        raise OptionError(f"vertex={vertex!r}: expected a vertex or a list of vertices, got None")
    found = bfs(_to_search(graph, direction), sources, depth_limit=min(radius, graph.num_vertices))
    return induced(graph, found.by_number("distance") < np.inf)


def _to_search(graph: Graph, direction: str) -> Graph:
    """The graph whose out-edges hops follow."""
    rules = graph.input_edges.rules
    if direction == "out" or rules.symmetrize or not graph.directed:
        return graph
    made = _searched.setdefault(graph, {})
    if direction not in made and direction == "in":
        made[direction] = reverse(graph)
    elif direction not in made:
        made[direction] = derived(graph, graph.input_edges.anew(replace(rules, directed=False)))
    return made[direction]
