"""Shortest paths: solvers for a graph of one partition, and algorithms of local methods for several."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dgraph.native.team import worthwhile_threads
from dgraph.partition.adjacency import Adjacency
from dgraph.programs.monoid import NONE, UNREACHED
from dgraph.solvers.paths.bellman_ford import bellman_ford, by_steps
from dgraph.solvers.paths.breadth_first import SearchGoal, search
from dgraph.solvers.paths.delta_stepping import RelaxResult, relax, rows_of, slot_width
from dgraph.solvers.paths.distance_slots import LISTS, WaitList
from dgraph.solvers.paths.edge_relaxation import UNSET_HALF, PathTables, PathWords, largest_whole, words_of
from dgraph.solvers.paths.local_levels import TightEdges
from dgraph.solvers.paths.local_levels import settle as settle_levels
from dgraph.solvers.paths.vertex_numbers import numbers_of
from dgraph.solvers.solver import FIRST_SEND_FACTOR, Problem, SettleProblem, Solution
from dgraph.tables.edge_tables import EdgeTables, cached_on

ROUND_EDGES = 1 << 20  # edges after which a round ends, because messages from other partitions may save many more
# kernels are compiled for these types of weights
NOT_CAST = tuple(map(np.dtype, ("int64", "int32", "uint8", "float64", "float32")))


def shortest_paths(problem: Problem) -> Solution:
    """Distances from the nearest source, a vertex where the column `source` is True."""
    dist, edges = _distances(problem, _sources(problem))
    return Solution({"distance": dist}, edges=edges)


def shortest_path_tree(problem: Problem) -> Solution:
    """Distances from the nearest source, and predecessors."""
    sources, target = _sources(problem), problem.values.get("target", NONE)
    dist, parent, (edges, flat, _) = _relax(problem, sources, tree=True)
    if target != NONE:
        parent[dist > dist[target]] = UNREACHED
        dist[dist > dist[target]] = np.inf
    if flat:
        by_steps(*_weighted(problem), dist, parent, sources)
    return Solution({"distance": dist, "predecessor": parent}, edges=edges)


def bellman_ford_tree(problem: Problem) -> Solution:
    """Distances and predecessors for weights that may be negative. The total `cycle` holds the vertices of a negative
    cycle, if there is one."""
    sources, rows = _sources(problem), _weighted(problem)
    dist, parent = _start(problem, sources), np.full(problem.vertices, UNREACHED)
    edges, cycle = bellman_ford(*rows, dist, sources)
    if not len(cycle):
        by_steps(*rows, dist, parent, sources[dist[sources] == 0])
    return Solution({"distance": dist, "predecessor": parent}, edges=edges, totals={"cycle": cycle})


def from_each(problem: Problem) -> Solution:
    """Distances from each of several sources, one column each."""
    sources = problem.values["sources"]
    dists, edges = zip(*(_distances(problem, np.array([source], np.uint32)) for source in sources), strict=True)
    return Solution({"distance": np.stack(dists, axis=1)}, edges=sum(edges))


@dataclass
class ShortestPathState:
    """Memory of a partition, kept from one round to the next."""

    waiting: WaitList
    words: PathWords | None
    tied: np.ndarray  # flags: a new predecessor at the same distance; empty without predecessors
    returned: dict[int, float] = field(default_factory=dict)  # one waiting vertex, returned for all, and its distance


def settle(part: SettleProblem) -> tuple[int, np.ndarray]:
    """`SettlementMethod.take` by delta-stepping from the frontier, until ROUND_EDGES edges have been read. Vertices
    that still wait are kept, and one of them is returned, so that there is another round. Predecessors, if any, are the
    companion of distances, and a proxy with a new predecessor counts as improved. Uses words as long as all distances
    fit."""
    threads, owned = _threads(part), part.edges.partition.num_owned
    if not part.scratch:
        tied = np.zeros(len(part.companion), bool)
        part.scratch["paths"] = ShortestPathState(WaitList(len(part.best), threads), _words(part), tied)
    state: ShortestPathState = part.scratch["paths"]
    if state.words is not None and not state.words.set_distances(part.frontier, part.best, part.companion):
        state.words = None
    waiting, words = state.waiting, state.words
    dist = part.best if words is None else words.dist
    rows = PathTables(*_weighted(part), dist, part.companion, part.improved, numbers_of(part.edges), state.tied)
    known = [u for u in part.frontier[:1].tolist() if state.returned.get(u) == part.best[u]]  # it still waits
    result = relax(
        rows,
        part.frontier[len(known) :],
        delta=_width(part),
        bound=part.values.get("bound", np.inf),
        threads=threads,
        limit=max(1, ROUND_EDGES // FIRST_SEND_FACTOR) if part.has_not_sent else ROUND_EDGES,
        waiting=waiting,
        words=words,
    )
    left = waiting.any_waiting()
    if len(rows.tied):
        first = owned if words is None else 0  # `words.copy_improvements` below copies the parents of all
        part.improved[first:] |= rows.tied[first:]
        rows.tied[:] = False
    if words is not None:
        words.copy_improvements(part.improved, owned, part.best, part.companion)
    if result.beyond:  # start again from all reached vertices, without words
        left, waiting.slot, state.words = np.flatnonzero(part.best < np.inf).astype(np.uint32), LISTS, None
    state.returned = {} if result.beyond else {u: part.best[u] for u in left.tolist()}
    return result.edges, left


def settle_tree(part: SettleProblem) -> tuple[int, np.ndarray]:
    """`SettlementMethod.take` of a search along tight edges only; distances are `known`."""
    return settle_levels(part, TightEdges(part.values["known"], _weighted(part)[2]))


def _relax(problem: Problem, sources: np.ndarray, *, tree: bool = False) -> tuple[np.ndarray, np.ndarray, RelaxResult]:
    """Distances from the nearest source and, with `tree`, predecessors. Uses words if all distances fit."""
    target, threads, edges = problem.values.get("target", NONE), _threads(problem), _weighted(problem)
    words = _words(problem)
    if words is not None:
        words.known[sources] = UNSET_HALF
        rows = rows_of(*edges, words.dist)._replace(improved=np.empty(0, bool))
        result = relax(rows, sources, delta=_width(problem), target=target, threads=threads, words=words)
        if not result.beyond:
            return *words.split(threads), result
    rows = rows_of(*edges, _start(problem, sources), tree=tree)
    result = relax(rows, sources, delta=_width(problem), target=target, threads=threads)
    return rows.dist, rows.parent, result


def _width(part: Problem | SettleProblem) -> float:
    """The width of slots, cached with the edges."""
    (out,) = part.edges.senders("out")
    return cached_on(out, ("width", part.edges.columns.get("weight")), lambda: slot_width(*_weighted(part)))


def _words(part: Problem | SettleProblem) -> PathWords | None:
    """Words of unreached vertices; None if weights or vertex numbers do not fit."""
    (out,), column, weights = part.edges.senders("out"), part.edges.columns.get("weight"), _weighted(part)[2]
    numbers, threads = part.edges.partition.numbers, _threads(part)

    def largest() -> int:
        return largest_whole(weights, threads) if numbers.max(initial=0) < UNSET_HALF else UNSET_HALF

    weight = UNSET_HALF if column is None else cached_on(out, ("largest whole", column), largest)
    return words_of(len(numbers), weight) if weight < UNSET_HALF else None


def _sources(problem: Problem) -> np.ndarray:
    return np.flatnonzero(problem.columns["source"]).astype(np.uint32)


def _start(problem: Problem, sources: np.ndarray) -> np.ndarray:
    dist = np.full(problem.vertices, np.inf)
    dist[sources] = 0
    return dist


def _threads(problem: Problem | SettleProblem) -> int:
    return worthwhile_threads(problem.edges.threads, problem.edges.partition.num_edges)


def _weighted(problem: Problem | SettleProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with their weights, in the user's type if kernels support it; all 1 if the program does not read them."""
    (out,) = problem.edges.senders("out")
    if "weight" not in problem.edges.columns:
        return out.indptr, out.neighbours, np.broadcast_to(np.float64(1), out.num_edges)
    return out.indptr, out.neighbours, weights_of(problem.edges, out)


def weights_of(edges: EdgeTables, side: Adjacency) -> np.ndarray:
    """The weights of a table, in the user's type if kernels support it."""
    weights = side.columns[edges.columns["weight"][0]]
    return weights if weights.dtype in NOT_CAST else edges.column(side, "weight")


def _distances(problem: Problem, sources: np.ndarray) -> tuple[np.ndarray, int]:
    """Distances from the nearest source, up to that of the target if there is one; and the number of edges read."""
    target = problem.values.get("target", NONE)
    if "weight" not in problem.edges.columns:  # every edge has length 1
        solution = search(problem, sources.astype(np.int64), SearchGoal(UNREACHED, target))
        dist, edges = solution.values["distance"], solution.edges
    else:
        dist, _, (edges, _, _) = _relax(problem, sources)
    if target != NONE:
        dist[dist > dist[target]] = np.inf
    return dist, edges
