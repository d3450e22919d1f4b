"""Is this answer right? Every operation has a verifier: another, simpler algorithm, in NumPy and SciPy alone.

    from dgraph.testing.verify import Edges, verify

    verify("bfs", graph, dg.bfs(graph, 7), source=7)                             # a graph and a result of dgraph's
    verify("wcc", Edges(source, destination, vertices), {"component": labels})   # arrays, whoever found them

A wrong answer raises `AnswerError`, which says where. Options are those of the operation that its answer depends on;
vertices among them, as in the columns of an answer, are numbers when edges are given as arrays. Where a mapping from
vertices is an option, an array by their numbers is one, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgraph.errors import AnswerError, OptionError
from dgraph.graph import Graph
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
# the verifier of each operation, the columns of its answer, and which of them hold vertices
OPERATIONS: Table = {
    "pagerank": (pagerank, ("pagerank",), ()),
    "bfs": (bfs, ("distance", "predecessor"), ("predecessor",)),
    "sssp": (sssp, ("distance", "predecessor"), ("predecessor",)),
    "wcc": (wcc, ("component",), ("component",)),
    "scc": (scc, ("component",), ("component",)),
    "label_propagation": (label_propagation, ("label",), ("label",)),
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
    """Refuse an answer that is not what the operation means on this graph.

    `answer` is a result, its frame, or a dict of arrays by the numbers of the vertices.
    """
    known: Table = {**OPERATIONS, **RATINGS}
    if operation not in known:
        raise OptionError(f"operation={operation!r} has no verifier; there are {', '.join(known)}")
    function, names, of_vertices = known[operation]
    edges = graph if isinstance(graph, Edges) else Edges.of(graph)
    options = by_number(operation, function, names, edges, options)
    found = {name: column(answer, name, edges, of_vertices=name in of_vertices) for name in names}
    found = {name: values for name, values in found.items() if values is not None}
    if not found:
        raise AnswerError(f"the answer has no column {' or '.join(map(repr, names))}")
    function(edges, **found, **options)
