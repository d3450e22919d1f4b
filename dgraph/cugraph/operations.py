"""The operations that cuGraph can run, each as one `CugraphCall`. Functions have dgraph's names, and the arguments that
cuGraph supports.

In cuGraph, an unreachable vertex has the largest number of the type as its distance, and a tolerance applies to the
summed change of all vertices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.arguments import change_within, check_integer, check_limits, is_number
from dgraph.cugraph.calls import HOPS, ONES, SCORES, WEIGHTS, ColumnsAndTotals, CugraphCall, GraphShape, SplitArray
from dgraph.errors import OptionError


def pagerank(
    graph: GraphShape, alpha: float, max_iter: int, tol: float | None, personalization: Any, weighted: bool
) -> CugraphCall:
    _check_alpha(alpha)
    limits = {"alpha": float(alpha), "epsilon": change_within(_limits(max_iter, tol), alpha)}
    name = "pagerank"
    jumps: dict[str, Any] = dict.fromkeys(("initial_guess_vertices", "initial_guess_values"))
    if personalization is not None:  # ranks start at the vertices that jumps lead to
        name, (vertices, values) = "personalized_pagerank", personalization
        for what in ("initial_guess", "personalization"):
            jumps |= {
                f"{what}_vertices": SplitArray(vertices),
                f"{what}_values": SplitArray(values / values.sum(), False),
            }
    none = dict.fromkeys(("precomputed_vertex_out_weight_vertices", "precomputed_vertex_out_weight_sums"))
    options = {**none, **jumps, **limits, "max_iterations": max_iter, "fail_on_nonconvergence": False}

    def made(ranks: np.ndarray, converged: bool) -> ColumnsAndTotals:
        return {"pagerank": ranks}, {"converged": converged}

    return CugraphCall(name, made, options=options, weights=SCORES if weighted else ONES, pulls=True)


def katz(
    graph: GraphShape,
    alpha: float | None,
    beta: float,
    normalized: bool,
    max_iter: int,
    tol: float | None,
    weighted: bool,
) -> CugraphCall:
    if alpha is None:
        raise OptionError(
            "engine='cugraph' finds no alpha by itself: pass alpha=, such as 0.9 / the largest eigenvalue"
        )
    _check_alpha(alpha)
    epsilon = _limits(max_iter, tol, positive=True) * graph.vertices

    def made(scores: np.ndarray) -> ColumnsAndTotals:
        length = float(np.sqrt(np.square(scores).sum())) if normalized else 1.0
        return {"katz": scores / (length or 1.0)}, {}

    arguments = None, float(alpha), float(beta), epsilon, max_iter
    return CugraphCall("katz_centrality", made, arguments, weights=SCORES if weighted else ONES, pulls=True)


def hits(graph: GraphShape, max_iter: int, tol: float | None) -> CugraphCall:
    tol = _limits(max_iter, tol, positive=True)
    if not graph.edges:  # cuGraph would divide by the largest score, 0
        return CugraphCall(None, lambda: ({name: np.zeros(graph.vertices) for name in ("hub", "authority")}, {}))
    arguments = tol / graph.vertices, max_iter, None, None, True

    def made(hubs: np.ndarray, authorities: np.ndarray) -> ColumnsAndTotals:
        return {"hub": hubs, "authority": authorities}, {}

    return CugraphCall("hits", made, arguments, weights=ONES, pulls=True)


def bfs(graph: GraphShape, source: np.ndarray, depth_limit: int | None) -> CugraphCall:
    limit = check_integer("depth_limit", depth_limit, 0, or_none=True)

    def made(levels: np.ndarray, before: np.ndarray) -> ColumnsAndTotals:
        unreached = levels == np.iinfo(levels.dtype).max
        if limit is not None:
            unreached |= levels > limit
        return {"distance": np.where(unreached, np.inf, levels.astype(np.float64)), "predecessor": before}, {}

    both_ways = not graph.directed and graph.gpus == 1  # cuGraph supports this on a single GPU only
    arguments = SplitArray(np.unique(source)), both_ways, limit or -1, True  # for cuGraph, 0 means no limit
    return CugraphCall("bfs", made, arguments, vertices=2, steps=HOPS)


def sssp(graph: GraphShape, source: np.ndarray, predecessors: bool) -> CugraphCall:
    if graph.weighted and len(source) > 1:
        raise OptionError(
            f'source= names {len(source)} vertices: on weighted graphs engine="cugraph" takes one; use engine="auto"'
        )

    def weighted(distances: np.ndarray, before: np.ndarray) -> ColumnsAndTotals:
        unreached = distances == np.finfo(distances.dtype).max
        return {"distance": np.where(unreached, np.inf, distances), "predecessor": before}, {}

    call = bfs(graph, source, None)
    if graph.weighted:
        call = CugraphCall("sssp", weighted, (int(source[0]), np.inf, True), weights=WEIGHTS, steps=WEIGHTS)
    if predecessors:
        return call

    def distances_only(*values: np.ndarray) -> ColumnsAndTotals:
        return {"distance": call.made(*values)[0]["distance"]}, {}

    return replace(call, made=distances_only, steps=None)


def wcc(graph: GraphShape) -> CugraphCall:
    def made(labels: np.ndarray) -> ColumnsAndTotals:
        _, first, component = np.unique(labels, return_index=True, return_inverse=True)
        return {"component": first[component].astype(np.int64)}, {}

    return CugraphCall("weakly_connected_components", made, (None, None, None, None), undirected=True)


def core_number(graph: GraphShape) -> CugraphCall:
    return CugraphCall(
        "core_number", lambda cores: ({"core": cores.astype(np.int64)}, {}), ("bidirectional",), simple=True
    )


def k_core(graph: GraphShape, k: int | None) -> CugraphCall:
    k = check_integer("k", k, 0, or_none=True)

    def made(cores: np.ndarray) -> ColumnsAndTotals:
        return {"in_core": cores >= (cores.max(initial=0) if k is None else k)}, {}

    return replace(core_number(graph), made=made)


def triangles(graph: GraphShape) -> CugraphCall:
    def made(counts: np.ndarray) -> ColumnsAndTotals:
        return {"triangles": counts.astype(np.int64)}, {"triangles": int(counts.sum()) // 3}

    return CugraphCall("triangle_count", made, (None,), simple=True)


def degrees(graph: GraphShape) -> CugraphCall:
    def made(*counts: np.ndarray) -> ColumnsAndTotals:
        into, out = (one.astype(np.int64) for one in counts)
        return {"in_degree": into, "out_degree": out, "degree": into + out if graph.directed else out}, {}

    return CugraphCall("degrees", made, (None,))


OPERATIONS: dict[str, Callable[..., CugraphCall]] = {
    one.__name__: one for one in (pagerank, katz, hits, bfs, sssp, wcc, core_number, k_core, triangles, degrees)
}


def _check_alpha(alpha: Any) -> None:
    if not (is_number(alpha) and 0 <= alpha <= 1):
        raise OptionError(f'alpha={alpha!r} must be between 0 and 1 for engine="cugraph"')


def _limits(max_iter: Any, tol: Any, *, positive: bool = False) -> float:
    """Check both limits; returns the tolerance."""
    check_limits(max_iter, tol)
    if positive and not tol:
        raise OptionError(f'tol={tol!r} must be > 0 for engine="cugraph", which fails if it is not reached')
    return float(tol or 0.0)
