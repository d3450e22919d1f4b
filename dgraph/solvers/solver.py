"""What an operation may bring in place of rounds of single steps, with the same answer. A *solver* does all of the work
where the graph is one partition; a *local method* takes each of several partitions as far as it gets by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dgraph.tables.edge_tables import EdgeTables

SOON = 8  # of what a partition does before others hear of it, so much less where nobody has yet


@dataclass(frozen=True)
class Problem:
    """What a solver is given: a graph of one partition, so a local id is the vertex's number."""

    edges: EdgeTables
    values: dict[str, Any]  # the program's parameters, vertices by number
    columns: dict[str, np.ndarray]  # the vertex columns that were given, by number
    threads: int

    @property
    def vertices(self) -> int:
        return self.edges.partition.num_owned


class CsrArrays(NamedTuple):
    """The arrays of an Adjacency, as kernels take them."""

    indptr: np.ndarray
    neighbours: np.ndarray


@dataclass(frozen=True)
class Solution:
    """A solver's answer: columns by vertex number. In a column of vertices, a number that no vertex has means none."""

    values: dict[str, np.ndarray]
    rounds: int = 1
    edges: int = 0  # looked at
    totals: dict[str, Any] = field(default_factory=dict)  # the last values of the program's Globals


class LocalMethod:
    """How each of several partitions goes as far as it can by itself, where a program brings an algorithm for that in
    place of single steps: one of `SettlementMethod`, `ContractionMethod`, `PeelingMethod` and `DiffusionMethod`. There
    is a LocalState for each."""

    in_rounds: ClassVar[bool] = False  # whether the program has to run in rounds, though it counts none
    finds_messages: ClassVar[bool] = False  # its end is each vertex's last message: the kernel `settled` applies these

    def memory(self, edge_columns: int) -> tuple[int, int]:
        """Bytes that a partition keeps for each local vertex and for each edge, beside its tables."""
        return 0, 0


@dataclass
class LocalProblem:
    """What `SettlementMethod.take` is given: one of several partitions, with news to pass on along its edges."""

    edges: EdgeTables
    values: dict[str, Any]  # the program's fields: arrays by local id, and numbers
    best: np.ndarray  # for each local vertex, owned or proxy, the best message that it has had
    beside: np.ndarray  # the state named by `SettlementMethod.beside`, for each local vertex; empty if there is none
    frontier: np.ndarray  # local ids of vertices whose best message their neighbours here do not know yet
    improved: np.ndarray  # a flag for each local vertex, all False before the call
    unheard: bool  # whether this partition has not told others anything yet: they may have nothing to do until it does
    kept: dict[Any, Any]  # scratch that stays from one call to the next


@dataclass(frozen=True)
class SettlementMethod(LocalMethod):
    """For programs whose messages merge like minima.

    take     improves `best` until no edge here could improve it any further, and sets the flag `improved` of every
             vertex whose best message it replaced (of the frontier's, any flags). It returns the number of edges
             looked at, and the vertices whose news it leaves for the next round; if it leaves any, it has done some
             work. Called by `engines/local_methods/settlement.py`, once a round.
    beside   a State of whole numbers that `take` keeps up to date with `best`, and that travels with it to masters: of
             equal messages the one with the smallest number counts. A predecessor, say.
    bound    a Global: `apply` ignores messages that are worse than it, and so may `take`.
    """

    take: Callable[[LocalProblem], tuple[int, np.ndarray]]
    beside: str | None = None
    bound: str | None = None
    finds_messages = True

    @property
    def in_rounds(self) -> bool:  # type: ignore[override]
        return self.bound is not None


@dataclass(frozen=True)
class ContractionMethod(LocalMethod):
    """For programs that find the smallest vertex of each component. `unite` returns, for each local vertex, owned or
    proxy, the smallest local id that this partition's edges join it with; and the number of edges it looked at."""

    unite: Callable[[EdgeTables], tuple[np.ndarray, int]]
    finds_messages = True


@dataclass(frozen=True)
class PeelingMethod(LocalMethod):
    """For programs of h-indices in a simple graph, along both directions, that begin with degrees: the state `core`."""

    core: str
    in_rounds = True

    def memory(self, edge_columns: int) -> tuple[int, int]:
        return 14, 4  # support, flags, and the rows of proxies


@dataclass(frozen=True)
class DiffusionMethod(LocalMethod):
    """For programs in which a vertex passes on, along its out-edges, a fixed part of all that it is given (PageRank by
    residuals). The names by which the program calls what `engines/local_methods/diffusion_kernels.py` computes; and in
    how many stages. Each stage begins from such a multiple of what was found that what is left to pass on sums to
    nothing."""

    factor: str  # parameter: the part that is passed on
    passed: str  # state: the sum of what a vertex has passed on
    held: str  # state: what it was given and has not passed on
    strength: str  # column: the sum of the weights by which it divides, if edges are not alike
    least: str  # parameter: how much may be held back for each edge in the last stage
    falls: str  # parameter: how many times as much in the stage before
    stages: str  # parameter: how many stages there are
    given: str  # global value over vertices with out-edges: the sum of what they are given
    surplus: str  # global value over the same vertices: the sum of what they hold
    mass: str  # global value over all vertices: the sum of what they have
    most: float  # the largest multiple of what was found that a stage may begin from

    def memory(self, edge_columns: int) -> tuple[int, int]:
        return 72, 4 + 8 * edge_columns  # nine numbers a vertex, and the edges in a layout of their own


@dataclass(frozen=True)
class Solver:
    """A program's own algorithm. `solve` runs where the graph is one partition, `local_method` on each of several."""

    solve: Callable[[Problem], Solution]
    orders: tuple[str, ...] = ("out",)  # of a directed graph's edges; rows of an undirected one have both directions
    local_method: LocalMethod | None = None
    looks: int = 1  # about how often it looks at each vertex and edge: threads are started for much work only
