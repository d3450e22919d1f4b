"""Verifiers, which check answers with simpler algorithms in NumPy and SciPy, and without any of dgraph's kernels.

    from dgraph.testing.verify import Edges, verify

    verify("bfs", graph, dg.bfs(graph, 7), source=7)                             # a graph and a result of dgraph
    verify("wcc", Edges(source, destination, vertices), {"component": labels})   # arrays, computed by any program

A wrong answer raises `AnswerError`, which says where it is wrong. Pass the operation's options that affect its answer.
If edges are arrays, vertices in options and answers are numbers, and an option that maps vertices to values may be an
array indexed by vertex.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.arguments import values_by_vertex, vertex_list
from dgraph.errors import AnswerError, IdError, OptionError
from dgraph.graph import Graph
from dgraph.phrases.phrases import format_count
from dgraph.testing.verify.betweenness import betweenness
from dgraph.testing.verify.choices import coloring, maximal_independent_set
from dgraph.testing.verify.closeness import closeness, harmonic
from dgraph.testing.verify.communities import leiden, louvain
from dgraph.testing.verify.components import scc, wcc
from dgraph.testing.verify.cores import core_number, degree_centrality, degrees, k_core
from dgraph.testing.verify.eccentricity import eccentricity
from dgraph.testing.verify.edges import Edges, column, sized
from dgraph.testing.verify.embeddings import fast_rp
from dgraph.testing.verify.factors import factorize
from dgraph.testing.verify.generations import topological_generations
from dgraph.testing.verify.labels import cdlp, label_propagation
from dgraph.testing.verify.matching import matching
from dgraph.testing.verify.paths import bfs, sssp
from dgraph.testing.verify.ranks import eigenvector, hits, katz, pagerank
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
    "coloring": (coloring, ("color",), ()),
    "topological_generations": (topological_generations, ("generation",), ()),
    "maximal_independent_set": (maximal_independent_set, ("in_set",), ()),
    "hits": (hits, ("hub", "authority"), ()),
    "katz": (katz, ("katz",), ()),
    "eigenvector": (eigenvector, ("eigenvector",), ()),
    "betweenness": (betweenness, ("betweenness",), ()),
    "closeness": (closeness, ("closeness",), ()),
    "harmonic": (harmonic, ("harmonic",), ()),
    "eccentricity": (eccentricity, ("eccentricity",), ()),
    "fast_rp": (fast_rp, ("embedding",), ()),
    "degrees": (degrees, ("degree", "in_degree", "out_degree"), ()),
    "degree_centrality": (
        degree_centrality,
        ("degree_centrality", "in_degree_centrality", "out_degree_centrality"),
        (),
    ),
}
VERIFIERS: Table = {**OPERATIONS, "factorize": (factorize, ("factors", "bias"), ())}  # also for graphs of ratings

OF_SOURCES = {"closeness", "harmonic"}  # list only the vertices that `sources` names, if it is given
LIST_SOME = {*OF_SOURCES, "eccentricity"}
SHARES = {"personalization", "dangling"}  # probabilities of vertices
HINT = "; pass the value with which it ran"
HINTS = {  # where a user finds options that depend on the run
    "mean": """; the result has it as totals["mean"], and `dgraph run factorize --json` prints it""",
    "rmse": "; it is the largest error that you accept, over all ratings",
}


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
    if operation not in VERIFIERS:
        raise OptionError(f"operation={operation!r} has no verifier; choose one of {', '.join(VERIFIERS)}")
    function, names, of_vertices = VERIFIERS[operation]
    edges = graph if isinstance(graph, Edges) else Edges.of(graph)
    options = options_by_number(operation, function, names, edges, options)
    some = operation in LIST_SOME
    found = {name: column(answer, name, edges, of_vertices=name in of_vertices, some=some) for name in names}
    columns = {name: values for name, values in found.items() if values is not None}
    if not columns:
        raise AnswerError(f"the answer has no column {' or '.join(map(repr, names))}")
    sized(edges, columns)
    function(edges, **columns, **options)


def options_by_number(
    operation: str, function: Callable[..., None], columns: Sequence[str], edges: Edges, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of `verify`, with vertices as numbers. Unknown options are errors, and so are missing ones."""
    known = {n: p for n, p in inspect.signature(function).parameters.items() if n != "edges" and n not in columns}
    for name in options:
        if name not in known:
            choices = f"its options are {', '.join(known)}" if known else "it has no options"
            raise OptionError(f"{name}= is not an option of the verifier of {operation}; {choices}")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in options:
            raise OptionError(f"{name}= is missing: the answer of {operation} depends on it{HINTS.get(name, HINT)}")
    values = dict(options)
    if "source" in values:
        values["source"] = _numbers(edges, vertex_list("source", values["source"]))
    if isinstance(values.get("sources"), list | np.ndarray):
        values["sources"] = _numbers(edges, vertex_list("sources", values["sources"]))
    if values.get("target") is not None:
        values["target"] = int(_numbers(edges, [values["target"]])[0])
    for name in values.keys() & SHARES:
        value = values[name]
        several = isinstance(value, list | tuple)
        values[name] = [_shares(edges, name, one) for one in value] if several else _shares(edges, name, value)
    return values


def _numbers(edges: Edges, ids: list[Any]) -> np.ndarray:
    """The numbers of vertices from their ids. Raise an IdError for an unknown id."""
    if edges.ids is not None:
        numbers = edges.ids.get_indexer(ids)
    else:
        numbers = np.array(
            [one if isinstance(one, int | np.integer) and 0 <= one < edges.vertices else -1 for one in ids]
        )
    for one, number in zip(ids, numbers, strict=True):
        if number < 0:
            raise IdError(f"the graph has no vertex {one!r}; it has {format_count(edges.vertices, 'vertex')}")
    return numbers


def _shares(edges: Edges, name: str, given: Any) -> Any:
    """Weights of vertices as probabilities by number. A value that does not list vertices is returned unchanged."""
    if (weights_of := values_by_vertex(name, given)) is None:
        return given
    weights = np.array(list(weights_of.values()), np.float64)
    if not 0 < weights.sum() < np.inf or weights.min() < 0:
        raise OptionError(f"{name}={dict(weights_of)!r}: weights must be >= 0, and at least one must be > 0")
    shares = np.zeros(edges.vertices)
    shares[_numbers(edges, list(weights_of))] = weights / weights.sum()
    return shares
