"""Degrees, by counting; and cores, both ways: a vertex of core k has k neighbours in cores as high, and whoever is
outside can be peeled away."""

from __future__ import annotations

import numpy as np

from dgraph.errors import AnswerError
from dgraph.options import check_integer
from dgraph.testing.verify.edges import Edges, expect, sized


def degrees(
    edges: Edges,
    *,
    degree: np.ndarray | None = None,
    in_degree: np.ndarray | None = None,
    out_degree: np.ndarray | None = None,
) -> None:
    """Refuse degrees that are not those counted. `degree` is both together in a directed graph, and either in an
    undirected one."""
    sized(edges, {"degree": degree, "in_degree": in_degree, "out_degree": out_degree})
    starts, ends, _ = edges.arcs
    out = np.bincount(starts, minlength=edges.vertices)
    into = np.bincount(ends, minlength=edges.vertices)
    both = out + into if edges.directed else out
    given = {"degree": (degree, both), "in_degree": (in_degree, into), "out_degree": (out_degree, out)}
    for name, (found, expected) in given.items():
        if found is not None and (found != expected).any():
            v = np.argmax(found != expected)
            raise AnswerError(f"vertex {v}: {name} {found[v]}, not {expected[v]}")


def core_number(edges: Edges, *, core: np.ndarray) -> None:
    """Refuse core numbers of which one is too high, or too low."""
    sized(edges, {"core": core})
    level = np.asarray(core, np.int64)
    beside = _beside(edges, level)
    expect(
        beside >= level, lambda v: f"vertex {v}: core {level[v]}, with {beside[v]} neighbours in cores as high as that"
    )
    left = _peeled(edges, level, beside, np.ones(edges.vertices, bool))
    expect(~left, lambda v: f"vertex {v}: core {level[v]}, but it is in a higher one")


def k_core(edges: Edges, *, in_core: np.ndarray, k: int | None = None) -> None:
    """Refuse a set of vertices that is not the k-core; without k, not the highest core that has vertices: the core of
    as many neighbours as all have there, if no vertex is in the next."""
    sized(edges, {"in_core": in_core})
    inside = np.asarray(in_core, bool)
    check_integer("k", k, 0, or_none=True)
    if k is None:
        if not edges.vertices:
            return
        if not inside.any():
            raise AnswerError("the highest core is never empty, and no vertex is said to be in it")
        k = int(_beside(edges, inside.astype(np.int64))[inside].min())
        higher = _peeled(edges, np.full(len(inside), k), np.diff(edges.simple.indptr), np.ones(len(inside), bool))
        expect(~higher, lambda v: f"vertex {v}: in the {k + 1}-core, so that the {k}-core is not the highest")
    level = np.where(inside, k, k - 1)
    beside = _beside(edges, level)
    expect(~inside | (beside >= k), lambda v: f"vertex {v}: in the {k}-core, with {beside[v]} neighbours there")
    left = _peeled(edges, level, beside, ~inside)
    expect(~left, lambda v: f"vertex {v}: not in the {k}-core, but nothing takes it away")


def _beside(edges: Edges, level: np.ndarray) -> np.ndarray:
    """How many neighbours of each vertex are of its level or higher."""
    simple = edges.simple
    rows = np.repeat(np.arange(edges.vertices), np.diff(simple.indptr))
    return np.bincount(rows[level[simple.indices] >= level[rows]], minlength=edges.vertices)


def _peeled(edges: Edges, level: np.ndarray, beside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """The vertices left when all have gone, again and again, that have no more neighbours left than their level.

    All levels are peeled at once: a vertex of a lower level is no neighbour any more, one of a higher level stays.
    """
    indptr, neighbours = edges.simple.indptr.astype(np.int64), edges.simple.indices
    left, beside = outside.copy(), beside.copy()
    going = np.flatnonzero(left & (beside <= level))
    while len(going):
        left[going] = False
        lengths = indptr[going + 1] - indptr[going]
        rows = np.repeat(np.arange(len(going)), lengths)
        places = np.arange(len(rows)) + np.repeat(indptr[going] - np.cumsum(lengths) + lengths, lengths)
        near = neighbours[places]
        near = near[left[near] & (level[near] == level[going[rows]])]
        np.subtract.at(beside, near, 1)
        going = np.unique(near[beside[near] <= level[near]])
    return left
