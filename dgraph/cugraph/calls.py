"""Runs operations with NVIDIA's cuGraph (experimental) on one or several GPUs, through its lower-level library
`pylibcugraph`, as an engine for users and a baseline for benchmarks. Arguments and columns are the same as without
cuGraph, and `docs/semantics.md` decides what cuGraph leaves open.

An operation is one `CugraphCall` (`operations.py`). Each GPU makes the call with its share of the edges and returns
values of some vertices, in any order. CUDA libraries are imported when an operation runs.

Several GPUs form a team, with a communicator of NCCL and UCX among Dask workers. It resembles that of `cugraph.dask`,
but includes only the workers that take part, so that the scheduler may have other workers too. The client needs none of
these packages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from dgraph.cluster.scheduler import run_on_each_held
from dgraph.cluster.workers import Workers
from dgraph.errors import RunError, WeightError
from dgraph.partition.policies import grid_columns
from dgraph.programs.monoid import NONE

PACKAGES = {"pylibcugraph": "pylibcugraph (of cugraph)", "cupy": "cupy"}
TEAM_PACKAGES = {**PACKAGES, "raft_dask": "raft-dask"}
REMEDY = (
    "Install dask-dgraph[cugraph12] or dask-dgraph[cugraph13], matching your driver, on a worker that has a GPU; or "
    'use engine="auto"'
)
_teams: dict[bytes, Any] = {}  # teams that this worker started, by session
Columns = dict[str, np.ndarray]
ColumnsAndTotals = tuple[Columns, dict[str, Any]]  # columns by vertex, and totals


@dataclass(frozen=True, eq=False)
class Arcs:
    """Arcs between vertex numbers, in NumPy arrays. An undirected edge is two arcs, a loop is one."""

    sources: np.ndarray
    destinations: np.ndarray
    weights: np.ndarray | None
    vertices: int
    directed: bool

    @classmethod
    def of(cls, ends: Sequence[np.ndarray], weights: Any, graph: GraphShape) -> Arcs:
        """The arcs of listed edges."""
        sources, destinations = (end.astype(graph.id_type) for end in ends)
        weights = None if weights is None else weights.astype(np.float64)
        edges = cls(sources, destinations, weights, graph.vertices, directed=True)
        return edges if graph.directed else edges.undirected()

    def undirected(self) -> Arcs:
        """The arcs and their reverses, unless they are included already."""
        if not self.directed:
            return self
        other = self.sources != self.destinations
        sources = np.concatenate([self.sources, self.destinations[other]])
        destinations = np.concatenate([self.destinations, self.sources[other]])
        weights = None if self.weights is None else np.concatenate([self.weights, self.weights[other]])
        return Arcs(sources, destinations, weights, self.vertices, False)

    def nearest(self, made: ColumnsAndTotals, steps: str) -> np.ndarray:
        """For each vertex, the smallest predecessor with a strictly smaller distance, or the number of vertices if
        there is none."""
        distances = made[0]["distance"]
        near, far = distances[self.sources], distances[self.destinations]
        lengths = self.weights if steps == WEIGHTS else 1.0
        last = np.flatnonzero((near < far) & (far < np.inf) & (near + lengths == far))
        smallest = np.full(self.vertices, self.vertices, np.int64)
        np.minimum.at(smallest, self.destinations[last], self.sources[last])
        return smallest


class GraphShape(NamedTuple):
    """The properties of a graph that calls depend on."""

    vertices: int
    edges: int
    directed: bool
    weighted: bool
    gpus: int = 1

    @property
    def id_type(self) -> Any:
        """The type of ids, which has 32 bits if they can count all vertices and arcs."""
        return np.int32 if max(self.vertices, 2 * self.edges) < 2**31 - 1 else np.int64


class SplitArray(NamedTuple):
    """An array of vertices or values that is divided among the GPUs."""

    array: np.ndarray
    of_vertices: bool = True


ONES, SCORES, WEIGHTS = "ones", "scores", "weights"  # weights: all 1; for scores, non-negative; for paths, lengths
HOPS = "hops"


@dataclass(frozen=True, eq=False)
class CugraphCall:
    """One call of pylibcugraph. `made` turns its results into columns by vertex, and totals."""

    name: str | None  # the name of the function; None if no call is needed
    made: Callable[..., ColumnsAndTotals]
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    vertices: int = 0  # the index of the result that has the vertices
    weights: str | None = None
    pulls: bool = False
    simple: bool = False  # use the graph without directions, loops and repeats
    undirected: bool = False
    steps: str | None = None  # HOPS or WEIGHTS: choose the smallest predecessors by these lengths

    def check(self, weights: np.ndarray | None) -> None:
        """Check the weights before calling any GPU, because if one failed, the others would wait for it."""
        least = 0 if weights is None else weights.min(initial=0)
        if self.weights == SCORES and (weights is None or not np.isfinite(weights).all() or least < 0):
            raise WeightError("weights must be finite and >= 0 with weighted=True")
        if self.weights == WEIGHTS and not least >= 0:
            raise WeightError('engine="cugraph" does not support weights below zero; use engine="auto"')


@dataclass(frozen=True, eq=False)
class GpuAnswer:
    """The results of one GPU, for some vertices in any order, and the seconds that the call took."""

    vertices: np.ndarray
    results: list[Any]
    arcs: int
    seconds: float


def call_gpu(edges: Arcs, call: CugraphCall, rank: int = 0, of: int = 1, handle: Any = None) -> GpuAnswer:
    """Make a call on the GPU of this process, which is number `rank` of `of` GPUs that share a `handle` of raft."""
    mine = slice(edges.vertices * rank // of, edges.vertices * (rank + 1) // of)
    if call.name is None:
        return GpuAnswer(np.arange(mine.start, mine.stop), [], len(edges.sources), 0.0)
    edges = edges.undirected() if call.undirected or call.simple else edges
    cupy, library = import_module("cupy"), import_module("pylibcugraph")
    cupy.get_default_memory_pool().free_all_blocks()  # memory kept by earlier runs, which cuGraph cannot use
    to_gpu, ids = cupy.asarray, edges.sources.dtype
    weights = np.ones(len(edges.sources)) if call.weights == ONES else edges.weights if call.weights else None
    arrays: list[Any] = [to_gpu(edges.sources), to_gpu(edges.destinations)]
    more = {"weight_array": None if weights is None else to_gpu(weights)}
    more["vertices_array"] = to_gpu(np.arange(mine.start, mine.stop).astype(ids))  # includes isolated ones
    how: dict[str, Any] = {"store_transposed": call.pulls, "do_expensive_check": False}
    how |= {"drop_self_loops": call.simple, "drop_multi_edges": call.simple}
    kind = library.GraphProperties(is_symmetric=not edges.directed, is_multigraph=not call.simple)
    resources = library.ResourceHandle(*([] if handle is None else [handle.getHandle()]))
    if handle is None:
        graph = library.SGGraph(resources, kind, *arrays, **more, **how, renumber=True)  # by degree, for speed
    else:
        lists = {name: None if array is None else [array] for name, array in more.items()}
        graph = library.MGGraph(resources, kind, *([array] for array in arrays), **lists, **how)

    def share(one: Any) -> Any:
        if not isinstance(one, SplitArray):
            return one
        part = np.array_split(one.array, of)[rank]
        return to_gpu(part.astype(ids) if one.of_vertices else part)

    arguments, options = map(share, call.arguments), {name: share(one) for name, one in call.options.items()}
    function, begun = getattr(library, call.name), time.perf_counter()
    try:
        results = function(resources, graph, *arguments, do_expensive_check=False, **options)
    except Exception as cause:  # cuGraph's own classes, or RuntimeError
        raise RunError(f"cuGraph could not finish {call.name}: {cause}") from cause
    values = [one.get() if hasattr(one, "get") else one for one in results]
    return GpuAnswer(values.pop(call.vertices), values, len(edges.sources), time.perf_counter() - begun)


def merge_answers(call: CugraphCall, answers: Sequence[GpuAnswer]) -> ColumnsAndTotals:
    """The columns and totals of an operation, from the answers of all GPUs."""
    order = np.argsort(np.concatenate([one.vertices for one in answers]))
    each = zip(*(one.results for one in answers), strict=True)
    return call.made(*(np.concatenate(one)[order] if isinstance(one[0], np.ndarray) else one[0] for one in each))


def with_predecessors(made: ColumnsAndTotals, smallest: np.ndarray) -> ColumnsAndTotals:
    """The answer with the smallest of several predecessors. Vertices reached by an edge of length 0 keep cuGraph's
    predecessors."""
    columns, totals = made
    before = np.where(smallest < len(smallest), smallest, columns["predecessor"])
    return {**columns, "predecessor": np.where(columns["distance"] < np.inf, before, NONE)}, totals


# -- several GPUs ------------------------------------------------------------------------------------------------------


def run_team(workers: Workers, on: Sequence[str], shares: Sequence[Any], call: CugraphCall) -> list[Any]:
    """Make a call on the GPU of each worker with its share of the edges; the answers stay there."""
    from distributed import Lock

    client, name = workers.client, "dgraph: one team of GPUs at a time"
    with Lock(name, scheduler_rpc=client.scheduler, loop=client.loop), _team(workers, on) as session:
        return run_on_each_held(client, on, _ask, [(share, call, len(on), session) for share in shares])


@contextmanager
def _team(workers: Workers, on: Sequence[str]) -> Iterator[bytes]:
    from distributed import fire_and_forget

    (session,) = workers.get([workers.call(_start, list(on), on=on[0])])
    try:
        yield session
    except BaseException:  # do not wait: a worker that waits for a failed one would block the end of the team
        fire_and_forget(workers.hold([workers.call(_end, session, on=on[0])]))
        raise
    workers.get([workers.call(_end, session, on=on[0])])


def _start(addresses: list[str]) -> bytes:
    """Start a team from one of its workers, together with the event loops of the others."""
    from distributed import Client, get_worker

    worker = get_worker()
    client = Client(worker.scheduler.address, security=worker.security, set_as_default=False)
    team = import_module("raft_dask.common.comms").Comms(comms_p2p=True, client=client, nccl_root_location="worker")
    team.init(workers=addresses)
    client.run(_divide, team.sessionId, grid_columns(len(addresses)), workers=addresses)
    _teams[team.sessionId] = team
    return team.sessionId


def _divide(session: bytes, columns: int, dask_worker: Any) -> None:
    import_module("pylibcugraph.comms").init_subcomms(_state(session, dask_worker)["handle"], columns)


def _end(session: bytes) -> None:
    if (team := _teams.pop(session, None)) is not None:
        team.destroy()
        team.client.close()


def _ask(worker: str, number: int, edges: Arcs, call: CugraphCall, gpus: int, session: bytes) -> GpuAnswer:
    from distributed import get_worker

    state = _state(session, get_worker())
    return call_gpu(edges, call, state["wid"], gpus, state["handle"])


def _state(session: bytes, worker: Any) -> dict[str, Any]:
    return import_module("raft_dask.common.comms").get_raft_comm_state(session, worker)
