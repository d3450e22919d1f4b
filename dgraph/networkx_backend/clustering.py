"""Clustering coefficients, also of directed graphs (Fagiolo, 2007) and with weights (Onnela and others, 2005)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dgraph.measures.summary import summary
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.native.threads import cores
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import weights_of
from dgraph.ops.lcc import lcc
from dgraph.ops.triangles import LOOKS
from dgraph.ops.triangles import triangles as our_triangles
from dgraph.solvers.subgraphs.neighbours import by_degree
from dgraph.solvers.subgraphs.triangle_products import sums_of_products


def triangles(G: NodeGraph, nodes: Any = None) -> Any:
    return G.chosen(G.column(our_triangles(G.graph()), "triangles"), nodes)


def transitivity(G: NodeGraph) -> float:
    if not G.has_ends:
        return summary(G.graph()).transitivity
    source, target = G.ends()
    between = source != target
    degrees = np.bincount(np.concatenate([source[between], target[between]]), minlength=len(G))
    closed = 6 * our_triangles(G.graph()).totals["triangles"]
    return closed / int((degrees * (degrees - 1)).sum()) if closed else 0


def clustering(G: NodeGraph, nodes: Any = None, weight: str | None = None) -> Any:
    plain = not G.directed and weight is None
    return G.chosen(G.column(lcc(G.graph()), "lcc") if plain else _coefficients(G, weight), nodes)


def average_clustering(G: NodeGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True) -> float:
    shares = clustering(G, nodes, weight).values()
    counted = [share for share in shares if count_zeros or share != 0]
    return sum(counted) / len(counted)


def _coefficients(G: NodeGraph, weight: str | None) -> np.ndarray:
    """Shares of triangles. If S is the matrix of weights, or in a directed graph the sum of that and its transpose,
    they are the diagonal of S * S * S, divided by what it would be if all neighbours of a node were joined."""
    source, target = G.ends()
    arcs = np.ones(len(source), np.int64) if weight is None else _cube_roots(weights_of(G, weight))
    between = source != target
    source, target, arcs = source[between], target[between], arcs[between]
    degree = np.bincount(np.concatenate([source, target]), minlength=len(G))
    order = by_degree(degree)
    ends = (source, target) if order is None else (order[source].astype(np.int64), order[target].astype(np.int64))
    pairs, place = np.unique(np.maximum(*ends) * len(G) + np.minimum(*ends), return_inverse=True)
    high, low = np.divmod(pairs, max(len(G), 1))
    joined = np.zeros(len(pairs), arcs.dtype)
    np.add.at(joined, place, arcs)
    sums = 2 * _sums(high, low, joined, len(G))
    sums = sums if order is None else sums[order]
    possible = degree * (degree - 1)
    if G.directed:
        both = (np.bincount(place, minlength=len(pairs)) == 2)[place]  # arcs whose reverses are there
        possible = 2 * (possible - 2 * np.bincount(source[both], minlength=len(G)))
    return np.divide(sums, possible, out=np.zeros(len(G)), where=sums != 0)


def _cube_roots(weights: np.ndarray) -> np.ndarray:
    """The cube roots of weights as shares of the largest one."""
    if len(weights) == 0:
        return weights.astype(np.float64)
    if not np.isfinite(weights).all() or weights.max() == 0:
        raise NotImplementedError("weights must be finite, and the largest one must not be 0")
    return np.cbrt(weights / weights.max())


def _sums(high: np.ndarray, low: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Sums of floats are found by one thread, so that they are always the same."""
    looks = LOOKS * len(high)
    threads = worthwhile_threads(cores(), looks) if weights.dtype.kind == "i" else 1
    return call_team(threads, partial(sums_of_products, high, low, weights, size, threads), looks)
