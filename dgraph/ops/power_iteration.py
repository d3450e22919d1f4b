"""Programs for PageRank (Brin and Page, 1998) by power iteration: in rounds, and in blocks."""

from __future__ import annotations

from numpy import float64, int64

from dgraph.engines.descent.over_relaxation import RelaxationFactor
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Global, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.solvers.ranks.pagerank import page_rank
from dgraph.solvers.ranks.rank_vectors import rank_vectors
from dgraph.solvers.solver import Solver


class PageRank(VertexProgram):
    """A random surfer follows an edge with probability `alpha`, and otherwise jumps. From a vertex without out-edges,
    the surfer always jumps, or is lost if `kept` is 0.

    A jump leads to a vertex with the probability in the column `restart`, or `spread` if the surfer's vertex has no
    out-edges. If `restarts_evenly` or `spreads_evenly` is 1, there is no such column, and all vertices are equally
    likely.
    """

    operation = "pagerank"
    kind = "synchronous"
    rank = State(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    kept = Parameter(float64, 1.0)
    tol = Parameter(float64, 1e-6)  # stop after a round that changes all ranks together by less than this
    max_iter = Parameter(int64, 100)
    restart = VertexColumn(float64, missing=0)
    spread = VertexColumn(float64, missing=0)
    restarts_evenly = Parameter(float64, 1.0)
    spreads_evenly = Parameter(float64, 1.0)
    solver = Solver(page_rank, orders=("incoming",), reads_per_edge=8)

    def start(vertices, restart, restarts_evenly):
        return restart + restarts_evenly / vertices

    def send(rank, degree):
        return rank / degree

    def apply(message, dangling, alpha, kept, vertices, restart, spread, restarts_evenly, spreads_evenly):
        jumps = (1 - alpha) * (restart + restarts_evenly / vertices)
        return jumps + alpha * kept * dangling * (spread + spreads_evenly / vertices) + alpha * message

    @Global(float64, SUM)
    def dangling(rank, degree):
        return rank if degree == 0 else 0.0

    @Global(float64, SUM)
    def change(rank, rank_before):
        return abs(rank - rank_before)

    def stop(change, tol, round, max_iter):
        return change < tol or round >= max_iter

    @Result(float64)
    def pagerank(rank):
        return rank


class WeightedPageRank(PageRank):
    """The surfer follows edges in proportion to their weights; `strength` is the sum of a vertex's out-weights."""

    strength = VertexColumn(float64)

    def send(rank, strength, weight):
        return rank * (weight / strength) if strength > 0 else 0.0

    @Global(float64, SUM)
    def dangling(rank, strength):
        return rank if strength == 0 else 0.0


IN_ROUNDS = {False: PageRank, True: WeightedPageRank}  # keyed by `weighted`


class PageRanks(PageRank):
    """Several personalizations at once. Each rank vector stops changing once it has converged, so that it does not
    depend on the others."""

    several = Parameter(int64)
    rank = State(float64, shape="several")
    restart = VertexColumn(float64, shape="several")
    spread = VertexColumn(float64, shape="several")
    solver = Solver(rank_vectors, orders=("incoming",), reads_per_edge=512)

    def start(restart):
        return restart

    def apply(rank, message, dangling, alpha, kept, restart, spread, change, tol, round):
        if round > 1 and change < tol:
            return rank
        return (1 - alpha) * restart + alpha * kept * dangling * spread + alpha * message

    @Global(float64, SUM, shape="several")
    def dangling(rank, degree):
        return rank if degree == 0 else 0.0

    @Global(float64, SUM, shape="several")
    def change(rank, rank_before):
        return abs(rank - rank_before)


class WeightedPageRanks(PageRanks, WeightedPageRank):
    """The same, with edges followed in proportion to their weights."""

    @Global(float64, SUM, shape="several")
    def dangling(rank, strength):
        return rank if strength == 0 else 0.0


VECTOR_PROGRAMS = {False: PageRanks, True: WeightedPageRanks}


class ScaledPageRank(PageRank):
    """PageRank for block descent, where the newest ranks sum to `mass` instead of 1.

    Jumps get a share of `mass`, and in the end all ranks are divided by it. So an error that scales all ranks by one
    factor, which would fade slowly, does not matter.
    """

    relaxation = RelaxationFactor(float64, 1.0)

    def apply(
        rank,
        message,
        mass,
        dangling,
        alpha,
        kept,
        vertices,
        restart,
        spread,
        restarts_evenly,
        spreads_evenly,
        relaxation,
    ):
        jumps = (1 - alpha) * (mass if kept > 0 else 1.0) * (restart + restarts_evenly / vertices)
        jumps = jumps + alpha * kept * dangling * (spread + spreads_evenly / vertices)
        return rank + relaxation * (jumps + alpha * message - rank)

    @Global(float64, SUM)
    def mass(rank):
        return rank

    def stop(change, mass, tol, round, max_iter):
        return change < tol * mass or round >= max_iter

    @Result(float64)
    def pagerank(rank, mass, kept):
        return rank / mass if kept > 0 else rank


class WeightedScaledPageRank(ScaledPageRank, WeightedPageRank):
    """The same, with edges followed in proportion to their weights."""


BLOCK_PROGRAMS = {False: ScaledPageRank, True: WeightedScaledPageRank}
