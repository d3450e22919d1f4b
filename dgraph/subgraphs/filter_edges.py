"""The graph of the edges that a user's function keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from dgraph.arguments import known_options
from dgraph.building.derived_edges import DerivedEdges, Filter, by_rules
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.subgraphs.derived_graph import derived


@known_options()
def filter_edges(graph: Graph, function: Callable[[pd.DataFrame], Any]) -> Graph:
    """The graph of the edges for which a function is true. All vertices stay.

    Parameters
    ----------
    graph : Graph
        The graph.
    function : callable
        Receives some of the edges as a pandas frame with the ids of their ends and all edge columns, as in
        `Graph.edges`, and returns a boolean Series or array with one value for each. It is called once for each piece
        of the edges that is not empty, perhaps on several threads, and on a cluster by the workers that have them; so
        what it returns for an edge must not depend on the other edges of the frame.

    Returns
    -------
    Graph
        The policy, the number of partitions, the memory and the workers are those of `graph`.

    Raises
    ------
    OptionError
        If `function` cannot be called.
    InputError
        If `function` raises an error, or does not return one boolean for each edge.
    RoomError
        If there is not enough memory for the edges that are kept. They are held until the new graph is built, 8 or 16
        bytes for each; besides, a byte for each edge of `graph` is held as long as the new graph lives.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 0, 1], "dst": [1, 2, 2], "km": [3, 5, 2]})
    >>> dg.filter_edges(G, lambda edges: edges["km"] < 4).edges.compute()
       src  dst  km
    0    0    1   3
    1    1    2   2
    """
    if not callable(function):
        raise OptionError(f"function={function!r} must be a function of a frame of edges that returns booleans")
    return _filtered(graph, function)


@retry_on_loss
def _filtered(graph: Graph, function: Callable[[pd.DataFrame], Any]) -> Graph:
    edges = graph.input_edges
    if edges.rules.repeats != "keep" or edges.rules.symmetrize:
        edges = by_rules(graph)
    change = Filter(function=function, skip_loops=edges.rules.skip_loops)
    made = DerivedEdges(edges, change, graph.numbering, edges.vertices)
    made.change_edges()  # here, where errors of the function belong
    if edges is not graph.input_edges:
        edges.forget_lost()  # its tasks would keep all edges by number
    return derived(graph, made)
