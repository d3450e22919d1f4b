"""Link analysis and other centralities that are fixed points: PageRank, HITS, Katz, eigenvectors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection
from typing import Any

import networkx as nx

from dgraph.errors import DgraphError, LostError, OptionError, RoomError, RunError, UnsettledWarning
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.ops.eigenvector import eigenvector
from dgraph.ops.hits import hits as our_hits
from dgraph.ops.katz import katz
from dgraph.ops.pagerank import pagerank as our_pagerank
from dgraph.runs.result import RunResult

MORE_ROUNDS = 100  # a round of power iteration does less than one of the method by which NetworkX computes HITS


def pagerank(
    G: NodeGraph,
    alpha: float = 0.85,
    personalization: dict | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: dict | None = None,
    weight: str | None = "weight",
    dangling: dict | None = None,
) -> dict[Any, float]:
    """NetworkX stops when a round changes ranks by less than `tol` per node. Ours is the distance from the fixed point:
    we stop when a round changes ranks by less than ``tol * (1 - alpha) / alpha``."""
    if len(G) == 0:
        return {}
    jumps = None if personalization is None else _by_vertex(G, personalization)
    if jumps is not None and sum(jumps.values()) == 0:
        raise ZeroDivisionError
    start = 1.0 if nstart is None else float(sum(nstart.get(node, 0) for node in G.nodes))
    if start == 0 or not math.isfinite(start):
        raise nx.PowerIterationFailedConvergence(max_iter)
    ends = jumps if dangling is None else _by_vertex(G, dangling)
    change = len(G) * tol
    ranks = _settled(
        max_iter,
        tol,
        lambda: our_pagerank(
            G.graph(weight),
            alpha=alpha,
            max_iter=max_iter,
            tol=change * alpha / (1 - alpha) if 0 < alpha < 1 else change,
            personalization=jumps,
            weighted=G.is_weighted(weight),
            dangling="uniform" if ends is None else ends,
        ),
    )
    return G.by_node(G.column(ranks, "pagerank"))


def hits(
    G: NodeGraph, max_iter: int = 100, tol: float = 1.0e-8, nstart: dict | None = None, normalized: bool = True
) -> tuple[dict[Any, float], dict[Any, float]]:
    if len(G) == 0:
        return {}, {}
    weighted, rounds = G.is_weighted("weight"), max(max_iter, 0) * MORE_ROUNDS
    scores = _settled(max_iter, tol, lambda: our_hits(G.graph("weight"), max_iter=rounds, tol=tol, weighted=weighted))
    return G.by_node(G.column(scores, "hub")), G.by_node(G.column(scores, "authority"))


def katz_centrality(
    G: NodeGraph,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: dict | None = None,
    normalized: bool = True,
    weight: str | None = None,
) -> dict[Any, float]:
    if len(G) == 0:
        return {}
    constant = one_beta(G.nodes, beta)
    scores = _settled(
        max_iter,
        tol,
        lambda: katz(
            G.graph(weight),
            alpha=alpha,
            beta=constant,
            normalized=normalized,
            max_iter=max_iter,
            tol=tol,
            weighted=G.is_weighted(weight),
        ),
        OptionError,  # an alpha for which scores grow without bound
    )
    return G.by_node(G.column(scores, "katz"))


def one_beta(nodes: Collection[Any], beta: Any) -> float:
    """The number that each node has as its `beta`."""
    try:
        found = {float(beta)}
    except (TypeError, ValueError, AttributeError) as error:
        if set(beta) != set(nodes):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from error
        found = set(map(float, beta.values()))
    if len(found) > 1 or min(found) < 0:
        raise NotImplementedError("beta must be one number >= 0 for all nodes")
    return found.pop()


def eigenvector_centrality(
    G: NodeGraph, max_iter: int = 100, tol: float = 1.0e-6, nstart: dict | None = None, weight: str | None = None
) -> dict[Any, float]:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    if nstart is not None and not any(nstart.values()):
        raise nx.NetworkXError("initial vector cannot have all zero values")
    weighted = G.is_weighted(weight)
    scores = _settled(
        max_iter, tol, lambda: eigenvector(G.graph(weight), max_iter=max_iter, tol=tol, weighted=weighted)
    )
    return G.by_node(G.column(scores, "eigenvector"))


def _settled(
    max_iter: int, tol: float, iterate: Callable[[], RunResult], failure: type[DgraphError] = RunError
) -> RunResult:
    """The scores, or NetworkX's error if they are not settled after `max_iter` rounds."""
    if max_iter < 1 or not tol > 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnsettledWarning)
        try:
            return iterate()
        except (RoomError, LostError):
            raise
        except (UnsettledWarning, RunError, failure) as problem:
            raise nx.PowerIterationFailedConvergence(max_iter) from problem


def _by_vertex(G: NodeGraph, values: dict[Any, float]) -> dict[Any, float]:
    """Values of nodes by their vertices; nodes that are not in the graph are left out, as in NetworkX."""
    numbers = [G.numbers[node] for node in values if node in G]
    return dict(zip(G.vertices(numbers), (float(value) for node, value in values.items() if node in G), strict=True))
