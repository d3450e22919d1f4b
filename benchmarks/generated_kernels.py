"""Generated kernels against the same algorithm written by hand in Numba: one thread, R-MAT, PageRank pull, SSSP push.

python benchmarks/generated_kernels.py [--scale 20] [--trials 5]
"""

import numpy as np
from harness import Claim, parser_of, rmat_edges
from numba import njit
from numpy import float64, inf, int64, uint64

from dgraph.codegen.compiler import load
from dgraph.codegen.kernel_source import generate
from dgraph.programs.monoid import MIN, SUM
from dgraph.programs.program import Global, Parameter, State, VertexProgram, vertex
from dgraph.testing.verify import Edges, verify

ROUNDS = 7


class PageRank(VertexProgram):
    """PageRank with dangling mass."""

    kind = "synchronous"
    rank = State(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    max_iter = Parameter(int64, 100)

    def start(vertices):
        return 1 / vertices

    def send(rank, degree):
        return rank / degree

    def apply(message, dangling, alpha, vertices):
        return (1 - alpha + alpha * dangling) / vertices + alpha * message

    @Global(float64, SUM)
    def dangling(rank, degree):
        return rank if degree == 0 else 0.0

    def stop(round, max_iter):
        return round >= max_iter


class ShortestPaths(VertexProgram):
    """Distances from one source."""

    dist = State(float64, start=inf)
    source = Parameter(vertex)
    merge = MIN

    def seed(id, source):
        return 0.0 if id == source else inf

    def send(dist, weight):
        return dist + weight

    def apply(dist, message):
        return min(dist, message)


@njit(nogil=True, error_model="numpy")
def pagerank_by_hand(indptr, neighbours, degree, rank, word, alpha, dangling):
    """One round: compute payloads, gather them, and compute new ranks."""
    n = uint64(len(rank))
    for v in range(n):
        if degree[v] > 0:
            word[v] = rank[v] / degree[v]
    base = (1 - alpha + alpha * dangling) / len(rank)
    lost = 0.0
    for v in range(n):
        total = 0.0
        for e in range(uint64(indptr[v]), uint64(indptr[v + uint64(1)])):
            total += word[neighbours[e]]
        rank[v] = base + alpha * total
        if degree[v] == 0:
            lost += rank[v]
    return lost


@njit(nogil=True, error_model="numpy")
def shortest_paths_by_hand(indptr, neighbours, weight, dist, best, frontier, following, queued, source):
    """Bellman-Ford with a frontier: the distances of a round are computed from those of the previous round."""
    dist[:] = inf
    best[:] = inf
    best[source] = 0.0
    frontier[0] = source
    size, edges = uint64(1), 0
    while size > 0:
        for i in range(size):
            v = frontier[i]
            queued[v] = False
            dist[v] = best[v]
        count = uint64(0)
        for i in range(size):
            u = frontier[i]
            start = dist[u]
            for e in range(uint64(indptr[u]), uint64(indptr[u + uint64(1)])):
                v = neighbours[e]
                length = start + weight[e]
                if length < best[v]:
                    best[v] = length
                    if not queued[v]:
                        queued[v] = True
                        following[count] = v
                        count += uint64(1)
            edges += indptr[u + uint64(1)] - indptr[u]
        frontier, following = following, frontier
        size = count
    return edges


def rows(u, v, n):
    """CSR rows, and the order of their edges."""
    order = np.lexsort((v, u))
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(u, minlength=n), out=indptr[1:])
    return indptr, v[order].astype(np.uint32), order


def pagerank(edges, trials):
    """Compare a fixed number of rounds."""
    n = edges.vertices
    indptr, neighbours, _ = rows(edges.destination, edges.source, n)
    degree = np.bincount(edges.source, minlength=n)
    kernels = load(generate(PageRank()))
    arrays = {name: np.zeros(n) for name in ("field_rank", "inbox_message", "sent_message")}
    arrays |= {"indptr": indptr, "neighbours": neighbours, "degree": degree, "field_alpha": 0.85, "vertices": n}
    rank, word = np.zeros(n), np.zeros(n)

    def by_hand():
        rank[:] = 1 / n
        dangling = (degree == 0).sum() / n
        for _ in range(ROUNDS):
            dangling = pagerank_by_hand(indptr, neighbours, degree, rank, word, 0.85, dangling)
        return rank

    def generated():
        kernels["begin"].run_rows(0, n, arrays)
        for _ in range(ROUNDS):
            (arrays["field_dangling"],) = kernels["fold"].run_rows(0, n, arrays)
            kernels["emit"].run_rows(0, n, arrays)
            kernels["pull"].run_rows(0, n, arrays)
            kernels["fire"].run_rows(0, n, arrays)
        return arrays["field_rank"]

    def check(found):
        verify("pagerank", edges, {"pagerank": found}, rounds=ROUNDS)

    claim(f"PageRank by pull, {ROUNDS} rounds", edges).measure((generated, check), (by_hand, check), trials)


def shortest_paths(edges, trials):
    """Compare a whole run from the vertex with the largest degree."""
    n = edges.vertices
    indptr, neighbours, order = rows(edges.source, edges.destination, n)
    weight = edges.weight[order]
    source = int(np.diff(indptr).argmax())
    kernels = load(generate(ShortestPaths(source=source)))
    dist, best, queued = np.zeros(n), np.zeros(n), np.zeros(n, bool)
    lists = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    arrays = {"field_dist": np.zeros(n), "inbox_message": np.zeros(n), "field_weight": weight, "field_source": source}
    arrays |= {"indptr": indptr, "neighbours": neighbours, "arrived": np.zeros(n, bool), "number": np.arange(n)}
    frontier, senders = np.zeros(n, np.uint32), np.zeros(n, np.uint32)

    def by_hand():
        shortest_paths_by_hand(indptr, neighbours, weight, dist, best, *lists, queued, source)
        return dist

    def generated():
        arrays["field_dist"][:] = inf
        size = int(kernels["begin"].run_rows(0, n, arrays | {"queue": frontier}))
        while size:
            count = int(kernels["fire"].run_rows(0, size, arrays | {"frontier": frontier, "queue": senders}))
            size = int(
                kernels["push"].run_rows(0, count, arrays | {"senders": senders, "queue": frontier, "queued": 0})
            )
        return arrays["field_dist"]

    def check(found):
        verify("sssp", edges, {"distance": found}, source=source)

    claim("SSSP by push", edges).measure((generated, check), (by_hand, check), trials)


def claim(what, edges):
    size = f"R-MAT of {len(edges.source) / 2**20:g} M edges, one thread"
    return Claim("generated_kernels", f"generated kernels, {what}, {size}", "the same by hand in Numba", 1.1)


def main():
    given = parser_of(__doc__, scale=20, trials=5).parse_args()
    u, v = rmat_edges(given.scale)
    weight = np.random.default_rng(2).integers(1, 256, len(u)).astype(float)
    edges = Edges(u, v, 1 << given.scale, weight=weight)
    for measure in (pagerank, shortest_paths):
        measure(edges, given.trials)


if __name__ == "__main__":
    main()
