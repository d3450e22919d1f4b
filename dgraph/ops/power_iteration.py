"""The programs of PageRank (Brin and Page, 1998) by power iteration: round by round, and by blocks."""

from __future__ import annotations

from numpy import float64, int64

from dgraph.engines.descent.over_relaxation import RelaxationFactor
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Global, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.solvers.ranks.pagerank import page_rank
from dgraph.solvers.ranks.rank_vectors import rank_vectors
from dgraph.solvers.solver import Solver


class PageRank(VertexProgram):
    """A surfer follows an edge with probability `alpha`, and else jumps anywhere. Where no edge leads on the surfer
    always jumps, or is lost if `kept` is 0."""

    operation = "pagerank"
    kind = "synchronous"
    rank = State(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    kept = Parameter(float64, 1.0)
    tol = Parameter(float64, 1e-6)  # of all ranks: a round that changes them by less is the last
    max_iter = Parameter(int64, 100)
    solver = Solver(page_rank, orders=("incoming",), looks=8)

    def start(vertices):
        return 1 / vertices

    def send(rank, degree):
        return rank / degree

    def apply(message, dangling, alpha, kept, vertices):
        return (1 - alpha + alpha * kept * dangling) / vertices + alpha * message

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


class PersonalPageRank(PageRank):
    """The surfer jumps to a vertex with the probability in the vertex column `restart`; where no edge leads on, with
    that in `spread`."""

    restart = VertexColumn(float64)
    spread = VertexColumn(float64)

    def start(restart):
        return restart

    def apply(message, dangling, alpha, kept, restart, spread):
        return (1 - alpha) * restart + alpha * kept * dangling * spread + alpha * message


class WeightedPageRank(PageRank):
    """The surfer prefers edges in proportion to their weights; `strength` is the sum of those that lead on."""

    strength = VertexColumn(float64)

    def send(rank, strength, weight):
        return rank * (weight / strength) if strength > 0 else 0.0

    @Global(float64, SUM)
    def dangling(rank, strength):
        return rank if strength == 0 else 0.0


class WeightedPersonalPageRank(WeightedPageRank, PersonalPageRank):
    """Both."""


PROGRAMS = {  # weighted, personal
    (False, False): PageRank,
    (False, True): PersonalPageRank,
    (True, False): WeightedPageRank,
    (True, True): WeightedPersonalPageRank,
}


class PageRanks(PersonalPageRank):
    """Several personalizations at once. Ranks that have settled stay as they are, even if others have not: so they do
    not depend on what they are computed together with."""

    several = Parameter(int64)
    rank = State(float64, shape="several")
    restart = VertexColumn(float64, shape="several")
    spread = VertexColumn(float64, shape="several")
    solver = Solver(rank_vectors, orders=("incoming",), looks=512)

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
    """Edges are followed in proportion to their weights."""

    @Global(float64, SUM, shape="several")
    def dangling(rank, strength):
        return rank if strength == 0 else 0.0


SEVERAL = {False: PageRanks, True: WeightedPageRanks}  # weighted


class Scaled(PageRank):
    """For block descent, where the newest ranks sum to `mass` rather than 1. Jumps get a share of `mass`, and in the
    end one factor makes ranks sum to 1. So an error that makes all ranks too large by one factor, which would hardly
    fade, does not matter."""

    relaxation = RelaxationFactor(float64, 1.0)

    def apply(rank, message, mass, dangling, alpha, kept, vertices, relaxation):
        jumps = (1 - alpha) * (mass if kept > 0 else 1.0) + alpha * kept * dangling
        return rank + relaxation * (jumps / vertices + alpha * message - rank)

    @Global(float64, SUM)
    def mass(rank):
        return rank

    def stop(change, mass, tol, round, max_iter):
        return change < tol * mass or round >= max_iter

    @Result(float64)
    def pagerank(rank, mass, kept):
        return rank / mass if kept > 0 else rank


class PersonalScaled(Scaled, PersonalPageRank):
    """The same."""

    def apply(rank, message, mass, dangling, alpha, kept, restart, spread, relaxation):
        jumps = (1 - alpha) * (mass if kept > 0 else 1.0) * restart + alpha * kept * dangling * spread
        return rank + relaxation * (jumps + alpha * message - rank)


class WeightedScaled(Scaled, WeightedPageRank):
    """Edges are followed in proportion to their weights."""


class WeightedPersonalScaled(PersonalScaled, WeightedPageRank):
    """Both."""


BY_BLOCK = {  # weighted, personal
    (False, False): Scaled,
    (False, True): PersonalScaled,
    (True, False): WeightedScaled,
    (True, True): WeightedPersonalScaled,
}
