"""Shortest paths on a graph of one partition (distances, predecessors or both), and the local methods of several."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dgraph.native.team import worthwhile_threads
from dgraph.programs.monoid import NONE, UNREACHED
from dgraph.solvers.paths.bellman_ford import bellman_ford, by_steps
from dgraph.solvers.paths.breadth_first import Goal, search
from dgraph.solvers.paths.delta_stepping import RelaxationResult, relax, rows_of, width
from dgraph.solvers.paths.distance_slots import LISTS, WaitingVertices
from dgraph.solvers.paths.edge_relaxation import FAR, PathTables, Words, largest_whole, words_of
from dgraph.solvers.paths.local_levels import TightEdges
from dgraph.solvers.paths.local_levels import settle as settle_levels
from dgraph.solvers.paths.vertex_numbers import numbers_of
from dgraph.solvers.solver import SOON, LocalProblem, Problem, Solution
from dgraph.tables.edge_tables import cached_on

LIMIT = 1 << 20  # edges of a partition in a round, after which it hears of others: what they know may spare it many
AS_THEY_ARE = tuple(map(np.dtype, ("int64", "int32", "float64", "float32")))  # not cast: weights of each compile once


def shortest_paths(problem: Problem) -> Solution:
    """Distances from the nearest of the vertices of which the column `source` is true."""
    dist, looked = _distances(problem, _sources(problem))
    return Solution({"distance": dist}, edges=looked)


def shortest_path_tree(problem: Problem) -> Solution:
    """The same with predecessors."""
    sources, target = _sources(problem), problem.values.get("target", NONE)
    dist, parent, (looked, flat, _) = _relaxed(problem, sources, tree=True)
    if target != NONE:
        parent[dist > dist[target]] = UNREACHED
        dist[dist > dist[target]] = np.inf
    if flat:
        by_steps(*_weighted(problem), dist, parent, sources)
    return Solution({"distance": dist, "predecessor": parent}, edges=looked)


def bellman_ford_tree(problem: Problem) -> Solution:
    """Distances and predecessors where weights may be negative; or, as the total `cycle`, the vertices of a negative
    cycle."""
    sources, edges = _sources(problem), _weighted(problem)
    dist, parent = _start(problem, sources), np.full(problem.vertices, UNREACHED)
    looked, cycle = bellman_ford(*edges, dist, sources)
    if not len(cycle):
        by_steps(*edges, dist, parent, sources[dist[sources] == 0])
    return Solution({"distance": dist, "predecessor": parent}, edges=looked, totals={"cycle": cycle})


def from_each(problem: Problem) -> Solution:
    """Distances from each of several sources, a column for each."""
    found = [_distances(problem, np.array([source], np.uint32)) for source in problem.values["sources"]]
    return Solution(
        {"distance": np.stack([dist for dist, _ in found], axis=1)}, edges=sum(looked for _, looked in found)
    )


@dataclass
class PathState:
    """What a partition keeps from one round to the next."""

    waiting: WaitingVertices
    words: Words | None
    tied: np.ndarray  # who has got another predecessor at the same distance; empty if nobody asks for these
    returned: dict[int, float] = field(default_factory=dict)  # the vertex that stood for all who wait, at its distance


def settle(part: LocalProblem) -> tuple[int, np.ndarray]:
    """Delta-stepping from the frontier, until LIMIT edges have been looked at. Vertices that wait then are kept, and
    one of them is returned, so that there is a next round. If predecessors are asked for they are kept beside
    distances, and proxies whose master is to hear of another one count as improved. In words, as long as all fits."""
    threads, owned = _threads(part), part.edges.partition.num_owned
    if not part.kept:
        tied = np.zeros(len(part.beside), bool)
        part.kept["paths"] = PathState(WaitingVertices(len(part.best), threads), _words(part), tied)
    own: PathState = part.kept["paths"]
    if own.words is not None and not own.words.learn(part.frontier, part.best, part.beside):
        own.words = None
    waiting, words = own.waiting, own.words
    dist = part.best if words is None else words.dist
    rows = PathTables(*_weighted(part), dist, part.beside, part.improved, numbers_of(part.edges), own.tied)
    known = [u for u in part.frontier[:1].tolist() if own.returned.get(u) == part.best[u]]  # it waits already
    found = relax(
        rows,
        part.frontier[len(known) :],
        delta=_width(part),
        bound=part.values.get("bound", np.inf),
        threads=threads,
        limit=max(1, LIMIT // SOON) if part.unheard else LIMIT,
        waiting=waiting,
        words=words,
    )
    left = waiting.one()
    if len(rows.tied):
        first = owned if words is None else 0  # in words, parents of all are still to be told
        part.improved[first:] |= rows.tied[first:]
        rows.tied[:] = False
    if words is not None:
        words.tell(part.improved, owned, part.best, part.beside)
    if found.beyond:  # all whom a path reaches go once more
        left, waiting.slot, own.words = np.flatnonzero(part.best < np.inf).astype(np.uint32), LISTS, None
    own.returned = {} if found.beyond else {u: part.best[u] for u in left.tolist()}
    return found.looked, left


def settle_tree(part: LocalProblem) -> tuple[int, np.ndarray]:
    """Steps along the edges that end some shortest path: distances are `known`."""
    return settle_levels(part, TightEdges(part.values["known"], _weighted(part)[2]))


def _relaxed(
    problem: Problem, sources: np.ndarray, *, tree: bool = False
) -> tuple[np.ndarray, np.ndarray, RelaxationResult]:
    """Distances from the nearest of `sources` and, with a `tree`, predecessors: in words, where they fit into these."""
    target, threads, edges = problem.values.get("target", NONE), _threads(problem), _weighted(problem)
    words = _words(problem)
    if words is not None:
        words.known[sources] = FAR
        rows = rows_of(*edges, words.dist)._replace(improved=np.empty(0, bool))
        found = relax(rows, sources, delta=_width(problem), target=target, threads=threads, words=words)
        if not found.beyond:
            return *words.apart(threads), found
    rows = rows_of(*edges, _start(problem, sources), tree=tree)
    found = relax(rows, sources, delta=_width(problem), target=target, threads=threads)
    return rows.dist, rows.parent, found


def _width(part: Problem | LocalProblem) -> float:
    """The width of slots, chosen once for the edges."""
    (out,) = part.edges.senders("out")
    return cached_on(out, ("width", part.edges.columns.get("weight")), lambda: width(*_weighted(part)))


def _words(part: Problem | LocalProblem) -> Words | None:
    """Words of vertices of which nothing is known; None where weights or numbers of vertices do not fit."""
    (out,), column, weights = part.edges.senders("out"), part.edges.columns.get("weight"), _weighted(part)[2]
    numbers, threads = part.edges.partition.numbers, _threads(part)

    def largest() -> int:
        return largest_whole(weights, threads) if numbers.max(initial=0) < FAR else FAR

    found = FAR if column is None else cached_on(out, ("largest whole", column), largest)
    return words_of(len(numbers), found) if found < FAR else None


def _sources(problem: Problem) -> np.ndarray:
    return np.flatnonzero(problem.columns["source"]).astype(np.uint32)


def _start(problem: Problem, sources: np.ndarray) -> np.ndarray:
    dist = np.full(problem.vertices, np.inf)
    dist[sources] = 0
    return dist


def _threads(problem: Problem | LocalProblem) -> int:
    return worthwhile_threads(problem.edges.threads, problem.edges.partition.num_edges)


def _weighted(problem: Problem | LocalProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with weights of the user's type, which are not copied if kernels admit it; where nobody reads any, all are
    one 1."""
    (out,) = problem.edges.senders("out")
    if "weight" not in problem.edges.columns:
        return out.indptr, out.neighbours, np.broadcast_to(np.float64(1), out.num_edges)
    weights = out.columns[problem.edges.columns["weight"][0]]
    if weights.dtype not in AS_THEY_ARE:
        weights = problem.edges.column(out, "weight")
    return out.indptr, out.neighbours, weights


def _distances(problem: Problem, sources: np.ndarray) -> tuple[np.ndarray, int]:
    """Distances from the nearest of the sources, as far as the target if there is one; and the edges looked at."""
    target = problem.values.get("target", NONE)
    if "weight" not in problem.edges.columns:  # every edge is of length 1
        solved = search(problem, sources.astype(np.int64), Goal(UNREACHED, target))
        dist, looked = solved.values["distance"], solved.edges
    else:
        dist, _, (looked, _, _) = _relaxed(problem, sources)
    if target != NONE:
        dist[dist > dist[target]] = np.inf
    return dist, looked
