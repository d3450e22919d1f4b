"""The graph without self loops and repeated edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from dgraph.arguments import check_choice, known_options
from dgraph.graph import Graph
from dgraph.partition.rules import LOOPS, REPEATS
from dgraph.subgraphs.derived_graph import derived


@known_options()
def simplify(
    graph: Graph,
    *,
    loops: Literal["keep", "drop"] = "drop",
    repeats: Literal["keep", "first", "sum", "min", "max"] = "first",
) -> Graph:
    """The graph without self loops and repeated edges.

    Parameters
    ----------
    graph : Graph
        The graph.
    loops : {"keep", "drop"}, default "drop"
        Whether to keep edges from a vertex to itself.
    repeats : {"keep", "first", "sum", "min", "max"}, default "first"
        What to do with edges that have the same ends (in an undirected graph, in either order), as in
        `Graph.from_edges`: keep all, keep the first, or merge them into one with the sum, minimum or maximum of their
        values.

    Returns
    -------
    Graph
        All vertices stay. A graph without loops and repeats by its own rules is returned itself.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.

    Notes
    -----
    A graph whose repeated edges were merged when it was made has no others: then `repeats` has no effect.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 0, 1, 2], "dst": [1, 1, 2, 2], "km": [3, 5, 2, 1]}, weight="km")
    >>> dg.simplify(G, repeats="sum").edges.compute()
       src  dst  km
    0    0    1   8
    1    1    2   2
    """
    check_choice("loops", loops, LOOPS)
    check_choice("repeats", repeats, REPEATS)
    now = graph.input_edges.rules
    rules = replace(
        now,
        loops=now.loops if loops == "keep" else "drop",
        repeats=repeats if now.repeats == "keep" else now.repeats,
    )
    return graph if rules == now else derived(graph, graph.input_edges.anew(rules))
