"""NVIDIA's cuGraph, asked for an operation on one GPU or several, through its lower half `pylibcugraph`: a choice for
users, and a baseline for us. The same arguments and the same columns; what cuGraph leaves open is put as
`docs/semantics.md` says.

An operation is one `CugraphCall` (`operations.py`). Each GPU is asked it with its share of the edges and finds values
of some vertices, in any order. Nothing of CUDA is imported before an operation runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import RunError, WeightError
from dgraph.programs.monoid import NONE

PACKAGES = {"pylibcugraph": "pylibcugraph (of cugraph)", "cupy": "cupy"}
REMEDY = (
    "Install dgraph[cugraph12] or dgraph[cugraph13], as your driver is, on a worker that has a GPU; or choose "
    'engine="auto"'
)
Columns = dict[str, np.ndarray]
ColumnsAndTotals = tuple[Columns, dict[str, Any]]  # columns by vertex, and totals


@dataclass(frozen=True, eq=False)
class Arcs:
    """Arcs by number, in NumPy: an undirected edge is two, a loop one."""

    sources: np.ndarray
    destinations: np.ndarray
    weights: np.ndarray | None
    vertices: int
    directed: bool

    @classmethod
    def of(cls, ends: Sequence[np.ndarray], weights: Any, graph: GraphShape) -> Arcs:
        """From edges as they are listed."""
        sources, destinations = (end.astype(graph.id_type) for end in ends)
        weights = None if weights is None else weights.astype(np.float64)
        edges = cls(sources, destinations, weights, graph.vertices, directed=True)
        return edges if graph.directed else edges.undirected()

    def undirected(self) -> Arcs:
        """The arcs and their reverses; the same arcs if they have these already."""
        if not self.directed:
            return self
        other = self.sources != self.destinations
        sources = np.concatenate([self.sources, self.destinations[other]])
        destinations = np.concatenate([self.destinations, self.sources[other]])
        weights = None if self.weights is None else np.concatenate([self.weights, self.weights[other]])
        return Arcs(sources, destinations, weights, self.vertices, False)

    def nearest(self, found: ColumnsAndTotals, steps: str) -> np.ndarray:
        """For each vertex the smallest of its predecessors that are strictly nearer, by the distances found; the number
        of vertices if it has none."""
        distances = found[0]["distance"]
        near, far = distances[self.sources], distances[self.destinations]
        lengths = self.weights if steps == WEIGHTS else 1.0
        last = np.flatnonzero((near < far) & (far < np.inf) & (near + lengths == far))
        smallest = np.full(self.vertices, self.vertices, np.int64)
        np.minimum.at(smallest, self.destinations[last], self.sources[last])
        return smallest


class GraphShape(NamedTuple):
    """What is known of a graph before anything is asked."""

    vertices: int
    edges: int
    directed: bool
    weighted: bool
    gpus: int = 1

    @property
    def id_type(self) -> Any:
        """32 bits where there is nothing that they cannot count."""
        return np.int32 if max(self.vertices, 2 * self.edges) < 2**31 - 1 else np.int64


class ShardedArray(NamedTuple):
    """An array of which each GPU gets a share: of vertices, or of values."""

    array: np.ndarray
    of_vertices: bool = True


ONES, SCORES, WEIGHTS = "ones", "scores", "weights"  # as weights; those that scores are in proportion to; lengths
HOPS = "hops"


@dataclass(frozen=True, eq=False)
class CugraphCall:
    """One call of pylibcugraph. `made` turns what it found into columns by vertex, and totals."""

    name: str | None  # of the function; None: nothing need be asked
    made: Callable[..., ColumnsAndTotals]
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    vertices: int = 0  # which of its results has the vertices
    weights: str | None = None
    pulls: bool = False
    simple: bool = False  # of the graph without directions, loops and repeats
    undirected: bool = False
    steps: str | None = None  # HOPS or WEIGHTS: the smallest predecessors are to be found, too

    def check(self, weights: np.ndarray | None) -> None:
        """Called before a GPU is asked: if one failed, the others would wait for it."""
        least = 0 if weights is None else weights.min(initial=0)
        if self.weights == SCORES and (weights is None or not np.isfinite(weights).all() or least < 0):
            raise WeightError("weighted=True needs a column of finite weights of zero or more")
        if self.weights == WEIGHTS and not least >= 0:
            raise WeightError('weights below zero are not for engine="cugraph"; choose engine="auto"')


@dataclass(frozen=True, eq=False)
class GpuAnswer:
    """What one GPU has found, for some vertices in any order; and the seconds that this took."""

    vertices: np.ndarray
    found: list[Any]
    arcs: int
    seconds: float


def call_gpu(edges: Arcs, call: CugraphCall, rank: int = 0, of: int = 1, handle: Any = None) -> GpuAnswer:
    """The answer of this process's GPU: number `rank` of `of` GPUs, which have a `handle` of raft in common."""
    mine = slice(edges.vertices * rank // of, edges.vertices * (rank + 1) // of)
    if call.name is None:
        return GpuAnswer(np.arange(mine.start, mine.stop), [], len(edges.sources), 0.0)
    edges = edges.undirected() if call.undirected or call.simple else edges
    cupy, library = import_module("cupy"), import_module("pylibcugraph")
    cupy.get_default_memory_pool().free_all_blocks()  # which our runs have left, and cuGraph cannot use
    there, ids = cupy.asarray, edges.sources.dtype
    weights = np.ones(len(edges.sources)) if call.weights == ONES else edges.weights if call.weights else None
    arrays: list[Any] = [there(edges.sources), there(edges.destinations)]
    more = {"weight_array": None if weights is None else there(weights)}
    more["vertices_array"] = there(np.arange(mine.start, mine.stop).astype(ids))  # isolated ones, too
    how: dict[str, Any] = {"store_transposed": call.pulls, "do_expensive_check": False}
    how |= {"drop_self_loops": call.simple, "drop_multi_edges": call.simple}
    kind = library.GraphProperties(is_symmetric=not edges.directed, is_multigraph=not call.simple)
    resources = library.ResourceHandle(*([] if handle is None else [handle.getHandle()]))
    if handle is None:
        graph = library.SGGraph(resources, kind, *arrays, **more, **how, renumber=True)  # by degree, as kernels want it
    else:
        lists = {name: None if array is None else [array] for name, array in more.items()}
        graph = library.MGGraph(resources, kind, *([array] for array in arrays), **lists, **how)

    def given(one: Any) -> Any:
        if not isinstance(one, ShardedArray):
            return one
        share = np.array_split(one.array, of)[rank]
        return there(share.astype(ids) if one.of_vertices else share)

    arguments, options = map(given, call.arguments), {name: given(one) for name, one in call.options.items()}
    function, begun = getattr(library, call.name), time.perf_counter()
    try:
        found = function(resources, graph, *arguments, do_expensive_check=False, **options)
    except Exception as cause:  # of whatever class: cuGraph's own, or RuntimeError
        raise RunError(f"cuGraph could not finish {call.name}: {cause}") from cause
    here = [one.get() if hasattr(one, "get") else one for one in found]
    return GpuAnswer(here.pop(call.vertices), here, len(edges.sources), time.perf_counter() - begun)


def merge_answers(call: CugraphCall, answers: Sequence[GpuAnswer]) -> ColumnsAndTotals:
    """The columns of an operation's answer, and its totals, from the answers of all GPUs."""
    order = np.argsort(np.concatenate([one.vertices for one in answers]))
    each = zip(*(one.found for one in answers), strict=True)
    return call.made(*(np.concatenate(one)[order] if isinstance(one[0], np.ndarray) else one[0] for one in each))


def with_predecessors(found: ColumnsAndTotals, smallest: np.ndarray) -> ColumnsAndTotals:
    """What was found, with the smallest of several predecessors; where edges of length 0 lead, cuGraph's own stay."""
    columns, totals = found
    before = np.where(smallest < len(smallest), smallest, columns["predecessor"])
    return {**columns, "predecessor": np.where(columns["distance"] < np.inf, before, NONE)}, totals
