"""Verifiers, which check answers with simpler algorithms in NumPy and SciPy, and without any of dgraph's kernels.

    from dgraph.testing.verify import Edges, verify

    verify("bfs", graph, dg.bfs(graph, 7), source=7)                             # a graph and a result of dgraph
    verify("wcc", Edges(source, destination, vertices), {"component": labels})   # arrays, computed by any program

A wrong answer raises `AnswerError`, which says where it is wrong. Pass the operation's options that affect its answer.
If edges are arrays, vertices in options and answers are numbers, and an option that maps vertices to values may be an
array indexed by vertex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgraph.errors import AnswerError, OptionError
from dgraph.graph import Graph
from dgraph.testing.verify.communities import leiden, louvain
from dgraph.testing.verify.components import scc, wcc
from dgraph.testing.verify.cores import core_number, degrees, k_core
from dgraph.testing.verify.edges import Edges, column
from dgraph.testing.verify.factors import factorize
from dgraph.testing.verify.given import by_number
from dgraph.testing.verify.labels import cdlp, label_propagation
from dgraph.testing.verify.matching import matching
from dgraph.testing.verify.paths import bfs, sssp
from dgraph.testing.verify.ranks import hits, katz, pagerank
from dgraph.testing.verify.triangles import lcc, triangles

__all__ = ["OPERATIONS", "AnswerError", "Edges", "verify"]

Verifier = Callable[..., None]
Table = dict[str, tuple[Verifier, tuple[str, ...], tuple[str, ...]]]
# operation -> the verifier, the columns of the answer, and the columns among these that hold vertices
OPERATIONS: Table = {
    "pagerank": (pagerank, ("pagerank",), ()),
    "bfs": (bfs, ("distance", "predecessor"), ("predecessor",)),
    "sssp": (sssp, ("distance", "predecessor"), ("predecessor",)),
    "wcc": (wcc, ("component",), ("component",)),
    "scc": (scc, ("component",), ("component",)),
    "label_propagation": (label_propagation, ("label",), ("label",)),
    "leiden": (leiden, ("community",), ("community",)),
    "louvain": (louvain, ("community",), ("community",)),
    "cdlp": (cdlp, ("label",), ("label",)),
    "lcc": (lcc, ("lcc",), ()),
    "triangles": (triangles, ("triangles",), ()),
    "core_number": (core_number, ("core",), ()),
    "k_core": (k_core, ("in_core",), ()),
    "matching": (matching, ("mate",), ("mate",)),
    "hits": (hits, ("hub", "authority"), ()),
    "katz": (katz, ("katz",), ()),
    "degrees": (degrees, ("degree", "in_degree", "out_degree"), ()),
}
RATINGS: Table = {"factorize": (factorize, ("factors",), ())}  # for graphs of ratings


def verify(operation: str, graph: Graph | Edges, answer: Any, **options: Any) -> None:
    """Verify an operation's answer on a graph.

    Parameters
    ----------
    operation : str
        Name of the operation, such as ``"bfs"``.
    graph : Graph or Edges
        The graph, or edges as arrays.
    answer : RunResult, DataFrame or dict of arrays
        The result of the operation, its frame, or arrays indexed by vertex number.
    **options
        Options of the operation that affect its answer, such as ``source``.

    Raises
    ------
    AnswerError
        If the answer is wrong.

    Examples
    --------
    >>> from dgraph.testing.verify import verify
    >>> G = dg.grid(rows=3, cols=3)
    >>> verify("bfs", G, dg.bfs(G, 4), source=4)
    """
    known: Table = {**OPERATIONS, **RATINGS}
    if operation not in known:
        raise OptionError(f"operation={operation!r} has no verifier; choose one of {', '.join(known)}")
    function, names, of_vertices = known[operation]
    edges = graph if isinstance(graph, Edges) else Edges.of(graph)
    options = by_number(operation, function, names, edges, options)
    columns = {name: column(answer, name, edges, of_vertices=name in of_vertices) for name in names}
    columns = {name: values for name, values in columns.items() if values is not None}
    if not columns:
        raise AnswerError(f"the answer has no column {' or '.join(map(repr, names))}")
    function(edges, **columns, **options)
