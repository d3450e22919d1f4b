"""The public functions that convert graphs from and to other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.arguments import check_flag, known_options
from dgraph.errors import InputError, OptionError
from dgraph.graph import Graph
from dgraph.io.edge_list import edge_list_of
from dgraph.io.libraries import igraph, networkx, scipy_sparse
from dgraph.phrases.phrases import format_option


@known_options(Graph.from_edges)
def from_networkx(graph: Any, *, weight: str | None = "auto", **options: Any) -> Graph:
    """Convert a NetworkX graph, with its attributes.

    Parameters
    ----------
    graph : networkx.Graph
        A graph of any NetworkX class, whose nodes are all integers, all strings or all UUIDs.
    weight : str or None, default "auto"
        Edge attribute that holds the weights; every edge must have a value for it. ``"auto"`` uses a numeric attribute
        called ``weight``, if there is one; None makes an unweighted graph.
    **options
        Further options are passed to `Graph.from_edges`.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        If `graph` is not a NetworkX graph, or an id or a weight is invalid (`IdError`, `WeightError`).

    Examples
    --------
    >>> import networkx as nx
    >>> G = dg.from_networkx(nx.karate_club_graph())
    >>> G.num_vertices, G.num_edges
    (34, 78)
    """
    _expect(graph, "is_multigraph", "a NetworkX graph")
    return networkx.from_networkx(graph, weight).graph(**_without_ends(options))


@known_options(Graph.from_edges)
def from_igraph(graph: Any, *, weight: str | None = "auto", name: str | None = "name", **options: Any) -> Graph:
    """Convert a python-igraph graph, with its attributes.

    Parameters
    ----------
    graph : igraph.Graph
        The graph.
    weight : str or None, default "auto"
        Edge attribute that holds the weights; every edge must have a value for it. ``"auto"`` uses a numeric attribute
        called ``weight``, if there is one; None makes an unweighted graph.
    name : str, default "name"
        Vertex attribute that becomes the id. If `name` is None, or the graph has no such attribute, the vertex indices
        become the ids.
    **options
        Further options are passed to `Graph.from_edges`.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        If `graph` is not an igraph graph, or an id or a weight is invalid (`IdError`, `WeightError`).

    Examples
    --------
    >>> import igraph
    >>> G = dg.from_igraph(igraph.Graph(edges=[(0, 1), (1, 2)]))
    >>> G.num_vertices, G.directed
    (3, False)
    """
    _expect(graph, "es", "an igraph graph")
    return igraph.from_igraph(graph, weight, name).graph(**_without_ends(options))


@known_options(Graph.from_edges)
def from_scipy(matrix: Any, *, directed: bool = True, weight: str | None = "auto", **options: Any) -> Graph:
    """Convert an adjacency matrix: each stored entry (i, j) is an edge from i to j, with its value as the weight.

    Parameters
    ----------
    matrix : sparse matrix or numpy.ndarray
        The matrix; the zeros of a NumPy array are not edges. The columns of a rectangular matrix are vertices numbered
        after its rows.
    directed : bool, default True
        If False, the matrix must be symmetric, and each pair of entries is one undirected edge.
    weight : "weight" or None, default "auto"
        ``"auto"`` and ``"weight"`` use the values of the entries as the column ``weight``; None makes an unweighted
        graph.
    **options
        Further options are passed to `Graph.from_edges`.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        If `matrix` is not a matrix of real numbers, or is not symmetric although ``directed=False``.

    Examples
    --------
    >>> G = dg.from_scipy(np.array([[0, 2], [3, 0]]))
    >>> G.edges.compute()
       source  destination  weight
    0       0            1       2
    1       1            0       3
    """
    _expect(matrix, "tocoo" if not isinstance(matrix, np.ndarray) else "shape", "a SciPy or NumPy matrix")
    return scipy_sparse.from_scipy(matrix, directed=directed, weight=weight).graph(**_without_ends(options))


@known_options()
def to_networkx(graph: Graph, *, multigraph: bool | None = None) -> Any:
    """Convert a graph to NetworkX, with all ids, columns and attributes.

    Parameters
    ----------
    graph : Graph
        The graph to convert.
    multigraph : bool, optional
        Whether to make a multigraph; by default only if edges repeat.

    Returns
    -------
    networkx.Graph, DiGraph, MultiGraph or MultiDiGraph

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
    >>> list(dg.to_networkx(G).edges)
    [('a', 'b'), ('b', 'c')]
    """
    if multigraph is not None:
        check_flag("multigraph", multigraph)
    return networkx.to_networkx(edge_list_of(graph), multigraph)


@known_options()
def to_igraph(graph: Graph) -> Any:
    """Convert a graph to python-igraph, with all columns and attributes.

    Parameters
    ----------
    graph : Graph
        The graph to convert.

    Returns
    -------
    igraph.Graph
        Ids are in the vertex attribute ``name``.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
    >>> dg.to_igraph(G).vs["name"]
    ['a', 'b', 'c']
    """
    return igraph.to_igraph(edge_list_of(graph))


@known_options()
def to_scipy(graph: Graph) -> tuple[Any, np.ndarray]:
    """Convert a graph to a sparse adjacency matrix.

    Parameters
    ----------
    graph : Graph
        The graph to convert.

    Returns
    -------
    matrix : scipy.sparse.csr_array
        Entry (i, j) is the sum of the weights of the edges from row i to row j or, without weights, the number of these
        edges.
    ids : numpy.ndarray
        The vertex id of each row, in ascending order.

    Raises
    ------
    WeightError
        If a sum of integer weights exceeds 64 bits.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [10, 10], "dst": [20, 30]})
    >>> matrix, ids = dg.to_scipy(G)
    >>> matrix.toarray()
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 0, 0]])
    >>> ids
    array([10, 20, 30])
    """
    return scipy_sparse.to_scipy(edge_list_of(graph))


def _without_ends(options: dict[str, Any]) -> dict[str, Any]:
    """Check options for `Graph.from_edges`. They must not name the ends, which the other library's graph determines."""
    for name in ("source", "destination"):
        if name in options:
            problem = f"{format_option(name, options[name])}: the graph itself says where its edges lead"
            raise OptionError(f"{problem}; leave it out")
    return options


def _expect(value: Any, attribute: str, what: str) -> None:
    if not hasattr(value, attribute):
        raise InputError(f"expected {what}, got {type(value).__name__}; for a frame of edges use Graph.from_edges")
