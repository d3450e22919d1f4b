"""Operations handed to NVIDIA's cuGraph, on one GPU, through its lower half `pylibcugraph`: a choice for users, and a
baseline for us. The same arguments and the same columns; what cuGraph leaves open is put as `docs/semantics.md` says.

Of cuGraph's results vertices come in any order, unreachable is the largest number of the type, and a tolerance is the
change of all vertices together. Nothing of CUDA is imported before an operation runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from dgraph.errors import OptionError, RunError, WeightError
from dgraph.monoid import NONE
from dgraph.options import check_limits, is_number, whole_number
from dgraph.solvers.pagerank import change_within

PACKAGES = {"pylibcugraph": "pylibcugraph (of cugraph)", "cupy": "cupy"}
REMEDY = (
    "Install dgraph[cugraph12] or dgraph[cugraph13], as your driver is, on a worker that has a GPU; or choose "
    'engine="auto"'
)
Columns = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Edges:
    """Arcs by number, in NumPy: an undirected edge is two, a loop one."""

    sources: np.ndarray
    destinations: np.ndarray
    weights: np.ndarray | None
    vertices: int
    directed: bool

    @classmethod
    def of(cls, ends: tuple[np.ndarray, np.ndarray], weights: Any, vertices: int, directed: bool) -> Edges:
        """From edges as they are listed. Ids of 32 bits where there is nothing that they cannot count."""
        few = max(vertices, 2 * len(ends[0])) < 2**31 - 1
        sources, destinations = (end.astype(np.int32 if few else np.int64) for end in ends)
        weights = None if weights is None else weights.astype(np.float64)
        edges = cls(sources, destinations, weights, vertices, directed=True)
        return edges if directed else edges.undirected()

    def undirected(self) -> Edges:
        """With the reverse of every arc; the same if it has them."""
        if not self.directed:
            return self
        other = self.sources != self.destinations
        sources = np.concatenate([self.sources, self.destinations[other]])
        destinations = np.concatenate([self.destinations, self.sources[other]])
        weights = None if self.weights is None else np.concatenate([self.weights, self.weights[other]])
        return Edges(sources, destinations, weights, self.vertices, False)


class Gpu:
    """The edges there, and calls of pylibcugraph on them."""

    def __init__(self, edges: Edges, weights: np.ndarray | None, *, pulls: bool, simple: bool):
        self.edges, self.seconds = edges, 0.0
        self.cupy, self.library = import_module("cupy"), import_module("pylibcugraph")
        self.cupy.get_default_memory_pool().free_all_blocks()  # which our runs have left, and cuGraph cannot use
        self.handle = self.library.ResourceHandle()
        self.graph = self.library.SGGraph(
            self.handle,
            self.library.GraphProperties(is_symmetric=not edges.directed, is_multigraph=not simple),
            self.there(edges.sources),
            self.there(edges.destinations),
            weight_array=None if weights is None else self.there(weights),
            store_transposed=pulls,
            renumber=True,  # by degree, which its kernels want
            do_expensive_check=False,
            vertices_array=self.vertices(np.arange(edges.vertices)),  # isolated ones, too
            drop_self_loops=simple,
            drop_multi_edges=simple,
        )

    def there(self, array: np.ndarray) -> Any:
        return self.cupy.asarray(array)

    def vertices(self, numbers: np.ndarray) -> Any:
        return self.there(numbers.astype(self.edges.sources.dtype))

    def call(self, name: str, *arguments: Any, vertices: int = 0, **options: Any) -> list[np.ndarray]:
        """What a function returns, here, in the order of the vertices, which are its result number `vertices`."""
        function, begun = getattr(self.library, name), time.perf_counter()
        try:
            found = function(self.handle, self.graph, *arguments, do_expensive_check=False, **options)
        except Exception as cause:  # of whatever class: cuGraph's own, or RuntimeError
            raise RunError(f"cuGraph could not finish {name}: {cause}") from cause
        here = [one.get() if hasattr(one, "get") else one for one in found]
        self.seconds = time.perf_counter() - begun
        order = np.argsort(here.pop(vertices))
        return [one[order] if isinstance(one, np.ndarray) else one for one in here]


class Work:
    """One operation on a graph. Methods without an underscore are named as operations are; their parameters are what
    cuGraph can obey."""

    def __init__(self, edges: Edges):
        self._edges = edges
        self._used: Gpu | None = None
        self._totals: dict[str, Any] = {}

    def _gpu(self, weights: np.ndarray | None = None, *, pulls: bool = False, simple: bool = False) -> Gpu:
        self._used = Gpu(self._edges, weights, pulls=pulls, simple=simple)
        return self._used

    def _weights(self, weighted: bool = False) -> np.ndarray:
        """Of 64 bits, because scores are of their type; ones, where weights do not count."""
        if not weighted:
            return np.ones(len(self._edges.sources))
        found = self._edges.weights
        if found is None or not np.isfinite(found).all() or found.min(initial=0) < 0:
            raise WeightError("weighted=True needs a column of finite weights of zero or more")
        return found

    # -- ranks ---------------------------------------------------------------------------------------------------------

    def pagerank(self, alpha: float, max_iter: int, tol: float | None, personalization: Any, weighted: bool) -> Columns:
        _probability("alpha", alpha)
        limits = {"alpha": float(alpha), "epsilon": change_within(_limits(max_iter, tol), alpha)}
        name, gpu = "pagerank", self._gpu(self._weights(weighted), pulls=True)
        jumps: dict[str, Any] = dict.fromkeys(("initial_guess_vertices", "initial_guess_values"))
        if personalization is not None:  # where jumps go is where ranks begin
            name, (vertices, values) = "personalized_pagerank", personalization
            values = values / values.sum()
            for what in ("initial_guess", "personalization"):
                jumps |= {f"{what}_vertices": gpu.vertices(vertices), f"{what}_values": gpu.there(values)}
        none = dict.fromkeys(("precomputed_vertex_out_weight_vertices", "precomputed_vertex_out_weight_sums"))
        options = {**none, **jumps, **limits, "max_iterations": max_iter, "fail_on_nonconvergence": False}
        ranks, self._totals["converged"] = gpu.call(name, **options)
        return {"pagerank": ranks}

    def katz(
        self, alpha: float, beta: float, normalized: bool, max_iter: int, tol: float | None, weighted: bool
    ) -> Columns:
        _probability("alpha", alpha)
        epsilon = _limits(max_iter, tol, needed=True) * self._edges.vertices
        gpu = self._gpu(self._weights(weighted), pulls=True)
        (scores,) = gpu.call("katz_centrality", None, float(alpha), float(beta), epsilon, max_iter)
        length = float(np.sqrt(np.square(scores).sum())) if normalized else 1.0
        return {"katz": scores / (length or 1.0)}

    def hits(self, max_iter: int, tol: float | None) -> Columns:
        tol = _limits(max_iter, tol, needed=True)
        if not len(self._edges.sources):  # it divides by the largest score
            return {name: np.zeros(self._edges.vertices) for name in ("hub", "authority")}
        gpu = self._gpu(self._weights(), pulls=True)
        hubs, authorities = gpu.call("hits", tol / self._edges.vertices, max_iter, None, None, True)
        return {"hub": hubs, "authority": authorities}

    # -- distances -----------------------------------------------------------------------------------------------------

    def bfs(self, source: np.ndarray, depth_limit: int | None) -> Columns:
        limit, gpu = whole_number("depth_limit", depth_limit, 0, or_none=True), self._gpu()
        both_ways = not self._edges.directed
        # to it, 0 is no limit
        levels, before = gpu.call("bfs", gpu.vertices(np.unique(source)), both_ways, limit or -1, True, vertices=2)
        unreached = levels == np.iinfo(levels.dtype).max
        if limit is not None:
            unreached |= levels > limit
        return self._paths(np.where(unreached, np.inf, levels.astype(np.float64)), before, 1.0)

    def sssp(self, source: np.ndarray, predecessors: bool) -> Columns:
        weights = self._edges.weights
        if weights is None:
            found = self.bfs(source, None)
        elif len(source) > 1:
            raise OptionError('source: engine="cugraph" takes one where there are weights; choose engine="auto"')
        elif not weights.min(initial=0) >= 0:
            raise WeightError('weights below zero are not for engine="cugraph"; choose engine="auto"')
        else:
            distances, before = self._gpu(weights).call("sssp", int(source[0]), np.inf, True)
            distances = np.where(distances == np.finfo(distances.dtype).max, np.inf, distances)
            found = self._paths(distances, before, weights)
        return found if predecessors else {"distance": found["distance"]}

    def _paths(self, distances: np.ndarray, before: np.ndarray, lengths: np.ndarray | float) -> Columns:
        """Of several predecessors that are strictly nearer the smallest; where edges of length 0 lead, cuGraph's."""
        sources, destinations, n = self._edges.sources, self._edges.destinations, self._edges.vertices
        near, far = distances[sources], distances[destinations]
        steps = np.flatnonzero((near < far) & (far < np.inf) & (near + lengths == far))
        smallest = np.full(n, n, np.int64)
        np.minimum.at(smallest, destinations[steps], sources[steps])
        before = np.where(smallest < n, smallest, before)
        return {"distance": distances, "predecessor": np.where(distances < np.inf, before, NONE)}

    # -- parts of a graph ----------------------------------------------------------------------------------------------

    def wcc(self) -> Columns:
        self._edges = self._edges.undirected()
        (labels,) = self._gpu().call("weakly_connected_components", None, None, None, None)
        _, first, component = np.unique(labels, return_index=True, return_inverse=True)
        return {"component": first[component].astype(np.int64)}

    def core_number(self) -> Columns:
        return {"core": self._simple("core_number", "bidirectional")}

    def k_core(self, k: int | None) -> Columns:
        k = whole_number("k", k, 0, or_none=True)
        cores = self._simple("core_number", "bidirectional")
        return {"in_core": cores >= (cores.max(initial=0) if k is None else k)}

    def triangles(self) -> Columns:
        found = self._simple("triangle_count", None)
        self._totals["triangles"] = int(found.sum()) // 3
        return {"triangles": found}

    def degrees(self) -> Columns:
        into, out = (one.astype(np.int64) for one in self._gpu().call("degrees", None))
        return {"in_degree": into, "out_degree": out, "degree": into + out if self._edges.directed else out}

    def _simple(self, name: str, how: Any) -> np.ndarray:
        """Of the graph without directions, loops and repeats."""
        self._edges = self._edges.undirected()
        (found,) = self._gpu(simple=True).call(name, how)
        return found.astype(np.int64)


OPERATIONS: dict[str, Callable[..., Columns]] = {
    name: method for name, method in vars(Work).items() if not name.startswith("_")
}


def done(name: str, edges: Edges, arguments: dict[str, Any]) -> tuple[Columns, dict[str, Any], float]:
    """The columns of an operation's answer, its totals, and the seconds in cuGraph itself."""
    work = Work(edges)
    columns = OPERATIONS[name](work, **arguments)
    return columns, work._totals, 0.0 if work._used is None else work._used.seconds


def _probability(name: str, value: Any) -> None:
    if not (is_number(value) and 0 <= value <= 1):
        raise OptionError(f'{name}={value!r} must be a number from 0 to 1 for engine="cugraph"')


def _limits(max_iter: Any, tol: Any, *, needed: bool = False) -> float:
    check_limits(max_iter, tol)
    if needed and not tol:
        raise OptionError(f'tol={tol!r}: engine="cugraph" needs one above zero here, and fails where it is not reached')
    return float(tol or 0.0)
