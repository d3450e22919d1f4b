"""Degrees, verified by counting, and cores, verified from both sides: a vertex of core k has k neighbours in cores at
least as high, and all other vertices can be peeled away."""

from __future__ import annotations

import numpy as np

from dgraph.arguments import check_integer
from dgraph.errors import AnswerError
from dgraph.testing.verify.edges import Edges, expect


def degrees(
    edges: Edges,
    *,
    degree: np.ndarray | None = None,
    in_degree: np.ndarray | None = None,
    out_degree: np.ndarray | None = None,
) -> None:
    """Verify degrees. `degree` is the sum of both in a directed graph, and equals both in an undirected graph."""
    starts, ends, _ = edges.arcs
    out = np.bincount(starts, minlength=edges.vertices)
    into = np.bincount(ends, minlength=edges.vertices)
    both = out + into if edges.directed else out
    given = {"degree": (degree, both), "in_degree": (in_degree, into), "out_degree": (out_degree, out)}
    for name, (values, expected) in given.items():
        if values is not None and (values != expected).any():
            v = np.argmax(values != expected)
            raise AnswerError(f"vertex {v}: {name} {values[v]}, not {expected[v]}")


def degree_centrality(
    edges: Edges,
    *,
    degree_centrality: np.ndarray | None = None,
    in_degree_centrality: np.ndarray | None = None,
    out_degree_centrality: np.ndarray | None = None,
) -> None:
    """Verify degrees divided by the number of other vertices; the only vertex of a graph has 1."""
    others = edges.vertices - 1
    given = {"degree": degree_centrality, "in_degree": in_degree_centrality, "out_degree": out_degree_centrality}
    shares = {name: values for name, values in given.items() if values is not None}
    if others == 0 and any((values != 1).any() for values in shares.values()):
        raise AnswerError("the only vertex of a graph has the centrality 1")
    if others > 0:
        degrees(edges, **{name: np.round(values * others, 6) for name, values in shares.items()})


def core_number(edges: Edges, *, core: np.ndarray) -> None:
    """Verify that no core number is too high or too low."""
    level = np.asarray(core, np.int64)
    as_high = _count_as_high(edges, level)
    expect(
        as_high >= level,
        lambda v: f"vertex {v}: core {level[v]}, with {as_high[v]} neighbours in cores as high as that",
    )
    left = _peeled(edges, level, as_high, np.ones(edges.vertices, bool))
    expect(~left, lambda v: f"vertex {v}: core {level[v]}, but it is in a higher one")


def k_core(edges: Edges, *, in_core: np.ndarray, k: int | None = None) -> None:
    """Verify the k-core or, without `k`, the highest core that is not empty.

    In the second case, k is the smallest number of neighbours within the core, and the (k + 1)-core must be empty.
    """
    inside = np.asarray(in_core, bool)
    check_integer("k", k, 0, or_none=True)
    if k is None:
        if not edges.vertices:
            return
        if not inside.any():
            raise AnswerError("no vertex is in the core, but the highest core is never empty")
        k = int(_count_as_high(edges, inside.astype(np.int64))[inside].min())
        higher = _peeled(edges, np.full(len(inside), k), np.diff(edges.simple.indptr), np.ones(len(inside), bool))
        expect(~higher, lambda v: f"vertex {v}: in the {k + 1}-core, so that the {k}-core is not the highest")
    level = np.where(inside, k, k - 1)
    as_high = _count_as_high(edges, level)
    expect(~inside | (as_high >= k), lambda v: f"vertex {v}: in the {k}-core, with {as_high[v]} neighbours there")
    left = _peeled(edges, level, as_high, ~inside)
    expect(~left, lambda v: f"vertex {v}: not in the {k}-core, but it cannot be peeled away")


def _count_as_high(edges: Edges, level: np.ndarray) -> np.ndarray:
    """For each vertex, the number of neighbours whose level is at least its own."""
    simple = edges.simple
    rows = np.repeat(np.arange(edges.vertices), np.diff(simple.indptr))
    return np.bincount(rows[level[simple.indices] >= level[rows]], minlength=edges.vertices)


def _peeled(edges: Edges, level: np.ndarray, as_high: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """The vertices that remain after repeatedly removing those with no more remaining neighbours than their level.

    All levels are peeled at once: vertices of lower levels do not count as neighbours, and those of higher levels stay.
    """
    indptr, neighbours = edges.simple.indptr.astype(np.int64), edges.simple.indices
    left, as_high = outside.copy(), as_high.copy()
    going = np.flatnonzero(left & (as_high <= level))
    while len(going):
        left[going] = False
        lengths = indptr[going + 1] - indptr[going]
        rows = np.repeat(np.arange(len(going)), lengths)
        places = np.arange(len(rows)) + np.repeat(indptr[going] - np.cumsum(lengths) + lengths, lengths)
        near = neighbours[places]
        near = near[left[near] & (level[near] == level[going[rows]])]
        np.subtract.at(as_high, near, 1)
        going = np.unique(near[as_high[near] <= level[near]])
    return left
