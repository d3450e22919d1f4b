"""The operations that cuGraph takes, each as one `CugraphCall` of it: named as ours are, with the arguments that it can
obey.

Unreachable is the largest number of a type there, and a tolerance is the change of all vertices together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.cugraph.calls import HOPS, ONES, SCORES, WEIGHTS, ColumnsAndTotals, CugraphCall, GraphShape, ShardedArray
from dgraph.errors import OptionError
from dgraph.options import check_integer, check_limits, is_number
from dgraph.solvers.ranks.pagerank import change_within


def pagerank(
    graph: GraphShape, alpha: float, max_iter: int, tol: float | None, personalization: Any, weighted: bool
) -> CugraphCall:
    _probability("alpha", alpha)
    limits = {"alpha": float(alpha), "epsilon": change_within(_limits(max_iter, tol), alpha)}
    name = "pagerank"
    jumps: dict[str, Any] = dict.fromkeys(("initial_guess_vertices", "initial_guess_values"))
    if personalization is not None:  # where jumps go is where ranks begin
        name, (vertices, values) = "personalized_pagerank", personalization
        for what in ("initial_guess", "personalization"):
            jumps |= {
                f"{what}_vertices": ShardedArray(vertices),
                f"{what}_values": ShardedArray(values / values.sum(), False),
            }
    none = dict.fromkeys(("precomputed_vertex_out_weight_vertices", "precomputed_vertex_out_weight_sums"))
    options = {**none, **jumps, **limits, "max_iterations": max_iter, "fail_on_nonconvergence": False}

    def made(ranks: np.ndarray, converged: bool) -> ColumnsAndTotals:
        return {"pagerank": ranks}, {"converged": converged}

    return CugraphCall(name, made, options=options, weights=SCORES if weighted else ONES, pulls=True)


def katz(
    graph: GraphShape, alpha: float, beta: float, normalized: bool, max_iter: int, tol: float | None, weighted: bool
) -> CugraphCall:
    _probability("alpha", alpha)
    epsilon = _limits(max_iter, tol, needed=True) * graph.vertices

    def made(scores: np.ndarray) -> ColumnsAndTotals:
        length = float(np.sqrt(np.square(scores).sum())) if normalized else 1.0
        return {"katz": scores / (length or 1.0)}, {}

    arguments = None, float(alpha), float(beta), epsilon, max_iter
    return CugraphCall("katz_centrality", made, arguments, weights=SCORES if weighted else ONES, pulls=True)


def hits(graph: GraphShape, max_iter: int, tol: float | None) -> CugraphCall:
    tol = _limits(max_iter, tol, needed=True)
    if not graph.edges:  # it divides by the largest score
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

    both_ways = not graph.directed and graph.gpus == 1  # as cuGraph itself has it on several
    arguments = ShardedArray(np.unique(source)), both_ways, limit or -1, True  # to it, 0 is no limit
    return CugraphCall("bfs", made, arguments, vertices=2, steps=HOPS)


def sssp(graph: GraphShape, source: np.ndarray, predecessors: bool) -> CugraphCall:
    if graph.weighted and len(source) > 1:
        raise OptionError('source: engine="cugraph" takes one where there are weights; choose engine="auto"')
    found = bfs(graph, source, None) if not graph.weighted else _weighted_sssp(int(source[0]))
    if predecessors:
        return found

    def made(*values: np.ndarray) -> ColumnsAndTotals:
        return {"distance": found.made(*values)[0]["distance"]}, {}

    return replace(found, made=made, steps=None)


def _weighted_sssp(source: int) -> CugraphCall:
    def made(distances: np.ndarray, before: np.ndarray) -> ColumnsAndTotals:
        unreached = distances == np.finfo(distances.dtype).max
        return {"distance": np.where(unreached, np.inf, distances), "predecessor": before}, {}

    return CugraphCall("sssp", made, (source, np.inf, True), weights=WEIGHTS, steps=WEIGHTS)


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
    def made(found: np.ndarray) -> ColumnsAndTotals:
        return {"triangles": found.astype(np.int64)}, {"triangles": int(found.sum()) // 3}

    return CugraphCall("triangle_count", made, (None,), simple=True)


def degrees(graph: GraphShape) -> CugraphCall:
    def made(*found: np.ndarray) -> ColumnsAndTotals:
        into, out = (one.astype(np.int64) for one in found)
        return {"in_degree": into, "out_degree": out, "degree": into + out if graph.directed else out}, {}

    return CugraphCall("degrees", made, (None,))


OPERATIONS: dict[str, Callable[..., CugraphCall]] = {
    one.__name__: one for one in (pagerank, katz, hits, bfs, sssp, wcc, core_number, k_core, triangles, degrees)
}


def _probability(name: str, value: Any) -> None:
    if not (is_number(value) and 0 <= value <= 1):
        raise OptionError(f'{name}={value!r} must be a number from 0 to 1 for engine="cugraph"')


def _limits(max_iter: Any, tol: Any, *, needed: bool = False) -> float:
    check_limits(max_iter, tol)
    if needed and not tol:
        raise OptionError(f'tol={tol!r}: engine="cugraph" needs one above zero here, and fails where it is not reached')
    return float(tol or 0.0)
