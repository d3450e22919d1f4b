"""The programs that prove the language: six of `dgraph/ops`, and others that are shorter than those or not there."""

from numpy import float32, float64, inf, int64

from dgraph.ops import residuals
from dgraph.ops.cdlp import CommunityDetection
from dgraph.ops.k_core import CoreNumber as CoreNumber
from dgraph.ops.k_core import KCore as KCore
from dgraph.ops.label_propagation import WeightedLabelPropagation as WeightedLabelPropagation
from dgraph.ops.wcc import Components as Components
from dgraph.programs.monoid import CHOOSE, MAX, MIN, NONE, SUM, UNREACHED
from dgraph.programs.program import (
    Delta,
    EdgeColumn,
    Global,
    Message,
    Parameter,
    Phase,
    State,
    VertexColumn,
    VertexProgram,
    vertex,
)
from dgraph.programs.syntax import dot


class Residuals(residuals.Residuals):
    operation = ""  # reads the attribute `restart`, as a user's program does
    passed_on = held_back = None  # only their sum, the rank, is the same on every engine


class ShortestPaths(VertexProgram):
    """Distance from `source`; edge weights are not negative."""

    dist = State(float64, start=inf)
    source = Parameter(vertex)
    merge = MIN

    def seed(id, source):
        return 0.0 if id == source else inf

    def send(dist, weight):
        return dist + weight

    def apply(dist, message):
        return min(dist, message)


class ManySources(ShortestPaths):
    """Distances from each of several sources at once (Bellman-Ford of GX-Plug): the same functions on vectors."""

    dist = State(float64, start=inf, shape="source")
    source = Parameter(vertex, shape=...)


class BreadthFirst(VertexProgram):
    """Edges between `source` and each vertex."""

    level = State(int64, start=UNREACHED)
    source = Parameter(vertex)
    merge = MIN

    def seed(id, source):
        return 0 if id == source else UNREACHED

    def send(level):
        return level + 1

    def apply(level, message):
        return min(level, message)


class PageRank(VertexProgram):
    """PageRank in rounds; dangling mass is spread evenly."""

    kind = "synchronous"
    rank = State(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    tol = Parameter(float64, 1e-12)
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

    @Global(float64, SUM)
    def change(rank, rank_before):
        return abs(rank - rank_before)

    def stop(change, tol, round, max_iter):
        return change < tol or round >= max_iter


class PersonalPageRank(PageRank):
    """PageRank that restarts where the vertex column `restart` says; it sums to 1."""

    restart = VertexColumn(float64)

    def start(restart):
        return restart

    def apply(message, dangling, alpha, restart):
        return (1 - alpha + alpha * dangling) * restart + alpha * message


class Katz(VertexProgram):
    """Katz centrality, not normalised: beta plus alpha times that of the in-neighbours."""

    katz = State(float64)
    gain = Delta(float64)
    merge = SUM
    alpha = Parameter(float64, 0.1)
    beta = Parameter(float64, 1.0)
    tol = Parameter(float64, 1e-12)

    def seed(beta):
        return beta

    def send(gain, alpha, tol):
        return alpha * gain if alpha * gain > tol else 0.0

    def apply(katz, message):
        return katz + message, message


class LabelPropagation(CommunityDetection):
    """Until every vertex has its neighbours' most frequent label; half the vertices, drawn anew, move in a round."""

    wanted = State(vertex)

    def start(id):
        return id, id

    def apply(label, message, random):
        best = label if message == NONE else message
        return (best if random < 0.5 else label), best

    @Global(int64, SUM)
    def unhappy(label, wanted):
        return 1 if label != wanted else 0

    def stop(unhappy, round, max_iter):
        return unhappy == 0 or round >= max_iter


class Matching(VertexProgram):
    """A random maximal matching of a bipartite graph whose edges lead from one side to the other (Falcon)."""

    kind = "synchronous"
    mate = State(vertex, start=NONE)
    choice = State(vertex, start=NONE)  # of those who asked in this turn

    class Ask(Phase):
        merge = CHOOSE

        def send(id, mate):
            return id if mate == NONE else NONE

        def apply(mate, message):
            return mate, message if mate == NONE else NONE

    class Answer(Phase):
        merge = CHOOSE
        along = "in"

        def send(id, choice, target_id):
            return id if choice == target_id else NONE

        def apply(mate, choice, message):
            return (mate if message == NONE else message), choice

    class Accept(Phase):
        merge = CHOOSE

        def send(id, mate, target_id):
            return id if mate == target_id else NONE

        def apply(mate, choice, message):
            return (mate if message == NONE else message), choice

    @Global(int64, SUM)
    def chosen(choice):
        return 0 if choice == NONE else 1

    def stop(chosen):
        return chosen == 0


class Factorize(VertexProgram):
    """Matrix factorisation by gradient descent: a rating is about the product of its two vertices' factors."""

    kind = "synchronous"
    along = "both"
    factors = State(float32, shape="rank")
    error = State(float64)
    gradient = Message(float32, SUM, shape="rank")
    squares = Message(float64, SUM)
    rating = EdgeColumn(float32)
    rank = Parameter(int64, 8)
    step = Parameter(float64, 0.002)
    penalty = Parameter(float64, 0.01)
    epochs = Parameter(int64, 10)

    def start(random):
        return random, 0.0

    def send(factors, target_factors, rating):
        miss = rating - dot(factors, target_factors)
        return miss * factors, miss * miss / 2

    def apply(factors, gradient, squares, step, penalty):
        return factors + step * (gradient - penalty * factors), squares

    @Global(float64, SUM)
    def squared_error(error):
        return error

    def stop(round, epochs):
        return round >= epochs


class LargestNearby(VertexProgram):
    """The largest vertex that reaches a vertex within `hops` edges."""

    kind = "synchronous"
    largest = State(vertex)
    merge = MAX
    hops = Parameter(int64, 3)

    def start(id):
        return id

    def send(largest):
        return largest

    def apply(largest, message):
        return max(largest, message)

    def stop(round, hops):
        return round >= hops


class Diffusion(VertexProgram):
    """Heat of several kinds spreads until each has settled: columns and global values of vectors."""

    kind = "synchronous"
    several = Parameter(int64)
    heat = State(float64, shape="several")
    source = VertexColumn(float64, missing=1, shape="several")
    merge = SUM

    def start(source, id, component):
        return source if (id + component) % 5 == 0 else 0.0

    def send(heat, degree):
        return heat / degree

    def apply(heat, message, source, component, lost):
        return 0.5 * heat + 0.3 * message + source * 0.01 * component + 0.001 * lost

    @Global(float64, SUM, shape="several")
    def lost(heat, degree):
        return heat if degree == 0 else 0.0

    @Global(float64, MAX, shape="several")
    def change(heat, heat_before):
        return abs(heat - heat_before)

    @Global(float64, SUM)
    def all_heat(heat):
        return heat

    def stop(change, all_heat, round):
        return change < 0.001 * all_heat and round > 2


EXAMPLES = [
    ShortestPaths(source=3),
    ManySources(source=[3, 5, 7]),
    BreadthFirst(source=3),
    Components(),
    Residuals(least=1e-10),
    PageRank(),
    PersonalPageRank(),
    Katz(alpha=0.05),
    KCore(k=3),
    CoreNumber(),
    CommunityDetection(max_iter=7),
    LabelPropagation(max_iter=20),
    WeightedLabelPropagation(max_iter=5, unit=1 << 20),
    Matching(),
    Factorize(rank=4, epochs=5),
    Diffusion(several=3),
    LargestNearby(hops=3),
]
